"""Backend with memory only: its dispatch key is PrivateUse2, and a fallback computes its operators."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy

from opdsl.runtime import Device, DType
from opdsl.runtime.device import backends

Array = numpy.ndarray[Any, Any]
DEVICE = "memory_only"
KEY = "PrivateUse2"


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Array:
    extent = 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    block = numpy.empty(extent * dtype.itemsize, numpy.uint8)
    return numpy.ndarray(shape, dtype.numpy, block, 0, [stride * dtype.itemsize for stride in strides])


def view(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> Array:
    block = array.base
    assert isinstance(block, numpy.ndarray)
    # A view without elements may begin after the end of the memory.
    begin = 0 if 0 in shape else address(array) - address(block) + offset * dtype.itemsize
    return numpy.ndarray(shape, dtype.numpy, block, begin, [stride * dtype.itemsize for stride in strides])


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def copy(source: Array, target: Array) -> None:
    target[...] = source


def to_host(array: Array) -> Array:
    return array.copy()


def from_host(array: Array, device: Device, dtype: DType) -> Array:
    extent = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)) + array.itemsize
    block = numpy.empty(extent if array.size else 0, numpy.uint8)
    moved = numpy.ndarray(array.shape, array.dtype, block, 0, array.strides)
    moved[...] = array
    return moved


def install() -> Device:
    """Register the device type and return its device."""
    package, memory = ModuleType("opdsl_memory_only"), ModuleType("opdsl_memory_only.memory")
    for part in (empty, view, address, copy, to_host, from_host):
        setattr(memory, part.__name__, part)
    package.__path__ = []
    sys.modules["opdsl_memory_only"], sys.modules["opdsl_memory_only.memory"] = package, memory
    backends.register(DEVICE, "opdsl_memory_only", KEY)
    return Device(DEVICE)
