"""Functions of the array API on dtypes: promotion, limits, conversion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from opdsl.dispatch import get_default_dtype
from opdsl.errors import ArgumentError, DTypeError, OptionError
from opdsl.runtime import (
    Category,
    Device,
    DType,
    Tensor,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    limits,
    number_kind,
    promotion,
    to_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)

DTYPES: tuple[DType, ...] = (
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    complex64,
    complex128,
)
"""Dtypes of the standard that opdsl has."""

_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool_,),
    "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64),
    "real floating": (float32, float64),
    "complex floating": (complex64, complex128),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

Numbers = Tensor | complex
"""Operand of a function of two arguments: a tensor or a Python number."""


class _Typed(NamedTuple):
    """Stand-in for a tensor with dimensions, used in promotion, since the standard has no special rule for zero-dim
    tensors.
    """

    dtype: DType
    ndim: int = 1


def result_type(*arrays_and_dtypes: Numbers | DType) -> DType:
    """Return the dtype to which tensors, dtypes and Python numbers are promoted, by the standard's rules.

    Zero-dim tensors are treated like others, unlike in the operators of opdsl and PyTorch.

    Args:
        arrays_and_dtypes: tensors, dtypes and Python numbers; at least one is not a number.

    Raises:
        ArgumentError: there is neither a tensor nor a dtype.
        DTypeError: the standard defines none: uint64 with signed integers, unsigned integers with complex numbers.

    >>> from opdsl import array_api as xp
    >>> xp.result_type(xp.int8, xp.uint8), xp.result_type(xp.float32, 1.5, 2j)
    (opdsl.int16, opdsl.complex64)
    """
    numbers = [and_dtype for and_dtype in arrays_and_dtypes if number_kind(and_dtype)]
    dtypes = [dtype_of(and_dtype) for and_dtype in arrays_and_dtypes if not number_kind(and_dtype)]
    if not dtypes:
        raise ArgumentError("result_type needs at least one tensor or dtype: numbers alone have none")
    integers = [dtype for dtype in dtypes if dtype.category is Category.INT]
    if integers:
        dtypes = [dtype for dtype in dtypes if dtype.category is not Category.INT] + [_integer_type(integers)]
    operands: list[Any] = [*numbers, *map(_Typed, dtypes)]
    return promotion.result_type(operands, get_default_dtype())


def _integer_type(dtypes: list[DType]) -> DType:
    """Return the smallest integer dtype that holds the values of all given ones: int32 for uint16 and int16."""
    integer_type = to_dtype(numpy.result_type(*(dtype.numpy for dtype in dtypes)))
    if integer_type.category is not Category.INT:
        named = " and ".join(dict.fromkeys(map(repr, dtypes)))
        raise DTypeError(f"no integer dtype holds the values of {named}. Convert one of them first.")
    return integer_type


def dtype_of(value: object) -> DType:
    """Return a dtype itself, or the dtype of a tensor.

    Raises:
        ArgumentError: the value is neither.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, Tensor):
        return value.dtype
    raise ArgumentError(f"expected a tensor or a dtype (got {type(value).__name__})")


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Return whether promotion can convert one dtype to another.

    Args:
        from_: the dtype, or a tensor of it.
        to: the other dtype.

    Raises:
        ArgumentError: ``from_`` is neither a dtype nor a tensor.
        DTypeError: never raised: the result is False if dtypes have no common one.

    >>> from opdsl import array_api as xp
    >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.float64, xp.float32)
    (True, False)
    """
    try:
        return result_type(dtype_of(from_), to) is to
    except DTypeError:
        return False


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether a dtype is of a kind, such as integer or real floating-point.

    Args:
        dtype: the dtype.
        kind: a dtype; ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
            ``"complex floating"``, ``"numeric"``; or several of them.

    Raises:
        OptionError: there is no such kind.

    >>> from opdsl import array_api as xp
    >>> xp.isdtype(xp.int8, ("bool", "integral"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, single) for single in kind)
    return dtype is kind if isinstance(kind, DType) else dtype in of_kind(kind)


def of_kind(kind: str) -> tuple[DType, ...]:
    """Return the dtypes of a kind, such as ``"integral"``.

    Raises:
        OptionError: there is no such kind.
    """
    if kind not in _KINDS:
        raise OptionError(f"no kind of dtypes is {kind!r}. Use one of: {', '.join(_KINDS)}.")
    return _KINDS[kind]


def finfo(type: DType | Tensor, /) -> limits.finfo:
    """Return the limits of a floating-point or complex dtype, or of a tensor's dtype.

    Args:
        type: the dtype, or a tensor of it.

    Raises:
        DTypeError: the dtype is an integer one, or bool.
        ArgumentError: ``type`` is neither a dtype nor a tensor.

    >>> from opdsl import array_api as xp
    >>> xp.finfo(xp.float64).eps
    2.220446049250313e-16
    """
    return limits.finfo(dtype_of(type))


def iinfo(type: DType | Tensor, /) -> limits.iinfo:
    """Return the limits of an integer dtype, or of a tensor's dtype.

    Args:
        type: the dtype, or a tensor of it.

    Raises:
        DTypeError: the dtype is not an integer one.
        ArgumentError: ``type`` is neither a dtype nor a tensor.

    >>> from opdsl import array_api as xp
    >>> xp.iinfo(xp.uint8).max
    255
    """
    return limits.iinfo(dtype_of(type))


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Device | str | None = None) -> Tensor:
    """Return a tensor converted to another dtype.

    Args:
        x: the tensor.
        dtype: of the result.
        copy: whether the result is a copy even if nothing changes.
        device: of the result; that of ``x`` by default.

    Raises:
        DTypeError: ``x`` is complex and ``dtype`` is not: take ``real(x)`` or ``imag(x)``.

    >>> from opdsl import array_api as xp
    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int64)
    tensor([ 1, -2])
    """
    if x.dtype.is_complex and not dtype.is_complex:
        raise DTypeError(f"a tensor of {x.dtype!r} does not become one of {dtype!r}. Take real(x) or imag(x) of it.")
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def as_tensor_of(numbers: Numbers, dtype: DType, like: Tensor) -> Tensor:
    """Convert a tensor or number to a tensor of the given dtype; a number is put on the device of ``like``."""
    if isinstance(numbers, Tensor):
        return numbers if numbers.dtype is dtype else numbers.to(dtype)
    return like.new_full((), numbers, dtype=dtype)


def promoted(x1: Numbers, x2: Numbers) -> tuple[Tensor, Tensor]:
    """Convert both arguments of a function to tensors of their common dtype.

    Raises:
        ArgumentError: neither is a tensor, or one is not a number.
    """
    if isinstance(x1, Tensor) and isinstance(x2, Tensor) and x1.dtype is x2.dtype:
        return x1, x2
    dtype = result_type(x1, x2)
    like = x1 if isinstance(x1, Tensor) else x2
    assert isinstance(like, Tensor)
    return as_tensor_of(x1, dtype, like), as_tensor_of(x2, dtype, like)


def sum_dtype(dtype: DType) -> DType:
    """Return the dtype in which elements are summed and multiplied: 64 bits for integers and bools."""
    if dtype.category > Category.INT:
        return dtype
    return uint64 if dtype in _KINDS["unsigned integer"] else int64
