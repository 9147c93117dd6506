"""CUDA devices and the current device.

The current device is a part of the dispatcher's state, so that a plan made for ``device="cuda"`` holds for one device
only.
"""

from __future__ import annotations

from opdsl.backends.cuda.driver import driver
from opdsl.dispatch.state import Scope, State, change_for_good, current
from opdsl.errors import DeviceError
from opdsl.runtime.device import Device

__all__ = ["KIND", "current_device", "device", "device_count", "index_of", "is_available", "set_device"]

KIND = "cuda"


def device_count() -> int:
    """Return the number of CUDA devices; 0 if there is no driver."""
    try:
        return driver().device_count
    except (DeviceError, ImportError):
        return 0


def is_available() -> bool:
    """Return whether there is a CUDA device that can be used."""
    return device_count() > 0


def current_device() -> int:
    """Return the index of the device that ``device="cuda"`` means."""
    for active in current.get().devices:
        if active.type == KIND:
            return active.index or 0
    return 0


def index_of(place: Device | str | int | None) -> int:
    """Return the index of a device; None, or a device without an index, denotes the current device.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """
    if place is None or isinstance(place, int):
        index = current_device() if place is None else place
    else:
        named = Device(place)
        if named.type != KIND:
            raise DeviceError(f"a CUDA device is needed (got {named}). Write 'cuda:0', or its index.")
        index = current_device() if named.index is None else named.index
    count = driver().device_count
    if not 0 <= index < count:
        have = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise DeviceError(f"there is no device 'cuda:{index}': this machine has {count} (have {have}).")
    return index


class device(Scope):
    """Context manager and decorator that makes a device the current one.

    Args:
        place: its index, ``"cuda:1"`` or a ``Device``.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """

    __slots__ = ("index",)

    def __init__(self, place: Device | str | int | None) -> None:
        self.index = index_of(place)

    def state_within(self, before: State) -> State:
        """See ``Scope``."""
        return before.change(devices=_with_device(before, self.index))


def set_device(place: Device | str | int) -> None:
    """Make a device the current one of this thread.

    Args:
        place: the device, or its index.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """
    index = index_of(place)
    change_for_good(devices=_with_device(current.get(), index))


def _with_device(state: State, index: int) -> tuple[Device, ...]:
    others = tuple(other for other in state.devices if other.type != KIND)
    return (*others, Device(KIND, index)) if index else others
