"""What kernels report to the host: a position that lies outside, a divisor of 0.

A kernel that finds one writes it into page-locked memory, and goes on without it. Whoever waits for a device raises the
error then, which names the operator, as a device assertion of PyTorch's does, and leaves the device as it is.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from opdsl.backends.cuda.driver import driver

__all__ = ["forget", "number_of", "raise_reported", "record"]

_WORDS = 4

_lock = threading.Lock()
_numbers: dict[tuple[type[Exception], str], int] = {}
_errors: list[Callable[[int, int], Exception]] = []
_place = 0


def number_of(kind: type[Exception], text: str) -> int:
    """The number by which kernels report an error.

    Args:
        kind: of the error.
        text: its message, with ``{value}`` and ``{size}``, which the kernel tells.
    """
    key = kind, text
    number = _numbers.get(key)
    if number is None:
        with _lock:
            number = _numbers.get(key)
            if number is None:
                _errors.append(lambda value, size: kind(text.format(value=value, size=size)))
                number = _numbers[key] = len(_errors)
    return number


def record() -> int:
    """The address of what kernels write: the value, the size, the number of the error, and nothing."""
    global _place
    if not _place:
        with _lock:
            if not _place:
                allocate_host = driver().allocate_host(8 * _WORDS)
                ctypes.memset(allocate_host, 0, 8 * _WORDS)
                _place = allocate_host
    return _place


def raise_reported() -> None:
    """Raise what has been reported, once.

    Raises:
        PositionError, DivisionError: a kernel has found one, of those that have been waited for.
    """
    if not _place:
        return
    words = (ctypes.c_longlong * _WORDS).from_address(_place)
    if words[2]:
        with _lock:
            value, size, number, _ = words
            words[2] = 0
        if number:
            raise _errors[number - 1](value, size)


def forget() -> None:
    """Drop the memory: another driver takes over, in tests."""
    global _place
    _place = 0
