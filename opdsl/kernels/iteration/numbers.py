"""Conversion of Python numbers to the dtype of a loop, with PyTorch's overflow checks."""

from __future__ import annotations

import math
from typing import Any

import numpy

from opdsl.errors import NumberError
from opdsl.runtime.dtype import ALL_DTYPES, Category, DType, bool_, float16, float32, float64, int64
from opdsl.runtime.lowering import deferred, lowering
from opdsl.runtime.symbol import is_symbol
from opdsl.runtime.symbols import symbolic_kind
from opdsl.scalar.formats import FORMATS, NARROW
from opdsl.scalar.narrow_values import narrow, widen

Number = bool | int | float | complex

# The names of ``AT_FORALL_SCALAR_TYPES`` in c10/core/ScalarType.h, as ``c10::report_overflow`` prints them.
_TYPE_NAMES = {
    "bool": "bool",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    **{dtype.name: f"c10::{dtype.scalar_type}" for dtype in ALL_DTYPES if dtype.name in NARROW},
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}

BOUNDS = {
    dtype.name: (int(numpy.iinfo(dtype.name).min), int(numpy.iinfo(dtype.name).max))
    for dtype in ALL_DTYPES
    if dtype.category is Category.INT
}

ACCEPTED = {name: (min(low, -high), high) for name, (low, high) in BOUNDS.items()}
"""Ranges of Python numbers that integer dtypes accept; as in PyTorch, unsigned dtypes accept negative numbers as two's
complement.
"""

LARGEST = {
    **{name: FORMATS[name].largest for name in (*NARROW, "float32")},
    "complex64": FORMATS["float32"].largest,
}


# Numbers in these ranges need no conversion.
_PLAIN: dict[tuple[type, DType], tuple[float, float]] = {
    (float, float64): (-math.inf, math.inf),
    (float, float32): (-LARGEST["float32"], LARGEST["float32"]),
    (int, int64): BOUNDS["int64"],
}


def is_left_to_kernel(value: Any, dtype: DType, *, may_overflow: bool = False) -> bool:
    """Return whether a plan passes a number to the kernel unconverted; the compiled kernel converts it, or raises
    OverflowError.

    Args:
        value: the number.
        dtype: the dtype in which the kernel computes it.
        may_overflow: whether a number that is too large becomes infinite.
    """
    recorder = lowering.get() if is_symbol(value) else None
    if recorder is None or not recorder.may_hand_numbers or recorder.writes():
        return False
    example: Any = value.example
    if isinstance(value, int):
        least, most = BOUNDS.get(dtype.name, (-math.inf, math.inf))
        if not (least or -most) <= example <= most:
            return False
        recorder.hands_numbers = True
        return True
    parts = {".real": example.real, ".imag": example.imag} if isinstance(value, complex) else {"": example}
    if dtype.category < (Category.COMPLEX if isinstance(value, complex) else Category.FLOAT):
        return False
    largest = LARGEST.get(dtype.name)
    if largest is not None and not may_overflow:
        if not all(abs(part) <= largest for part in parts.values()):
            return False
        for name in parts:
            recorder.ask(f"-{largest!r} <= {value.text}{name} <= {largest!r}", True)
    recorder.hands_numbers = True
    return True


def floating(number: float) -> float:
    """Convert a number as ``float`` does, without a guard on its value in a plan.

    >>> floating(2)
    2.0
    """
    return number * 1.0 if is_symbol(number) else float(number)


def convert(value: Number, dtype: DType) -> Any:
    """Convert a number that is passed for a parameter of type Scalar to a dtype (``c10::Scalar::to``).

    Raises:
        NumberError: the dtype does not hold it.

    >>> from opdsl.runtime.dtype import uint8
    >>> convert(2.5, uint8), convert(-1, uint8)
    (2, 255)
    """
    number: Any = value
    if is_symbol(number) and number.terms is not None and dtype is int64 and BOUNDS["int64"][0] <= number < 1 << 63:
        return number
    kind = symbolic_kind(number) if not is_symbol(number) else None
    if kind is not None and dtype is not bool_ and not dtype.is_complex:
        return number if kind is float or dtype.category is Category.INT else number * 1.0
    return _converted(value, dtype)


@deferred
def _converted(value: Number, dtype: DType) -> Any:
    plain = _PLAIN.get((type(value), dtype))
    if plain is not None and plain[0] <= value <= plain[1]:  # type: ignore[operator]  # none is complex
        return value
    if dtype is bool_:
        return bool(value)
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag != 0:
            raise _overflow(dtype)
        value = value.real
    if dtype.category is Category.INT:
        return _convert_integer(value, dtype)
    largest = LARGEST.get(dtype.name)
    if largest is not None and any(math.isfinite(part) and abs(part) > largest for part in _parts(value)):
        raise _overflow(dtype)
    return complex(value) if dtype.is_complex else float(value.real)


def to_element(value: Number, dtype: DType, count: int) -> Any:
    """Convert a number to the value that fills ``count`` elements, as ``at::fill_`` does: a narrow one may become
    infinite.

    Raises:
        NumberError: the dtype does not hold it.
    """
    is_narrow = dtype.name in NARROW
    if not is_narrow and is_left_to_kernel(value, dtype):
        return value
    return convert(value, float64 if is_narrow and count == 1 else dtype)


def _parts(value: Number) -> tuple[float, ...]:
    return (value.real, value.imag) if isinstance(value, complex) else (float(value),)


def _convert_integer(value: Any, dtype: DType) -> int:
    least, most = BOUNDS[dtype.name]
    if isinstance(value, float) and not least <= value <= most:
        raise _overflow(dtype)
    number = int(value)
    # A negative number denotes its two's complement in an unsigned dtype.
    if least == 0 and -most <= number < 0:
        return number + most + 1
    if not least <= number <= most:
        raise _overflow(dtype)
    return number


def _overflow(dtype: DType) -> NumberError:
    return NumberError(f"value cannot be converted to type {_TYPE_NAMES[dtype.name]} without overflow")


@deferred
def wrap(value: Number, dtype: DType) -> Any:
    """Convert a number that was passed for a tensor to a dtype as elements are converted: without an overflow check.

    Raises:
        NumberError: it does not fit in 64 bits.

    >>> from opdsl.runtime.dtype import int8
    >>> wrap(300, int8)
    44
    """
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise NumberError(f"{value} is too large: integers have at most 64 bits. Use a float.")
    if dtype is bool_:
        return bool(value)
    if dtype.category is Category.INT and isinstance(value, int):
        least, most = BOUNDS[dtype.name]
        return (int(value) - least) % (most - least + 1) + least
    if dtype.category is Category.INT:
        return _convert_integer(value, dtype)
    return complex(value) if dtype.is_complex else float(value)  # type: ignore[arg-type]


@deferred
def round_to(value: float, dtype: DType) -> float:
    """Round a number to the nearest value of a narrow dtype; return it unchanged for other dtypes."""
    if dtype is float16:
        with numpy.errstate(over="ignore"):
            return float(numpy.float16(value))
    if dtype.is_encoded:
        return float(widen(narrow(numpy.array([value]), dtype.name), dtype.name)[0])
    return value
