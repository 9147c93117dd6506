// Rows of which the lanes of a team hold some elements each.

// Which element of a row a lane holds in one of its registers: packs of neighbours, as many apart as the team has lanes.
template <int vector, bool along>
__device__ inline long long place(const Team<along>& team, int item) {
    return (static_cast<long long>(item / vector) * team.lanes + team.lane) * vector + item % vector;
}

// Whether packs of elements of a row may be loaded and stored at once.
template <typename Stored, int vector>
__device__ inline bool in_packs(const void* first, long long step, long long count) {
    return step == sizeof(Stored) && count % vector == 0 &&
           reinterpret_cast<unsigned long long>(first) % (vector * sizeof(Stored)) == 0;
}

template <Direction direction, int items, int vector, bool along, typename Stored>
__device__ inline void move_row(
    const Team<along>& team, Stored (&own)[items], void* first, long long step, long long count) {
    const bool packs = vector > 1 && in_packs<Stored, vector>(first, step, count);
#pragma unroll
    for (int pack = 0; pack < items; pack += vector) {
        const long long index = place<vector>(team, pack);
        if (packs) {
            if (index < count) {
                move_pack<direction, vector>(own + pack, &element<Stored>(first, index * step));
            }
        } else {
#pragma unroll
            for (int at = 0; at < vector; ++at) {
                if (index + at < count) {
                    move<direction>(own[pack + at], element<Stored>(first, (index + at) * step));
                }
            }
        }
    }
}
