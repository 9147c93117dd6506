"""Conversion of Python numbers to dtypes, as operators of opdsl convert them."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

Number: TypeAlias = bool | int | float | complex


class _Format(NamedTuple):
    """Format of floating-point numbers: bits of the mantissa, least exponent of normal numbers, largest number."""

    mantissa: int
    least: int
    largest: float


_FORMATS = {
    "float16": _Format(10, -14, 65504.0),
    "bfloat16": _Format(7, -126, float.fromhex("0x1.fep127")),
    "float8_e4m3fn": _Format(3, -6, 448.0),
    "float8_e5m2": _Format(2, -14, 57344.0),
}

_FLOAT32 = float.fromhex("0x1.fffffep127")

_LARGEST = {name: format.largest for name, format in _FORMATS.items()} | {"float32": _FLOAT32, "complex64": _FLOAT32}


def bounds(dtype: str) -> tuple[int, int] | None:
    """Return the range of an integer dtype; None for other dtypes.

    >>> bounds("int8"), bounds("uint16"), bounds("float32")
    ((-128, 127), (0, 65535), None)
    """
    kind, bits = dtype.rstrip("0123456789"), dtype.lstrip("uint")
    if kind == "int":
        return -(1 << int(bits) - 1), (1 << int(bits) - 1) - 1
    return (0, (1 << int(bits)) - 1) if kind == "uint" else None


def wrap(value: Number, dtype: str) -> Number:
    """Convert a number as elements are converted: integers wrap.

    Raises:
        OverflowError: it does not fit in 64 bits.

    >>> wrap(300, "int8")
    44
    """
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(f"{value} is too large: integers have at most 64 bits. Use a float.")
    limits = bounds(dtype)
    if limits is not None and isinstance(value, int):
        return (int(value) - limits[0]) % (limits[1] - limits[0] + 1) + limits[0]
    return _cast(value, dtype)


def convert(value: Number, dtype: str) -> Number:
    """Convert a number to a dtype.

    Raises:
        OverflowError: the dtype does not hold it.

    >>> convert(2.5, "uint8"), convert(-1, "uint8")
    (2, 255)
    """
    if isinstance(value, complex) and not dtype.startswith("complex") and dtype != "bool":
        if value.imag != 0:
            raise _too_large(dtype)
        value = value.real
    largest = _LARGEST.get(dtype)
    if largest is not None:
        parts = (value.real, value.imag) if isinstance(value, complex) else (float(value),)
        if any(math.isfinite(part) and abs(part) > largest for part in parts):
            raise _too_large(dtype)
    return _cast(value, dtype)


def _cast(value: Number, dtype: str) -> Number:
    if dtype == "bool":
        return bool(value)
    limits = bounds(dtype)
    if limits is None:
        return complex(value) if dtype.startswith("complex") else float(value.real)
    least, most = limits
    if isinstance(value, float) and not least <= value <= most:
        raise _too_large(dtype)
    number = int(value.real)
    if least == 0 and -most <= number < 0:  # two's complement
        return number + most + 1
    if not least <= number <= most:
        raise _too_large(dtype)
    return number


def round_to(value: float, dtype: str) -> float:
    """Round a number to the nearest value of a narrow dtype; return it unchanged for other dtypes.

    >>> round_to(1.001, "float16"), round_to(1.001, "bfloat16"), round_to(1e6, "float16")
    (1.0009765625, 1.0, inf)
    """
    known = _FORMATS.get(dtype)
    if known is None or math.isnan(value):
        return value
    size = abs(value)
    if math.isfinite(value):
        exponent = max(math.frexp(value)[1] - 1, known.least)
        step = math.ldexp(1.0, exponent - known.mantissa)
        size = round(size / step) * step  # to even
    if size > known.largest:
        size = math.nan if dtype == "float8_e4m3fn" else math.inf
    return math.copysign(size, value)


def _too_large(dtype: str) -> OverflowError:
    return OverflowError(f"value cannot be converted to type {dtype} without overflow")
