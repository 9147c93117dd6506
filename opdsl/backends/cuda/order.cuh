// Sorting rows. Elements become keys, whole numbers in their order; a pair of a key and its place is like no other, so
// that every way to sort them leaves equal elements in order.

constexpr int TILE = 2048;

// length: of a row, as far as it is looked at; blocks: that take one; width: of the part of a row that a block takes;
// count: how many elements are wanted, the first ones.
struct Order {
    long long length, blocks, width, count;

    __device__ long long row() const { return blockIdx.x / blocks; }
    __device__ long long block() const { return blockIdx.x % blocks; }
};

// NaN is larger than all, the two zeros are one.
__device__ inline unsigned long long float_key(double value) {
    const unsigned long long sign = 1ull << 63;
    if (value != value) {
        return ~0ull;
    }
    const unsigned long long bits = same_bits<unsigned long long>(value + 0.0);
    return bits & sign ? ~bits : bits | sign;
}

template <bool descending, typename T>
__device__ inline unsigned long long key_of(T value) {
    unsigned long long key;
    if constexpr (Traits<T>::category == FLOAT) {
        key = float_key(value);
    } else if constexpr (static_cast<T>(-1) > static_cast<T>(0)) {
        key = static_cast<unsigned long long>(value);
    } else {
        key = static_cast<unsigned long long>(static_cast<long long>(value)) ^ 1ull << 63;
    }
    return descending ? ~key : key;
}

__device__ inline bool comes_first(
    unsigned long long key, long long place, unsigned long long other_key, long long other_place) {
    return key < other_key || (key == other_key && place < other_place);
}

// Sort pairs in shared memory, as many as a power of two. K. Batcher, Sorting networks and their applications (1968).
__device__ inline void sort_tile(unsigned long long* keys, long long* places, int size) {
    for (int width = 2; width <= size; width *= 2) {
        for (int step = width / 2; step > 0; step /= 2) {
            __syncthreads();
            for (int pair = threadIdx.x; pair < size / 2; pair += THREADS) {
                const int low = pair / step * 2 * step + pair % step, high = low + step;
                const bool ascending = (low & width) == 0;
                if (comes_first(keys[high], places[high], keys[low], places[low]) == ascending) {
                    const unsigned long long key = keys[low];
                    const long long place = places[low];
                    keys[low] = keys[high];
                    places[low] = places[high];
                    keys[high] = key;
                    places[high] = place;
                }
            }
        }
    }
    __syncthreads();
}

// A part of a row: the pairs that come first in it, in order. A tile holds those that have come first so far, and behind
// them those that come before the last of these; when it is full, it is sorted, and what stands too far behind is
// forgotten. Where the part has fewer pairs, some that come last of all fill the rest.
constexpr int ITEMS = 4, ROUND = ITEMS * THREADS;

template <typename Pair>
__device__ inline void select_first(
    const Pair& pair, unsigned long long* keys, long long* places, const Order& order) {
    __shared__ unsigned long long tile_keys[TILE];
    __shared__ long long tile_places[TILE];
    __shared__ int held;
    constexpr unsigned long long last_key = ~0ull;
    constexpr long long last_place = 0x7fffffffffffffff;
    const int count = static_cast<int>(order.count), thread = threadIdx.x;
    const long long begin = order.block() * order.width;
    const long long end = begin + order.width < order.length ? begin + order.width : order.length;
    unsigned long long limit_key = last_key;
    long long limit_place = last_place;
    if (thread == 0) {
        held = 0;
    }
    __syncthreads();
    for (long long first = begin; first < end; first += ROUND) {
        for (int item = 0; item < ITEMS; ++item) {
            const long long at = first + item * THREADS + thread;
            unsigned long long key = last_key;
            long long place = last_place;
            if (at < end) {
                pair(at, key, place);
            }
            if (comes_first(key, place, limit_key, limit_place)) {
                const int slot = atomicAdd(&held, 1);
                tile_keys[slot] = key;
                tile_places[slot] = place;
            }
        }
        __syncthreads();
        const int found = held;
        if (found > TILE - ROUND || first + ROUND >= end) {
            int size = 1;
            while (size < found || size < count) {
                size *= 2;
            }
            for (int at = found + thread; at < size; at += THREADS) {
                tile_keys[at] = last_key;
                tile_places[at] = last_place;
            }
            sort_tile(tile_keys, tile_places, size);
            limit_key = tile_keys[count - 1];
            limit_place = tile_places[count - 1];
            if (thread == 0) {
                held = found < count ? found : count;
            }
        }
        __syncthreads();
    }
    const long long target = (order.row() * order.blocks + order.block()) * count;
    for (int at = thread; at < count; at += THREADS) {
        keys[target + at] = tile_keys[at];
        places[target + at] = tile_places[at];
    }
}

// The pairs of a row's elements.
template <typename Stored, bool descending>
struct ElementPairs {
    const char* row;
    long long step;

    template <typename Kept>
    __device__ ElementPairs(const char* input, const Kept& kept, const Steps<3>& steps, const Order& order)
        : step(steps.step[0]) {
        long long offsets[3] = {};
        kept.offsets(order.row(), offsets);
        row = input + offsets[0];
    }
    __device__ void operator()(long long at, unsigned long long& key, long long& place) const {
        key = key_of<descending>(load(element<Stored>(row, at * step)));
        place = at;
    }
};

// Pairs that others have found.
struct FoundPairs {
    const unsigned long long* keys;
    const long long* places;

    __device__ FoundPairs(const unsigned long long* keys, const long long* places, const Order& order)
        : keys(keys + order.row() * order.length), places(places + order.row() * order.length) {}
    __device__ void operator()(long long at, unsigned long long& key, long long& place) const {
        key = keys[at];
        place = places[at];
    }
};

// The elements at sorted places.
template <typename Stored, typename Kept>
__device__ inline void order_results(
    const char* input, Stored* values, long long* indices, const long long* places, const Kept& kept,
    const Steps<3>& steps, const Order& order) {
    const long long row = order.row(), at = order.block() * THREADS + threadIdx.x;
    if (at < order.count) {
        long long offsets[3] = {};
        kept.offsets(row, offsets);
        const long long place = places[row * order.length + at];
        element<Stored>(values, offsets[1] + at * steps.step[1]) =
            element<Stored>(input, offsets[0] + place * steps.step[0]);
        element<long long>(indices, offsets[2] + at * steps.step[2]) = place;
    }
}
