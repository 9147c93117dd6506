"""What a backend's memory has to offer, and the memory of a device."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol, cast

import numpy

from opdsl.runtime.device import Device, backends
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import Noted, SymbolicArray, concrete, lowering, sizes_are_symbols
from opdsl.runtime.symbol import NotLoweredError


class Memory(Protocol):
    """Implemented by the module ``memory`` of a backend's package. Strides and offsets are in elements.

    ``empty``, ``view``, ``address``, ``copy``, ``to_host`` and ``from_host`` are enough for a backend; the others serve
    plans, backends of several devices, streams, page-locked memory and DLPack. What an "array" is belongs to the
    backend: ``numpy.ndarray`` in the storage dtype for the CPU.
    """

    def empty(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Any:
        """A new array whose elements have no defined value."""

    def maker(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device
    ) -> Callable[[], Any]:
        """What ``empty`` does, as a function for plans that repeat it; a backend may leave that to ``empty``."""

    def view(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> Any:
        """Another array over the same memory; ``offset`` counts from the first element of ``array``."""

    def is_own_block(self, array: Any) -> bool:
        """Whether an array is all that lies in a block of the backend's own; the CPU alone is asked."""

    def viewer(self, source: TensorMeta, view: TensorMeta, offset: int) -> Callable[[Any], Any]:
        """Makes one view of every tensor of a geometry, which holds it; a backend may have none."""

    def address(self, array: Any) -> int:
        """The address of the first element, 0 where there is none."""

    def copy(self, source: Any, target: Any) -> None:
        """Copies ``source`` into ``target`` of the same shape and dtype, on the current stream."""

    def to_host(self, array: Any) -> numpy.ndarray[Any, Any]:
        """The elements in the host's memory, complete when this returns."""

    def from_host(self, array: numpy.ndarray[Any, Any], device: Device, dtype: DType) -> Any:
        """A new array on ``device`` with the elements of ``array``, which are of ``dtype``."""

    def transfer(self, source: Any, target: Any, *, non_blocking: bool) -> None:
        """Copies between two devices of the backend, or one and the host, whose arrays are ``numpy.ndarray``.

        Shapes, strides and dtypes are the same, and there are no gaps. With ``non_blocking`` it may return before the
        copy is done where the host's memory is page-locked; what is queued later on the device comes after it.
        """

    def empty_pinned(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Any:
        """A new ``numpy.ndarray`` in page-locked memory, which devices read and write on their own."""

    def is_pinned(self, array: Any) -> bool:
        """Whether a ``numpy.ndarray`` lies in such memory."""

    def current_index(self) -> int:
        """The index that a device without one stands for."""

    def current_stream(self, device: Device) -> int:
        """The native handle of the stream that kernels of the calling thread are queued on; 0 where there are none."""

    def guard(self, device: Device) -> AbstractContextManager[object]:
        """Makes ``device`` the current one while it is entered; a backend of one device has no such function."""

    def is_current(self, device: Device) -> bool:
        """Whether a device is the current one as far as the dispatcher's state says; plans need no guard then."""

    def synchronize(self, device: Device) -> None:
        """Waits until everything queued on ``device`` is done."""

    def array_interface(self, array: Any) -> dict[str, object]:
        """What ``__cuda_array_interface__`` says of an array; asked of CUDA's memory only."""

    def take_array(self, source: Any) -> tuple[Any, DType]:
        """The array of an object with ``__cuda_array_interface__``; asked of CUDA's memory only."""

    def look_inside(self, kind: type[Exception], text: str, array: Any, least: int, size: int) -> None:
        """Has the device look whether all elements of an int64 array lie from ``least`` to ``size``, without waiting.

        Who waits for the device next gets the error otherwise, with ``{value}`` and ``{size}`` in its text. A backend
        may have no such function; positions are waited for then. One that has it bounds them where it reads.
        """

    def record_use(self, array: Any, stream: Any) -> None:
        """Keeps an array's memory until a stream has done what is queued on it when the memory is freed."""

    def export_dlpack(
        self,
        array: Any,
        dtype: DType,
        stream: int | None,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> object:
        """The DLPack capsule of an array; never asked of the CPU's memory."""

    def take_dlpack(self, source: object) -> tuple[Any, DType]:
        """The array of a DLPack producer on a device of this backend; never asked of the CPU's memory."""


def device_memory(device: Device) -> Memory:
    """The memory of a device, importing its backend when it is the first use.

    Raises:
        DeviceError: its backend is not there.
    """
    memory = backends.load(device.type, "memory")
    recorder = lowering.get()
    # The CPU's own memory knows what symbols are; on meta there is nothing to note.
    is_noted = recorder is not None and device.type != "meta" and (recorder.is_exact or device.type != "cpu")
    return cast("Memory", _NotingMemory(memory) if is_noted else memory)


def concrete_device(device: Device) -> Device:
    """The device that is meant: one without an index is the current one of its type; of some there is one alone.

    Raises:
        DeviceError: its backend is not there.
    """
    if device.type in _SINGLE:
        return device if device.index is None else Device(device.type)
    if device.index is not None:
        return device
    current = getattr(device_memory(device), "current_index", None)
    return device if current is None else Device(device.type, current())


# Device types of which there is one.
_SINGLE = frozenset(("cpu", "meta"))


class _NotingMemory:
    """The memory of a device while a call is lowered for its very geometries: what is done to arrays is noted."""

    # What looks at no array, and makes none itself.
    _ASKED = frozenset(("array_viewer", "current_index", "guard", "is_current", "view", "viewer"))

    __slots__ = ("_memory",)

    def __init__(self, memory: object) -> None:
        self._memory = memory

    def maker(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, device: Device | None = None
    ) -> Noted:
        """See the memory of backends."""
        memory: Any = self._memory
        if sizes_are_symbols():
            return Noted(memory.empty, [dtype.numpy], (shape, strides, dtype, device))
        with concrete():
            make = getattr(memory, "maker", partial(partial, memory.empty))(shape, strides, dtype, device)
        return Noted(make, [dtype.numpy])

    def empty(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, device: Device | None = None
    ) -> object:
        """See the memory of backends."""
        return self.maker(shape, strides, dtype, device)()

    def copy(self, source: object, target: object) -> None:
        """See the memory of backends."""
        memory: Any = self._memory
        Noted(memory.copy, [])(source, target)

    def to_host(self, array: SymbolicArray) -> object:
        """See the memory of backends."""
        memory: Any = self._memory
        return Noted(memory.to_host, [array.dtype])(array)

    def from_host(self, array: SymbolicArray, device: Device, dtype: DType) -> object:
        """See the memory of backends."""
        memory: Any = self._memory
        return Noted(partial(memory.from_host, device=device, dtype=dtype), [dtype.numpy])(array)

    def __getattr__(self, name: str) -> object:
        attribute = getattr(self._memory, name)
        if name == "transfer":
            return lambda *arrays, **how: Noted(partial(attribute, **how), [])(*arrays)
        if name == "look_inside":
            return lambda kind, text, *operands: Noted(partial(attribute, kind, text), [])(*operands)
        if name not in self._ASKED:
            raise NotLoweredError(f"{name} of memory")
        return attribute
