"""Emulated CUDA driver that needs no GPU: it implements the functions of ``opdsl.backends.cuda.driver`` on the host.

Streams are real queues: queued work runs when something waits for it, and no sooner. So the results of work that no
call has waited for are missing, and a forgotten wait leads to a wrong result. Freed memory is overwritten, in the order
of its stream. Kernels are the CUDA C++ that NVRTC would get, compiled by g++ (``libraries``) and run by an emulated
grid (``grid.cpp``). Every call is recorded.
"""

from __future__ import annotations

import ctypes
import gc
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, NoReturn, TypeVar

from opdsl.backends.cuda import allocator, driver, finalization, host, launcher, streams
from opdsl.backends.cuda.driver import Entries, Properties
from opdsl.backends.cuda.program import Source
from opdsl.errors import DriverError, OutOfMemoryError
from tests.emulation import libraries

__all__ = ["Call", "EmulatedDriver"]

T = TypeVar("T")

# Types of cuLaunchKernel and cuCtxGetCurrent, which are called with or without the global interpreter lock.
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
_CONTEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

FREED = 0xDD
FRESH = 0xA5


# Number of skipped launches after which a function counts as a loop that ends by elements: no operator has as many.
_MOST_SKIPPED = 5_000


class Call(NamedTuple):
    """Recorded call of a driver function."""

    name: str
    arguments: tuple[Any, ...]


class Function(NamedTuple):
    """Handle of a kernel in a loaded module."""

    source: Source
    entry: str


class GraphLifetime(NamedTuple):
    """Check of whether a CUDA graph has been destroyed."""

    graphs: dict[int, list[Callable[[], None]]]
    graph: int

    def is_over(self) -> bool:
        return self.graph not in self.graphs


def outcome_of(run: Callable[[], T]) -> T | Exception:
    """Return the result of a function, or the error that it raises."""
    try:
        return run()
    except Exception as error:
        return error


class EmulatedDriver:
    """Emulated CUDA driver, whose devices are in the memory of the host.

    Args:
        device_count: number of devices.
        memory: size of each device's memory in bytes.

    calls: the recorded calls since ``calls.clear()``, except for ``activate``.
    """

    def __init__(self, device_count: int = 1, memory: int = 1 << 28) -> None:
        self.device_count = device_count
        self.memory = memory
        self.calls: list[Call] = []
        self.current = 0
        self._next = 1000
        self._lock = threading.RLock()
        self._blocks: dict[int, tuple[Any, int, int]] = {}
        self._pinned: dict[int, Any] = {}
        self._queues: dict[int, deque[Callable[[], None]]] = {}
        self._streams: dict[int, int] = {}
        self._events: dict[int, tuple[int, list[bool]]] = {}
        self._modules: dict[int, Source] = {}
        self._left_out: dict[str, Source] | None = None
        self._skipped = 0
        self._functions: dict[int, Function] = {}
        self._sources: dict[bytes, Source] = {}
        self._capturing: dict[int, int] = {}
        self._random: random.Random | None = None
        self._entries: Entries | None = None
        self._failure: BaseException | None = None
        self._graphs: dict[int, list[Callable[[], None]]] = {}

    # --------------------------------------------------------------------------------------------------------- tests

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the driver and NVRTC by this object in a block, with nothing recorded and no memory in use."""
        compile_cubin = launcher.compile_cubin
        launcher.compile_cubin = self.compile
        driver.use(self)  # type: ignore[arg-type]
        self.calls.clear()
        gc.freeze()  # later collections scan only objects created from now on
        try:
            yield
        finally:
            gc.collect()
            for forget in (streams.forget, allocator.forget, host.forget):
                forget()
            gc.collect()
            finalization.forget()
            driver.use(None)
            launcher.compile_cubin = compile_cubin

    def compile(self, source: Source, architecture: str) -> bytes:
        """Return a token for a source that ``load`` accepts, in place of ``compile_cubin``."""
        token = f"{architecture} {source.fingerprint}".encode()
        self._sources[token] = source
        return token

    @contextmanager
    def in_random_order(self, seed: int) -> Iterator[None]:
        """Let streams run at random in a block: each time work is queued, some streams advance as far as they need not
        wait.
        """
        self._random = random.Random(seed)
        try:
            yield
        finally:
            self._random = None

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of all recorded calls of a function."""
        return [call.arguments for call in self.calls if call.name == name]

    @property
    def in_use(self) -> int:
        """Return the number of bytes of device memory that are allocated and not freed."""
        return sum(size for _, size, _ in self._blocks.values())

    def complete(self, runs: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Call functions until all of their kernels have been compiled, and return their results or errors.

        While a kernel is missing, launches are skipped, so that the missing kernels of all functions are compiled
        together; then the functions are called again.
        """
        outcomes: dict[int, T | Exception] = {}
        while len(outcomes) < len(runs):
            self._left_out = missing = dict[str, Source]()
            try:
                for place, run in enumerate(runs):
                    if place in outcomes:
                        continue
                    self._skipped = 0
                    outcome = outcome_of(run)
                    if not missing:  # otherwise it has read results that no kernel has computed
                        outcomes[place] = outcome
            finally:
                self._left_out = None
            libraries.build(missing.values())
        return [outcomes[place] for place in range(len(runs))]

    # ------------------------------------------------------------------------------------------------------- devices

    def activate(self, index: int) -> None:
        self.current = index

    def context(self, index: int) -> int:
        return index + 1

    def properties(self, index: int) -> Properties:
        return Properties(f"Fake GPU {index}", (9, 0), self.memory, 4)

    def memory_info(self) -> tuple[int, int]:
        used = sum(size for _, size, device in self._blocks.values() if device == self.current)
        return self.memory - used, self.memory

    # -------------------------------------------------------------------------------------------------------- memory

    def allocate(self, size: int, stream: int) -> int:
        self._note("allocate", size, stream)
        if self._queue(stream) in self._capturing:
            raise DriverError("allocated on a stream that is captured")
        if size > self.memory_info()[0]:
            raise OutOfMemoryError("cuMemAllocAsync: out of memory")
        content = ctypes.create_string_buffer(size + 512)
        address = -(-ctypes.addressof(content) // 512) * 512
        ctypes.memset(address, FRESH, size)
        self._blocks[address] = (content, size, self.current)
        return address

    def free(self, address: int, stream: int) -> None:
        self._note("free", address, stream)
        assert self._queue(stream) not in self._capturing, "memory is freed on a stream that is captured"
        content, size, _ = self._blocks.pop(address)

        def release() -> None:
            ctypes.memset(address, FREED, size)
            content.raw  # noqa: B018  it lives until here

        self.queue(stream, release)

    def allocate_host(self, size: int) -> int:
        self._note("allocate_host", size)
        content = ctypes.create_string_buffer(size)
        self._pinned[ctypes.addressof(content)] = content
        return ctypes.addressof(content)

    def free_host(self, address: int) -> None:
        self._note("free_host", address)
        del self._pinned[address]

    def trim(self, index: int) -> None:
        self._note("trim", index)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        self._note("copy", target, source, size, stream)
        self._copy(target, source, size, stream)

    def copy_peer(
        self, target: int, target_device: int, source: int, source_device: int, size: int, stream: int
    ) -> None:
        self._note("copy_peer", target, target_device, source, source_device, size, stream)
        self._copy(target, source, size, stream)

    def device_of(self, address: int) -> int:
        return next(
            device for start, (_, size, device) in self._blocks.items() if start <= address < start + max(size, 1)
        )

    def _copy(self, target: int, source: int, size: int, stream: int) -> None:
        if self._is_staged(source, size):
            # The driver reads pageable host memory before the call returns.
            content = ctypes.string_at(source, size)
            self.queue(stream, lambda: ctypes.memmove(target, content, size))
        else:
            self.queue(stream, lambda: ctypes.memmove(target, source, size))

    def _is_staged(self, address: int, size: int) -> bool:
        on_device = any(start <= address < start + length for start, (_, length, _) in self._blocks.items())
        pinned = any(start <= address < start + len(value) for start, value in self._pinned.items())
        return not on_device and not pinned

    # -------------------------------------------------------------------------------------------- streams and events

    def create_stream(self, priority: int = 0) -> int:
        self._note("create_stream", priority)
        handle = self._handle()
        self._streams[handle] = self.current
        return handle

    def destroy_stream(self, stream: int) -> None:
        self._note("destroy_stream", stream)
        self._drain(self._queue(stream))

    def synchronize_stream(self, stream: int) -> None:
        self._note("synchronize_stream", stream)
        if self._queue(stream) in self._capturing:
            raise DriverError("cuStreamSynchronize failed: operation not permitted when stream is capturing")
        self._drain(self._queue(stream))

    def is_stream_done(self, stream: int) -> bool:
        return not self._queues.get(self._queue(stream))

    def synchronize(self) -> None:
        self._note("synchronize", self.current)
        for queue in tuple(self._queues):
            self._drain(queue)

    def create_event(self, *, timing: bool) -> int:
        self._note("create_event", timing)
        handle = self._handle()
        self._events[handle] = (0, [True])
        return handle

    def destroy_event(self, event: int) -> None:
        self._note("destroy_event", event)

    def record_event(self, event: int, stream: int) -> None:
        self._note("record_event", event, stream)
        queue, done = self._queue(stream), [False]
        assert queue not in self._capturing, "an event of a captured stream is no event outside of it"
        self._events[event] = (queue, done)
        self.queue(stream, lambda: done.__setitem__(0, True))

    def wait_event(self, stream: int, event: int) -> None:
        self._note("wait_event", stream, event)
        assert self._queue(stream) not in self._capturing, "a captured stream waits for one outside"
        queue, done = self._events[event]
        self.queue(stream, lambda: self._drain(queue, done))

    def synchronize_event(self, event: int) -> None:
        self._note("synchronize_event", event)
        self._drain(*self._events[event])

    def is_event_done(self, event: int) -> bool:
        return self._events[event][1][0]

    def elapsed(self, start: int, end: int) -> float:
        self._note("elapsed", start, end)
        return 1.5

    # ------------------------------------------------------------------------------------------------------- kernels

    def load(self, code: bytes) -> int:
        self._note("load", code)
        handle = self._handle()
        self._modules[handle] = self._sources[code]
        return handle

    def function(self, module: int, entry: str, shared: int) -> int:
        self._note("function", module, entry, shared)
        handle = self._handle()
        self._functions[handle] = Function(self._modules[module], entry)
        return handle

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        self._note("launch", self._functions[function].entry, grid, block, shared, stream)
        source, entry = self._functions[function]
        if self._left_out is not None:
            if not libraries.is_built(source):
                self._left_out[source.fingerprint] = source
            if self._left_out:
                self._skipped += 1
                if self._skipped > _MOST_SKIPPED:
                    raise RuntimeError("a loop waits for what nothing has computed")
                return
        self.queue(stream, libraries.Started(libraries.kernel(source, entry), grid, block, parameters).run)

    def entries(self) -> Entries:
        """Return C functions for launching kernels, which machine code calls."""
        if self._entries is None:
            launch, context = _LAUNCH(self._launched), _CONTEXT(self._current_context)
            addresses = [ctypes.cast(handle, ctypes.c_void_p).value or 0 for handle in (launch, context)]
            self._entries = Entries(addresses[0], addresses[1], (launch, context))
        return self._entries

    def launch_failed(self, result: int) -> NoReturn:
        """Raise the error of a launch that machine code has made."""
        assert self._failure is not None, "a launch has failed"
        raise self._failure

    def _launched(self, function: int, *rest: int) -> int:
        grid, block, (shared, stream, parameters, _) = rest[:3], rest[3:6], rest[6:]
        try:
            self.launch(function, grid, block, shared, stream or 0, parameters)  # type: ignore[arg-type]
        except BaseException as error:
            self._failure = error
            return 999
        return 0

    def _current_context(self, place: int) -> int:
        ctypes.c_void_p.from_address(place).value = self.context(self.current)
        return 0

    # -------------------------------------------------------------------------------------------------------- graphs

    def begin_capture(self, stream: int) -> None:
        self._note("begin_capture", stream)
        assert stream, "the default stream cannot be captured"
        graph = self._capturing[self._queue(stream)] = self._handle()
        self._graphs[graph] = []

    def end_capture(self, stream: int) -> int:
        self._note("end_capture", stream)
        return self._capturing.pop(self._queue(stream))

    def capture_of(self, stream: int) -> tuple[int, int]:
        graph = self._capturing.get(self._queue(stream), 0)
        return graph, graph

    def last_node(self, stream: int) -> int:
        return len(self._graphs[self._capturing[self._queue(stream)]])

    def set_parameters(
        self, graph: int, node: int, launch: tuple[int, libraries.Sizes, libraries.Sizes, int], parameters: int
    ) -> None:
        self._note("set_parameters", graph, node)
        function, grid, block, _ = launch
        kernel = libraries.kernel(*self._functions[function])
        self._graphs[graph][node - 1] = libraries.Started(kernel, grid, block, parameters).run

    def relaxed(self) -> AbstractContextManager[None]:
        return nullcontext()

    def lifetime_of(self, graph: int) -> GraphLifetime:
        return GraphLifetime(self._graphs, graph)

    def launch_graph(self, graph: int, stream: int) -> None:
        self._note("launch_graph", graph, stream)
        for launch in self._graphs[graph]:
            self.queue(stream, launch)

    def destroy_graph(self, graph: int) -> None:
        self._note("destroy_graph", graph)
        del self._graphs[graph]

    # -------------------------------------------------------------------------------------------------------- queues

    def _queue(self, stream: int) -> int:
        """Return the queue of a stream; the default stream has one per device."""
        return stream or -1 - self.current

    def queue(self, stream: int, work: Callable[[], object]) -> None:
        """Queue work on a stream, or append it to the graph that the stream captures."""
        queue = self._queue(stream)
        if stream:
            device = self._streams.get(stream)
            assert device in (None, self.current), "a stream is used while another device is current"
        if queue in self._capturing:
            self._graphs[self._capturing[queue]].append(work)  # type: ignore[arg-type]
        else:
            self._queues.setdefault(queue, deque()).append(work)  # type: ignore[arg-type]
        if self._random is not None:
            for other in self._random.choices(list(self._queues), k=self._random.randrange(3)):
                self._drain(other, most=self._random.randrange(4))

    def _drain(self, queue: int, until: list[bool] | None = None, most: int | None = None) -> None:
        """Run queued work: all of it, or until an event is reached, or at most ``most`` items."""
        with self._lock:  # the process has only one emulated grid
            waiting = self._queues.get(queue, deque())
            while waiting and most != 0 and not (until is not None and until[0]):
                waiting.popleft()()
                most = None if most is None else most - 1

    def _handle(self) -> int:
        self._next += 1
        return self._next

    def _note(self, name: str, *arguments: Any) -> None:
        self.calls.append(Call(name, arguments))
