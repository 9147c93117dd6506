// CUDA's built-in variables and functions for kernels compiled by g++. The grid itself is in grid.cpp, or, if RACES is
// defined, in races.cpp.
#pragma once
#include <math.h>
#include <string.h>

#include <type_traits>
#include <utility>

#define __device__
#define __global__
#define __noinline__ static
#define __restrict__
#define __launch_bounds__(...)
#ifdef RACES
#define __shared__ static thread_local
#else
#define __shared__ static
#endif
#define WARP 32

struct Index {
    unsigned x, y, z;
};
extern Index blockIdx, blockDim, threadIdx, gridDim;

inline long long min(long long one, long long other) { return one < other ? one : other; }

namespace emulated {

// A kernel as a function of the addresses of its parameters.
struct Kernel {
    void (*run)(void** parameters);
    const size_t* sizes; // of the parameters, ended by 0
    bool waits; // whether its threads may wait for each other
    void (*touch)(); // makes this host thread allocate the library's thread-local variables, if any
};

#ifdef RACES
static thread_local volatile char touched[4096]; // slack after shared memory, with arbitrary content
static void touch() { touched[0] = 1; }
#else
constexpr void (*touch)() = nullptr;
#endif

template <auto kernel>
struct Entry;
template <typename... Given, void (*kernel)(Given...)>
struct Entry<kernel> {
    static constexpr size_t sizes[] = {sizeof(Given)..., 0};

    template <size_t... at>
    static void call(void** given, std::index_sequence<at...>) {
        kernel(*static_cast<std::remove_const_t<Given>*>(given[at])...);
    }
    static void run(void** given) { call(given, std::index_sequence_for<Given...>()); }
};

// Return the index of this thread in its block.
unsigned place();

} // namespace emulated

static inline unsigned __umulhi(unsigned first, unsigned second) {
    return static_cast<unsigned>(static_cast<unsigned long long>(first) * second >> 32);
}
#ifndef RACES

namespace emulated {

// Wait until all threads of the block that are not done have reached this barrier.
void meet_block();
// Read the value of another lane of the warp; the value stays unchanged if there is no such lane.
void shuffle(void* value, size_t size, long from);

} // namespace emulated

#define __syncthreads() emulated::meet_block()
#define EXCHANGE(mask, value, from) emulated::shuffle(value, sizeof(*value), from)
#define ATOMIC(place)
#define UNSEEN
#define __threadfence()
#define __threadfence_system()

#else

namespace emulated {

// Barriers and shuffles at a line of the source, which all threads, or all lanes of the mask, have to reach.
void meet_block(int site);
void shuffle(unsigned mask, int site, void* value, size_t size, long from);
// Let other threads run before an atomic change, which is visible at once.
void before_atomic(void* place, unsigned size);
// Make all stores of this thread visible to others.
void fence();

} // namespace emulated

#define __syncthreads() emulated::meet_block(__LINE__)
#define EXCHANGE(mask, value, from) emulated::shuffle(mask, __LINE__, value, sizeof(*value), from)
#define ATOMIC(place) emulated::before_atomic(place, sizeof(*place))
#define UNSEEN __attribute__((no_sanitize_thread))
#define __threadfence() emulated::fence()
#define __threadfence_system() emulated::fence()

#endif

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
    EXCHANGE(mask, &value, emulated::place() % WARP + static_cast<long>(delta));
    return value;
}
template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta) {
    EXCHANGE(mask, &value, emulated::place() % WARP - static_cast<long>(delta));
    return value;
}
template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int lane) {
    EXCHANGE(mask, &value, lane);
    return value;
}
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lanes) {
    EXCHANGE(mask, &value, (emulated::place() % WARP) ^ static_cast<unsigned>(lanes));
    return value;
}

// No other thread runs during these functions, so that a plain change is an atomic one.
template <typename T>
UNSEEN static inline T atomicCAS(T* place, T expected, T value) {
    ATOMIC(place);
    const T found = *place;
    *place = found == expected ? value : found;
    return found;
}
template <typename T>
UNSEEN static inline T atomicExch(T* place, T value) {
    ATOMIC(place);
    const T found = *place;
    *place = value;
    return found;
}
template <typename T>
UNSEEN static inline T atomicAdd(T* place, T value) {
    ATOMIC(place);
    const T found = *place;
    *place = found + value;
    return found;
}
