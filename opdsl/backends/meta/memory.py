"""Memory of meta tensors: there is none, so its arrays are None."""

from __future__ import annotations

from typing import NoReturn

from opdsl.errors import NoElementsError
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import DType


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> None:
    """Nothing, whatever the size."""


def view(array: None, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> None:
    """Nothing."""


def address(array: None) -> int:
    """Always 0."""
    return 0


def copy(source: object, target: object) -> None:
    """There is nothing to copy."""


def to_host(array: None) -> NoReturn:
    """A meta tensor has no elements to hand out.

    Raises:
        NoElementsError: always.
    """
    raise NoElementsError("Cannot copy out of meta tensor; no data!")


def from_host(array: object, device: Device, dtype: DType) -> None:
    """Nothing: the elements are dropped."""


def current_stream(device: Device) -> int:
    """There are no streams."""
    return 0


def synchronize(device: Device) -> None:
    """There is nothing to wait for."""
