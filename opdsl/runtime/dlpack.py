"""DLPack capsules for arrays, by NumPy's support and with bfloat16 and float8 in addition.

NumPy lacks these. The capsule that it makes from, or accepts for, the unsigned integers that store them differs from
the right one in a single byte, the type code, which is rewritten here.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy

from opdsl.errors import InterchangeError, OpdslError
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import ALL_DTYPES, DType, to_dtype
from opdsl.runtime.memory import device_memory
from opdsl.runtime.tensor_base import TensorBase
from opdsl.runtime.views import required_storage

# DLDeviceType in dlpack.h
_CPU = 1
_CUDA = 2
_CUDA_HOST = 3
_DEVICE_TYPES = {"cpu": _CPU, "cuda": _CUDA}

# DLDataTypeCode in dlpack.h
_UNSIGNED = 1
# The dtypes that NumPy lacks, by type code and number of bits.
_ENCODED = {(dtype.dlpack, 8 * dtype.itemsize): dtype for dtype in ALL_DTYPES if dtype.is_encoded}

# Byte offsets of DLTensor in DLManagedTensor and DLManagedTensorVersioned, and of fields in DLTensor.
_TENSOR_OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 32}
_DEVICE_TYPE_OFFSET = 8
_TYPE_CODE_OFFSET = 20
_TYPE_BITS_OFFSET = 21


def device_of(device: Device) -> tuple[int, int]:
    """Return DLPack's pair ``(type, index)`` for a device.

    Raises:
        InterchangeError: DLPack has no such device (meta).
    """
    kind = _DEVICE_TYPES.get(device.type)
    if kind is None:
        raise InterchangeError(f"DLPack knows no device {str(device)!r}. Move the tensor to the CPU first.")
    return kind, device.index or 0


def export(
    tensor: TensorBase,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """Return the DLPack capsule of a tensor; for the arguments see ``__dlpack__`` of the array API.

    Raises:
        InterchangeError: the memory cannot be shared that way.
    """
    form = tensor.geometry
    own_device = device_of(form.device)
    if form.device.type != "cpu":
        return device_memory(form.device).export_dlpack(tensor.array, form.dtype, stream, max_version, dl_device, copy)
    if dl_device is not None and tuple(dl_device) != own_device:
        raise InterchangeError(f"a tensor on the CPU is device {own_device} to DLPack (got dl_device={dl_device})")
    capsule = _export_array(tensor.array, stream, max_version, copy)
    if form.dtype.is_encoded:
        _Capsule(capsule).type_code = form.dtype.dlpack
    return capsule


def _export_array(
    array: numpy.ndarray[Any, Any], stream: int | None, max_version: tuple[int, int] | None, copy: bool | None
) -> object:
    try:
        if copy:
            array = array.copy()
        return array.__dlpack__(stream=stream, max_version=max_version)
    except (BufferError, RuntimeError) as error:
        raise InterchangeError(f"DLPack cannot share this memory: {error} Copy it first, or pass copy=True.") from error


class Taken(NamedTuple):
    """Array that shares another library's memory, with its dtype and device."""

    array: Any
    dtype: DType
    device: Device


def take(source: object) -> Taken:
    """Return the array of a DLPack producer, without a copy.

    Args:
        source: an object with ``__dlpack__`` and ``__dlpack_device__``, or a capsule.

    Raises:
        InterchangeError: it is no producer, or its dtype or device is not supported.
    """
    if type(source).__name__ == "PyCapsule":
        kind, index = _Capsule(source).device_type, 0
    elif hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__"):
        kind, index = _device_of_producer(source)
    else:
        raise InterchangeError(
            "from_dlpack takes an object with __dlpack__ and __dlpack_device__, or a capsule "
            f"(got {type(source).__name__})"
        )
    source = _held(source)
    if kind == _CUDA:
        device = Device("cuda", index)
        array, dtype = device_memory(device).take_dlpack(source)
        return Taken(array, dtype, device)
    if kind not in (_CPU, _CUDA_HOST):
        raise InterchangeError(f"from_dlpack knows CPU and CUDA memory (got DLPack device type {kind})")
    return _take_from_host(source)


def require_torch_memory(source: Any, reach: int) -> None:
    """Check that a torch tensor's storage is large enough for it: storages may have been resized, as FSDP does.

    Args:
        source: the torch tensor.
        reach: the number of elements from its first to the end of its last element in memory.

    Raises:
        InterchangeError: the storage is too small.
    """
    present, needed = source.untyped_storage().nbytes(), (source.storage_offset() + reach) * source.itemsize
    if reach and present < needed:
        raise InterchangeError(
            f"a torch tensor of shape {tuple(source.shape)} and {source.dtype} needs a storage of {needed} bytes (got "
            f"one of {present}). Its storage was resized: fill it again first."
        )


def _held(source: object) -> object:
    """Return a detached torch tensor that keeps the storage alive when the given tensor gets another storage.

    A capsule keeps its tensor alive, but torch does not check whether the tensor's memory still exists. Objects that
    are no torch tensors are returned unchanged.

    Raises:
        InterchangeError: the storage is too small for the tensor.
    """
    torch: Any = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if kind is None or not isinstance(source, kind):
        return source
    tensor: Any = source
    if tensor.requires_grad or tensor.layout is not torch.strided:
        return tensor  # torch raises the error
    require_torch_memory(tensor, required_storage(tuple(tensor.shape), tuple(tensor.stride())))
    return tensor.detach()


def _take_from_host(source: object) -> Taken:
    capsule = source if type(source).__name__ == "PyCapsule" else _ask(source)
    content = _Capsule(capsule)
    code = content.type_code
    encoded = _ENCODED.get((code, content.bits))
    if encoded is not None:
        content.type_code = _UNSIGNED
    try:
        array = numpy.from_dlpack(_Producer(capsule))  # type: ignore[arg-type]
        dtype = encoded or to_dtype(array.dtype)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        content.type_code = code
        reason = str(error) if isinstance(error, OpdslError) else f"NumPy refuses it: {error}"
        raise InterchangeError(f"from_dlpack cannot take this array: {reason}") from error
    if not content.versioned:
        # DLPack before 1.0 cannot say "read-only" and means writable; NumPy assumes the contrary.
        array = numpy.asarray(_Writable(array))
    return Taken(array, dtype, Device("cpu"))


def _device_of_producer(producer: Any) -> tuple[int, int]:
    try:
        kind, index = producer.__dlpack_device__()
        return int(kind), int(index)
    except OpdslError:
        raise
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InterchangeError(f"{type(producer).__name__} does not share its memory: {error}") from error


def _ask(producer: Any) -> object:
    try:
        return producer.__dlpack__(max_version=(1, 0))
    except TypeError:
        return producer.__dlpack__()  # the producer is older than DLPack 1.0
    except OpdslError:
        raise
    except (BufferError, RuntimeError, ValueError) as error:
        raise InterchangeError(f"{type(producer).__name__} does not share its memory: {error}") from error


class _Producer:
    """DLPack producer that passes an existing capsule to NumPy."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0


class _Writable:
    """Array wrapper that makes NumPy treat the memory as writable, and keeps the array alive."""

    def __init__(self, array: numpy.ndarray[Any, Any]) -> None:
        self._array = array
        address = array.__array_interface__["data"][0]
        self.__array_interface__ = dict(array.__array_interface__, data=(address, False))


class _Capsule:
    """Access to the dtype and device fields in a DLPack capsule's DLTensor."""

    def __init__(self, capsule: object) -> None:
        import ctypes

        if type(capsule).__name__ != "PyCapsule":
            raise InterchangeError(f"__dlpack__ gives a capsule (got {type(capsule).__name__})")
        api = ctypes.pythonapi
        name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
        pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", api)
        )
        name = name_of(capsule)
        if name not in _TENSOR_OFFSETS:
            raise InterchangeError(f"the capsule is no unused DLPack capsule (its name is {name!r})")
        self.versioned = name == b"dltensor_versioned"
        start = pointer_of(capsule, name) + _TENSOR_OFFSETS[name]
        self._type_code = ctypes.c_uint8.from_address(start + _TYPE_CODE_OFFSET)
        self.bits = ctypes.c_uint8.from_address(start + _TYPE_BITS_OFFSET).value
        self.device_type = ctypes.c_int32.from_address(start + _DEVICE_TYPE_OFFSET).value

    @property
    def type_code(self) -> int:
        """Return the DLDataTypeCode of the elements."""
        return self._type_code.value

    @type_code.setter
    def type_code(self, code: int) -> None:
        self._type_code.value = code
