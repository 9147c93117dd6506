"""Wrapper of the CUDA driver, and the only module that calls it. Streams, events, modules and memory are integers here.

``driver()`` loads the driver on first use, and raises the error if the machine has no driver, GPU or cuda-python. The
other modules of this package call only the methods of ``Driver``, so that tests can replace it by a recording one
(``use``).

Work that is started here is asynchronous: a fault of a kernel is reported by whatever call comes next.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from opdsl.backends.cuda.lifetime import Lifetime
from opdsl.errors import DeviceError, DriverError, MissingDependencyError, OutOfMemoryError

__all__ = ["Driver", "Lifetime", "Properties", "driver", "installed", "use"]

# File names of the driver's library: on Linux and in WSL, on Windows.
_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
_NEWEST_STATIC_SHARED_MEMORY = 48 << 10
_UNLIMITED = (1 << 64) - 1


class Properties(NamedTuple):
    """Properties of a CUDA device.

    name: name of the product.
    capability: compute capability, ``(9, 0)``.
    total_memory: memory in bytes.
    multiprocessors: number of multiprocessors.
    """

    name: str
    capability: tuple[int, int]
    total_memory: int
    multiprocessors: int

    @property
    def architecture(self) -> str:
        """Return the architecture that kernels are compiled for, ``"sm_90"``."""
        return "sm_{}{}".format(*self.capability)


class Entries(NamedTuple):
    """Addresses of driver functions that machine code calls.

    launch: ``cuLaunchKernel``.
    context: ``cuCtxGetCurrent``.
    library: the loaded library, which has to stay alive.
    """

    launch: int
    context: int
    library: object


class Driver:
    """Functions of the CUDA driver, for all devices. Call ``driver()`` to get the instance.

    Every method that concerns a device expects that device to be current on the thread: see ``activate``.
    """

    def __init__(self) -> None:
        self._api: Any = _bindings()
        self._thread = threading.local()
        status = self._api.cuInit(0)[0]
        if status != self._api.CUresult.CUDA_SUCCESS:
            raise DeviceError(
                f"device 'cuda': the driver found no GPU that can be used ({self._text(status)}). Look at nvidia-smi "
                "and CUDA_VISIBLE_DEVICES, or use device='cpu'."
            )
        self.device_count: int = self._call("cuDeviceGetCount")
        self._devices = [self._call("cuDeviceGet", index) for index in range(self.device_count)]
        # Virtual and some embedded GPUs have no memory pools: memory is allocated and freed synchronously then.
        self.has_pools = all(self._attribute("MEMORY_POOLS_SUPPORTED", device) for device in self._devices)
        self._contexts: dict[int, Any] = {}
        self._graphs: dict[int, Any] = {}
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------------------------------- devices

    def activate(self, index: int) -> None:
        """Make a device's primary context, which torch and cupy use too, the current context of this thread."""
        # With one device no other context becomes current, so that activating once per thread is enough.
        if self.device_count == 1 and getattr(self._thread, "is_active", False):
            return
        context = self._contexts.get(index)
        if context is None:
            with self._lock:
                context = self._contexts.get(index)
                if context is None:
                    context = self._call("cuDevicePrimaryCtxRetain", self._devices[index])
                    self._keep_pool(index)
                    self._contexts[index] = context
        self._call("cuCtxSetCurrent", context)
        self._thread.is_active = True

    def context(self, index: int) -> int:
        """Return the primary context of a device that ``activate`` has been called for."""
        return int(self._contexts[index])

    def properties(self, index: int) -> Properties:
        """Query the properties of a device."""
        device = self._devices[index]
        major, minor, multiprocessors = (
            self._attribute(name, device)
            for name in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT")
        )
        name = self._call("cuDeviceGetName", 256, device).split(b"\0")[0].decode()
        return Properties(name, (major, minor), self._call("cuDeviceTotalMem", device), multiprocessors)

    def _attribute(self, name: str, device: Any) -> int:
        attribute = getattr(self._api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", attribute, device))

    def _keep_pool(self, index: int) -> None:
        """Make the driver's memory pool keep freed memory until ``trim``, instead of releasing it at each
        synchronization.
        """
        if self.has_pools:
            pool = self._call("cuDeviceGetDefaultMemPool", self._devices[index])
            threshold = self._api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
            self._call("cuMemPoolSetAttribute", pool, threshold, self._api.cuuint64_t(_UNLIMITED))

    def memory_info(self) -> tuple[int, int]:
        """Return the free and the total bytes of the current device."""
        free, total = self._call("cuMemGetInfo")
        return free, total

    # -------------------------------------------------------------------------------------------------------- memory

    def allocate(self, size: int, stream: int) -> int:
        """Allocate device memory that may be used on a stream at once, and return its address.

        Raises:
            OutOfMemoryError: the device has not enough free memory.
        """
        return int(self._call("cuMemAllocAsync", size, stream) if self.has_pools else self._call("cuMemAlloc", size))

    def free(self, address: int, stream: int) -> None:
        """Free device memory once a stream has done the work that is queued on it."""
        if self.has_pools:
            self._call("cuMemFreeAsync", address, stream)
        else:
            self.synchronize_stream(stream)
            self._call("cuMemFree", address)

    def trim(self, index: int) -> None:
        """Release the freed memory that the driver's pool of a device still caches, so that other users of the device
        can have it.
        """
        if self.has_pools:
            self._call("cuMemPoolTrimTo", self._call("cuDeviceGetDefaultMemPool", self._devices[index]), 0)

    def allocate_host(self, size: int) -> int:
        """Allocate page-locked host memory, which every device can read and write, and return its address."""
        return int(self._call("cuMemHostAlloc", size, self._api.CU_MEMHOSTALLOC_PORTABLE))

    def free_host(self, address: int) -> None:
        """Free page-locked host memory at once."""
        self._call("cuMemFreeHost", address)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Queue a copy within a device, or between the device and the host."""
        self._call("cuMemcpyAsync", target, source, size, stream)

    def copy_peer(
        self, target: int, target_device: int, source: int, source_device: int, size: int, stream: int
    ) -> None:
        """Queue a copy from one device to another, on a stream of the current device."""
        contexts = self._contexts
        self._call("cuMemcpyPeerAsync", target, contexts[target_device], source, contexts[source_device], size, stream)

    def device_of(self, address: int) -> int:
        """Return the index of the device that an address belongs to."""
        attribute = self._api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._call("cuPointerGetAttribute", attribute, address))

    # -------------------------------------------------------------------------------------------- streams and events

    def create_stream(self, priority: int = 0) -> int:
        """Create a stream that does not wait for the default stream, and return its handle."""
        flag = self._api.CUstream_flags.CU_STREAM_NON_BLOCKING
        return int(self._call("cuStreamCreateWithPriority", int(flag), priority))

    def destroy_stream(self, stream: int) -> None:
        """Destroy a stream; the driver frees it once its work is done."""
        self._call("cuStreamDestroy", stream)

    def synchronize_stream(self, stream: int) -> None:
        """Wait until all work queued on a stream is done."""
        self._call("cuStreamSynchronize", stream)

    def is_stream_done(self, stream: int) -> bool:
        """Return whether all work queued on a stream is done."""
        return self._is_ready("cuStreamQuery", stream)

    def synchronize(self) -> None:
        """Wait until all work queued on the current device is done."""
        self._call("cuCtxSynchronize")

    def create_event(self, *, timing: bool) -> int:
        """Create an event, with or without timing, and return its handle."""
        flags = self._api.CUevent_flags
        return int(
            self._call("cuEventCreate", int(flags.CU_EVENT_DEFAULT if timing else flags.CU_EVENT_DISABLE_TIMING))
        )

    def destroy_event(self, event: int) -> None:
        """Destroy an event."""
        self._call("cuEventDestroy", event)

    def record_event(self, event: int, stream: int) -> None:
        """Record an event after the work that is queued on a stream."""
        self._call("cuEventRecord", event, stream)

    def wait_event(self, stream: int, event: int) -> None:
        """Make work that is queued on a stream from now on wait for an event, as last recorded."""
        self._call("cuStreamWaitEvent", stream, event, 0)

    def synchronize_event(self, event: int) -> None:
        """Wait on the host until an event is reached."""
        self._call("cuEventSynchronize", event)

    def is_event_done(self, event: int) -> bool:
        """Return whether an event is reached."""
        return self._is_ready("cuEventQuery", event)

    def elapsed(self, start: int, end: int) -> float:
        """Return the milliseconds between two events."""
        return float(self._call("cuEventElapsedTime", start, end))

    # ------------------------------------------------------------------------------------------------------- kernels

    def load(self, code: bytes) -> int:
        """Load a CUBIN as a module onto the current device, and return the module's handle."""
        return int(self._call("cuModuleLoadData", code))

    def function(self, module: int, entry: str, shared: int) -> int:
        """Return the handle of a kernel of a module, set up for launches with ``shared`` bytes of dynamic shared
        memory.
        """
        function = self._call("cuModuleGetFunction", module, entry.encode())
        if shared > _NEWEST_STATIC_SHARED_MEMORY:
            attribute = self._api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", function, attribute, shared)
        return int(function)

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        """Queue the launch of a kernel on a stream.

        Args:
            function: the kernel, from ``function``.
            grid, block: numbers of blocks, and of threads of a block.
            shared: bytes of dynamic shared memory.
            stream: the stream to queue it on.
            parameters: the address of an array of the addresses of its parameters, which have been read on return.
        """
        status = self._api.cuLaunchKernel(function, *grid, *block, shared, stream, parameters, 0)[0]
        if status:
            self._fail("cuLaunchKernel", status)

    def entries(self) -> Entries | None:
        """Return the addresses of the driver functions that machine code calls; a driver without them returns None."""
        library = _library()
        assert library is not None, "there is a driver"
        functions = library.cuLaunchKernel, library.cuCtxGetCurrent
        launch, context = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
        return Entries(launch, context, library)

    def launch_failed(self, result: int) -> NoReturn:
        """Raise the error of a launch that machine code has made."""
        self._fail("cuLaunchKernel", self._api.CUresult(result))

    # -------------------------------------------------------------------------------------------------------- graphs

    def begin_capture(self, stream: int) -> None:
        """Begin to record the work that this thread queues on a stream into a graph, instead of running it."""
        mode = self._api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._call("cuStreamBeginCapture", stream, mode)

    def end_capture(self, stream: int) -> int:
        """End a capture, and return the recorded work as a graph that can be launched; 0 if the capture has failed."""
        status, graph = self._api.cuStreamEndCapture(stream)
        if status or not int(graph):
            return 0
        instance = int(self._call("cuGraphInstantiate", graph, 0))
        self._graphs[instance] = graph  # kept because ``set_parameters`` needs its nodes
        return instance

    def capture_of(self, stream: int) -> tuple[int, int]:
        """Return the id of the capture that a stream is in, and the graph that is being built; zeros if it is
        in none.
        """
        status, capture, graph = self._call("cuStreamGetCaptureInfo", stream)[:3]
        if status != self._api.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE:
            return 0, 0
        return int(capture), int(graph)

    def last_node(self, stream: int) -> int:
        """Return the graph node that has been captured last on a stream."""
        *_, nodes, _, count = self._call("cuStreamGetCaptureInfo", stream)
        assert count == 1, "one stream is captured, of which each node follows the last one"
        return int(nodes[0])

    def set_parameters(
        self,
        graph: int,
        node: int,
        launch: tuple[int, tuple[int, int, int], tuple[int, int, int], int],
        parameters: int,
    ) -> None:
        """Replace the parameters of one kernel of a graph in later launches of the graph.

        Args:
            graph: from ``end_capture``.
            node: from ``last_node``.
            launch: function, grid, block and shared memory of the kernel.
            parameters: as of ``launch``.
        """
        params = self._api.CUDA_KERNEL_NODE_PARAMS()
        params.func, grid, block, params.sharedMemBytes = self._api.CUfunction(launch[0]), *launch[1:]
        params.gridDimX, params.gridDimY, params.gridDimZ = grid
        params.blockDimX, params.blockDimY, params.blockDimZ = block
        params.kernelParams = parameters
        self._call("cuGraphExecKernelNodeSetParams", graph, self._api.CUgraphNode(node), params)

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Let this thread make calls that would invalidate other captures, as they concern no stream that is
        captured.
        """
        name = "cuThreadExchangeStreamCaptureMode"
        before = self._call(name, self._api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            yield
        finally:
            self._call(name, before)

    def lifetime_of(self, graph: int) -> Lifetime:
        """Return an object that reports when a graph, and everything instantiated from it, is destroyed."""
        lifetime = Lifetime()
        if lifetime.destructor:
            flags = self._api.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
            destructor = self._api.CUhostFn(lifetime.destructor)
            user_object = self._call("cuUserObjectCreate", lifetime.address, destructor, 1, int(flags))
            moved = self._api.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE
            self._call("cuGraphRetainUserObject", graph, user_object, 1, int(moved))
        return lifetime

    def launch_graph(self, graph: int, stream: int) -> None:
        """Queue all work of a graph on a stream."""
        self._call("cuGraphLaunch", graph, stream)

    def destroy_graph(self, graph: int) -> None:
        """Destroy a graph and its instance."""
        self._call("cuGraphExecDestroy", graph)
        self._call("cuGraphDestroy", self._graphs.pop(graph))

    # --------------------------------------------------------------------------------------------------------- calls

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver, and return its result, or a tuple of several results.

        Raises:
            DriverError, OutOfMemoryError: the function failed.
        """
        status, *values = getattr(self._api, name)(*arguments)
        if status:
            self._fail(name, status)
        return values[0] if len(values) == 1 else tuple(values)

    def _is_ready(self, name: str, handle: int) -> bool:
        status = getattr(self._api, name)(handle)[0]
        if status == self._api.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status:
            self._fail(name, status)
        return True

    def _fail(self, name: str, status: Any) -> NoReturn:
        text = self._text(status)
        if status == self._api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise OutOfMemoryError(f"{name}: {text}")
        raise DriverError(
            f"{name} failed: {text}. A kernel that was started before may be the cause: CUDA_LAUNCH_BLOCKING=1 makes "
            "each call wait for its kernel."
        )

    def _text(self, status: Any) -> str:
        texts = [self._api.cuGetErrorName(status)[1], self._api.cuGetErrorString(status)[1]]
        name, what = ((text or b"unknown").decode() for text in texts)
        return f"{what} ({name})"


def _bindings() -> Any:
    """Import cuda-python's driver bindings, or raise an error that names the missing package."""
    if _library() is None:
        raise DeviceError(
            "device 'cuda': this machine has no NVIDIA driver (libcuda was not found). Install it, or use device='cpu'."
        )
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise MissingDependencyError(
            "device 'cuda' needs NVIDIA's cuda-python, which is not installed: pip install 'opdsl[cuda]'"
        ) from error


def _library() -> ctypes.CDLL | None:
    """Load the driver's library, or return None. It is tried before cuda-python so that the error names the part that
    is missing.
    """
    for library in _LIBRARIES:
        try:
            return ctypes.CDLL(library)
        except OSError:
            continue
    return None


_lock = threading.Lock()
_driver: Driver | None = None
_is_forked = False


def driver() -> Driver:
    """Return the process's ``Driver``, which the first call loads.

    Raises:
        DeviceError: there is no driver or no GPU, or the process was forked from one that used them.
        MissingDependencyError: cuda-python is not installed.
    """
    if _driver is None:
        return _load()
    if _is_forked:
        raise DeviceError(
            "device 'cuda' cannot be used in a process that was forked after CUDA was started. Start such processes "
            "with multiprocessing's 'spawn' method."
        )
    return _driver


def _load() -> Driver:
    global _driver
    with _lock:
        if _driver is None:
            _driver = Driver()
        return _driver


def _after_fork() -> None:
    """Mark the driver as unusable in a forked child process."""
    global _is_forked
    _is_forked = _driver is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def installed() -> Driver | None:
    """Return the process's driver if it is loaded and usable, without loading it; else None."""
    return None if _is_forked else _driver


def use(other: Driver | None) -> None:
    """Replace the process's driver, for tests; None has the next call load a new one. Existing objects keep the old
    driver's handles.
    """
    global _driver
    _driver = other
