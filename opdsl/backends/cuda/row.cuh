// Rows of which the lanes of a team hold some elements each.

// Which element of a row, or of a tile of it, a lane holds in one of its registers: packs of neighbours, as many apart as
// the team has lanes.
template <int vector, bool along>
__device__ inline int place(const Team<along>& team, int item) {
    return (item / vector * team.lanes + team.lane) * vector + item % vector;
}

// Move the elements of rows that are whole numbers of packs, which begin at even addresses.
template <Direction direction, int items, int vector, bool along, typename Stored>
__device__ inline void move_packs(const Team<along>& team, Stored (&own)[items], Stored* first, int count) {
#pragma unroll
    for (int pack = 0; pack < items; pack += vector) {
        const int index = place<vector>(team, pack);
        if (index < count) {
            move_pack<direction, vector>(own + pack, first + index);
        }
    }
}

// Move the elements of any rows.
template <Direction direction, int items, int vector, bool along, typename Stored>
__device__ inline void move_row(
    const Team<along>& team, Stored (&own)[items], void* first, long long step, int count) {
#pragma unroll
    for (int item = 0; item < items; ++item) {
        const int index = place<vector>(team, item);
        if (index < count) {
            move<direction>(own[item], element<Stored>(first, index * step));
        }
    }
}
