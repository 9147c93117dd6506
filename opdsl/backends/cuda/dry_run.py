"""A driver that runs nothing: programs go all the way to where kernels start, so that those are compiled.

It needs no GPU. Memory is the host's, so that copies are real. Kernels compute nothing; ``fallback`` queues what the
CPU does in their place, which is done when the host looks at memory.
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
    """What ``Driver`` offers, see there.

    Args:
        architectures: for each device what kernels are compiled for, such as ``sm_90``.
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
        """Queue what a kernel would have done. It is done when somebody looks at memory, and not before ``forget``."""
        self._queue.append(work)

    def forget(self) -> None:
        """Leave undone what is queued: nobody will look at it."""
        self._queue.clear()

    # ------------------------------------------------------------------------------------------------------- devices

    def activate(self, index: int) -> None:
        """Make a device the current one."""
        self._current = index

    def properties(self, index: int) -> Properties:
        """What a device would be."""
        digits = "".join(text for text in self.architectures[index] if text.isdigit())
        return _Properties(self.architectures[index], (int(digits[:-1]), int(digits[-1])), _MEMORY, 1)

    def memory_info(self) -> tuple[int, int]:
        """As much as anybody wants."""
        return _MEMORY, _MEMORY

    # -------------------------------------------------------------------------------------------------------- memory

    def allocate(self, size: int, stream: int) -> int:
        """The address of zeros."""
        return _zeros(size, self._memory)

    def free(self, address: int, stream: int) -> None:
        """Give memory back."""
        self._do()
        del self._memory[address]

    def allocate_host(self, size: int) -> int:
        """As ``allocate``."""
        return _zeros(size, self._host_memory)

    def free_host(self, address: int) -> None:
        """Give memory back."""
        self._do()
        del self._host_memory[address]

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy when it is its turn; to the host at once, when all has been done that was queued before."""
        if not self._is_on_device(target):
            self._do()
            ctypes.memmove(target, source, size)
            return
        content = source if self._is_on_device(source) else ctypes.string_at(source, size)
        self.later(lambda: ctypes.memmove(target, content, size))

    def copy_peer(
        self, target: int, target_device: int, source: int, source_device: int, size: int, stream: int
    ) -> None:
        """Copy when it is its turn."""
        self.copy(target, source, size, stream)

    def _is_on_device(self, address: int) -> bool:
        return any(begin <= address < begin + len(content) for begin, content in self._memory.items())

    def _do(self) -> None:
        """Do what is queued."""
        waiting, self._queue = self._queue, []
        for work in waiting:
            work()

    def device_of(self, address: int) -> int:
        """The current device."""
        return self._current

    # ------------------------------------------------------------------------------ streams, events, kernels: numbers

    def create_stream(self, priority: int = 0) -> int:
        """A number."""
        return next(self._handles)

    def create_event(self, *, timing: bool) -> int:
        """A number."""
        return next(self._handles)

    def load(self, code: bytes) -> int:
        """A number."""
        return next(self._handles)

    def function(self, module: int, entry: str, shared: int) -> int:
        """A number."""
        return next(self._handles)

    def entries(self) -> None:
        """Nothing that machine code could call."""

    def capture_of(self, stream: int) -> tuple[int, int]:
        """Nothing is captured."""
        return 0, 0

    def relaxed(self) -> AbstractContextManager[None]:
        """Nothing is captured."""
        return nullcontext()

    def is_stream_done(self, stream: int) -> bool:
        """Nothing is ever queued."""
        return True

    def is_event_done(self, event: int) -> bool:
        """Nothing is ever queued."""
        return True

    def elapsed(self, start: int, end: int) -> float:
        """Nothing takes time."""
        return 0.0

    def _nothing(self, *arguments: object) -> None:
        """What has no effect where nothing is queued."""

    destroy_stream = synchronize_stream = synchronize = destroy_event = record_event = wait_event = _nothing
    synchronize_event = launch = trim = _nothing


def _zeros(size: int, memory: dict[int, ctypes.Array[ctypes.c_char]]) -> int:
    """The address of zeros that are kept in a table."""
    content = ctypes.create_string_buffer(size + _ALIGNMENT)
    address = -(-ctypes.addressof(content) // _ALIGNMENT) * _ALIGNMENT
    memory[address] = content
    return address


class _Properties(Properties):
    """Properties of which the architecture, with its letter, is the name."""

    __slots__ = ()

    @property
    def architecture(self) -> str:
        """What kernels are compiled for."""
        return self.name
