// Reductions: each team folds a row, or a part of one, which a second kernel then folds with the others.
//
// Fold, which is printed, is a monoid with
//     lift(element, index): the accumulators of an element;
//     finish(accumulators, count, offsets): stores the results of a row.

// How a reduction is cut. rows: that stay; count: elements of each; part: elements of a part, of which a row has parts;
// log: lanes of a team, as a power of two.
struct Cut {
    long long rows, count, part;
    int parts, log;
};

// A row of elements that lie anywhere.
template <typename Fold, typename Stored, typename Layout>
struct Elements {
    const Fold& fold;
    const Layout& layout;
    const char* first;

    __device__ typename Fold::Accumulators at(long long index) const {
        long long offset[1] = {};
        layout.offsets(index, offset);
        return fold.lift(load(element<Stored>(first, offset[0])), index);
    }
};

// A row of accumulators.
template <typename Fold>
struct Partial {
    const typename Fold::Accumulators* first;

    __device__ typename Fold::Accumulators at(long long index) const { return first[index]; }
};

// Elements begin, begin + 1 ... of a row, one after another.
template <typename Fold, typename Row>
__device__ inline typename Fold::Accumulators fold_in_order(const Row& row, long long begin, long long end) {
    typename Fold::Accumulators all = Fold::none();
#pragma unroll 4
    for (long long at = begin; at < end; ++at) {
        all = Fold::combine(all, row.at(at));
    }
    return all;
}

// Elements begin, begin + step ... of a row, in several accumulators, which do not wait for each other.
template <typename Fold, typename Row>
__device__ inline typename Fold::Accumulators fold_apart(const Row& row, long long begin, long long end, int step) {
    typename Fold::Accumulators apart[4] = {Fold::none(), Fold::none(), Fold::none(), Fold::none()};
    for (; begin + 3LL * step < end; begin += 4LL * step) {
#pragma unroll
        for (int at = 0; at < 4; ++at) {
            apart[at] = Fold::combine(apart[at], row.at(begin + static_cast<long long>(at) * step));
        }
    }
    for (; begin < end; begin += step) {
        apart[0] = Fold::combine(apart[0], row.at(begin));
    }
    return Fold::combine(Fold::combine(apart[0], apart[1]), Fold::combine(apart[2], apart[3]));
}

// What a lane folds of elements begin to end of a row: those between which as many lie as there are lanes or, where the
// order counts, neighbours.
template <typename Fold, bool ordered, bool along, typename Row>
__device__ inline typename Fold::Accumulators fold_lane(
    const Team<along>& team, const Row& row, long long begin, long long end) {
    if constexpr (ordered) {
        const long long share = (end - begin + team.lanes - 1) >> team.log;
        const long long first = begin + team.lane * share;
        return fold_in_order<Fold>(row, first, first + share < end ? first + share : end);
    } else {
        return fold_apart<Fold>(row, begin + team.lane, end, team.lanes);
    }
}

// The same for elements that follow each other, several of which are loaded at once from the first even address on.
template <typename Fold, bool ordered, int vector, bool along, typename Stored>
__device__ inline typename Fold::Accumulators fold_vectors(
    const Team<along>& team, const Fold& fold, const Stored* row, long long begin, long long end) {
    using Accumulators = typename Fold::Accumulators;
    constexpr int apart = ordered ? 1 : vector;
    Accumulators all[apart];
#pragma unroll
    for (int at = 0; at < apart; ++at) {
        all[at] = Fold::none();
    }
    const long long misplaced = reinterpret_cast<unsigned long long>(row + begin) / sizeof(Stored) % vector;
    const long long even = misplaced ? begin + vector - misplaced : begin, head = even < end ? even : end;
    const long long packs = (end - head) / vector, tail = head + packs * vector;
    const long long share = (packs + team.lanes - 1) >> team.log;
    const long long first = ordered ? team.lane * share : team.lane, step = ordered ? 1 : team.lanes;
    const long long last = ordered && first + share < packs ? first + share : packs;
    if (team.lane == 0) {
        for (long long at = begin; at < head; ++at) {
            all[0] = Fold::combine(all[0], fold.lift(load(row[at]), at));
        }
    }
#pragma unroll 4
    for (long long pack = first; pack < last; pack += step) {
        const long long index = head + pack * vector;
        const auto loaded = *reinterpret_cast<const Pack<Stored, vector>*>(row + index);
#pragma unroll
        for (int at = 0; at < vector; ++at) {
            all[at % apart] = Fold::combine(all[at % apart], fold.lift(load(loaded.element[at]), index + at));
        }
    }
    if (team.lane == team.lanes - 1) {
        for (long long at = tail; at < end; ++at) {
            all[0] = Fold::combine(all[0], fold.lift(load(row[at]), at));
        }
    }
#pragma unroll
    for (int width = apart / 2; width > 0; width /= 2) {
#pragma unroll
        for (int at = 0; at < width; ++at) {
            all[at] = Fold::combine(all[at], all[at + width]);
        }
    }
    return all[0];
}

// Fold a part of each row. partial: where accumulators go, row by row; null where a row is one part, which is finished.
template <typename Fold, typename Stored, bool along, bool ordered, int vector, bool whole, typename Kept, typename Layout>
__device__ inline void reduce(
    const Fold& fold, const char* input, typename Fold::Accumulators* partial, const Kept& kept, const Layout& reduced,
    const Cut& cut) {
    const Team<along> team(cut.log);
    const long long row = team.row(), begin = blockIdx.y * cut.part;
    const long long end = row < cut.rows ? (begin + cut.part < cut.count ? begin + cut.part : cut.count) : begin;
    long long offsets[Fold::operands] = {};
    if (row < cut.rows) {
        kept.offsets(row, offsets);
    }
    typename Fold::Accumulators found;
    if constexpr (vector > 1) {
        const auto first = reinterpret_cast<const Stored*>(input + offsets[0]);
        found = fold_vectors<Fold, ordered, vector>(team, fold, first, begin, end);
    } else {
        const Elements<Fold, Stored, Layout> elements{fold, reduced, input + offsets[0]};
        found = fold_lane<Fold, ordered>(team, elements, begin, end);
    }
    found = combined<Fold>(team, found);
    if (team.lane == 0 && row < cut.rows) {
        if constexpr (whole) {
            fold.finish(found, cut.count, offsets);
        } else {
            partial[row * cut.parts + blockIdx.y] = found;
        }
    }
}

// Fold the parts of each row.
template <typename Fold, typename Kept>
__device__ inline void reduce_parts(
    const Fold& fold, const typename Fold::Accumulators* partial, const Kept& kept, const Cut& cut) {
    const Team<true> team(cut.log);
    const long long row = team.row(), parts = row < cut.rows ? cut.parts : 0;
    const Partial<Fold> partials{partial + row * cut.parts};
    const auto found = combined<Fold>(team, fold_lane<Fold, true>(team, partials, 0, parts));
    if (team.lane == 0 && row < cut.rows) {
        long long offsets[Fold::operands] = {};
        kept.offsets(row, offsets);
        fold.finish(found, cut.count, offsets);
    }
}
