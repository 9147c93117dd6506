"""DLPack capsules for memory that NumPy cannot describe, made and read with ctypes; ``dlpack.h`` defines the
structures.
"""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar, NamedTuple

from opdsl.errors import InterchangeError
from opdsl.runtime.dtype import ALL_DTYPES, DType
from opdsl.runtime.strides import contiguous_strides

__all__ = ["Contents", "Received", "capsule_of", "contents_of"]

_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED = {_PLAIN: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    """DLPack's structure ``DLTensor``: address, device, dtype, shape and strides of a tensor."""

    _fields_: ClassVar[Any] = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLPack's structure ``DLManagedTensor``: a tensor with its deleter, before DLPack 1.0."""

    _fields_: ClassVar[Any] = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    """DLPack's structure ``DLManagedTensorVersioned``: a tensor with its deleter and flags, from DLPack 1.0 on."""

    _fields_: ClassVar[Any] = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_STRUCTURES: dict[bytes, Any] = {_PLAIN: _Managed, _VERSIONED: _ManagedVersioned}


class Contents(NamedTuple):
    """Contents of a DLPack capsule.

    address: of the first element.
    device: DLPack's device type and index.
    dtype: of the elements.
    shape: sizes.
    strides: in bytes.
    """

    address: int
    device: tuple[int, int]
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_BITS = 8


def _code(dtype: DType) -> tuple[int, int]:
    """Return DLPack's type code and number of bits for a dtype."""
    return dtype.dlpack, dtype.itemsize * _BITS


_DTYPES = {_code(dtype): dtype for dtype in ALL_DTYPES}


# -------------------------------------------------------------------------------------------------------------- making

# Objects that live capsules keep alive, by the address of the capsule's structure.
_held: dict[int, object] = {}

_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DELETER)(("PyCapsule_New", _api))
# These take the capsule's address: a capsule that is being destroyed must not be referenced.
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", _api))


def _delete(structure: int) -> None:
    """Release the owner of a capsule's memory: the deleter that a consumer calls when it does not use the memory any
    more.
    """
    _held.pop(structure, None)


def _destroy(capsule: int) -> None:
    """Release the owner of a capsule's memory when the capsule dies unconsumed: the destructor of capsules."""
    name = _name(capsule)
    if name in _STRUCTURES:
        _held.pop(_pointer(capsule, name), None)


_deleter, _destructor = _DELETER(_delete), _DELETER(_destroy)


def capsule_of(contents: Contents, owner: object, max_version: tuple[int, int] | None) -> object:
    """Return a DLPack capsule for a tensor's memory.

    Args:
        contents: description of the tensor.
        owner: keeps the memory alive as long as the capsule or its consumer lives.
        max_version: the newest DLPack version that the consumer supports; None for one before 1.0.
    """
    name = _VERSIONED if max_version is not None and max_version[0] >= 1 else _PLAIN
    managed = _STRUCTURES[name]()
    ndim = len(contents.shape)
    numbers = ctypes.c_int64 * max(1, ndim)
    shape = numbers(*contents.shape)
    strides = numbers(*(step // contents.dtype.itemsize for step in contents.strides))
    tensor = managed.tensor
    tensor.data = contents.address
    tensor.device_type, tensor.device_id = contents.device
    tensor.ndim = ndim
    tensor.code, tensor.bits = _code(contents.dtype)
    tensor.lanes = 1
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_deleter, ctypes.c_void_p).value
    if name == _VERSIONED:
        managed.major, managed.minor = 1, 0
    address = ctypes.addressof(managed)
    _held[address] = (managed, shape, strides, owner)
    return _new(address, name, _destructor)


# ------------------------------------------------------------------------------------------------------------- reading


class _Owner:
    """Owner of the memory that a consumed capsule describes: calls the producer's deleter when it dies."""

    def __init__(self, structure: int, deleter: int | None) -> None:
        self._structure = structure
        self._deleter = deleter

    def __del__(self, call: Any = _DELETER) -> None:
        if self._deleter:
            call(self._deleter)(self._structure)


class Received(NamedTuple):
    """Contents of a capsule that has been consumed.

    contents: description of the tensor.
    owner: has to be kept alive as long as the memory is used.
    """

    contents: Contents
    owner: object


def contents_of(capsule: object) -> Received:
    """Consume a DLPack capsule, and return its contents; the capsule cannot be consumed again.

    Raises:
        InterchangeError: the capsule has been consumed, is read-only, or its dtype is not supported.
    """
    name = _name(id(capsule))
    if name not in _STRUCTURES:
        raise InterchangeError(f"the capsule is no unused DLPack capsule (its name is {name!r})")
    structure = _pointer(id(capsule), name)
    managed = _STRUCTURES[name].from_address(structure)
    tensor = managed.tensor
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        kind = f"code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        raise InterchangeError(f"from_dlpack cannot take this array: no dtype is stored like that ({kind})")
    if getattr(managed, "flags", 0) & _READ_ONLY:
        raise InterchangeError("from_dlpack cannot take a read-only array on a device. Copy it first.")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else contiguous_strides(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    steps = tuple(step * dtype.itemsize for step in strides)
    contents = Contents(address, (tensor.device_type, tensor.device_id), dtype, shape, steps)
    owner = _Owner(structure, managed.deleter)
    _rename(id(capsule), _USED[name])
    return Received(contents, owner)
