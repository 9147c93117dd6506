"""Conversion of arrays and Python numbers to elements of another dtype, as in PyTorch."""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import numpy

from opdsl.errors import ConversionError
from opdsl.runtime.dtype import Category, DType, bool_, float16, float32, float64, int64, uint64
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.narrow_values import narrow, widen

_Array = numpy.ndarray[Any, Any]

# Type codes of array.array that store Python numbers like PyTorch: floats that are too large become infinite, integers
# raise an error.
_CODES = {(float32, float): "f", (float64, float): "d", (int64, int): "q"}


def cast_array(elements: _Array, source: DType, target: DType) -> _Array:
    """Convert an array from dtype ``source`` to dtype ``target``; return the array itself if both are the same.

    Complex numbers lose their imaginary part, floating-point numbers their fraction, and float64 is converted to the
    narrower types through float32, all as in PyTorch.
    """
    if source is target:
        return elements
    values = widen(elements, source.name) if source.is_encoded else elements
    if target is bool_:
        return numpy.asarray(values != 0)
    if not target.is_complex:
        values = values.real
    with numpy.errstate(all="ignore"):
        if target.is_encoded:
            return narrow(values, target.name)
        if target is float16 and values.dtype.kind == "f":
            values = values.astype(numpy.float32)
        return values.astype(target.numpy)


def array_of_numbers(values: Sequence[Any], shape: tuple[int, ...], dtype: DType) -> _Array:
    """Return a new contiguous array of Python (or NumPy) numbers, as ``torch.tensor`` stores them.

    Args:
        values: the numbers in row-major order.
        shape: the shape of the array.
        dtype: the dtype of its elements.

    Raises:
        ConversionError: a number does not fit the dtype.
    """
    try:
        code = _CODES.get((dtype, type(values[0]))) if values and len(set(map(type, values))) == 1 else None
        if code is not None:
            return numpy.frombuffer(array.array(code, values), dtype.numpy).reshape(shape)
        elements = _ELEMENTS[dtype.category](values, dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise ConversionError(f"the data cannot be stored as {dtype!r}: {error}") from error
    return numpy.ndarray(
        shape, dtype.numpy, elements, 0, tuple(step * dtype.itemsize for step in contiguous_strides(shape))
    )


def _bools(values: Sequence[Any], dtype: DType) -> _Array:
    return numpy.array([bool(value) for value in values], dtype.numpy)


def _integers(values: Sequence[Any], dtype: DType) -> _Array:
    # int() raises an error for NaN, infinity and complex numbers.
    numbers = numpy.array([int(value) for value in values], numpy.uint64 if dtype is uint64 else numpy.int64)
    if numbers.size:
        # PyTorch lets negative numbers wrap around in unsigned dtypes.
        most = (1 << (8 * dtype.itemsize - dtype.is_signed)) - 1
        least = -most - dtype.is_signed
        for number in (int(numbers.min()), int(numbers.max())):
            if not least <= number <= most:
                raise ConversionError(f"value {number} cannot be converted to type {dtype.name} without overflow")
    return numbers.astype(dtype.numpy)


def _floats(values: Sequence[Any], dtype: DType) -> _Array:
    return cast_array(numpy.array([float(value) for value in values], numpy.float64), float64, dtype)


def _complexes(values: Sequence[Any], dtype: DType) -> _Array:
    with numpy.errstate(over="ignore"):
        return numpy.array([complex(value) for value in values], numpy.complex128).astype(dtype.numpy)


_ELEMENTS = {
    Category.BOOL: _bools,
    Category.INT: _integers,
    Category.FLOAT: _floats,
    Category.COMPLEX: _complexes,
}
