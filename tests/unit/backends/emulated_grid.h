// What CUDA C++ finds on a GPU, for g++: built-in variables and functions, and a grid that runs one block after another.
//
// Each thread of a block is a fiber. It gives way to the next one where it has to wait for others, and a round over all
// fibers that brings none of them forward is a deadlock, which ends the process with a message.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <type_traits>
#include <utility>
#include <vector>

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
static Index blockIdx, blockDim, threadIdx, gridDim;

namespace emulated {

struct Fiber {
    jmp_buf place;
    ucontext_t context;
    char* stack;
    bool begun, done;
    unsigned long barriers; // that it has come to, of the block
    unsigned long meetings; // that it has come to, of its warp
};

static constexpr size_t STACK = 1 << 16;
static std::vector<Fiber> fibers;
static std::vector<char*> stacks;
static std::vector<char> dynamic;
static unsigned current;
static unsigned long progress;
static jmp_buf scheduler;
static void (*body)(void*);
static void* argument;

static void begin() {
    body(argument);
    fibers[current].done = true;
    ++progress;
    _longjmp(scheduler, 1);
}

static void give_way() {
    if (!_setjmp(fibers[current].place)) {
        _longjmp(scheduler, 1);
    }
}

static void resume(unsigned at) {
    Fiber& fiber = fibers[current = at];
    threadIdx.x = at % blockDim.x;
    threadIdx.y = at / blockDim.x % blockDim.y;
    threadIdx.z = at / blockDim.x / blockDim.y;
    if (_setjmp(scheduler)) {
        return;
    }
    if (fiber.begun) {
        _longjmp(fiber.place, 1);
    }
    fiber.begun = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, begin, 0);
    setcontext(&fiber.context);
}

// A block of threads none of which waits for another.
static void run_alone(unsigned threads) {
    for (unsigned at = 0; at < threads; ++at) {
        threadIdx.x = at % blockDim.x;
        threadIdx.y = at / blockDim.x % blockDim.y;
        threadIdx.z = at / blockDim.x / blockDim.y;
        body(argument);
    }
}

// A block of threads, from beginning to end.
static void run_together(unsigned threads) {
    while (stacks.size() < threads) {
        stacks.push_back(static_cast<char*>(malloc(STACK)));
    }
    fibers.assign(threads, Fiber());
    for (unsigned at = 0; at < threads; ++at) {
        fibers[at].stack = stacks[at];
    }
    for (bool running = true; running;) {
        const unsigned long before = progress;
        running = false;
        for (unsigned at = 0; at < threads; ++at) {
            if (!fibers[at].done) {
                running = true;
                resume(at);
            }
        }
        if (running && progress == before) {
            fprintf(stderr, "emulation: threads of a block wait for each other\n");
            abort();
        }
    }
}

// Wait until all threads of a range have come as far; threads that are done are not waited for.
static void meet(unsigned long Fiber::* count, unsigned first, unsigned last) {
    const unsigned long mine = ++(fibers[current].*count);
    ++progress;
    for (unsigned at = first; at < last;) {
        if (at < fibers.size() && !fibers[at].done && fibers[at].*count < mine) {
            give_way();
        } else {
            ++at;
        }
    }
}

static unsigned long long exchanged[1024 / WARP][2][WARP];

// What another lane of the warp has handed in, or the own value where there is none.
template <typename T>
static T shuffle(T value, long from) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a shuffle moves up to 64 bits");
    const unsigned warp = current / WARP, lane = current % WARP, first = warp * WARP;
    // Two sets of slots in turn: a lane may hand in its next value before all have read the last one.
    auto& slots = exchanged[warp][fibers[current].meetings % 2];
    memcpy(&slots[lane], &value, sizeof(T));
    meet(&Fiber::meetings, first, first + WARP);
    T found = value;
    if (from >= 0 && from < WARP && first + from < fibers.size()) {
        memcpy(&found, &slots[from], sizeof(T));
    }
    return found;
}

template <typename... Given>
struct Call {
    void (*kernel)(Given...);
    void** given;

    template <size_t... at>
    void run(std::index_sequence<at...>) const {
        kernel(*static_cast<std::remove_const_t<Given>*>(given[at])...);
    }
    static void start(void* call) { static_cast<Call*>(call)->run(std::index_sequence_for<Given...>()); }
};

template <typename... Given>
static void launch(
    void (*kernel)(Given...), const unsigned* grid, const unsigned* block, size_t shared, bool together, void** given) {
    Call<Given...> call{kernel, given};
    body = Call<Given...>::start;
    argument = &call;
    dynamic.assign(shared + 1, 0);
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z) {
        for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y) {
            for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
                (together ? run_together : run_alone)(block[0] * block[1] * block[2]);
            }
        }
    }
}

} // namespace emulated

static inline unsigned __umulhi(unsigned first, unsigned second) {
    return static_cast<unsigned>(static_cast<unsigned long long>(first) * second >> 32);
}
static inline void __syncthreads() { emulated::meet(&emulated::Fiber::barriers, 0, emulated::fibers.size()); }
template <typename T>
static inline T __shfl_down_sync(unsigned, T value, unsigned delta) {
    return emulated::shuffle(value, emulated::current % WARP + static_cast<long>(delta));
}
template <typename T>
static inline T __shfl_up_sync(unsigned, T value, unsigned delta) {
    return emulated::shuffle(value, emulated::current % WARP - static_cast<long>(delta));
}
template <typename T>
static inline T __shfl_sync(unsigned, T value, int lane) {
    return emulated::shuffle(value, lane);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated::shuffle(value, (emulated::current % WARP) ^ static_cast<unsigned>(mask));
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
