// A grid that runs one block after another.
//
// Each thread of a block is a fiber. It yields to the next one when it has to wait for others, and a round over all
// fibers in which none makes progress is a deadlock, which ends the process with a message.
#include "grid.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <vector>

Index blockIdx, blockDim, threadIdx, gridDim;

namespace emulated {

struct Fiber {
    jmp_buf place;
    ucontext_t context;
    char* stack;
    bool begun, done;
    unsigned long barriers; // number of barriers of the block that it has reached
    unsigned long meetings; // number of shuffles of its warp that it has reached
};

static constexpr size_t STACK = 1 << 16;
static std::vector<Fiber> fibers;
static std::vector<char*> stacks;
static unsigned current;
static unsigned long progress;
static jmp_buf scheduler;
static const Kernel* kernel;
static void** parameters;

unsigned place() { return current; }

static void begin() {
    kernel->run(parameters);
    fibers[current].done = true;
    ++progress;
    _longjmp(scheduler, 1);
}

static void give_way() {
    if (!_setjmp(fibers[current].place)) {
        _longjmp(scheduler, 1);
    }
}

static void become(unsigned at) {
    current = at;
    threadIdx = {at % blockDim.x, at / blockDim.x % blockDim.y, at / blockDim.x / blockDim.y};
}

static void resume(unsigned at) {
    Fiber& fiber = fibers[at];
    become(at);
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

// Run a block of threads none of which waits for another.
static void run_alone(unsigned threads) {
    for (unsigned at = 0; at < threads; ++at) {
        become(at);
        kernel->run(parameters);
    }
}

// Run a block of threads to its end.
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

// Wait until all threads of a range that are not done have reached the same count.
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

void meet_block() { meet(&Fiber::barriers, 0, fibers.size()); }

static unsigned long long exchanged[1024 / WARP][2][WARP];

void shuffle(void* value, size_t size, long from) {
    const unsigned warp = current / WARP, lane = current % WARP, first = warp * WARP;
    // Two alternating sets of slots: a lane may store its next value before all have read the last one.
    auto& slots = exchanged[warp][fibers[current].meetings % 2];
    memcpy(&slots[lane], value, size);
    meet(&Fiber::meetings, first, first + WARP);
    if (from >= 0 && from < WARP && first + from < fibers.size()) {
        memcpy(value, &slots[from], size);
    }
}

} // namespace emulated

// Run a kernel to its end.
extern "C" void emulated_launch(
    const emulated::Kernel* kernel, const unsigned* grid, const unsigned* block, void** parameters) {
    emulated::kernel = kernel;
    emulated::parameters = parameters;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    const unsigned threads = block[0] * block[1] * block[2];
    for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z) {
        for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y) {
            for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
                (kernel->waits ? emulated::run_together : emulated::run_alone)(threads);
            }
        }
    }
}

// Copy the parameters of a launch into one block of memory: addresses first, then the values.
extern "C" void** emulated_hold(const emulated::Kernel* kernel, void** parameters) {
    constexpr size_t alignment = 16;
    size_t count = 0, size = 0;
    for (; kernel->sizes[count]; ++count) {
        size += (kernel->sizes[count] + alignment - 1) / alignment * alignment;
    }
    const size_t addresses = (count * sizeof(void*) / alignment + 1) * alignment;
    void** held = static_cast<void**>(aligned_alloc(alignment, addresses + size));
    char* at = reinterpret_cast<char*>(held) + addresses;
    for (size_t k = 0; k < count; ++k) {
        memcpy(held[k] = at, parameters[k], kernel->sizes[k]);
        at += (kernel->sizes[k] + alignment - 1) / alignment * alignment;
    }
    return held;
}

extern "C" void emulated_release(void** held) { free(held); }
