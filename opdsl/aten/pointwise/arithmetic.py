"""Addition, subtraction, multiplication and negation."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.checks import check_alpha, is_boolean
from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, unbound_number_entry
from opdsl.declare import Library, Out, Row, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma
from opdsl.schema.vocabulary import Scalar

lib = Library("aten")

BETWEEN: dict[str, Any] = {**CORE_BINARY, "accepts_numbers": True}
"""What the entries of Python's operators between two tensors say."""

ROUNDED = {"rounded": ("self", "other", "alpha")}
# PyTorch generates add from the ufunc entry, whose loops take numbers as elements.
LOOPS = {"Generic": "add (AllAndComplex, BFloat16, Half, ComplexHalf)", "ScalarOnly": "add (Bool)"}

add, sub, mul = lib.table(
    {
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": Row(
            "``self + alpha * other``",
            lambda self, other, alpha: fma(alpha, other, self),
            pointwise=ROUNDED,
            **{**BETWEEN, "out": Out("add.out", ufunc_inner_loop=LOOPS)},
        ),
        "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": Row(
            "``self - alpha * other``",
            lambda self, other, alpha: fma(-alpha, other, self),
            pointwise=ROUNDED,
            **{**BETWEEN, "out": Out("sub.out")},
        ),
        "mul.Tensor(Tensor self, Tensor other) -> Tensor": Row(
            "``self * other``", lambda self, other: self * other, **{**BETWEEN, "out": Out("mul.out")}
        ),
    },
    pointwise=True,
).values()
(neg,) = lib.table(
    {"neg(Tensor self) -> Tensor": Row("``-self``", lambda self: -self)}, pointwise=True, **CORE_UNARY
).values()
add.meta(reads_numbers=False)(lambda ctx, self, other, alpha: check_alpha(self, other, alpha))


def refuse_bools(operator: str, which: str, instead: str) -> None:
    """Say that bools are no numbers."""
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


rsub_number.meta(reads_numbers=False)(lambda ctx, self, other, alpha: sub_meta(ctx, other, self, alpha))
rsub_number.pointwise(wrapped="other", rounded=("other", "alpha"))(lambda self, other, alpha: fma(-alpha, self, other))


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
