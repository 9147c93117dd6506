"""Operators that split numbers into mantissa and exponent (``frexp``, ``ldexp``), and physical conjugates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from opdsl import primitives
from opdsl.aten._shared.checks import require_kernel
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.powers import number_pow
from opdsl.declare import Out, formula, op
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, int16, int32, int64
from opdsl.scalar.formats import FORMATS
from opdsl.scalar.intrinsics import conjugate
from opdsl.schema import Alias

_conj_physical_elements = primitives.elements(lambda z: conjugate(z))


@op("aten::_conj_physical", variants="function, method", tags="pointwise", out=True)
@formula
def _conj_physical(self: Tensor) -> Tensor:
    """Return the complex conjugates, computed rather than marked lazily."""
    return _conj_physical_elements(self)


@op(
    "aten::conj_physical",
    variants="function, method",
    tags=("pointwise", "maybe_aliasing_or_mutating"),
    out=Out(tags="pointwise"),
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
    out=Out("ldexp.out", cast="safe"),
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


INTEGERS: dict[int, DType] = {2: int16, 4: int32, 8: int64}
"""Integer dtypes by their size in bytes."""


@op(
    "aten::frexp.Tensor",
    kernel="CompositeExplicitAutograd",
    variants="method, function",
    tags="pointwise",
    out=Out("frexp.Tensor_out", args=("mantissa", "exponent")),
)
def frexp(self: Tensor) -> MantissaExponent:
    """Return mantissas in [1/2, 1) by magnitude and exponents, so that ``self == mantissa * 2**exponent``."""
    check(self.dtype.is_floating_point, "torch.frexp() only supports floating-point dtypes")
    require_kernel(not self.dtype.is_stored_only, "frexp", self.dtype)
    integer, form = INTEGERS[self.dtype.itemsize], FORMATS[self.dtype.name]
    digits, bias, mask = form.fraction_bits, form.bias, (1 << form.exponent_bits) - 1
    # Scale denormals first, as they have no exponent bits.
    small = self.abs() < form.smallest_normal
    bits: Any = where(small, self * 2.0**digits, self).view(integer)
    exponent = ((bits >> digits) & mask) - (bias - 1) - where(small, digits, 0)
    mantissa = ((bits & ~(mask << digits)) | (bias - 1 << digits)).view(self.dtype)
    whole = (self == 0).logical_or(self.isfinite().logical_not())
    return MantissaExponent(where(whole, self, mantissa), where(whole, 0, exponent).to(int32))


frexp.sharding(elementwise=True)


@frexp.derivative("self", output_differentiability=(True, False))
def frexp_derivative(grad, exponent):
    return grad / exponent.exp2()
