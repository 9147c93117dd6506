"""A backend that records which device was current when: its elements lie in NumPy arrays, its key is PrivateUse1."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy

from opdsl.runtime import Device, DType
from opdsl.runtime.device import backends

events: list[str] = []


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> numpy.ndarray[Any, Any]:
    return numpy.zeros(shape, dtype.numpy)


def maker(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device
) -> Callable[[], numpy.ndarray[Any, Any]]:
    return lambda: empty(shape, strides, dtype, device)


def to_host(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    return array


def from_host(array: numpy.ndarray[Any, Any], device: Device) -> numpy.ndarray[Any, Any]:
    return array.copy()


@contextmanager
def guard(device: Device) -> Iterator[None]:
    events.append(f"enter {device}")
    try:
        yield
    finally:
        events.append(f"leave {device}")


def install() -> None:
    """Make the device type ``recorder`` known."""
    package, memory = ModuleType("opdsl_recorder"), ModuleType("opdsl_recorder.memory")
    for part in (empty, maker, to_host, from_host, guard):
        setattr(memory, part.__name__, part)
    sys.modules["opdsl_recorder"], sys.modules["opdsl_recorder.memory"] = package, memory
    backends.register("recorder", "opdsl_recorder", "PrivateUse1")
