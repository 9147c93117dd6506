"""Errors that kernels report to the host: an index out of bounds, a division by zero.

A kernel that finds an error writes it into page-locked memory, and continues without it. The host raises the error,
which names the operator, when it next waits for a device. Unlike a device assertion of PyTorch, that leaves the device
usable.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from opdsl.backends.cuda.driver import driver

__all__ = ["WORDS", "forget", "number_of", "raise_reported", "record"]

WORDS = 4

_lock = threading.Lock()
_numbers: dict[tuple[type[Exception], str], int] = {}
_errors: list[Callable[[int, int], Exception]] = []
_place = 0


def number_of(kind: type[Exception], text: str) -> int:
    """Return the number by which kernels report an error, registering the error on first use.

    Args:
        kind: type of the error.
        text: its message, with the placeholders ``{value}`` and ``{size}`` for numbers that the kernel reports.
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
    """Return the address of the record that kernels write: a value, a size, the error's number, and an unused word."""
    global _place
    if not _place:
        with _lock:
            if not _place:
                allocate_host = driver().allocate_host(8 * WORDS)
                ctypes.memset(allocate_host, 0, 8 * WORDS)
                _place = allocate_host
    return _place


def raise_reported() -> None:
    """Raise the error that a kernel has reported, if any, and clear the report.

    Raises:
        PositionError, DivisionError: a kernel that the host has waited for has found one.
    """
    if not _place:
        return
    words = (ctypes.c_longlong * WORDS).from_address(_place)
    if words[2]:
        with _lock:
            position, size, number, _ = words
            words[2] = 0
        if number:
            raise _errors[number - 1](position, size)


def forget() -> None:
    """Drop the record's memory, before tests replace the driver."""
    global _place
    _place = 0
