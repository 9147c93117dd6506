// Elements that a thread takes together: they follow each other, and are loaded and stored up to 128 bits at once where
// their addresses are even.

// Whether memory is read into registers, or written.
enum Direction { LOAD, STORE };

// A place in memory.
template <typename T>
__device__ inline T& element(void* first, long long offset) {
    return *reinterpret_cast<T*>(static_cast<char*>(first) + offset);
}

// An element behind so many bytes, and so many elements.
template <typename T>
__device__ inline T& behind(T* first, long long offset, long long index) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + offset)[index];
}

template <Direction direction, typename Stored>
__device__ inline void move(Stored& own, Stored& there) {
    if constexpr (direction == LOAD) {
        own = there;
    } else {
        there = own;
    }
}

// Elements that begin at an even address. Registers are filled as whole packs, so that words of them stay together.
template <Direction direction, int count, typename Stored>
__device__ inline void move_pack(Stored* own, Stored* first) {
    if constexpr (direction == LOAD) {
        const Pack<Stored, count> moved = *reinterpret_cast<const Pack<Stored, count>*>(first);
        memcpy(own, &moved, sizeof(moved));
    } else {
        Pack<Stored, count> moved;
        memcpy(&moved, own, sizeof(moved));
        *reinterpret_cast<Pack<Stored, count>*>(first) = moved;
    }
}

// Convert elements in registers to the values that they are computed in, and back; pairs of 16-bit floats at once.
template <int count, typename Stored, typename Value>
__device__ inline void unpack(Value (&values)[count], const Stored* own) {
#pragma unroll
    for (int at = 0; at < count; ++at) {
        values[at] = load(own[at]);
    }
}
template <int count>
__device__ inline void unpack(float (&values)[count], const BFloat16* own) {
#pragma unroll
    for (int at = 0; at + 1 < count; at += 2) {
        unsigned word;
        memcpy(&word, own + at, sizeof(word));
        values[at] = same_bits<float>(word << 16);
        values[at + 1] = same_bits<float>(word & 0xffff0000u);
    }
    if constexpr (count % 2 == 1) {
        values[count - 1] = load(own[count - 1]);
    }
}
template <int count, typename Stored, typename Value>
__device__ inline void pack(Stored* own, const Value (&values)[count]) {
#pragma unroll
    for (int at = 0; at < count; ++at) {
        store(own[at], values[at]);
    }
}
template <int count, typename Stored>
__device__ inline void pack_pairs(
    Stored* own, const float (&values)[count], unsigned (*convert)(float first, float second)) {
#pragma unroll
    for (int at = 0; at + 1 < count; at += 2) {
        const unsigned word = convert(values[at], values[at + 1]);
        memcpy(own + at, &word, sizeof(word));
    }
    if constexpr (count % 2 == 1) {
        store(own[count - 1], values[count - 1]);
    }
}
template <int count>
__device__ inline void pack(Half* own, const float (&values)[count]) {
    pack_pairs(own, values, floats_to_halves);
}
template <int count>
__device__ inline void pack(BFloat16* own, const float (&values)[count]) {
    pack_pairs(own, values, floats_to_bfloat16s);
}

// How many elements are moved at once, of so many.
template <typename Stored, int items>
constexpr int neighbours = 16 / sizeof(Stored) < items ? 16 / sizeof(Stored) : items;

// Whether all elements from index on are there, and packs of them begin at an even address.
template <typename Stored, int items>
__device__ inline bool in_neighbours(const void* first, long long step, long long index, long long end) {
    constexpr unsigned long long size = neighbours<Stored, items> * sizeof(Stored);
    const char* place = static_cast<const char*>(first) + index * step;
    return step == sizeof(Stored) && index + items <= end && reinterpret_cast<unsigned long long>(place) % size == 0;
}

template <Direction direction, int items, typename Stored>
__device__ inline void move_neighbours(
    Stored (&own)[items], void* first, long long step, long long index, long long end) {
    constexpr int vector = neighbours<Stored, items>;
    if (vector > 1 && in_neighbours<Stored, items>(first, step, index, end)) {
#pragma unroll
        for (int pack = 0; pack < items; pack += vector) {
            move_pack<direction, vector>(own + pack, &element<Stored>(first, (index + pack) * step));
        }
    } else {
#pragma unroll
        for (int item = 0; item < items; ++item) {
            if (index + item < end) {
                move<direction>(own[item], element<Stored>(first, (index + item) * step));
            }
        }
    }
}
