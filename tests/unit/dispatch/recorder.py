"""Backend that records when which device is current; its elements are NumPy arrays, its dispatch key is PrivateUse1."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy

from opdsl.runtime import Device, DType
from opdsl.runtime.device import backends

events: list[str] = []


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> numpy.ndarray[Any, Any]:
    extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    steps = [stride * dtype.itemsize for stride in strides]
    return numpy.ndarray(shape, dtype.numpy, numpy.zeros(max(extent, 1), dtype.numpy), strides=steps)


def view(
    array: numpy.ndarray[Any, Any], shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType
) -> numpy.ndarray[Any, Any]:
    steps = [stride * dtype.itemsize for stride in strides]
    return numpy.ndarray(shape, dtype.numpy, array, offset * dtype.itemsize, steps)


def address(array: numpy.ndarray[Any, Any]) -> int:
    return array.ctypes.data


def copy(source: numpy.ndarray[Any, Any], target: numpy.ndarray[Any, Any]) -> None:
    target[...] = source


def to_host(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    return array


def from_host(array: numpy.ndarray[Any, Any], device: Device, dtype: DType) -> numpy.ndarray[Any, Any]:
    return array.copy()


@contextmanager
def guard(device: Device) -> Iterator[None]:
    events.append(f"enter {device}")
    try:
        yield
    finally:
        events.append(f"leave {device}")


def install() -> None:
    """Register the device type ``recorder``."""
    package, memory = ModuleType("opdsl_recorder"), ModuleType("opdsl_recorder.memory")
    for part in (empty, view, address, copy, to_host, from_host, guard):
        setattr(memory, part.__name__, part)
    sys.modules["opdsl_recorder"], sys.modules["opdsl_recorder.memory"] = package, memory
    backends.register("recorder", "opdsl_recorder", "PrivateUse1")
