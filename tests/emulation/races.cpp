// A grid that detects data races: at any access to memory another block or thread, chosen at random, may run.
//
// Kernels are compiled with -fsanitize=thread, whose hooks at each load and store are defined here. A thread is a
// fiber of its block, a block is a thread of the host with thread-local variables for its shared memory, and only one
// runs at a time. A store stays invisible to other threads until a fence, a barrier or a random choice, so that a
// missing fence is detected. Rules of barriers and shuffles are checked, and that every access is aligned and in
// bounds of an operand.
#include "grid.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

Index blockIdx, blockDim, threadIdx, gridDim;

namespace emulated {
namespace {

using Random = std::mt19937;

// A store that others do not see yet: the value for them or for its own thread, whichever does not run.
struct Store {
    char* place;
    unsigned size;
    unsigned char other[16];
};

enum State { READY, AT_BARRIER, AT_SHUFFLE, DONE };

struct Fiber {
    jmp_buf place;
    ucontext_t context;
    bool begun;
    State state;
    int site; // line of the barrier or shuffle that it waits at
    unsigned mask;
    unsigned long barriers, meetings; // numbers of barriers and shuffles that it has reached
    std::vector<Store> stores;
};

struct Range {
    char *begin, *end;
};

struct Block {
    Index index;
    std::vector<Fiber> fibers;
    std::vector<unsigned> order;
    char* stacks;
    Range shared;
    unsigned current;
    unsigned live, arrived; // numbers of threads that are not done, and of those at the barrier
    unsigned long passed; // number of barriers
    jmp_buf scheduler;
    unsigned long long exchanged[1024 / WARP][2][WARP];
    bool done;
};

constexpr size_t STACK = 1 << 16;

// State of the launch. Only the block that has the baton reads or writes it.
std::string problem;
Random generator;
unsigned often, hidden; // how often threads yield, and how many of 8 stores are delayed
const Kernel* kernel;
void** parameters;
Range arena;
std::vector<Range> operands;
std::vector<Block*> blocks;
Block* running; // has the baton
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turned = PTHREAD_COND_INITIALIZER;

unsigned drawn(unsigned below) { return generator() % below; }

void fault(const std::string& text) {
    if (problem.empty()) {
        problem = text + " (block " + std::to_string(running->index.x) + ", thread " + std::to_string(running->current) + ")";
    }
}

bool within(const Range& range, const char* place) { return place >= range.begin && place < range.end; }

// -------------------------------------------------------------------------------------------------------------- stores

// Exchange the values that others see with those that the thread sees.
void exchange(Fiber& fiber) {
    for (Store& store : fiber.stores) {
        unsigned char kept[16];
        memcpy(kept, store.place, store.size);
        memcpy(store.place, store.other, store.size);
        memcpy(store.other, kept, store.size);
    }
}

void publish(Fiber& fiber) { fiber.stores.clear(); }

void publish(Fiber& fiber, const char* place, unsigned size) {
    for (size_t at = 0; at < fiber.stores.size();) {
        const Store& store = fiber.stores[at];
        if (store.place < place + size && place < store.place + store.size) {
            fiber.stores.erase(fiber.stores.begin() + at);
        } else {
            ++at;
        }
    }
}

// Make stores of a thread that does not run visible.
void arrive(Fiber& fiber) {
    for (const Store& store : fiber.stores) {
        memcpy(store.place, store.other, store.size);
    }
    fiber.stores.clear();
}

// ---------------------------------------------------------------------------------------------------------- scheduling

void become(unsigned at) {
    running->current = at;
    threadIdx = {at % blockDim.x, at / blockDim.x % blockDim.y, at / blockDim.x / blockDim.y};
}

void begin() {
    kernel->run(parameters);
    Fiber& fiber = running->fibers[running->current];
    fiber.state = DONE; // its stores may become visible later
    --running->live;
    if (running->arrived) {
        fault("a thread ends while others wait at a barrier");
    }
    _longjmp(running->scheduler, 1);
}

// Return to the scheduler of the block, which runs another thread.
void give_way() {
    if (!_setjmp(running->fibers[running->current].place)) {
        _longjmp(running->scheduler, 1);
    }
}

void resume(unsigned at) {
    Fiber& fiber = running->fibers[at];
    become(at);
    exchange(fiber);
    if (!_setjmp(running->scheduler)) {
        if (fiber.begun) {
            _longjmp(fiber.place, 1);
        }
        fiber.begun = true;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = running->stacks + at * STACK;
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, begin, 0);
        setcontext(&fiber.context);
    }
    for (size_t k = fiber.stores.size(); k-- > 0;) { // some stores become visible, in any order
        if (drawn(4) == 0) {
            fiber.stores.erase(fiber.stores.begin() + k);
        }
    }
    exchange(fiber);
}

// Return whether a thread that waits for others may continue.
bool may_run(const Fiber& fiber, unsigned at) {
    if (fiber.state == AT_BARRIER) {
        return fiber.barriers <= running->passed;
    }
    if (fiber.state == AT_SHUFFLE) {
        const unsigned first = at / WARP * WARP;
        for (unsigned lane = 0; lane < WARP && first + lane < running->fibers.size(); ++lane) {
            const Fiber& other = running->fibers[first + lane];
            if (fiber.mask >> lane & 1 && other.meetings < fiber.meetings) {
                return false;
            }
        }
        return true;
    }
    return fiber.state == READY;
}

// Run a thread that may run until it yields; return false if there is no such thread.
bool turn() {
    const size_t count = running->fibers.size();
    // Threads keep a random order for a while: a thread far ahead of others reveals more races than equal progress.
    Fiber& other = running->fibers[drawn(count)];
    if (other.state == DONE) {
        arrive(other);
    }
    const size_t first = drawn(3) ? 0 : drawn(count);
    for (size_t k = 0; k < count; ++k) {
        const unsigned at = running->order[(first + k) % count];
        if (may_run(running->fibers[at], at)) {
            running->fibers[at].state = READY;
            resume(at);
            if (drawn(4) == 0) { // so that threads that wait for a lock let others run first at some time
                std::swap(running->order[(first + k) % count], running->order[drawn(count)]);
            }
            return true;
        }
    }
    return false;
}

// ------------------------------------------------------------------------------------------------------------- blocks

Block* next() {
    std::vector<Block*> left;
    for (Block* block : blocks) {
        if (!block->done) {
            left.push_back(block);
        }
    }
    return left.empty() ? nullptr : left[drawn(left.size())];
}

void pass_on() {
    running = next();
    if (running) {
        blockIdx = running->index;
    }
    pthread_cond_broadcast(&turned);
}

// Find the thread-local variables of the kernel's library in this thread of the host.
int find_shared(dl_phdr_info* info, size_t, void* library) {
    const char* place = static_cast<const char*>(library);
    bool is_here = false;
    size_t size = 0;
    for (int at = 0; at < info->dlpi_phnum; ++at) {
        const auto& part = info->dlpi_phdr[at];
        const char* start = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
        is_here = is_here || (part.p_type == PT_LOAD && place >= start && place < start + part.p_memsz);
        size = part.p_type == PT_TLS ? part.p_memsz : size;
    }
    if (is_here && size && info->dlpi_tls_data) {
        char* data = static_cast<char*>(info->dlpi_tls_data);
        running->shared = {data, data + size};
    }
    return is_here;
}

void* run_block(void* given) {
    Block* own = static_cast<Block*>(given);
    kernel->touch();
    pthread_mutex_lock(&mutex);
    while (running != own) {
        pthread_cond_wait(&turned, &mutex);
    }
    dl_iterate_phdr(find_shared, const_cast<Kernel*>(kernel));
    for (char* at = own->shared.begin; at < own->shared.end; ++at) {
        *at = static_cast<char>(drawn(256)); // shared memory has arbitrary content at first
    }
    while (own->live && problem.empty()) {
        if (!turn()) {
            fault("threads of a block wait for each other");
        }
        if (blocks.size() > 1 && drawn(8) == 0) {
            pass_on();
            while (running != own) {
                pthread_cond_wait(&turned, &mutex);
            }
        }
    }
    for (Fiber& fiber : own->fibers) {
        arrive(fiber);
    }
    own->done = true;
    pass_on();
    pthread_mutex_unlock(&mutex);
    return nullptr;
}

void run_blocks(const std::vector<Index>& indices) {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    for (const Index& index : indices) {
        Block* block = new Block();
        block->index = index;
        block->fibers.resize(threads);
        block->live = threads;
        block->stacks = static_cast<char*>(malloc(threads * STACK));
        for (unsigned at = 0; at < threads; ++at) {
            block->order.push_back(at);
        }
        std::shuffle(block->order.begin(), block->order.end(), generator);
        blocks.push_back(block);
    }
    pass_on();
    std::vector<pthread_t> hosts(blocks.size());
    for (size_t at = 0; at < blocks.size(); ++at) {
        pthread_create(&hosts[at], nullptr, run_block, blocks[at]);
    }
    for (size_t at = 0; at < blocks.size(); ++at) {
        pthread_join(hosts[at], nullptr);
        free(blocks[at]->stacks);
        delete blocks[at];
    }
    blocks.clear();
}

// ------------------------------------------------------------------------------------------------------------- accesses

void access(void* address, unsigned size, bool writes, bool aligned) {
    char* place = static_cast<char*>(address);
    const bool global = within(arena, place);
    if (!global && !within(running->shared, place)) {
        return; // registers and parameters
    }
    if (aligned && reinterpret_cast<uintptr_t>(place) % size) {
        fault("an access of " + std::to_string(size) + " bytes is not aligned");
    }
    bool inside = !global;
    for (const Range& operand : operands) {
        inside = inside || (place >= operand.begin && place + size <= operand.end);
    }
    if (!inside) {
        fault(std::string("out of bounds: ") + (writes ? "a store" : "a load"));
    }
    if (drawn(often) == 0 || !problem.empty()) {
        give_way(); // forever after a fault
    }
    if (writes && size <= 16) {
        Fiber& fiber = running->fibers[running->current];
        publish(fiber, place, size);
        if (drawn(8) < hidden) {
            Store store = {place, size, {}};
            memcpy(store.other, place, size);
            fiber.stores.push_back(store);
        }
    }
}

} // namespace

// --------------------------------------------------------------------------------------------- barriers, shuffles, atomics

unsigned place() { return running->current; }

void meet_block(int site) {
    Fiber& fiber = running->fibers[running->current];
    publish(fiber);
    fiber.state = AT_BARRIER;
    fiber.site = site;
    ++fiber.barriers;
    ++running->arrived;
    for (const Fiber& other : running->fibers) {
        if (other.state == AT_BARRIER && other.barriers == fiber.barriers && other.site != site) {
            fault("threads of a block wait at different barriers");
        }
        if (other.state == DONE) {
            fault("a thread has ended that a barrier waits for");
        }
    }
    if (running->arrived == running->fibers.size()) {
        running->arrived = 0;
        ++running->passed;
    }
    give_way();
}

void shuffle(unsigned mask, int site, void* value, size_t size, long from) {
    const unsigned warp = running->current / WARP, lane = running->current % WARP, first = warp * WARP;
    Fiber& fiber = running->fibers[running->current];
    if (!(mask >> lane & 1)) {
        fault("a lane is not in the mask of its shuffle");
    }
    if (from >= 0 && from < WARP && !(mask >> from & 1)) {
        fault("a shuffle reads from a lane that is not in its mask");
    }
    auto& slots = running->exchanged[warp][fiber.meetings % 2];
    memcpy(&slots[lane], value, size);
    ++fiber.meetings;
    fiber.state = AT_SHUFFLE;
    fiber.site = site;
    fiber.mask = mask;
    for (unsigned at = first; at < first + WARP && at < running->fibers.size(); ++at) {
        const Fiber& other = running->fibers[at];
        if (mask >> (at - first) & 1) {
            if (other.state == DONE) {
                fault("a lane has ended that a shuffle waits for");
            }
            if (other.meetings == fiber.meetings && (other.site != site || other.mask != mask)) {
                fault("lanes of a warp meet at different shuffles");
            }
        }
    }
    give_way();
    if (from >= 0 && from < WARP && first + from < running->fibers.size()) {
        memcpy(value, &slots[from], size);
    }
}

void before_atomic(void* place, unsigned size) {
    access(place, size, false, true);
    if (drawn(2) == 0 || !problem.empty()) { // locks are in no operand
        give_way();
    }
    publish(running->fibers[running->current], static_cast<char*>(place), size);
}

void fence() { publish(running->fibers[running->current]); }

} // namespace emulated

// Run a kernel in a random order. Return a description of the fault, or an empty text.
extern "C" __attribute__((visibility("default"))) const char* emulated_race(
    const emulated::Kernel* kernel, const unsigned* grid, const unsigned* block, void** parameters, unsigned seed,
    char* begin, size_t size, char** operands, size_t count) {
    using namespace emulated;
    emulated::kernel = kernel;
    emulated::parameters = parameters;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    generator.seed(seed);
    problem.clear();
    arena = {begin, begin + size};
    emulated::operands.clear();
    for (size_t at = 0; at < count; ++at) {
        emulated::operands.push_back({operands[2 * at], operands[2 * at + 1]});
    }
    const unsigned OFTEN[] = {2, 8, 64, 1024};
    often = OFTEN[drawn(4)];
    hidden = drawn(9);
    std::vector<Index> indices;
    for (unsigned z = 0; z < grid[2]; ++z) {
        for (unsigned y = 0; y < grid[1]; ++y) {
            for (unsigned x = 0; x < grid[0]; ++x) {
                indices.push_back({x, y, z});
            }
        }
    }
    std::shuffle(indices.begin(), indices.end(), generator);
    constexpr size_t TOGETHER = 8; // blocks that are on the device at a time
    for (size_t at = 0; at < indices.size() && problem.empty(); at += TOGETHER) {
        run_blocks({indices.begin() + at, indices.begin() + std::min(at + TOGETHER, indices.size())});
    }
    return problem.c_str();
}

// Hooks that g++ calls at each access.
#define ACCESSES(size)                                                                                                 \
    extern "C" void __tsan_read##size(void* place) { emulated::access(place, size, false, true); }                     \
    extern "C" void __tsan_write##size(void* place) { emulated::access(place, size, true, true); }                     \
    extern "C" void __tsan_unaligned_read##size(void* place) { emulated::access(place, size, false, false); }          \
    extern "C" void __tsan_unaligned_write##size(void* place) { emulated::access(place, size, true, false); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
extern "C" void __tsan_read_range(void* place, size_t size) { emulated::access(place, size, false, false); }
extern "C" void __tsan_write_range(void* place, size_t size) { emulated::access(place, size, true, false); }
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}
extern "C" void __tsan_vptr_update(void*, void*) {}
extern "C" void __tsan_vptr_read(void*) {}
