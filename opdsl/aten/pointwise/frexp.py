"""Operators that split numbers into mantissa and exponent (``frexp``, ``ldexp``), and physical conjugates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from opdsl import primitives
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.powers import number_pow
from opdsl.declare import Out, formula, op
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, bfloat16, float16, float32, float64, int16, int32, int64
from opdsl.scalar.intrinsics import conjugate
from opdsl.schema import Alias

_conj_physical_elements = primitives.elements(lambda z: conjugate(z))


@op(
    "aten::_conj_physical",
    variants="function, method",
    tags="pointwise",
    structured=False,
    device_check="ExactSame",
    dispatch={"CompositeExplicitAutograd": "_conj_physical"},
    out=True,
)
@formula
def _conj_physical(self: Tensor) -> Tensor:
    """Return the complex conjugates, computed rather than marked lazily."""
    return _conj_physical_elements(self)


@op(
    "aten::conj_physical",
    variants="function, method",
    tags=("pointwise", "maybe_aliasing_or_mutating"),
    out=Out(explicit=True, tags="pointwise", dispatch="CPU, CUDA"),
)
def conj_physical(self: Tensor) -> Tensor:
    """Return the complex conjugates, computed rather than marked lazily; a real tensor is returned itself."""
    if self.is_conj():
        return self._conj().clone()
    return _conj_physical(self) if self.is_complex() else self


@conj_physical.inplace_variant(kernel="CompositeExplicitAutograd", variants="function, method", tags="pointwise")
def conj_physical_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Replace the elements by their complex conjugates in place."""
    return _conj_physical.variants["out"](self, out=self) if self.is_complex() else self


conj_physical_.derivative(self=lambda grad: grad.conj_physical())


@op(
    "aten::ldexp.Tensor",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags="pointwise",
    out=Out("ldexp.out", explicit=True, cast="safe"),
)
def ldexp(self: Tensor, other: Tensor) -> Tensor:
    """``self * 2**other``"""
    return self * number_pow(2.0, other)


ldexp.derivative(
    self=lambda grad, other: grad * number_pow(2.0, other).conj(),
    other=lambda grad, result: grad * result.conj() * math.log(2),
)


@ldexp.inplace_variant("ldexp_", kernel="CompositeExplicitAutograd", variants="function, method", tags="pointwise")
def ldexp_(self: Tensor[Alias("a", write=True)], other: Tensor) -> Tensor[Alias("a", write=True)]:
    """Multiply the elements by ``2**other`` in place."""
    return self.mul_(number_pow(2.0, other))


ldexp_.derivative(ldexp)


class MantissaExponent(NamedTuple):
    """Results of ``frexp``."""

    mantissa: Tensor
    exponent: Tensor


class Fields(NamedTuple):
    """Bit layout of a floating-point dtype: the integer dtype of its size, and its number of mantissa and exponent
    bits.
    """

    integer: DType
    digits: int
    width: int


FIELDS: dict[DType, Fields] = {
    float16: Fields(int16, 10, 5),
    bfloat16: Fields(int16, 7, 8),
    float32: Fields(int32, 23, 8),
    float64: Fields(int64, 52, 11),
}


@op(
    "aten::frexp.Tensor",
    kernel="CompositeExplicitAutograd",
    variants="method, function",
    tags="pointwise",
    out=Out("frexp.Tensor_out", args=("mantissa", "exponent"), explicit=True, dispatch="CPU, CUDA"),
)
def frexp(self: Tensor) -> MantissaExponent:
    """Return mantissas in [1/2, 1) by magnitude and exponents, so that ``self == mantissa * 2**exponent``."""
    check(self.dtype.is_floating_point, "torch.frexp() only supports floating-point dtypes")
    integer, digits, width = FIELDS[self.dtype]
    bias, mask = (1 << width - 1) - 1, (1 << width) - 1
    # Scale denormals first, as they have no exponent bits.
    small = self.abs() < 2.0 ** (1 - bias)
    bits: Any = where(small, self * 2.0**digits, self).view(integer)
    exponent = ((bits >> digits) & mask) - (bias - 1) - where(small, digits, 0)
    mantissa = ((bits & ~(mask << digits)) | (bias - 1 << digits)).view(self.dtype)
    whole = (self == 0).logical_or(self.isfinite().logical_not())
    return MantissaExponent(where(whole, self, mantissa), where(whole, 0, exponent).to(int32))


frexp.sharding(elementwise=True)


@frexp.derivative("self", output_differentiability=(True, False))
def frexp_derivative(grad, exponent):
    return grad / exponent.exp2()
