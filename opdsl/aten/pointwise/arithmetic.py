"""Addition, subtraction, multiplication and negation."""

from __future__ import annotations

from typing import Any

from opdsl import primitives
from opdsl.aten._shared.checks import check_alpha, is_boolean
from opdsl.aten._shared.entries import CORE_UNARY, UNBOUND_NUMBER
from opdsl.declare import Inplace, Out, formula, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Scalar

BETWEEN: dict[str, Any] = {
    "variants": "function, method",
    "tags": ("core", "pointwise"),
    "inplace": Inplace(variants="method"),
}
"""Options of ``op`` for Python's operators between two tensors."""


@op("aten::add.Tensor", accepts_numbers=True, out=Out("add.out"), **BETWEEN)
@formula
def add(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``self + alpha * other``"""
    return primitives.add(self, other, alpha)


@op("aten::sub.Tensor", accepts_numbers=True, out=Out("sub.out"), **BETWEEN)
@formula
def sub(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``self - alpha * other``"""
    return primitives.sub(self, other, alpha)


@op("aten::mul.Tensor", accepts_numbers=True, out=Out("mul.out"), **BETWEEN)
@formula
def mul(self: Tensor, other: Tensor) -> Tensor:
    """``self * other``"""
    return primitives.mul(self, other)


@op("aten::neg", **CORE_UNARY)
@formula
def neg(self: Tensor) -> Tensor:
    """``-self``"""
    return primitives.neg(self)


add.meta(reads_numbers=False)(lambda ctx, self, other, alpha: check_alpha(self, other, alpha))


def refuse_bools(operator: str, which: str, instead: str) -> None:
    """Raise ShapeError because an arithmetic operator was called with bools; ``instead`` names the operator to use."""
    check(False, f"{operator} {which} is not supported. {instead} operator instead.")


@sub.meta(reads_numbers=False)
def sub_meta(ctx, self, other, alpha):
    subtraction = "Subtraction, the `-` operator, with"
    if is_boolean(self) and is_boolean(other):
        refuse_bools(subtraction, "two bool tensors", "Use the `^` or `logical_xor()`")
    if is_boolean(self) or is_boolean(other):
        refuse_bools(subtraction, "a bool tensor", INVERT)
    check_alpha(self, other, alpha)


INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()`"


@neg.meta
def neg_meta(ctx, self):
    if is_boolean(self):
        refuse_bools("Negation, the `-` operator, on", "a bool tensor", INVERT)


@op("aten::rsub.Tensor", kernel="CompositeExplicitAutograd")
@forward(sub, "other", "self")
def rsub(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * self``"""


rsub.derivative(
    self=lambda grad, alpha: -grad * (alpha.conjugate() if isinstance(alpha, complex) else alpha),
    other=lambda grad: grad,
)


# A separate kernel, since ``2 - x`` is common.
@rsub.overload("Scalar", variants="function", tags="pointwise")
@formula
def rsub_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * self`` for a number ``other``"""
    return primitives.sub(other, self, alpha)


rsub_number.meta(reads_numbers=False)(lambda ctx, self, other, alpha: sub_meta(ctx, other, self, alpha))


@op("aten::add.Scalar", **UNBOUND_NUMBER, tags=("core", "pointwise"))
@forward(add)
def add_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``self + alpha * other`` for a number ``other``; a Python call reaches ``add.Tensor`` instead."""


@op("aten::sub.Scalar", **UNBOUND_NUMBER, tags=("core", "pointwise"))
@forward(sub)
def sub_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``self - alpha * other`` for a number ``other``; a Python call reaches ``sub.Tensor`` instead."""


@op("aten::mul.Scalar", **UNBOUND_NUMBER, tags=("core", "pointwise"))
@forward(mul)
def mul_number(self: Tensor, other: Scalar) -> Tensor:
    """``self * other`` for a number ``other``; a Python call reaches ``mul.Tensor`` instead."""


add_number.derivative(self=lambda grad: grad)
sub_number.derivative(self=lambda grad: grad)
mul_number.derivative(self=lambda grad, other: grad * other.conjugate())
