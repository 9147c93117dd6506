"""Addition, subtraction, multiplication and negation."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.checks import check_alpha, is_boolean
from opdsl.aten._shared.entries import CORE_UNARY, unbound_number_entry
from opdsl.declare import Inplace, Library, Out, Row, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma
from opdsl.schema.vocabulary import Scalar

lib = Library("aten")

# ---------------------------------------------------------------------------------------------------------------- add


@op(
    "aten::add.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out(
        "add.out",
        ufunc_inner_loop={"Generic": "add (AllAndComplex, BFloat16, Half, ComplexHalf)", "ScalarOnly": "add (Bool)"},
    ),
)
def add(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``self + alpha * other``"""
    ...


@add.meta(reads_numbers=False)
def add_meta(ctx, self, other, alpha):
    check_alpha(self, other, alpha)


# PyTorch generates these two from the ufunc entry, whose loops take numbers as elements.
@add.pointwise(rounded=("self", "other", "alpha"))
def add_scalar_function(self, other, alpha):
    return fma(alpha, other, self)


# ---------------------------------------------------------------------------------------------------------------- sub


@op(
    "aten::sub.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out("sub.out"),
)
def sub(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``self - alpha * other``"""
    ...


@sub.meta(reads_numbers=False)
def sub_meta(ctx, self, other, alpha):
    check(
        not (is_boolean(self) and is_boolean(other)),
        "Subtraction, the `-` operator, with two bool tensors is not supported. "
        "Use the `^` or `logical_xor()` operator instead.",
    )
    check(
        not (is_boolean(self) or is_boolean(other)),
        "Subtraction, the `-` operator, with a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    )
    check_alpha(self, other, alpha)


@sub.pointwise(rounded=("self", "other", "alpha"))
def sub_scalar_function(self, other, alpha):
    return fma(-alpha, other, self)


@op(
    "aten::rsub.Tensor",
    kernel="CompositeExplicitAutograd",
    device_check="NoCheck",
    dispatch={"CPU, CUDA": "rsub"},
    autogen="rsub.Tensor_out",
)
@forward(sub, "other", "self")
def rsub(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * self``"""


rsub.derivative(
    self=lambda grad, alpha: -grad * (alpha.conjugate() if isinstance(alpha, complex) else alpha),
    other=lambda grad: grad,
)


# A kernel of its own, since ``2 - x`` is written often.
@rsub.overload(
    "Scalar",
    variants="function",
    device_check="NoCheck",
    tags="pointwise",
    structured=False,
    dispatch={"CompositeExplicitAutograd": "rsub"},
    autogen="rsub.Scalar_out",
)
def rsub_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * self`` for a number."""
    ...


@rsub_number.meta(reads_numbers=False)
def rsub_number_meta(ctx, self, other, alpha):
    sub_meta(ctx, other, self, alpha)


@rsub_number.pointwise(wrapped="other", rounded=("other", "alpha"))
def rsub_number_scalar_function(self, other, alpha):
    return fma(-alpha, self, other)


# ---------------------------------------------------------------------------------------------------------------- mul


@op(
    "aten::mul.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out("mul.out"),
)
def mul(self: Tensor, other: Tensor) -> Tensor:
    """``self * other``"""
    ...


@mul.pointwise
def mul_scalar_function(self, other):
    return self * other


# ------------------------------------------------------------------------------------------------------------- numbers

ENTRY: dict[str, Any] = {"tags": ("core", "pointwise"), "device_check": "NoCheck"}

numbers = lib.table(
    {
        "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor": Row(
            "``self + alpha * other`` for a number; a Python call reaches ``add.Tensor`` instead.",
            forward(add),
            **unbound_number_entry("add", **ENTRY),
        ),
        "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor": Row(
            "``self - alpha * other`` for a number; a Python call reaches ``sub.Tensor`` instead.",
            forward(sub),
            **unbound_number_entry("sub", **ENTRY),
        ),
        "mul.Scalar(Tensor self, Scalar other) -> Tensor": Row(
            "``self * other`` for a number; a Python call reaches ``mul.Tensor`` instead.",
            forward(mul),
            **unbound_number_entry("mul", **ENTRY),
        ),
    }
)
add_number, sub_number, mul_number = numbers.values()
add_number.derivative(self=lambda grad: grad)
sub_number.derivative(self=lambda grad: grad)
mul_number.derivative(self=lambda grad, other: grad * other.conjugate())


# ------------------------------------------------------------------------------------------------------------------ neg


@op("aten::neg", **CORE_UNARY)
def neg(self: Tensor) -> Tensor:
    """``-self``"""
    ...


@neg.meta
def neg_meta(ctx, self):
    check(
        not is_boolean(self),
        "Negation, the `-` operator, on a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    )


@neg.pointwise
def neg_scalar_function(self):
    return -self
