"""Protocol of a backend's memory functions, and access to the memory of a device."""

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
    """Protocol of the module ``memory`` of a backend's package. Strides and offsets are in elements.

    ``empty``, ``view``, ``address``, ``copy``, ``to_host`` and ``from_host`` are enough for a backend; the others serve
    plans, backends with several devices, streams, page-locked memory and DLPack. An "array" is a type of the backend:
    ``numpy.ndarray`` in the storage dtype for the CPU.
    """

    def empty(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Any:
        """Return a new uninitialized array."""

    def maker(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device
    ) -> Callable[[], Any]:
        """Return a function that does the same as ``empty``, for plans that repeat it; optional."""

    def view(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> Any:
        """Return another array over the same memory; ``offset`` counts from the first element of ``array``."""

    def is_own_block(self, array: Any) -> bool:
        """Return whether an array covers a whole block that the backend has allocated; only used for the CPU."""

    def viewer(self, source: TensorMeta, view: TensorMeta, offset: int) -> Callable[[Any], Any]:
        """Return a function that makes a fixed view, a tensor, of any tensor with the given geometry; optional."""

    def address(self, array: Any) -> int:
        """Return the address of the first element; 0 for an array without elements."""

    def copy(self, source: Any, target: Any) -> None:
        """Copy ``source`` into ``target`` of the same shape and dtype, on the current stream."""

    def to_host(self, array: Any) -> numpy.ndarray[Any, Any]:
        """Return the elements in host memory; waits until the copy is complete."""

    def from_host(self, array: numpy.ndarray[Any, Any], device: Device, dtype: DType) -> Any:
        """Return a new array on ``device`` with the elements of ``array``, which have dtype ``dtype``."""

    def transfer(self, source: Any, target: Any, *, non_blocking: bool) -> None:
        """Copy between two devices of the backend, or between one and the host, whose arrays are ``numpy.ndarray``.

        Shapes, strides and dtypes are the same, and there are no gaps. With ``non_blocking`` it may return before the
        copy is done if the host memory is page-locked; work queued later on the device runs after the copy.
        """

    def empty_pinned(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Any:
        """Return a new ``numpy.ndarray`` in page-locked memory, which devices can access directly."""

    def is_pinned(self, array: Any) -> bool:
        """Return whether a ``numpy.ndarray`` is in page-locked memory."""

    def current_index(self) -> int:
        """Return the index that a device without an index denotes."""

    def current_stream(self, device: Device) -> int:
        """Return the native handle of the stream on which the calling thread queues kernels; 0 without streams."""

    def guard(self, device: Device) -> AbstractContextManager[object]:
        """Return a context manager that makes ``device`` current; not present in backends with a single device."""

    def is_current(self, device: Device) -> bool:
        """Return whether a device is current according to the dispatcher state, so that plans need no guard."""

    def synchronize(self, device: Device) -> None:
        """Wait until all work queued on ``device`` is done."""

    def array_interface(self, array: Any) -> dict[str, object]:
        """Return the ``__cuda_array_interface__`` of an array; only used for CUDA."""

    def take_array(self, source: Any) -> tuple[Any, DType]:
        """Return the array and dtype of an object with ``__cuda_array_interface__``; only used for CUDA."""

    def look_inside(self, kind: type[Exception], text: str, array: Any, least: int, size: int) -> None:
        """Make the device check, without waiting, that elements of an int64 array are between ``least`` and ``size``.

        If not, the error is raised at the next synchronization with the device, with ``{value}`` and ``{size}`` in its
        text replaced. A backend may lack this function; indices are then checked on the host, after waiting. A backend
        with it clamps indices when reading.
        """

    def report(self, kind: type[Exception], text: str, device: Device) -> tuple[Any, int]:
        """Return an int64 array of 4 elements in which kernels report an error, and the number of the error.

        A kernel that finds it stores a value, a size and the number. The error is raised as that of ``look_inside`` is;
        a backend has both functions or none.
        """

    def record_use(self, array: Any, stream: Any) -> None:
        """Delay the reuse of an array's freed memory until a stream has finished the work queued at that time."""

    def export_dlpack(
        self,
        array: Any,
        dtype: DType,
        stream: int | None,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> object:
        """Return the DLPack capsule of an array; not used for the CPU."""

    def take_dlpack(self, source: object) -> tuple[Any, DType]:
        """Return the array and dtype of a DLPack producer on a device of this backend; not used for the CPU."""


def device_memory(device: Device) -> Memory:
    """Return the memory module of a device, importing its backend on first use; one that records during lowering.

    Raises:
        DeviceError: its backend is not installed.
    """
    memory = backends.load(device.type, "memory")
    recorder = lowering.get()
    # The CPU's memory functions handle symbols themselves; on meta there is nothing to record.
    is_noted = recorder is not None and device.type != "meta" and (recorder.is_exact or device.type != "cpu")
    return cast("Memory", _NotingMemory(memory) if is_noted else memory)


def concrete_device(device: Device) -> Device:
    """Return a device with its index: one without an index is the current device of its type, or the only one.

    Raises:
        DeviceError: its backend is not installed.
    """
    if device.type in _SINGLE:
        return device if device.index is None else Device(device.type)
    if device.index is not None:
        return device
    current = getattr(device_memory(device), "current_index", None)
    return device if current is None else Device(device.type, current())


# Device types with a single device.
_SINGLE = frozenset(("cpu", "meta"))


def _array_of_report(report: Callable[..., tuple[Any, int]], *described: Any) -> Any:
    array, _ = report(*described)
    return array


class _NotingMemory:
    """Wrapper of a device's memory module while a call is lowered: operations on arrays are recorded as steps."""

    # Functions that neither read nor make an array.
    _ASKED = frozenset(("array_viewer", "current_index", "guard", "is_current", "view", "viewer"))

    __slots__ = ("_memory",)

    def __init__(self, memory: object) -> None:
        self._memory = memory

    def maker(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, device: Device | None = None
    ) -> Noted:
        """See ``Memory.maker``."""
        memory: Any = self._memory
        if sizes_are_symbols():
            return Noted(memory.empty, [dtype.numpy], (shape, strides, dtype, device))
        with concrete():
            make = getattr(memory, "maker", partial(partial, memory.empty))(shape, strides, dtype, device)
        return Noted(make, [dtype.numpy])

    def empty(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, device: Device | None = None
    ) -> object:
        """See ``Memory.empty``."""
        return self.maker(shape, strides, dtype, device)()

    def copy(self, source: object, target: object) -> None:
        """See ``Memory.copy``."""
        memory: Any = self._memory
        Noted(memory.copy, [])(source, target)

    def to_host(self, array: SymbolicArray) -> object:
        """See ``Memory.to_host``."""
        memory: Any = self._memory
        return Noted(memory.to_host, [array.dtype])(array)

    def from_host(self, array: SymbolicArray, device: Device, dtype: DType) -> object:
        """See ``Memory.from_host``."""
        memory: Any = self._memory
        return Noted(partial(memory.from_host, device=device, dtype=dtype), [dtype.numpy])(array)

    def _report(self, report: Callable[..., tuple[Any, int]], *described: Any) -> tuple[object, int]:
        """See ``Memory.report``; each run of the plan asks for the array."""
        _, number = report(*described)
        return Noted(partial(_array_of_report, report, *described), [numpy.dtype(numpy.int64)])(), number

    def __getattr__(self, name: str) -> object:
        attribute = getattr(self._memory, name)
        if name == "transfer":
            return lambda *arrays, **how: Noted(partial(attribute, **how), [])(*arrays)
        if name == "look_inside":
            return lambda kind, text, *operands: Noted(partial(attribute, kind, text), [])(*operands)
        if name == "report":
            return partial(self._report, attribute)
        if name not in self._ASKED:
            raise NotLoweredError(f"{name} of memory")
        return attribute
