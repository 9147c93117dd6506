"""What a tensor is at one moment, to be compared bit for bit with what it is at another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opdsl.runtime.tensor import Tensor
from opdsl.runtime.values import host_array


def tensors_in(value: object) -> Iterator[Tensor]:
    """All tensors of an argument or a result, those in lists and tuples too."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from tensors_in(element)


class Content(NamedTuple):
    """All that a tensor is, to be compared bit for bit.

    dtype, shape, strides, device: its form. data: its elements in logical order; empty where it has no memory.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    data: bytes


def content(tensor: Tensor) -> Content:
    """What a tensor is now."""
    data = b"" if tensor.is_meta else host_array(tensor).tobytes()
    return Content(tensor.dtype.name, tensor.shape, tensor.strides, str(tensor.device), data)


def contents(value: object) -> list[Content]:
    """What all tensors of an argument or a result are now."""
    return [content(tensor) for tensor in tensors_in(value)]
