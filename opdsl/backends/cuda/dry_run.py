"""Driver that runs nothing: calls go through all steps up to the launch, so that their kernels get compiled without a
GPU.

Device memory is host memory, so that copies are real. Kernels compute nothing; ``fallback`` queues CPU kernels in their
place, which run when the host reads memory.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from opdsl.backends.cuda.driver import Properties

__all__ = ["DryRunDriver"]

_MEMORY = 1 << 40
_ALIGNMENT = 512


class DryRunDriver:
    """Stand-in for ``Driver`` on a machine without a GPU.

    Args:
        architectures: for each device the architecture that kernels are compiled for, such as ``sm_90``.
    """

    def __init__(self, architectures: Sequence[str]) -> None:
        self.architectures = tuple(architectures)
        self.device_count = len(self.architectures)
        self._current = 0
        self._handles = itertools.count(1)
        self._memory: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self._host_memory: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self._queue: list[Callable[[], object]] = []

    def later(self, work: Callable[[], object]) -> None:
        """Queue work that replaces a kernel. It runs when memory is copied to the host or freed; ``forget``
        drops it.
        """
        self._queue.append(work)

    def forget(self) -> None:
        """Drop the queued work without doing it, since its results are not needed."""
        self._queue.clear()

    # ------------------------------------------------------------------------------------------------------- devices

    def activate(self, index: int) -> None:
        """Make a device the current one."""
        self._current = index

    def properties(self, index: int) -> Properties:
        """Return the properties of a simulated device."""
        digits = "".join(text for text in self.architectures[index] if text.isdigit())
        return _Properties(self.architectures[index], (int(digits[:-1]), int(digits[-1])), _MEMORY, 1)

    def memory_info(self) -> tuple[int, int]:
        """Return the free and total bytes of the current device: a large constant."""
        return _MEMORY, _MEMORY

    # -------------------------------------------------------------------------------------------------------- memory

    def allocate(self, size: int, stream: int) -> int:
        """Return the address of zeroed host memory that replaces device memory."""
        return _zeros(size, self._memory)

    def free(self, address: int, stream: int) -> None:
        """Free memory that replaces device memory, after doing the queued work."""
        self._do()
        del self._memory[address]

    def allocate_host(self, size: int) -> int:
        """Return the address of zeroed host memory that replaces page-locked memory."""
        return _zeros(size, self._host_memory)

    def free_host(self, address: int) -> None:
        """Free memory that replaces page-locked memory, after doing the queued work."""
        self._do()
        del self._host_memory[address]

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Queue a copy to device memory; copy to the host at once, after doing all queued work."""
        if not self._is_on_device(target):
            self._do()
            ctypes.memmove(target, source, size)
            return
        content = source if self._is_on_device(source) else ctypes.string_at(source, size)
        self.later(lambda: ctypes.memmove(target, content, size))

    def copy_peer(
        self, target: int, target_device: int, source: int, source_device: int, size: int, stream: int
    ) -> None:
        """Queue a copy between devices, as ``copy`` does."""
        self.copy(target, source, size, stream)

    def _is_on_device(self, address: int) -> bool:
        return any(begin <= address < begin + len(content) for begin, content in self._memory.items())

    def _do(self) -> None:
        """Do all queued work, in order."""
        waiting, self._queue = self._queue, []
        for work in waiting:
            work()

    def device_of(self, address: int) -> int:
        """Return the index of the current device, whatever the address."""
        return self._current

    # ------------------------------------------------------------------------------ streams, events, kernels: numbers

    def create_stream(self, priority: int = 0) -> int:
        """Return a new number as the handle of a stream."""
        return next(self._handles)

    def create_event(self, *, timing: bool) -> int:
        """Return a new number as the handle of an event."""
        return next(self._handles)

    def load(self, code: bytes) -> int:
        """Return a new number as the handle of a module; the code is ignored."""
        return next(self._handles)

    def function(self, module: int, entry: str, shared: int) -> int:
        """Return a new number as the handle of a kernel."""
        return next(self._handles)

    def entries(self) -> None:
        """Return None: there are no driver functions that machine code could call."""

    def capture_of(self, stream: int) -> tuple[int, int]:
        """Return zeros: no stream is ever captured."""
        return 0, 0

    def relaxed(self) -> AbstractContextManager[None]:
        """Return a context that does nothing, since no stream is ever captured."""
        return nullcontext()

    def is_stream_done(self, stream: int) -> bool:
        """Return True: streams never have pending work."""
        return True

    def is_event_done(self, event: int) -> bool:
        """Return True: events never have to be waited for."""
        return True

    def elapsed(self, start: int, end: int) -> float:
        """Return 0: no work takes time."""
        return 0.0

    def _nothing(self, *arguments: object) -> None:
        """Do nothing, in place of driver functions that have no effect in a dry run."""

    destroy_stream = synchronize_stream = synchronize = destroy_event = record_event = wait_event = _nothing
    synchronize_event = launch = trim = _nothing


def _zeros(size: int, memory: dict[int, ctypes.Array[ctypes.c_char]]) -> int:
    """Allocate aligned zeros, keep them alive in a table, and return their address."""
    content = ctypes.create_string_buffer(size + _ALIGNMENT)
    address = -(-ctypes.addressof(content) // _ALIGNMENT) * _ALIGNMENT
    memory[address] = content
    return address


class _Properties(Properties):
    """Properties of a simulated device, whose name is its architecture with the letter suffix, such as ``sm_90a``."""

    __slots__ = ()

    @property
    def architecture(self) -> str:
        """Return the architecture that kernels are compiled for."""
        return self.name
