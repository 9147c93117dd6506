"""Pointwise rounding (``floor``, ``round``), signs (``sign``, ``copysign``) and magnitudes (``abs``)."""

from __future__ import annotations

from typing import Any

from opdsl import primitives
from opdsl.aten._shared.checks import is_boolean
from opdsl.aten._shared.entries import BINARY, CORE_UNARY, UNARY, number_entry
from opdsl.declare import Inplace, Out, formula, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema import Alias

REAL = ("bool", "integer", "floating")


def power_of_ten(exponent: int) -> float:
    """Return 10.0 to the power of an exponent up to 511; exact as long as the dtype can represent the power."""
    power = 1.0
    for bit in range(9):
        power = power * (10.0 ** (1 << bit)) if (exponent >> bit) & 1 else power
    return power


def to_decimals(x: Any, decimals: Any) -> Any:
    power = power_of_ten(int(abs(decimals)))
    if decimals < 0:
        return round(x / power) * power
    return round(x * power) / power


@op("aten::ceil", **CORE_UNARY)
@formula
def ceil(self: Tensor) -> Tensor:
    """Return every element rounded up to an integer."""
    return primitives.ceil(self)


@op("aten::floor", **CORE_UNARY)
@formula
def floor(self: Tensor) -> Tensor:
    """Return every element rounded down to an integer."""
    return primitives.floor(self)


@op("aten::trunc", **CORE_UNARY)
@formula
def trunc(self: Tensor) -> Tensor:
    """Return every element rounded towards zero to an integer."""
    return primitives.trunc(self)


@op("aten::round", **CORE_UNARY)
@formula
def round_to_even(self: Tensor) -> Tensor:
    """Return every element rounded to the nearest integer; halves to the even one."""
    return primitives.round(self)


round_decimals_elements = primitives.elements(to_decimals, dtypes="floating")


@op("aten::round.decimals", **UNARY)
@formula
def round_decimals(self: Tensor, *, decimals: int) -> Tensor:
    """Return every element rounded to ``decimals`` decimals; -1 rounds to tens, -2 to hundreds."""
    return round_decimals_elements(self, decimals=decimals)


@op("aten::frac", **UNARY)
@formula(dtypes="floating")
def frac(self: Tensor) -> Tensor:
    """``self - trunc(self)``"""
    return self - self.trunc()


# ---------------------------------------------------------------------------------------------------- signs, magnitudes


@op("aten::abs", **{**CORE_UNARY, "inplace": Inplace(tags=()), "out": True})
@formula
def abs_tensor(self: Tensor) -> Tensor:
    """Return the magnitude of every element; real also for complex elements."""
    return primitives.abs(self)


@abs_tensor.meta
def abs_meta(ctx, self):
    check(
        ctx.maybe_get_output() is not self or not self.dtype.is_complex,
        "In-place abs is not supported for complex tensors.",
    )


def sign_scalar(x: Any) -> Any:
    return 1 if x > 0 else -1 if x < 0 else 0


def complex_sign(z: Any) -> Any:
    magnitude = abs(z)
    return complex(z.real / magnitude, z.imag / magnitude) if magnitude != 0 else 0


sign_elements = primitives.elements(sign_scalar, dtypes=REAL)


@op("aten::sign", **{**CORE_UNARY, "inplace": Inplace(variants="method")})
@formula
def sign(self: Tensor) -> Tensor:
    """Return -1, 0 or 1 for negative, zero or positive elements; 0 for NaN."""
    return sign_elements(self)


@op("aten::sgn", **BINARY)
def sgn(self: Tensor) -> Tensor:
    """Return ``sign`` of real elements; complex ones are divided by their magnitude, except for 0."""
    ...


sgn_complex_elements = primitives.elements(complex_sign)


@sgn.formula(dtypes=REAL)
def sgn_real(self: Tensor) -> Tensor:
    return sign_elements(self)


@sgn.formula(dtypes="complex")
def sgn_complex(self: Tensor) -> Tensor:
    return sgn_complex_elements(self)


@op("aten::copysign.Tensor", **{**BINARY, "inplace": Inplace(variants="method", tags=()), "out": Out("copysign.out")})
@formula
def copysign(self: Tensor, other: Tensor) -> Tensor:
    """Return the magnitude of ``self`` with the sign of ``other``."""
    return primitives.copysign(self, other)


@op("aten::nextafter", **BINARY)
@formula
def nextafter(self: Tensor, other: Tensor) -> Tensor:
    """Return the next representable number after each element of ``self`` in the direction of ``other``."""
    return primitives.nextafter(self, other)


copysign.number_overload("other", **number_entry("copysign", core=False, inplace_tags=()))


@op("aten::positive", variants="function, method", tags="pointwise")
def positive(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return ``self``."""
    check(not is_boolean(self), "The `+` operator, on a bool tensor is not supported.")
    return self


heaviside_elements = primitives.elements(lambda self, values: values if self == 0 else self > 0)


@op("aten::heaviside", **{**BINARY, "inplace": Inplace(variants="method", tags=())})
@formula
def heaviside(self: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative elements, 1 for positive ones, and the element of ``values`` for 0."""
    return heaviside_elements(self, values)


@heaviside.meta
def heaviside_meta(ctx, self, values):
    check(
        not self.dtype.is_complex and not values.dtype.is_complex,
        "heaviside is not yet implemented for complex tensors.",
    )
    out = ctx.maybe_get_output()
    check(
        self.dtype is values.dtype and (out is None or out.dtype is self.dtype),
        "heaviside is not yet implemented for tensors with different dtypes.",
    )
