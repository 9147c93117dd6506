"""Memory of CPU tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

LARGE = 1 << 20


def allocator(
    shape: tuple[int, ...], dtype: numpy.dtype[Any], strides: tuple[int, ...]
) -> Callable[[], numpy.ndarray[Any, Any]]:
    def allocate() -> numpy.ndarray[Any, Any]:
        return numpy.empty(shape, dtype)

    return allocate
