"""A CUDA driver without a GPU: what ``opdsl.backends.cuda.driver`` offers, on the host.

Streams are real queues: what is queued runs when something waits for it, and no sooner. So work that nobody has been
made to wait for has not been done when it is looked for, and a missing wait is a wrong result. Memory that is freed is
overwritten, in the order of its stream. Kernels are the printed CUDA C++, compiled by g++ (``emulated_grid.h``). Every
call is recorded.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from opdsl.backends.cuda.driver import Properties
from opdsl.backends.cuda.program import Source
from opdsl.errors import DriverError, OutOfMemoryError
from tests.unit.backends.emulation import compiled

FREED = 0xDD
FRESH = 0xA5

# Keeps the parameters of a kernel from its launch until it runs.
_HOLDER = """
#include <tuple>
template <typename... Given>
struct Held {
    void (*kernel)(Given...);
    std::tuple<std::remove_const_t<Given>...> values;
};
template <typename... Given, size_t... at>
static void* held(void (*kernel)(Given...), void** given, std::index_sequence<at...>) {
    return new Held<Given...>{kernel, {*static_cast<std::remove_const_t<Given>*>(given[at])...}};
}
template <typename... Given>
static void* hold(void (*kernel)(Given...), void** given) {
    return held(kernel, given, std::index_sequence_for<Given...>());
}
template <typename... Given, size_t... at>
static void started(
    void (*kernel)(Given...), void* found, const unsigned* grid, const unsigned* block, size_t shared,
    std::index_sequence<at...>) {
    auto* mine = static_cast<Held<Given...>*>(found);
    void* given[] = {&std::get<at>(mine->values)..., nullptr};
    emulated::launch(kernel, grid, block, shared, true, given);
}
template <typename... Given>
static void start(void (*kernel)(Given...), void* found, const unsigned* grid, const unsigned* block, size_t shared) {
    started(kernel, found, grid, block, shared, std::index_sequence_for<Given...>());
}
"""

_ENTRY = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(')


class Call(NamedTuple):
    """One call of the driver."""

    name: str
    arguments: tuple[Any, ...]


class Function(NamedTuple):
    """A kernel of a module."""

    library: ctypes.CDLL
    entry: str
    shared: int


class FakeDriver:
    """Devices of the host's memory.

    Args:
        device_count: how many there are.
        memory: bytes of each of them.
        folder: where compiled kernels are kept.

    calls: what has been called since ``calls.clear()``, but for ``activate``.
    """

    def __init__(self, folder: Path, device_count: int = 1, memory: int = 1 << 28) -> None:
        self.device_count = device_count
        self.memory = memory
        self.calls: list[Call] = []
        self.current = 0
        self._folder = folder
        self._next = 1000
        self._lock = threading.RLock()
        self._blocks: dict[int, tuple[Any, int, int]] = {}
        self._pinned: dict[int, Any] = {}
        self._queues: dict[int, deque[Callable[[], None]]] = {}
        self._streams: dict[int, int] = {}
        self._events: dict[int, tuple[int, list[bool]]] = {}
        self._modules: dict[int, Source] = {}
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._functions: dict[int, Function] = {}
        self._sources: dict[bytes, Source] = {}
        self._capturing: dict[int, list[Callable[[], None]]] = {}
        self._graphs: dict[int, list[Callable[[], None]]] = {}

    # --------------------------------------------------------------------------------------------------------- tests

    def compile(self, source: Source, architecture: str) -> bytes:
        """What takes the place of ``compile_cubin``: a token that ``load`` knows."""
        token = f"{architecture} {source.fingerprint}".encode()
        self._sources[token] = source
        return token

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of all recorded calls of a name."""
        return [each.arguments for each in self.calls if each.name == name]

    @property
    def in_use(self) -> int:
        """Bytes of device memory that have been allocated, and not freed."""
        return sum(size for _, size, _ in self._blocks.values())

    # ------------------------------------------------------------------------------------------------------- devices

    def activate(self, index: int) -> None:
        self.current = index

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
        content, size, _ = self._blocks.pop(address)

        def release() -> None:
            ctypes.memset(address, FREED, size)
            content.raw  # noqa: B018  it lives until here

        self._put(stream, release)

    def allocate_host(self, size: int) -> int:
        self._note("allocate_host", size)
        content = ctypes.create_string_buffer(size)
        self._pinned[ctypes.addressof(content)] = content
        return ctypes.addressof(content)

    def free_host(self, address: int) -> None:
        self._note("free_host", address)
        del self._pinned[address]

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
            # Pageable memory of the host is read before the call returns.
            content = ctypes.string_at(source, size)
            self._put(stream, lambda: ctypes.memmove(target, content, size))
        else:
            self._put(stream, lambda: ctypes.memmove(target, source, size))

    def _is_staged(self, address: int, size: int) -> bool:
        on_device = any(start <= address < start + length for start, (_, length, _) in self._blocks.items())
        pinned = any(start <= address < start + len(each) for start, each in self._pinned.items())
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
        self._put(stream, lambda: done.__setitem__(0, True))

    def wait_event(self, stream: int, event: int) -> None:
        self._note("wait_event", stream, event)
        assert self._queue(stream) not in self._capturing, "a captured stream waits for one outside"
        queue, done = self._events[event]
        self._put(stream, lambda: self._drain(queue, done))

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
        self._functions[handle] = Function(self._library(self._modules[module]), entry, shared)
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
        library, entry, _ = self._functions[function]
        hold, start = library[f"hold_{entry}"], library[f"start_{entry}"]
        hold.restype = ctypes.c_void_p
        held = ctypes.c_void_p(hold(ctypes.c_void_p(parameters)))
        sizes = (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block)
        self._put(stream, lambda: start(held, *sizes, ctypes.c_size_t(shared)))

    def _library(self, source: Source) -> ctypes.CDLL:
        if source.fingerprint not in self._libraries:
            text = source.text
            starters = [
                f'extern "C" void* hold_{each}(void** given) {{ return hold({each}, given); }}\n'
                f'extern "C" void start_{each}(void* held, const unsigned* grid, const unsigned* block, size_t shared) '
                f"{{ start({each}, held, grid, block, shared); }}"
                for each in _ENTRY.findall(text)
            ]
            self._libraries[source.fingerprint] = compiled("\n".join([text, _HOLDER, *starters]), self._folder)
        return self._libraries[source.fingerprint]

    # -------------------------------------------------------------------------------------------------------- graphs

    def begin_capture(self, stream: int) -> None:
        self._note("begin_capture", stream)
        assert stream, "the default stream cannot be captured"
        self._capturing[self._queue(stream)] = []

    def end_capture(self, stream: int) -> int:
        self._note("end_capture", stream)
        handle = self._handle()
        self._graphs[handle] = self._capturing.pop(self._queue(stream))
        return handle

    def launch_graph(self, graph: int, stream: int) -> None:
        self._note("launch_graph", graph, stream)
        for each in self._graphs[graph]:
            self._put(stream, each)

    def destroy_graph(self, graph: int) -> None:
        self._note("destroy_graph", graph)
        del self._graphs[graph]

    # -------------------------------------------------------------------------------------------------------- queues

    def _queue(self, stream: int) -> int:
        """A queue: the stream's own, or that of the current device's default stream."""
        return stream or -1 - self.current

    def _put(self, stream: int, work: Callable[[], object]) -> None:
        queue = self._queue(stream)
        if stream:
            device = self._streams.get(stream)
            assert device in (None, self.current), "a stream is used while another device is current"
        if queue in self._capturing:
            self._capturing[queue].append(work)  # type: ignore[arg-type]
        else:
            self._queues.setdefault(queue, deque()).append(work)  # type: ignore[arg-type]

    def _drain(self, queue: int, until: list[bool] | None = None) -> None:
        """Run what is queued, all of it or until an event has been reached."""
        with self._lock:  # an emulated grid is that of the whole process
            waiting = self._queues.get(queue, deque())
            while waiting and not (until is not None and until[0]):
                waiting.popleft()()

    def _handle(self) -> int:
        self._next += 1
        return self._next

    def _note(self, name: str, *arguments: Any) -> None:
        self.calls.append(Call(name, arguments))
