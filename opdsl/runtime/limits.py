"""Numeric limits of dtypes: ``finfo`` and ``iinfo``, with the attributes of PyTorch's and of the array API's."""

from __future__ import annotations

import math

from opdsl.errors import DTypeError
from opdsl.runtime.dtype import Category, DType, float32, to_dtype
from opdsl.scalar.formats import FORMATS


class finfo:
    """Limits of a floating-point dtype, or of the parts of a complex dtype.

    bits: the number of bits of a real number.
    eps: the distance from 1 to the next number.
    max, min: the largest and the least finite number.
    smallest_normal, tiny: the smallest positive normal number.
    resolution: the decimal resolution, ten to the negative power of the number of reliable decimal digits.
    dtype: the real dtype.

    Args:
        type: the dtype, or a name or type of it (see ``to_dtype``).

    Raises:
        DTypeError: the dtype is neither floating-point nor complex.

    >>> finfo("float32").eps, finfo("complex128").bits
    (1.1920928955078125e-07, 64)
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: DType | str | type = float32) -> None:
        dtype = to_dtype(type)
        self.dtype = dtype.to_real()
        form = FORMATS.get(self.dtype.name)
        if form is None:
            raise DTypeError(f"finfo needs a floating-point or complex dtype (got {dtype!r}). Use iinfo for integers.")
        self.bits = form.bits
        self.eps = 2.0**-form.fraction_bits
        self.max = form.largest
        self.min = -self.max
        self.smallest_normal = self.tiny = form.smallest_normal
        self.resolution = float(f"1e{-int(-math.log10(self.eps))}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype.name})"
        )


class iinfo:
    """Limits of an integer dtype.

    bits: the number of bits.
    max, min: the largest and the least number.
    dtype: the dtype.

    Args:
        type: the dtype, or a name or type of it (see ``to_dtype``).

    Raises:
        DTypeError: the dtype is no integer dtype.

    >>> iinfo("int8")
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: DType | str | type) -> None:
        self.dtype = to_dtype(type)
        if self.dtype.category is not Category.INT:
            raise DTypeError(
                f"iinfo needs an integer dtype (got {self.dtype!r}). Use finfo for floating-point numbers."
            )
        self.bits = 8 * self.dtype.itemsize
        self.max = (1 << (self.bits - self.dtype.is_signed)) - 1
        self.min = -self.max - 1 if self.dtype.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"
