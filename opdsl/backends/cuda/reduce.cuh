// Folds of teams: each lane takes turns of its own. Monoid is as in team.cuh; turn(index) are the accumulators of one turn.

// Turns begin, begin + step ..., in several accumulators, which do not wait for each other.
template <typename Monoid, typename Turn>
__device__ inline typename Monoid::Accumulators fold_apart(const Turn& turn, long long begin, long long end, int step) {
    typename Monoid::Accumulators apart[4] = {Monoid::none(), Monoid::none(), Monoid::none(), Monoid::none()};
    for (; begin + 3LL * step < end; begin += 4LL * step) {
#pragma unroll
        for (int at = 0; at < 4; ++at) {
            apart[at] = Monoid::combine(apart[at], turn(begin + static_cast<long long>(at) * step));
        }
    }
    for (; begin < end; begin += step) {
        apart[0] = Monoid::combine(apart[0], turn(begin));
    }
    return Monoid::combine(Monoid::combine(apart[0], apart[1]), Monoid::combine(apart[2], apart[3]));
}

// What a lane folds of turns begin to end: those between which as many lie as there are lanes or, where the
// order counts, neighbours.
template <typename Monoid, bool ordered, bool along, typename Turn>
__device__ inline typename Monoid::Accumulators fold_lane(
    const Team<along>& team, long long begin, long long end, const Turn& turn) {
    if constexpr (ordered) {
        const long long share = (end - begin + team.lanes - 1) >> team.log;
        const long long first = begin + team.lane * share, last = first + share < end ? first + share : end;
        typename Monoid::Accumulators all = Monoid::none();
#pragma unroll 4
        for (long long at = first; at < last; ++at) {
            all = Monoid::combine(all, turn(at));
        }
        return all;
    } else {
        return fold_apart<Monoid>(turn, begin + team.lane, end, team.lanes);
    }
}

// The same for elements that follow each other, several of which are loaded at once from the first even address on:
// turn(value, index) are the accumulators of one.
template <typename Monoid, bool ordered, int vector, bool along, typename Stored, typename Turn>
__device__ inline typename Monoid::Accumulators fold_vectors(
    const Team<along>& team, Stored* row, long long begin, long long end, const Turn& turn) {
    using Accumulators = typename Monoid::Accumulators;
    constexpr int apart = ordered ? 1 : vector;
    Accumulators all[apart];
#pragma unroll
    for (int at = 0; at < apart; ++at) {
        all[at] = Monoid::none();
    }
    const long long misplaced = reinterpret_cast<unsigned long long>(row + begin) / sizeof(Stored) % vector;
    const long long even = misplaced ? begin + vector - misplaced : begin, head = even < end ? even : end;
    const long long packs = (end - head) / vector, tail = head + packs * vector;
    const long long share = (packs + team.lanes - 1) >> team.log;
    const long long first = ordered ? team.lane * share : team.lane, step = ordered ? 1 : team.lanes;
    const long long last = ordered && first + share < packs ? first + share : packs;
    if (team.lane == 0) {
        for (long long at = begin; at < head; ++at) {
            all[0] = Monoid::combine(all[0], turn(load(row[at]), at));
        }
    }
#pragma unroll 4
    for (long long pack = first; pack < last; pack += step) {
        const long long index = head + pack * vector;
        Stored own[vector];
        decltype(load(own[0])) values[vector];
        move_pack<LOAD, vector>(own, row + index);
        unpack(values, own);
#pragma unroll
        for (int at = 0; at < vector; ++at) {
            all[at % apart] = Monoid::combine(all[at % apart], turn(values[at], index + at));
        }
    }
    if (team.lane == team.lanes - 1) {
        for (long long at = tail; at < end; ++at) {
            all[0] = Monoid::combine(all[0], turn(load(row[at]), at));
        }
    }
#pragma unroll
    for (int width = apart / 2; width > 0; width /= 2) {
#pragma unroll
        for (int at = 0; at < width; ++at) {
            all[at] = Monoid::combine(all[at], all[at + width]);
        }
    }
    return all[0];
}
