"""NumPy arrays for plans: how they are read, allocated and viewed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy

from .code import Entry, Library, Step
from .keys import order_of, tensor_key
from .memory import Memory

GUARD_FAILED = object()
"""Result of a plan that does not serve a call, because one of its conditions on sizes fails."""


class NumPyArrays:
    """Functions on NumPy arrays that plans call.

    Args:
        library: that has the kernels.
    """

    GUARD_FAILED = GUARD_FAILED

    def __init__(self, library: Library) -> None:
        self.library = library

    def step(self, entry: Entry) -> Step:
        """Return the function that runs a kernel."""
        return Step(self.library, entry, _address)

    def empty(self, dtype: str) -> Callable[..., Any]:
        """Return a function of sizes that allocates a contiguous array."""
        kind = dtype_of(dtype)
        return lambda *sizes: numpy.empty(sizes, kind)

    def typed(self, dtype: str) -> Callable[..., Any]:
        """Return a function that gives an array of integers, of the same size, a dtype."""
        kind = dtype_of(dtype)
        return lambda array: array.view(kind)

    def allocated(self, shape: Sequence[int], dtype: str, strides: Sequence[int]) -> Any:
        """Allocate an array with strides in bytes."""
        kind = dtype_of(dtype)
        last = sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) if 0 not in shape else 0
        block = numpy.empty(last + kind.itemsize, numpy.uint8)
        return numpy.ndarray(tuple(shape), kind, block, 0, tuple(strides))

    def view(self, dtype: str) -> Callable[..., Any]:
        """Return a function that makes a view, from an array, an offset in bytes, sizes, and strides in bytes."""
        kind = dtype_of(dtype)

        def view(array: Any, offset: int, *layout: int) -> Any:
            shape, strides = layout[: len(layout) // 2], layout[len(layout) // 2 :]
            if 0 in shape:
                return numpy.empty(shape, kind)
            extent = sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) + kind.itemsize
            block: Any = (ctypes.c_char * (offset + extent)).from_address(_address(array))
            block.owner = array  # lives as long as the view
            return numpy.ndarray(shape, kind, block, offset, strides)

        return view

    def read(self, value: Any) -> tuple[Any, str]:
        """Return an argument as an array that kernels can read, and its key."""
        array = value if type(value) is numpy.ndarray else numpy.asarray(value)
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            key = _key(array.dtype, array.shape)
            if key:
                return array, key
        if not (array.dtype.isnative and flags.aligned):
            array = array.astype(array.dtype.newbyteorder("="), order="C")
            return array, _key(array.dtype, array.shape)
        order = order_of(array.shape, [step // array.itemsize for step in array.strides])
        return array, tensor_key(array.dtype.name, array.shape, order) if order is not None else ""

    def packed(self, array: Any) -> tuple[Any, str]:
        """Return a copy of an array in row-major order, and its key."""
        copy = numpy.ascontiguousarray(array).reshape(array.shape)
        return copy, _key(copy.dtype, copy.shape)

    def target(self, name: str, value: Any) -> Any:
        """Return an argument as an array whose memory can be written.

        Raises:
            TypeError: it is no array.
            ValueError: it is read-only.
        """
        if not isinstance(value, numpy.ndarray):
            raise TypeError(f"{name} has to be an array of NumPy (got {type(value).__name__}).")
        if not value.flags.writeable:
            raise ValueError(f"{name} is read-only. Pass an array that can be written, such as a copy.")
        return value

    def memory(self, value: Any) -> Memory:
        """Return the memory of an argument; of one that is no array, that of a copy."""
        array = numpy.asarray(value)
        return Memory(_name(array.dtype), array.shape, array.strides, _address(array), array.itemsize)

    def store(self, target: Any, array: Any) -> None:
        """Copy an array to an argument, unless it has its memory."""
        if target is not array and _address(target) != _address(array):
            numpy.copyto(target, array)


@lru_cache(maxsize=256)
def _name(dtype: numpy.dtype[Any]) -> str:
    """Return the name of a dtype, which NumPy computes each time."""
    return dtype.name


@lru_cache(maxsize=4096)
def _key(dtype: numpy.dtype[Any], shape: tuple[int, ...]) -> str:
    """Return the key of an array in row-major order; empty if its bytes are in another order than the processor's."""
    return tensor_key(dtype.name, shape) if dtype.isnative else ""


def dtype_of(name: str) -> numpy.dtype[Any]:
    """Return a dtype by name.

    Raises:
        TypeError: NumPy does not have it.
    """
    try:
        return numpy.dtype(name)
    except TypeError:
        raise TypeError(f"NumPy has no dtype {name}. Pass tensors of PyTorch.") from None


def _address(array: Any) -> int:
    """Return the address of an array's first element."""
    address: int = array.__array_interface__["data"][0]
    return address
