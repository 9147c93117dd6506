"""Snapshots of tensors, to compare them bit by bit with a later state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy

from opdsl.runtime.tensor import Tensor
from opdsl.runtime.values import host_array


def tensors_in(value: object) -> Iterator[Tensor]:
    """Yield all tensors of an argument or a result, including those in lists and tuples."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            if isinstance(element, Tensor):
                yield element
            elif isinstance(element, (list, tuple)):
                yield from tensors_in(element)


class Content(NamedTuple):
    """Snapshot of a tensor, which can be compared bit by bit.

    dtype, shape, strides, device: its geometry.
    data: its elements in logical order; empty if it has no memory, or is a proxy of another library's tensor.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    data: bytes


def content(tensor: Tensor) -> Content:
    """Return a snapshot of a tensor."""
    array = None if tensor.is_meta else host_array(tensor)
    data = array.tobytes() if isinstance(array, numpy.ndarray) else b""
    return Content(tensor.dtype.name, tensor.shape, tensor.strides, str(tensor.device), data)


def contents(value: object) -> list[Content]:
    """Return snapshots of all tensors of an argument or a result."""
    return [content(tensor) for tensor in tensors_in(value)]
