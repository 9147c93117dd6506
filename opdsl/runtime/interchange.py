"""Conversion to tensors: NumPy arrays and DLPack producers without a copy, Python data with a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy

import opdsl.runtime.dlpack as dlpack
from opdsl.errors import ConversionError, DTypeError, InterchangeError
from opdsl.runtime.casting import array_of_numbers, cast_array
from opdsl.runtime.device import Device, cpu
from opdsl.runtime.dtype import DType, float32, to_dtype
from opdsl.runtime.geometry import geometry
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.memory import concrete_device, device_memory
from opdsl.runtime.promotion import number_dtype, promote_types
from opdsl.runtime.strides import MOST_DIMENSIONS, contiguous_strides, is_non_overlapping_and_dense
from opdsl.runtime.tensor import Tensor, wrap
from opdsl.runtime.values import host_array, stored

_Array = numpy.ndarray[Any, Any]


def from_numpy(array: numpy.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    An array that is not writeable gives a tensor that cannot be written.

    Args:
        array: an array with a dtype of opdsl or ml_dtypes' bfloat16, native byte order and no negative strides.

    Raises:
        InterchangeError: the memory cannot be shared; the message says how to copy it.

    >>> array = numpy.zeros(2, "f4")
    >>> shared = from_numpy(array)
    >>> array[0] = 1
    >>> shared
    tensor([1., 0.])
    """
    if not isinstance(array, numpy.ndarray):
        raise InterchangeError(f"expected np.ndarray (got {type(array).__name__})")
    return wrap(*stored(array))


def operand(value: object) -> object:
    """Return a NumPy array as a tensor that shares its memory, or else a copy; return other values unchanged.

    Args:
        value: an array, or any other object.

    Raises:
        ConversionError, InterchangeError: opdsl does not have the array's dtype.
    """
    if not isinstance(value, numpy.ndarray):
        return value
    try:
        return from_numpy(value)
    except InterchangeError:
        return tensor(value)


def from_dlpack(source: object) -> Tensor:
    """Return a tensor that shares the memory of any object with ``__dlpack__``, a PyTorch tensor for example.

    Args:
        source: the object, or a DLPack capsule.

    Raises:
        InterchangeError: the memory cannot be shared.
    """
    array, dtype, device = dlpack.take(source)
    return wrap(array, dtype) if device is cpu else _over_device_array(array, dtype, device)


def from_cuda_array(source: object) -> Tensor:
    """Return a tensor that shares the memory of any object with ``__cuda_array_interface__``, a numba or cupy array.

    Args:
        source: the object.

    Raises:
        InterchangeError: the memory cannot be shared.
    """
    array, dtype = device_memory(Device("cuda")).take_array(source)
    return _over_device_array(array, dtype, Device("cuda", array.index))


def _over_device_array(array: Any, dtype: DType, device: Device) -> Tensor:
    prepare()
    tensor = Tensor()
    tensor.array = array
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    tensor.geometry = geometry(dtype, device, tuple(array.shape), strides)
    tensor._writes = 0
    tensor._base = None
    return tensor


def tensor(
    data: object,
    dtype: DType | str | type | None = None,
    device: Device | str | None = None,
    *,
    default_dtype: DType = float32,
) -> Tensor:
    """Return a new tensor with a copy of the data.

    Args:
        data: a number, nested sequences of numbers, a NumPy array or scalar, a tensor, or an object that NumPy or
            DLPack can read.
        dtype: None derives it from the data: Python's float means ``default_dtype``, int means int64.
        device: None means the CPU.
        default_dtype: the dtype of Python's floats, and of empty data.

    Raises:
        ConversionError: the data is ragged, contains something other than numbers, or does not fit the dtype.
        DTypeError, DeviceError: there is no such dtype or device.

    >>> tensor([[1, 2.5], [3, 4]])
    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]])
    """
    array, result_dtype = _copied(data, None if dtype is None else to_dtype(dtype), default_dtype)
    place = cpu if device is None else concrete_device(Device(device))
    if place is cpu:
        return wrap(array, result_dtype)
    prepare()
    output = Tensor()
    strides = tuple(step // result_dtype.itemsize for step in array.strides)
    output.geometry = geometry(result_dtype, place, array.shape, strides)
    output._writes = 0
    output._base = None
    if place.type != "meta":
        output.array = device_memory(place).from_host(array, place, result_dtype)
    return output


def _copied(data: object, dtype: DType | None, default_dtype: DType) -> tuple[_Array, DType]:
    """Copy data to a new array in the storage dtype; return the array and the dtype."""
    if isinstance(data, Tensor):
        return _copied_array(host_array(data), data.geometry.dtype, dtype)
    if isinstance(data, numpy.ndarray):
        return _copied_array(*stored(_native(data)), dtype)
    if type(data) is list or type(data) is tuple:
        return _copied_sequence(data, dtype, default_dtype)
    number = _number_dtype(data, default_dtype)
    if number is not None:
        target = dtype or number
        return array_of_numbers([data], (), target), target
    if hasattr(data, "__cuda_array_interface__"):
        taken = from_cuda_array(data)
        return _copied_array(host_array(taken), taken.geometry.dtype, dtype)
    if hasattr(data, "__dlpack__"):
        taken = from_dlpack(data)
        return _copied_array(host_array(taken), taken.geometry.dtype, dtype)
    if hasattr(data, "__array__"):
        return _copied_array(*stored(_native(numpy.asarray(data))), dtype)
    if not _is_sequence(data):
        raise ConversionError(f"Could not infer dtype of {type(data).__name__}: a tensor is made of numbers")
    return _copied_sequence(data, dtype, default_dtype)


def _copied_sequence(data: object, dtype: DType | None, default_dtype: DType) -> tuple[_Array, DType]:
    """Copy nested sequences to a new array in the storage dtype; return the array and the dtype."""
    shape: list[int] = []
    numbers: list[Any] = []
    _collect(data, 0, shape, numbers)
    kinds = set(map(type, numbers))
    if len(kinds) == 1 and kinds <= _PYTHON_NUMBERS:
        target = dtype or number_dtype(numbers[0], default_dtype) or default_dtype
        return array_of_numbers(numbers, tuple(shape), target), target
    target = dtype or _dtype_of_numbers(numbers, default_dtype)
    values = [number.value if isinstance(number, _Element) else number for number in numbers]
    return array_of_numbers(values, tuple(shape), target), target


def _native(array: _Array) -> _Array:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _copied_array(array: _Array, source: DType, target: DType | None) -> tuple[_Array, DType]:
    """Copy an array; the copy has the strides of the array if these leave no gaps, otherwise it is contiguous."""
    target = target or source
    strides = tuple(stride // array.itemsize for stride in array.strides)
    if not is_non_overlapping_and_dense(array.shape, strides):
        strides = contiguous_strides(array.shape)
    view = numpy.ndarray(
        array.shape,
        target.numpy,
        numpy.empty(array.size, target.numpy),
        0,
        tuple(step * target.itemsize for step in strides),
    )
    view[...] = cast_array(array, source, target)
    return view, target


def _number_dtype(value: object, default_dtype: DType) -> DType | None:
    """Return the dtype of a number as tensor data; None if the value is no number."""
    if not isinstance(value, numpy.generic):
        return number_dtype(value, default_dtype)
    try:
        return to_dtype(value.dtype)
    except DTypeError as error:
        raise ConversionError(f"a NumPy scalar of dtype {value.dtype} is no element of a tensor: {error}") from error


def _is_sequence(value: object) -> bool:
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, numpy.ndarray):
        return value.ndim > 0
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (str, bytes, Mapping))


_PYTHON_NUMBERS = {bool, int, float, complex}


def _collect(data: Any, depth: int, shape: list[int], numbers: list[Any]) -> None:
    """Append the numbers of nested sequences to a list, and determine or check the sizes from ``depth`` on."""
    if not isinstance(data, (list, tuple)):
        try:
            data = list(islice(data, len(data)))  # an object that is only indexed may not raise IndexError at its end
        except Exception as error:  # an object of another library may raise any error
            raise ConversionError(
                f"could not determine the shape of object type {type(data).__name__!r}, whose elements cannot be read: "
                f"{error!r}. Give a list of them."
            ) from error
    length = len(data)
    if depth == MOST_DIMENSIONS:
        raise ConversionError(f"the data is nested more than {MOST_DIMENSIONS} deep, or contains itself")
    if depth == len(shape):
        if numbers:
            raise ConversionError(f"'{type(data).__name__}' object found at dim {depth} where a number is expected")
        shape.append(length)
    elif shape[depth] != length:
        raise ConversionError(f"expected sequence of length {shape[depth]} at dim {depth} (got {length})")
    inner = len(shape) > depth + 1
    if not inner and set(map(type, data)) <= _PYTHON_NUMBERS:
        numbers.extend(data)
        return
    for element in data:
        if isinstance(element, Tensor):
            element = _Element(_only_item(element), element.geometry.dtype)
        elif isinstance(element, numpy.ndarray) and element.ndim == 0:
            element = element[()]
        if _is_sequence(element):
            _collect(element, depth + 1, shape, numbers)
        elif len(shape) > depth + 1:
            raise ConversionError(
                f"expected a sequence of length {shape[depth + 1]} at dim {depth + 1} (got {element!r})"
            )
        else:
            numbers.append(_checked_number(element))


def _only_item(value: Tensor) -> complex:
    if value.geometry.numel != 1:
        raise ConversionError(
            "only one element tensors can be converted to Python scalars "
            f"(got one of shape {value.geometry.shape}; stack tensors instead)"
        )
    return value.item()


class _Element:
    """Value of a one-element tensor in a sequence of numbers, with its dtype."""

    __slots__ = ("dtype", "value")

    def __init__(self, value: complex, dtype: DType) -> None:
        self.value = value
        self.dtype = dtype


def _checked_number(value: object) -> object:
    if isinstance(value, _Element) or _number_dtype(value, float32) is not None:
        return value
    if isinstance(value, (str, bytes)):
        raise ConversionError(f"too many dimensions {type(value).__name__!r}: a tensor is made of numbers")
    raise ConversionError(f"Could not infer dtype of {type(value).__name__}: a tensor is made of numbers")


def _dtype_of_numbers(numbers: Sequence[Any], default_dtype: DType) -> DType:
    common: DType | None = None
    for kind in {type(number): number for number in numbers if not isinstance(number, _Element)}.values():
        dtype = _number_dtype(kind, default_dtype)
        if dtype is not None:
            common = dtype if common is None else promote_types(common, dtype)
    for number in numbers:
        if isinstance(number, _Element):
            common = number.dtype if common is None else promote_types(common, number.dtype)
    return common or default_dtype
