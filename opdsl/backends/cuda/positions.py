"""Bounds checks of index tensors on the device, without waiting for it."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

from opdsl.backends.arrays import DeviceArray
from opdsl.backends.cuda import copies
from opdsl.backends.cuda.launcher import runner
from opdsl.backends.cuda.program import Address, Constant, Launch, Number, Program, Source, Variant
from opdsl.backends.cuda.reports import number_of, record
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.types import ScalarType

__all__ = ["look_inside"]

_THREADS = 256
_MOST_BLOCKS = 1024

# The number is written last, so that the host finds the other words once it finds the number.
_SOURCE = Source.of(
    """
struct Report {
    volatile long long value, size, number;
};
extern "C" __global__ void look_inside(
    const long long* positions, long long least, long long size, long long number, Report* report, long long count) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step) {
        const long long value = positions[at];
        if (value < least || value >= size) {
            report->value = value;
            report->size = size;
            __threadfence_system();
            report->number = number;
        }
    }
}
""",
    contracts=False,
)


def look_inside(kind: type[Exception], text: str, array: DeviceArray, least: int, size: int) -> None:
    """Queue a kernel that checks that all elements of an int64 array are in the range from ``least`` to ``size``,
    exclusive.

    Args:
        kind, text: type and text of the error that is raised when the host next waits for the device; see ``reports``.
        array: indices, at least one element.
        least, size: the smallest valid value, and the first one that is too large.
    """
    if array.strides != tuple(8 * step for step in contiguous_strides(array.shape)):
        array = copies.contiguous(array)
    count = 1
    for length in array.shape:
        count *= length
    _looking(count)(array, least, size, number_of(kind, text), record())


@functools.lru_cache(maxsize=1024)
def _looking(count: int) -> Callable[..., Any]:
    whole = ScalarType.INT64
    numbers = (Number(1, whole), Number(2, whole), Number(3, whole), Number(4, whole))
    grid = (min(-(-count // _THREADS), _MOST_BLOCKS), 1, 1)
    arguments = (Address(0), *numbers, Constant(struct.pack("q", count), "long long"))
    launch = Launch("look_inside", grid, (_THREADS, 1, 1), arguments)
    program = Program(_SOURCE, (True, False, False, False, False), (Variant(1, (launch,)),))
    return runner("look_inside", program, ())
