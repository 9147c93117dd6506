"""Conversion of NumPy arrays of floating-point elements that NumPy lacks: bfloat16 and the dtypes of 8 bits.

They are stored as unsigned integers of the same width.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opdsl.scalar.formats import NARROW, FloatFormat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
else:
    Array = np.ndarray

__all__ = ["narrow", "widen"]

# Of bfloat16; as in PyTorch, a NaN loses its sign there.
_QUIET_NAN = 0x7FC0


def widen(array: Array, name: str) -> Array:
    """Convert elements of a dtype, stored as unsigned integers, to float32 values, which is exact.

    >>> widen(np.array([0x3F80, 0xC040], "u2"), "bfloat16"), widen(np.array([0x38, 0xFF], "u1"), "float8_e4m3fn")
    (array([ 1., -3.], dtype=float32), array([ 1., nan], dtype=float32))
    """
    if NARROW[name].rebias:
        return np.asarray(_numbers(NARROW[name])[array])
    bits = np.left_shift(array, NARROW[name].dropped_bits, dtype=np.uint32)
    return np.asarray(bits).view(np.float32)


@cache
def _numbers(form: FloatFormat) -> Array:
    """Return the numbers of all elements of a format, in the order of their bits."""
    bits = np.arange(1 << form.bits)
    fraction = bits & ((1 << form.fraction_bits) - 1)
    exponent = (bits >> form.fraction_bits) & ((1 << form.exponent_bits) - 1)
    whole = (fraction + (np.where(exponent > 0, 1, 0) << form.fraction_bits)) * form.quantum
    magnitude = np.ldexp(whole, np.maximum(exponent, 1) - 1)
    is_special = magnitude > form.largest
    special = np.where((fraction == 0) & form.has_infinity, np.inf, np.nan)
    sign = np.where(bits >> (form.bits - 1), -1.0, 1.0)
    return np.copysign(np.where(is_special, special, magnitude), sign).astype(np.float32)


def narrow(array: Array, name: str) -> Array:
    """Round real values to the nearest elements of a dtype, stored as unsigned integers; ties go to even, NaN stays
    NaN.

    Values are first converted to float32, as in PyTorch.
    """
    form = NARROW[name]
    dropped = form.dropped_bits
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(array, np.float32)
        shifted = np.abs(values) + np.float32(form.shift)
    bits = values.view(np.uint32)
    sign, magnitude = bits >> 31 << (form.bits - 1), bits & 0x7FFFFFFF
    rounded = (magnitude + ((1 << dropped - 1) - 1) + ((magnitude >> dropped) & 1) - form.rebias) >> dropped
    quiet: Any = _QUIET_NAN
    if form.rebias:
        denormal = shifted.view(np.uint32) - np.float32(form.shift).view(np.uint32)
        rounded = np.where(np.abs(values) < form.smallest_normal, denormal, np.minimum(rounded, form.infinite))
        quiet = sign | form.nan
    elements = np.where(np.isnan(values), quiet, sign | rounded)
    return np.asarray(elements).astype(f"u{form.bits // 8}")
