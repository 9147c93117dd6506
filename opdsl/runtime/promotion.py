"""Type promotion: the dtype in which operands are computed, by PyTorch's rules (c10/core/ScalarType.h)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy

from opdsl.errors import DTypeError
from opdsl.runtime.dtype import (
    Category,
    DType,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from opdsl.runtime.symbols import symbolic_kind


class Operand(Protocol):
    """Protocol of tensors and geometries as operands of type promotion."""

    @property
    def dtype(self) -> DType:
        """Return the dtype of the elements."""

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""


def promote_types(first: DType, second: DType) -> DType:
    """Return the smallest dtype that represents the values of both dtypes.

    Raises:
        DTypeError: one is an unsigned integer of 16 bits or more, and the other is no floating-point dtype; or one is
            float8.

    >>> from opdsl.runtime import dtype
    >>> promote_types(dtype.uint8, dtype.int8), promote_types(dtype.float16, dtype.bfloat16)
    (opdsl.int16, opdsl.float32)
    """
    if first is second:
        return first
    if first.is_stored_only or second.is_stored_only:
        raise DTypeError(
            "Promotion for Float8 Types is not supported, "
            f"attempted to promote {first.scalar_type} and {second.scalar_type}. Convert one first: x.to(float32)."
        )
    low, high = sorted((first, second), key=_rank)
    if not high.is_floating_point and not _WITHOUT_PROMOTION.isdisjoint((first, second)):
        raise DTypeError(
            "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {first.scalar_type} and {second.scalar_type}. Convert one first: x.to(...)."
        )
    if high.is_complex:
        return complex128 if float64 in (low, high) or complex128 in (low, high) else complex64
    if low.category is not high.category:
        return high
    if low.itemsize == high.itemsize:
        return int16 if {low, high} == {uint8, int8} else float32
    return high


# As in PyTorch, these are promoted to floating-point dtypes only.
_WITHOUT_PROMOTION = frozenset((uint16, uint32, uint64))


def _rank(dtype: DType) -> tuple[Category, int]:
    return dtype.category, dtype.itemsize


def result_type(operands: Iterable[Operand | complex], default_dtype: DType = float32) -> DType:
    """Return the dtype in which operands are computed.

    Tensors with dimensions decide; zero-dim tensors, and after them Python numbers, only count if they are of a higher
    category (at::result_type).

    Args:
        operands: tensors, geometries and Python or NumPy numbers, at least one.
        default_dtype: the dtype of Python floats.

    Raises:
        DTypeError: there are no operands, or one is neither a tensor nor a number.

    >>> from opdsl.runtime import dtype
    >>> result_type([1, 2.5]), result_type([True, 1])
    (opdsl.float32, opdsl.int64)
    """
    with_dimensions: DType | None = None
    without: DType | None = None
    numbers: DType | None = None
    for operand in operands:
        is_number = isinstance(operand, numpy.generic) or not hasattr(operand, "ndim")
        dtype = number_dtype(operand, default_dtype) if is_number else None
        if dtype is not None:
            numbers = _promote(numbers, dtype)
        elif is_number or isinstance(operand, complex):
            raise DTypeError(f"result_type takes tensors and numbers (got {type(operand).__name__})")
        elif operand.ndim > 0:
            with_dimensions = _promote(with_dimensions, operand.dtype)
        else:
            without = _promote(without, operand.dtype)
    result = _combine(with_dimensions, _combine(without, numbers))
    if result is None:
        raise DTypeError("result_type needs at least one tensor or number")
    return result


def _promote(first: DType | None, second: DType) -> DType:
    return second if first is None else promote_types(first, second)


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """Combine dtypes of two priorities, as ``combine_categories`` in aten/src/ATen/native/TypeProperties.cpp."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if lower.is_complex:
        return lower
    return promote_types(higher, lower) if higher is bool_ or lower.is_floating_point else higher


_NUMPY_KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def number_dtype(value: object, default_dtype: DType = float32) -> DType | None:
    """Return the dtype of a number operand; None if it is no number. NumPy's scalars count as Python's.

    >>> number_dtype(2), number_dtype(2.0), number_dtype("2")
    (opdsl.int64, opdsl.float32, None)
    """
    kind = number_kind(value)
    if kind is float:
        return default_dtype
    if kind is complex:
        return complex128 if default_dtype is float64 else complex64
    return _NUMBER_DTYPES.get(kind)


_NUMBER_DTYPES: dict[type | None, DType] = {bool: bool_, int: int64}


def number_kind(value: object) -> type | None:
    """Return ``bool``, ``int``, ``float`` or ``complex`` for a number of that kind; None for other values.

    Symbolic numbers have one of these kinds, too.

    >>> number_kind(numpy.float32(1))
    <class 'float'>
    """
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return kind
    if isinstance(value, numpy.generic):
        return _NUMPY_KINDS.get(value.dtype.kind)
    return symbolic_kind(value)


def can_cast(source: DType, target: DType) -> bool:
    """Return whether results of dtype ``source`` may be stored in ``out=`` tensors of dtype ``target``.

    Any size is allowed as long as the category does not fall: no complex into real, no real into integer, no number
    into bool (c10::canCast).

    >>> from opdsl.runtime import dtype
    >>> can_cast(dtype.float64, dtype.float16), can_cast(dtype.float32, dtype.int64)
    (True, False)
    """
    return source.category <= target.category
