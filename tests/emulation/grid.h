// What CUDA C++ finds on a GPU, for g++: built-in variables and functions. The grid itself is in grid.cpp.
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
#define __shared__ static
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
    const size_t* sizes; // of the parameters, and 0
    bool waits; // whether its threads may wait for each other
};

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

// Wait until all threads of the block that are not done have come as far.
void meet_block();
// The place of this thread in its block.
unsigned place();
// Take what another lane of the warp has handed in; the value stays where there is no such lane.
void shuffle(void* value, size_t size, long from);

template <typename T>
T shuffled(T value, long from) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a shuffle moves up to 64 bits");
    shuffle(&value, sizeof(T), from);
    return value;
}

} // namespace emulated

static inline unsigned __umulhi(unsigned first, unsigned second) {
    return static_cast<unsigned>(static_cast<unsigned long long>(first) * second >> 32);
}
static inline void __syncthreads() { emulated::meet_block(); }
template <typename T>
static inline T __shfl_down_sync(unsigned, T value, unsigned delta) {
    return emulated::shuffled(value, emulated::place() % WARP + static_cast<long>(delta));
}
template <typename T>
static inline T __shfl_up_sync(unsigned, T value, unsigned delta) {
    return emulated::shuffled(value, emulated::place() % WARP - static_cast<long>(delta));
}
template <typename T>
static inline T __shfl_sync(unsigned, T value, int lane) {
    return emulated::shuffled(value, lane);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated::shuffled(value, (emulated::place() % WARP) ^ static_cast<unsigned>(mask));
}

// Threads give way only where they wait, so that a plain change is an atomic one.
template <typename T>
static inline T atomicCAS(T* place, T expected, T value) {
    const T found = *place;
    *place = found == expected ? value : found;
    return found;
}
template <typename T>
static inline T atomicExch(T* place, T value) {
    return std::exchange(*place, value);
}
template <typename T>
static inline T atomicAdd(T* place, T value) {
    return std::exchange(*place, *place + value);
}
static inline void __threadfence() {}
