"""A driver that runs nothing: programs go all the way to where kernels start, so that those are compiled.

It needs no GPU. Memory is the host's, so that copies are real. Kernels compute nothing: what they would have written
is zeros.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence

from opdsl.backends.cuda.driver import Properties

__all__ = ["Rehearsal"]

_MEMORY = 1 << 40
_ALIGNMENT = 512


class Rehearsal:
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

    # ------------------------------------------------------------------------------------------------------- devices

    def activate(self, index: int) -> None:
        """Make a device the current one."""
        self._current = index

    def properties(self, index: int) -> Properties:
        """What a device would be."""
        digits = "".join(each for each in self.architectures[index] if each.isdigit())
        return _Properties(self.architectures[index], (int(digits[:-1]), int(digits[-1])), _MEMORY, 1)

    def memory_info(self) -> tuple[int, int]:
        """As much as anybody wants."""
        return _MEMORY, _MEMORY

    # -------------------------------------------------------------------------------------------------------- memory

    def allocate(self, size: int, stream: int) -> int:
        """The address of zeros."""
        content = ctypes.create_string_buffer(size + _ALIGNMENT)
        address = -(-ctypes.addressof(content) // _ALIGNMENT) * _ALIGNMENT
        self._memory[address] = content
        return address

    def free(self, address: int, stream: int) -> None:
        """Give memory back."""
        del self._memory[address]

    def allocate_host(self, size: int) -> int:
        """As ``allocate``."""
        return self.allocate(size, 0)

    def free_host(self, address: int) -> None:
        """Give memory back."""
        del self._memory[address]

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy at once."""
        ctypes.memmove(target, source, size)

    def copy_peer(
        self, target: int, target_device: int, source: int, source_device: int, size: int, stream: int
    ) -> None:
        """Copy at once."""
        ctypes.memmove(target, source, size)

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

    def is_stream_done(self, stream: int) -> bool:
        """Nothing is ever queued."""
        return True

    def is_event_done(self, event: int) -> bool:
        """Nothing is ever queued."""
        return True

    def elapsed(self, start: int, end: int) -> float:
        """Nothing takes time."""
        return 0.0

    def _nothing(self, *given: object) -> None:
        """What has no effect where nothing is queued."""

    destroy_stream = synchronize_stream = synchronize = destroy_event = record_event = wait_event = _nothing
    synchronize_event = launch = _nothing


class _Properties(Properties):
    """Properties of which the architecture, with its letter, is the name."""

    __slots__ = ()

    @property
    def architecture(self) -> str:
        """What kernels are compiled for."""
        return self.name
