"""Pointwise powers: ``pow``, ``square``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.checks import category_of
from opdsl.aten._shared.entries import CORE_BINARY, UNARY
from opdsl.declare import Inplace, formula, op
from opdsl.kernels import check
from opdsl.runtime import Category, Tensor
from opdsl.schema.vocabulary import Scalar

POWERS = ("integer", "floating", "complex")


def pow_scalar_function(self: Any, exponent: Any) -> Any:
    return self**exponent


pow_tensors_elements = primitives.elements(pow_scalar_function, dtypes=POWERS)


@op("aten::pow.Tensor_Tensor", **{**CORE_BINARY, "inplace": Inplace("pow_.Tensor", variants="method")})
@formula
def pow_tensors(self: Tensor, exponent: Tensor) -> Tensor:
    """``self ** exponent``; integers to a negative power give 0, except for 1 and -1."""
    return pow_tensors_elements(self, exponent)


@pow_tensors.overload("Tensor_Scalar", **{**CORE_BINARY, "inplace": Inplace("pow_.Scalar", variants="method")})
def pow_number(self: Tensor, exponent: Scalar) -> Tensor:
    """``self ** exponent`` for a number ``exponent``"""
    ...


@pow_number.meta
def pow_number_meta(ctx, self, exponent):
    falls = category_of(self) <= Category.INT and isinstance(exponent, int) and exponent < 0
    check(not falls, "Integers to negative integer powers are not allowed.")


def power(exponent: complex) -> Callable[[Any], Any]:
    """Return the scalar function of a known power, which is much faster than that of a variable exponent."""

    def power_scalar_function(self: Any) -> Any:
        return self**exponent

    return power_scalar_function


def attach_power(exponent: complex) -> None:
    """Register the formula of ``pow`` for a known exponent."""
    whole = isinstance(exponent, int) and exponent >= 0  # PyTorch allows no other exponents for integers
    kinds = ["floating", "complex", *(["integer"] if whole else []), *(["bool"] if isinstance(exponent, bool) else [])]
    elements = primitives.elements(power(exponent), cast="safe")

    @pow_number.formula(when={"exponent": exponent}, dtypes=kinds)
    def raised(self: Tensor) -> Tensor:
        return elements(self)


for known in (False, True, 0, 1, 2, 3, -1, -2, 0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5):
    attach_power(known)

pow_integer_elements = primitives.elements(pow_scalar_function, promoting="exponent")
pow_floating_elements = primitives.elements(pow_scalar_function, wrapped="exponent")
# As in PyTorch, an exponent of 0 gives 1 for complex zeros, infinities and NaN, too; `**` does so for real numbers.
pow_complex_elements = primitives.elements(
    lambda self, exponent: 1 if exponent == 0 else self**exponent, wrapped="exponent"
)


@pow_number.formula(dtypes="integer")
def pow_integer(self: Tensor, exponent: Scalar) -> Tensor:
    return pow_integer_elements(self, exponent)


@pow_number.formula(dtypes="floating")
def pow_floating(self: Tensor, exponent: Scalar) -> Tensor:
    return pow_floating_elements(self, exponent)


@pow_number.formula(dtypes="complex")
def pow_complex(self: Tensor, exponent: Scalar) -> Tensor:
    return pow_complex_elements(self, exponent)


number_pow_elements = primitives.elements(
    lambda self, exponent: 1 if self == 1 else self**exponent, wrapped="self", dtypes=POWERS
)


@pow_tensors.overload("Scalar", structured_inherits=None, tags=("core", "pointwise"), out=True)
@formula
def number_pow(self: Scalar, exponent: Tensor) -> Tensor:
    """``self ** exponent`` for a number ``self``"""
    return number_pow_elements(self, exponent)


@op("aten::square", **{**UNARY, "out": True})
def square(self: Tensor) -> Tensor:
    """``self ** 2``"""
    ...


square.forward(pow_number, exponent=2)
