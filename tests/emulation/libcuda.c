// A stand-in for libcuda.so.1: the functions that cuda-python calls, with the rules of the driver's documentation.
//
// Memory is the host's and kernels do nothing; only the calls are checked. A call that a driver would refuse returns
// its error. A call that it would accept, but that is wrong in opdsl, is a violation: it is printed, and
// `standin_violations` counts it. STANDIN_DEVICES, STANDIN_MEMORY (bytes) and STANDIN_POOLS (0 or 1) set the number of
// devices and the rest.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef unsigned long long Address;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_ISOLATION = 905,
};

static const struct {
    Result result;
    const char *name, *text;
} ERRORS[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
};

// ------------------------------------------------------------------------------------------------------------- objects

enum Kind { STREAM = 1, EVENT, MODULE, FUNCTION, GRAPH, NODE, EXECUTABLE, USER_OBJECT, POOL, CONTEXT };

// Object behind a handle; it is never freed, so that use after destruction is detected.
typedef struct Object {
    enum Kind kind;
    int device;
    int destroyed;
    // For a stream: the captured graph, its last node, the mode, the thread that began the capture, and whether it has
    // failed. For a node and an executable: the graph.
    struct Object *graph, *last;
    int mode, failed;
    pthread_t thread;
    // For an event: whether it has been recorded, whether it measures time, and the capture that it is in.
    int recorded, timed;
    struct Object* within;
    // For a graph: its reference count, and the user object that it holds. For a user object: its destructor.
    int references;
    struct Object* held;
    void (*destructor)(void*);
    void* argument;
} Object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread Object* current;
static __thread int mode; // of captures: 0 global, 1 of the thread, 2 relaxed
static Object* contexts[16];
static Object* capturing[64]; // streams
static int violations;
static long launches;
static Result sticky; // an error that all later calls return

static void violation(const char* function, const char* text) {
    __sync_fetch_and_add(&violations, 1);
    fprintf(stderr, "stand-in: %s: %s\n", function, text);
}

static Object* made(enum Kind kind) {
    Object* object = calloc(1, sizeof(Object));
    object->kind = kind;
    object->device = current ? current->device : 0;
    return object;
}

static int is(Object* object, enum Kind kind) { return object && object->kind == kind && !object->destroyed; }

static long setting(const char* name, long otherwise) {
    const char* text = getenv(name);
    return text ? atol(text) : otherwise;
}

#define API(name, ...) __attribute__((visibility("default"))) Result name(__VA_ARGS__)
#define REQUIRE(condition, result)                                                                                     \
    do {                                                                                                               \
        if (!(condition)) return result;                                                                               \
    } while (0)
#define IN_CONTEXT                                                                                                     \
    REQUIRE(!sticky, sticky);                                                                                          \
    REQUIRE(current, INVALID_CONTEXT)

// The legacy default stream is 0; a stream belongs to a context, which has to be the current one.
#define ON_STREAM(stream)                                                                                              \
    IN_CONTEXT;                                                                                                        \
    REQUIRE(!(stream) || is(stream, STREAM), INVALID_HANDLE);                                                          \
    if ((stream) && (stream)->device != current->device) violation(__func__, "a stream of another device")

// ------------------------------------------------------------------------------------------------------------- captures

static int is_captured(Object* stream) { return stream && stream->graph; }

static Result fails(Object* stream, Result result) {
    stream->failed = 1;
    return result;
}

// Fail the captures that an unsafe call breaks: those of this thread, and global ones of all threads.
static Result unsafe(void) {
    Result result = SUCCESS;
    for (int at = 0; at < 64; ++at) {
        Object* stream = capturing[at];
        int mine = stream && pthread_equal(stream->thread, pthread_self());
        if (stream && mode != 2 && ((stream->mode == 0 && mode == 0) || (stream->mode <= 1 && mine))) {
            result = fails(stream, CAPTURE_UNSUPPORTED);
        }
    }
    return result;
}

API(cuThreadExchangeStreamCaptureMode, int* exchanged) {
    REQUIRE(*exchanged >= 0 && *exchanged <= 2, INVALID_VALUE);
    int before = mode;
    mode = *exchanged;
    *exchanged = before;
    return SUCCESS;
}

API(cuStreamBeginCapture_v2, Object* stream, int wanted) {
    ON_STREAM(stream);
    REQUIRE(stream, CAPTURE_UNSUPPORTED);
    REQUIRE(!stream->graph, 1);
    stream->graph = made(GRAPH);
    stream->graph->references = 1;
    stream->mode = wanted;
    stream->failed = 0;
    stream->last = NULL;
    stream->thread = pthread_self();
    for (int at = 0; at < 64; ++at) {
        if (!capturing[at]) {
            capturing[at] = stream;
            return SUCCESS;
        }
    }
    return INVALID_VALUE;
}

API(cuStreamEndCapture, Object* stream, Object** graph) {
    ON_STREAM(stream);
    REQUIRE(is_captured(stream), INVALID_VALUE);
    for (int at = 0; at < 64; ++at) {
        if (capturing[at] == stream) capturing[at] = NULL;
    }
    *graph = stream->failed ? NULL : stream->graph;
    stream->graph = NULL;
    return *graph ? SUCCESS : CAPTURE_INVALIDATED;
}

API(cuStreamGetCaptureInfo_v3, Object* stream, int* status, uint64_t* id, Object** graph, const void*** nodes,
    const void** edges, size_t* count) {
    ON_STREAM(stream);
    *status = !is_captured(stream) ? 0 : stream->failed ? 2 : 1;
    if (id) *id = is_captured(stream) ? (uintptr_t)stream->graph : 0;
    if (graph) *graph = is_captured(stream) ? stream->graph : NULL;
    int has_nodes = is_captured(stream) && stream->last;
    if (nodes) *nodes = has_nodes ? (const void**)&stream->last : NULL;
    static const unsigned char NO_DATA[8]; // data of an edge
    if (edges) *edges = has_nodes ? NO_DATA : NULL;
    if (count) *count = has_nodes;
    return SUCCESS;
}

static void unreferenced(Object* graph) {
    if (__sync_sub_and_fetch(&graph->references, 1) == 0 && graph->held) {
        graph->held->destructor(graph->held->argument);
    }
}

API(cuGraphInstantiateWithFlags, Object** executable, Object* graph, uint64_t flags) {
    IN_CONTEXT;
    REQUIRE(is(graph, GRAPH), INVALID_HANDLE);
    *executable = made(EXECUTABLE);
    (*executable)->graph = graph;
    ++graph->references;
    return SUCCESS;
}

API(cuGraphDestroy, Object* graph) {
    REQUIRE(is(graph, GRAPH), INVALID_HANDLE);
    graph->destroyed = 1;
    unreferenced(graph);
    return SUCCESS;
}

API(cuGraphExecDestroy, Object* executable) {
    REQUIRE(is(executable, EXECUTABLE), INVALID_HANDLE);
    executable->destroyed = 1;
    unreferenced(executable->graph);
    return SUCCESS;
}

API(cuGraphLaunch, Object* executable, Object* stream) {
    ON_STREAM(stream);
    REQUIRE(is(executable, EXECUTABLE), INVALID_HANDLE);
    ++launches;
    return SUCCESS;
}

typedef struct {
    Object* function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra, *kernel, *context;
} KernelNode;

API(cuGraphExecKernelNodeSetParams_v2, Object* executable, Object* node, const KernelNode* given) {
    REQUIRE(is(executable, EXECUTABLE) && is(node, NODE), INVALID_HANDLE);
    REQUIRE(node->graph == executable->graph && !node->graph->destroyed, INVALID_VALUE);
    REQUIRE(is(given->function, FUNCTION) && given->parameters && !given->extra, INVALID_VALUE);
    for (int at = 0; at < 3; ++at) {
        REQUIRE(given->grid[at] && given->block[at], INVALID_VALUE);
    }
    return SUCCESS;
}

API(cuUserObjectCreate, Object** object, void* argument, void (*destructor)(void*), unsigned references, unsigned flags) {
    REQUIRE(destructor && references && flags == 1, INVALID_VALUE);
    *object = made(USER_OBJECT);
    (*object)->destructor = destructor;
    (*object)->argument = argument;
    return SUCCESS;
}

API(cuGraphRetainUserObject, Object* graph, Object* object, unsigned count, unsigned flags) {
    REQUIRE(is(graph, GRAPH) && is(object, USER_OBJECT), INVALID_HANDLE);
    if (flags != 1) violation(__func__, "the caller keeps its reference for ever");
    graph->held = object;
    return SUCCESS;
}

// -------------------------------------------------------------------------------------------------------------- devices

API(cuInit, unsigned flags) { return flags ? INVALID_VALUE : SUCCESS; }

API(cuDriverGetVersion, int* version) {
    *version = 13000;
    return SUCCESS;
}

API(cuDeviceGetCount, int* count) {
    *count = (int)setting("STANDIN_DEVICES", 1);
    return SUCCESS;
}

API(cuDeviceGet, int* device, int index) {
    REQUIRE(index >= 0 && index < setting("STANDIN_DEVICES", 1), 101);
    *device = index;
    return SUCCESS;
}

API(cuDeviceGetName, char* name, int size, int device) {
    snprintf(name, size, "NVIDIA stand-in");
    return SUCCESS;
}

API(cuDeviceTotalMem_v2, size_t* size, int device) {
    *size = setting("STANDIN_MEMORY", 1l << 33);
    return SUCCESS;
}

API(cuDeviceGetAttribute, int* value, int attribute, int device) {
    enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, POOLS = 115 };
    *value = attribute == MAJOR             ? 9
             : attribute == MINOR           ? 0
             : attribute == MULTIPROCESSORS ? 132
             : attribute == POOLS           ? (int)setting("STANDIN_POOLS", 1)
                                            : 1;
    return SUCCESS;
}

API(cuDevicePrimaryCtxRetain, Object** context, int device) {
    pthread_mutex_lock(&lock);
    if (!contexts[device]) {
        contexts[device] = made(CONTEXT);
        contexts[device]->device = device;
    }
    *context = contexts[device];
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

API(cuDevicePrimaryCtxRelease_v2, int device) { return SUCCESS; }

API(cuCtxSetCurrent, Object* context) {
    REQUIRE(!context || is(context, CONTEXT), INVALID_CONTEXT);
    current = context;
    return SUCCESS;
}

API(cuCtxGetCurrent, Object** context) {
    *context = current;
    return SUCCESS;
}

API(cuCtxGetDevice, int* device) {
    IN_CONTEXT;
    *device = current->device;
    return SUCCESS;
}

API(cuCtxSynchronize, void) {
    IN_CONTEXT;
    return unsafe();
}

// --------------------------------------------------------------------------------------------------------------- memory

typedef struct {
    Address begin;
    size_t size;
    int device; // -1: page-locked memory of the host
} Block;

static Block* blocks;
static int block_count;
static size_t in_use;

static Block* block_of(Address address) {
    for (int at = 0; at < block_count; ++at) {
        if (address >= blocks[at].begin && address < blocks[at].begin + blocks[at].size) return &blocks[at];
    }
    return NULL;
}

static Result allocate(Address* address, size_t size, int device) {
    REQUIRE(size, INVALID_VALUE);
    pthread_mutex_lock(&lock);
    Result result = OUT_OF_MEMORY;
    if (device < 0 || in_use + size <= (size_t)setting("STANDIN_MEMORY", 1l << 33)) {
        void* memory = aligned_alloc(512, (size + 511) / 512 * 512);
        memset(memory, 0xA5, size);
        *address = (uintptr_t)memory;
        blocks = realloc(blocks, (block_count + 1) * sizeof(Block));
        blocks[block_count++] = (Block){*address, size, device};
        in_use += device < 0 ? 0 : size;
        result = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static Result release(Address address, int on_device) {
    pthread_mutex_lock(&lock);
    Block* block = block_of(address);
    Result result = INVALID_VALUE;
    if (block && block->begin == address && (block->device >= 0) == on_device) {
        in_use -= on_device ? block->size : 0;
        memset((void*)address, 0xDD, block->size);
        free((void*)address);
        *block = blocks[--block_count];
        result = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

API(cuMemAllocAsync, Address* address, size_t size, Object* stream) {
    ON_STREAM(stream);
    if (!setting("STANDIN_POOLS", 1)) return 801; // not supported
    if (is_captured(stream)) violation(__func__, "memory becomes a node of a graph");
    return allocate(address, size, current->device);
}

API(cuMemFreeAsync, Address address, Object* stream) {
    ON_STREAM(stream);
    if (is_captured(stream)) violation(__func__, "memory is freed by a node of a graph");
    return release(address, 1);
}

API(cuMemAlloc_v2, Address* address, size_t size) {
    IN_CONTEXT;
    REQUIRE(!unsafe(), CAPTURE_UNSUPPORTED);
    return allocate(address, size, current->device);
}

API(cuMemFree_v2, Address address) {
    IN_CONTEXT;
    REQUIRE(!unsafe(), CAPTURE_UNSUPPORTED);
    return release(address, 1);
}

API(cuMemHostAlloc, void** address, size_t size, unsigned flags) {
    IN_CONTEXT;
    REQUIRE(!unsafe(), CAPTURE_UNSUPPORTED);
    return allocate((Address*)address, size, -1);
}

API(cuMemFreeHost, void* address) {
    IN_CONTEXT;
    return release((uintptr_t)address, 0);
}

API(cuMemGetInfo_v2, size_t* available, size_t* total) {
    IN_CONTEXT;
    *total = setting("STANDIN_MEMORY", 1l << 33);
    *available = *total - in_use;
    return SUCCESS;
}

API(cuDeviceGetDefaultMemPool, Object** pool, int device) {
    REQUIRE(setting("STANDIN_POOLS", 1), 801);
    static Object* pools[16];
    pthread_mutex_lock(&lock);
    if (!pools[device]) pools[device] = made(POOL);
    *pool = pools[device];
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

API(cuMemPoolSetAttribute, Object* pool, int attribute, void* value) {
    enum { RELEASE_THRESHOLD = 4 };
    REQUIRE(is(pool, POOL) && attribute == RELEASE_THRESHOLD && value, INVALID_VALUE);
    if (*(uint64_t*)value != UINT64_MAX) violation(__func__, "another release threshold");
    return SUCCESS;
}

API(cuMemPoolTrimTo, Object* pool, size_t kept) { return is(pool, POOL) ? SUCCESS : INVALID_VALUE; }

// Return whether an end of a copy is in bounds of a block, or in host memory that the driver does not know.
static int is_inside(Address address, size_t size) {
    Block* block = block_of(address);
    return !block || address + size <= block->begin + block->size;
}

static Result copied(Address target, Address source, size_t size) {
    REQUIRE(size && target && source, INVALID_VALUE);
    pthread_mutex_lock(&lock);
    int inside = is_inside(target, size) && is_inside(source, size);
    if (inside) memmove((void*)target, (void*)source, size);
    pthread_mutex_unlock(&lock);
    return inside ? SUCCESS : INVALID_VALUE;
}

API(cuMemcpyAsync, Address target, Address source, size_t size, Object* stream) {
    ON_STREAM(stream);
    return copied(target, source, size);
}

API(cuMemcpyPeerAsync, Address target, Object* to, Address source, Object* from, size_t size, Object* stream) {
    ON_STREAM(stream);
    REQUIRE(is(to, CONTEXT) && is(from, CONTEXT), INVALID_CONTEXT);
    return copied(target, source, size);
}

API(cuPointerGetAttribute, void* value, int attribute, Address address) {
    enum { DEVICE_ORDINAL = 9 };
    REQUIRE(attribute == DEVICE_ORDINAL, INVALID_VALUE);
    Block* block = block_of(address);
    REQUIRE(block, INVALID_VALUE);
    *(int*)value = block->device;
    return SUCCESS;
}

// --------------------------------------------------------------------------------------------------- streams and events

API(cuStreamCreateWithPriority, Object** stream, unsigned flags, int priority) {
    IN_CONTEXT;
    if (flags != 1) violation(__func__, "a stream that waits for the default one");
    *stream = made(STREAM);
    return SUCCESS;
}

API(cuStreamDestroy_v2, Object* stream) {
    IN_CONTEXT;
    REQUIRE(is(stream, STREAM), INVALID_HANDLE);
    if (is_captured(stream)) violation(__func__, "a stream dies while it is captured");
    stream->destroyed = 1;
    return SUCCESS;
}

API(cuStreamSynchronize, Object* stream) {
    ON_STREAM(stream);
    return is_captured(stream) ? fails(stream, CAPTURE_UNSUPPORTED) : SUCCESS;
}

API(cuStreamQuery, Object* stream) {
    ON_STREAM(stream);
    return is_captured(stream) ? fails(stream, CAPTURE_UNSUPPORTED) : unsafe();
}

API(cuEventCreate, Object** event, unsigned flags) {
    IN_CONTEXT;
    *event = made(EVENT);
    (*event)->timed = !(flags & 2);
    return SUCCESS;
}

API(cuEventDestroy_v2, Object* event) {
    IN_CONTEXT;
    REQUIRE(is(event, EVENT), INVALID_HANDLE);
    event->destroyed = 1;
    return SUCCESS;
}

API(cuEventRecord, Object* event, Object* stream) {
    ON_STREAM(stream);
    REQUIRE(is(event, EVENT), INVALID_HANDLE);
    REQUIRE(event->device == current->device, INVALID_HANDLE);
    event->recorded = 1;
    event->within = stream ? stream->graph : NULL;
    return SUCCESS;
}

API(cuStreamWaitEvent, Object* stream, Object* event, unsigned flags) {
    ON_STREAM(stream);
    REQUIRE(is(event, EVENT), INVALID_HANDLE);
    if (is_captured(stream) && event->recorded && event->within != stream->graph) {
        return fails(stream, CAPTURE_ISOLATION);
    }
    if (!is_captured(stream) && event->within) {
        violation(__func__, stream ? "a stream joins a capture" : "the default stream joins a capture");
    }
    return SUCCESS;
}

API(cuEventSynchronize, Object* event) {
    IN_CONTEXT;
    REQUIRE(is(event, EVENT), INVALID_HANDLE);
    return event->within ? CAPTURE_UNSUPPORTED : unsafe();
}

API(cuEventQuery, Object* event) {
    IN_CONTEXT;
    REQUIRE(is(event, EVENT), INVALID_HANDLE);
    return event->within ? CAPTURE_UNSUPPORTED : unsafe();
}

API(cuEventElapsedTime_v2, float* milliseconds, Object* start, Object* end) {
    IN_CONTEXT;
    REQUIRE(is(start, EVENT) && is(end, EVENT) && start->timed && end->timed, INVALID_HANDLE);
    *milliseconds = 1.5f;
    return SUCCESS;
}

// -------------------------------------------------------------------------------------------------------------- kernels

API(cuModuleLoadData, Object** module, const void* image) {
    IN_CONTEXT;
    REQUIRE(!memcmp(image, "\177ELF", 4), 209); // no binary for the device
    *module = made(MODULE);
    return SUCCESS;
}

API(cuModuleGetFunction, Object** function, Object* module, const char* name) {
    IN_CONTEXT;
    REQUIRE(is(module, MODULE), INVALID_HANDLE);
    REQUIRE(name && *name, NOT_FOUND);
    *function = made(FUNCTION);
    return SUCCESS;
}

API(cuFuncSetAttribute, Object* function, int attribute, int value) {
    IN_CONTEXT;
    REQUIRE(is(function, FUNCTION), INVALID_HANDLE);
    REQUIRE(attribute == 8 && value > 0 && value <= 227 << 10, INVALID_VALUE);
    return SUCCESS;
}

API(cuLaunchKernel, Object* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, Object* stream, void** parameters, void** extra) {
    ON_STREAM(stream);
    REQUIRE(is(function, FUNCTION), INVALID_HANDLE);
    REQUIRE(function->device == current->device, INVALID_HANDLE);
    REQUIRE(gx && gy && gz && bx && by && bz, INVALID_VALUE);
    REQUIRE(gx <= 0x7FFFFFFF && gy <= 65535 && gz <= 65535, INVALID_VALUE);
    REQUIRE((uint64_t)bx * by * bz <= 1024 && bz <= 64 && shared <= 227 << 10, INVALID_VALUE);
    REQUIRE(parameters && !extra, INVALID_VALUE);
    if (is_captured(stream)) {
        stream->last = made(NODE);
        stream->last->graph = stream->graph;
    }
    ++launches;
    return SUCCESS;
}

// ---------------------------------------------------------------------------------------------------------------- errors

API(cuGetErrorName, Result result, const char** name) {
    for (size_t at = 0; at < sizeof ERRORS / sizeof *ERRORS; ++at) {
        if (ERRORS[at].result == result) {
            *name = ERRORS[at].name;
            return SUCCESS;
        }
    }
    *name = NULL;
    return INVALID_VALUE;
}

API(cuGetErrorString, Result result, const char** text) {
    for (size_t at = 0; at < sizeof ERRORS / sizeof *ERRORS; ++at) {
        if (ERRORS[at].result == result) {
            *text = ERRORS[at].text;
            return SUCCESS;
        }
    }
    *text = NULL;
    return INVALID_VALUE;
}

// NVRTC calls it, and works without its tables.
API(cuGetExportTable, const void** table, const void* id) {
    *table = NULL;
    return NOT_FOUND;
}

// For tests: fail a kernel and all later calls; count violations; count launches.
__attribute__((visibility("default"))) void standin_fail(Result result) { sticky = result; }
__attribute__((visibility("default"))) int standin_violations(void) { return violations; }
__attribute__((visibility("default"))) long standin_launches(void) { return launches; }

// ----------------------------------------------------------------------------------------------------------- entry points

#define ENTRY(name, function) {#name, (void*)function}
#define SAME(name) {#name, (void*)name}

static const struct {
    const char* name;
    void* function;
} FUNCTIONS[] = {
    SAME(cuInit), SAME(cuDriverGetVersion), SAME(cuDeviceGetCount), SAME(cuDeviceGet), SAME(cuDeviceGetName),
    SAME(cuDeviceGetAttribute), SAME(cuDevicePrimaryCtxRetain), SAME(cuCtxSetCurrent), SAME(cuCtxGetCurrent),
    SAME(cuCtxGetDevice), SAME(cuCtxSynchronize), SAME(cuMemAllocAsync), SAME(cuMemFreeAsync), SAME(cuMemHostAlloc),
    SAME(cuMemFreeHost), SAME(cuDeviceGetDefaultMemPool), SAME(cuMemPoolSetAttribute), SAME(cuMemPoolTrimTo),
    SAME(cuMemcpyAsync), SAME(cuMemcpyPeerAsync), SAME(cuPointerGetAttribute), SAME(cuStreamCreateWithPriority),
    SAME(cuStreamSynchronize), SAME(cuStreamQuery), SAME(cuStreamWaitEvent), SAME(cuEventCreate), SAME(cuEventRecord),
    SAME(cuEventSynchronize), SAME(cuEventQuery), SAME(cuModuleLoadData), SAME(cuModuleGetFunction),
    SAME(cuFuncSetAttribute), SAME(cuLaunchKernel), SAME(cuGraphDestroy), SAME(cuGraphExecDestroy), SAME(cuGraphLaunch),
    SAME(cuStreamEndCapture), SAME(cuThreadExchangeStreamCaptureMode), SAME(cuUserObjectCreate),
    SAME(cuGraphRetainUserObject), SAME(cuGraphInstantiateWithFlags), SAME(cuGetExportTable), SAME(cuGetErrorName), SAME(cuGetErrorString),
    ENTRY(cuDeviceTotalMem, cuDeviceTotalMem_v2), ENTRY(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2),
    ENTRY(cuMemAlloc, cuMemAlloc_v2), ENTRY(cuMemFree, cuMemFree_v2), ENTRY(cuMemGetInfo, cuMemGetInfo_v2),
    ENTRY(cuStreamDestroy, cuStreamDestroy_v2), ENTRY(cuEventDestroy, cuEventDestroy_v2),
    ENTRY(cuEventElapsedTime, cuEventElapsedTime_v2), ENTRY(cuStreamBeginCapture, cuStreamBeginCapture_v2),
    ENTRY(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3), ENTRY(cuGraphInstantiate, cuGraphInstantiateWithFlags),
    ENTRY(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2),
};

API(cuGetProcAddress_v2, const char* name, void** function, int version, uint64_t flags, int* status) {
    *function = NULL;
    for (size_t at = 0; at < sizeof FUNCTIONS / sizeof *FUNCTIONS; ++at) {
        if (!strcmp(FUNCTIONS[at].name, name)) *function = FUNCTIONS[at].function;
    }
    if (!*function && !strcmp(name, "cuGetProcAddress")) *function = (void*)cuGetProcAddress_v2;
    if (status) *status = *function ? 0 : 1;
    return *function ? SUCCESS : NOT_FOUND;
}

API(cuGetProcAddress, const char* name, void** function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
