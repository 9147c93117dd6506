"""Memory of meta tensors, whose arrays are None because they have no elements."""

from __future__ import annotations

from typing import NoReturn

from opdsl.errors import NoElementsError
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import DType


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> None:
    """Return None, the array of a meta tensor, for any shape."""


def view(array: None, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> None:
    """Return None, the array of a meta tensor, for any view."""


def address(array: None) -> int:
    """Return 0 as the address of any meta tensor."""
    return 0


def copy(source: object, target: object) -> None:
    """Do nothing, since meta tensors have no elements to copy."""


def to_host(array: None) -> NoReturn:
    """Raise an error, since a meta tensor has no elements.

    Raises:
        NoElementsError: always.
    """
    raise NoElementsError("Cannot copy out of meta tensor; no data!")


def from_host(array: object, device: Device, dtype: DType) -> None:
    """Return None, the array of a meta tensor; the elements of the host array are dropped."""


def current_stream(device: Device) -> int:
    """Return 0, since the meta device has no streams."""
    return 0


def synchronize(device: Device) -> None:
    """Do nothing, since no work is queued on the meta device."""
