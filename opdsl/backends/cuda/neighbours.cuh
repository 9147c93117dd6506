// Elements that a thread takes together: they follow each other, and are loaded and stored up to 128 bits at once where
// their addresses are even.

// Places in memory.
template <typename T>
__device__ inline const T& element(const void* first, long long offset) {
    return *reinterpret_cast<const T*>(static_cast<const char*>(first) + offset);
}
template <typename T>
__device__ inline T& element(void* first, long long offset) {
    return *reinterpret_cast<T*>(static_cast<char*>(first) + offset);
}

// An element behind so many bytes, and so many elements.
template <typename T>
__device__ inline T& behind(T* first, long long offset, long long index) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + offset)[index];
}

// Elements that begin at an even address.
template <int count, typename Stored>
__device__ inline void load_pack(Stored (&found)[count], const Stored* first) {
    const auto loaded = *reinterpret_cast<const Pack<Stored, count>*>(first);
#pragma unroll
    for (int at = 0; at < count; ++at) {
        found[at] = loaded.element[at];
    }
}
template <int count, typename Stored>
__device__ inline void store_pack(const Stored (&made)[count], Stored* first) {
    Pack<Stored, count> stored;
#pragma unroll
    for (int at = 0; at < count; ++at) {
        stored.element[at] = made[at];
    }
    *reinterpret_cast<Pack<Stored, count>*>(first) = stored;
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

template <int items, typename Stored>
__device__ inline void load_neighbours(
    Stored (&found)[items], const void* first, long long step, long long index, long long end) {
    constexpr int vector = neighbours<Stored, items>;
    if (vector > 1 && in_neighbours<Stored, items>(first, step, index, end)) {
#pragma unroll
        for (int pack = 0; pack < items; pack += vector) {
            const auto loaded = element<Pack<Stored, vector>>(first, (index + pack) * step);
#pragma unroll
            for (int at = 0; at < vector; ++at) {
                found[pack + at] = loaded.element[at];
            }
        }
    } else {
#pragma unroll
        for (int item = 0; item < items; ++item) {
            if (index + item < end) {
                found[item] = element<Stored>(first, (index + item) * step);
            }
        }
    }
}

template <int items, typename Stored>
__device__ inline void store_neighbours(
    const Stored (&made)[items], void* first, long long step, long long index, long long end) {
    constexpr int vector = neighbours<Stored, items>;
    if (vector > 1 && in_neighbours<Stored, items>(first, step, index, end)) {
#pragma unroll
        for (int pack = 0; pack < items; pack += vector) {
            Pack<Stored, vector> stored;
#pragma unroll
            for (int at = 0; at < vector; ++at) {
                stored.element[at] = made[pack + at];
            }
            element<Pack<Stored, vector>>(first, (index + pack) * step) = stored;
        }
    } else {
#pragma unroll
        for (int item = 0; item < items; ++item) {
            if (index + item < end) {
                element<Stored>(first, (index + item) * step) = made[item];
            }
        }
    }
}
