// Elements that several threads may change at the same time.

// Locks for elements that are too large for an atomic exchange; every lock serves many places.
constexpr unsigned LOCKS = 1024;
__device__ unsigned locks[LOCKS];

template <typename T, typename Word, typename Change>
__device__ inline void exchange_word(T& place, Change change) {
    Word* word = reinterpret_cast<Word*>(&place);
    Word seen = *word, assumed;
    do {
        assumed = seen;
        T made = same_bits<T>(assumed);
        change(made);
        seen = atomicCAS(word, assumed, same_bits<Word>(made));
    } while (seen != assumed);
}

// One byte, by way of the word that it lies in.
template <typename T, typename Change>
__device__ inline void exchange_byte(T& place, Change change) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(&place);
    unsigned* word = reinterpret_cast<unsigned*>(address & ~3ull);
    const unsigned shift = address % 4 * 8;
    unsigned seen = *word, assumed;
    do {
        assumed = seen;
        T made = same_bits<T>(static_cast<unsigned char>(assumed >> shift));
        change(made);
        const unsigned byte = same_bits<unsigned char>(made);
        seen = atomicCAS(word, assumed, (assumed & ~(0xffu << shift)) | byte << shift);
    } while (seen != assumed);
}

template <typename T, typename Change>
__device__ inline void change_locked(T& place, Change change) {
    unsigned* lock = &locks[reinterpret_cast<unsigned long long>(&place) / sizeof(T) % LOCKS];
    for (bool waiting = true; waiting;) {
        if (atomicCAS(lock, 0u, 1u) == 0u) {
            __threadfence();
            change(place);
            __threadfence();
            atomicExch(lock, 0u);
            waiting = false;
        }
    }
}

// Change an element that other threads may change at the same time.
template <typename T, typename Change>
__device__ inline void atomically(T& place, Change change) {
    if constexpr (sizeof(T) == 1) {
        exchange_byte(place, change);
    } else if constexpr (sizeof(T) == 2) {
        exchange_word<T, unsigned short>(place, change);
    } else if constexpr (sizeof(T) == 4) {
        exchange_word<T, unsigned>(place, change);
    } else if constexpr (sizeof(T) == 8) {
        exchange_word<T, unsigned long long>(place, change);
    } else {
        change_locked(place, change);
    }
}

// Sums of the types that memory itself can add to, and what was there before.
template <typename T>
__device__ inline T add_atomically(T& place, T value) {
    return atomicAdd(&place, value);
}
__device__ inline long long add_atomically(long long& place, long long value) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(&place), static_cast<unsigned long long>(value));
}
