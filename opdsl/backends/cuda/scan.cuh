// Scans: a team takes a row in tiles, of which each lane holds some neighbours. The accumulators of long rows' parts are
// folded first; a part begins with those of all parts before it.
//
// Fold, which is printed, is a monoid with
//     lift(element, index): the accumulators of an element;
//     finish(accumulators[items], offsets, steps, index, end): stores the results of elements from index on.

// How a scan is cut. rows: that stay; count: elements of each; part: elements of a part, of which a row has parts; log:
// lanes of a team, as a power of two.
struct Cut {
    long long rows, count, part;
    int parts, log;
};

// Fold a part of each row.
template <typename Fold, typename Stored, bool along, typename Kept, typename Step>
__device__ inline void fold_parts(
    const Fold& fold, const char* input, typename Fold::Accumulators* partial, const Kept& kept, const Step& steps,
    const Cut& cut) {
    const Team<along> team(cut.log);
    const long long row = team.row(), begin = blockIdx.y * cut.part;
    const long long end = row < cut.rows ? (begin + cut.part < cut.count ? begin + cut.part : cut.count) : begin;
    long long offsets[Fold::operands] = {};
    if (row < cut.rows) {
        kept.offsets(row, offsets);
    }
    const auto found = combined<Fold>(team, fold_lane<Fold, true>(team, begin, end, [&](long long at) {
        return fold.lift(load(element<Stored>(input + offsets[0], at * steps.step[0])), at);
    }));
    if (team.lane == 0 && row < cut.rows) {
        partial[row * cut.parts + blockIdx.y] = found;
    }
}

// Scan a part of each row. partial: the accumulators of all parts, row by row; null where a row is one part.
template <typename Fold, typename Stored, bool along, int items, typename Kept, typename Step>
__device__ inline void scan(
    const Fold& fold, const char* input, const typename Fold::Accumulators* partial, const Kept& kept,
    const Step& steps, const Cut& cut) {
    using Accumulators = typename Fold::Accumulators;
    const Team<along> team(cut.log);
    const long long row = team.row(), first = blockIdx.y * cut.part;
    const bool is_row = row < cut.rows;
    const long long end = first + cut.part < cut.count ? first + cut.part : cut.count;
    long long offsets[Fold::operands] = {};
    if (is_row) {
        kept.offsets(row, offsets);
    }
    Accumulators carry = Fold::none();
    if (partial != nullptr) {
        const auto found = fold_lane<Fold, true>(
            team, 0, is_row ? blockIdx.y : 0, [&](long long at) { return partial[row * cut.parts + at]; });
        carry = from_first_lane(team, combined<Fold>(team, found));
    }
    // All threads of a block go through the same tiles, since they wait for each other.
    for (long long tile = first; tile < end; tile += static_cast<long long>(team.lanes) * items) {
        const long long index = tile + static_cast<long long>(team.lane) * items, last = is_row ? end : index;
        Stored loaded[items] = {};
        load_neighbours<items>(loaded, input + offsets[0], steps.step[0], index, last);
        Accumulators found[items];
        Accumulators all = Fold::none();
#pragma unroll
        for (int item = 0; item < items; ++item) {
            if (index + item < last) {
                all = Fold::combine(all, fold.lift(load(loaded[item]), index + item));
            }
            found[item] = all;
        }
        const auto others = scanned<Fold>(team, all);
        const Accumulators before = Fold::combine(carry, others.before);
#pragma unroll
        for (int item = 0; item < items; ++item) {
            found[item] = Fold::combine(before, found[item]);
        }
        fold.finish(found, offsets, steps, index, last);
        carry = Fold::combine(carry, others.all);
    }
}
