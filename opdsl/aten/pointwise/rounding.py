"""Rounding, signs and magnitudes."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.checks import is_boolean
from opdsl.aten._shared.entries import BINARY, CORE_UNARY, UNARY, number_entry
from opdsl.declare import Inplace, Library, Out, Row, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema import Alias

lib = Library("aten")

REAL = ("bool", "integer", "floating")


def power_of_ten(exponent: int) -> float:
    """10.0 to the power of an exponent up to 511, exact as long as the dtype holds it."""
    power = 1.0
    for bit in range(9):
        power = power * (10.0 ** (1 << bit)) if (exponent >> bit) & 1 else power
    return power


def to_decimals(x: Any, decimals: Any) -> Any:
    power = power_of_ten(int(abs(decimals)))
    if decimals < 0:
        return round(x / power) * power
    return round(x * power) / power


rounding = lib.table(
    {
        "ceil(Tensor self) -> Tensor": Row("The least integer that is not below each element.", lambda x: math.ceil(x)),
        "floor(Tensor self) -> Tensor": Row(
            "The largest integer that is not above each element.", lambda x: math.floor(x)
        ),
        "trunc(Tensor self) -> Tensor": Row("Every element without its fraction.", lambda x: math.trunc(x)),
        "round(Tensor self) -> Tensor": Row(
            "The integer nearest to every element; of two the even one.", lambda x: round(x)
        ),
        "round.decimals(Tensor self, *, int decimals) -> Tensor": Row(
            "Every element rounded to a number of decimals; of a negative number to tens, hundreds, ...",
            to_decimals,
            pointwise={"dtypes": "floating"},
            **UNARY,
        ),
        "frac(Tensor self) -> Tensor": Row(
            "The fraction of every element, with its sign.",
            lambda x: x - math.trunc(x),
            pointwise={"dtypes": "floating"},
            **UNARY,
        ),
    },
    pointwise={"dtypes": ("integer", "floating")},
    **CORE_UNARY,
)
trunc, round_decimals = rounding["trunc"], rounding["round.decimals"]


# --------------------------------------------------------------------------------------------------- signs, magnitudes


# PyTorch's abs is no structured operator, so ours is exported as a plain one.
@op(
    "aten::abs",
    structured=False,
    dispatch={"CompositeExplicitAutograd": "abs"},
    **{
        **CORE_UNARY,
        "inplace": Inplace(dispatch={"CompositeExplicitAutograd": "abs_"}, tags=()),
        "out": Out(explicit=True),
    },
)
def abs_tensor(self: Tensor) -> Tensor:
    """The magnitude of every element; of complex numbers a real one."""
    ...


@abs_tensor.meta
def abs_meta(ctx, self):
    check(
        ctx.maybe_get_output() is not self or not self.dtype.is_complex,
        "In-place abs is not supported for complex tensors.",
    )


abs_tensor.pointwise(promote="complex_to_real", dtypes=("integer", "floating", "complex"))(lambda self: abs(self))


def sign_scalar(x: Any) -> Any:
    return 1 if x > 0 else -1 if x < 0 else 0


def complex_sign(z: Any) -> Any:
    magnitude = abs(z)
    return complex(z.real / magnitude, z.imag / magnitude) if magnitude != 0 else 0


signs = lib.table(
    {
        "sign(Tensor self) -> Tensor": Row(
            "-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN.",
            sign_scalar,
            pointwise={"dtypes": REAL},
            **{**CORE_UNARY, "inplace": Inplace(variants="method")},
        ),
        "sgn(Tensor self) -> Tensor": Row(
            "``sign`` for real elements; complex ones are divided by their magnitude, 0 stays.",
            sign_scalar,
            pointwise={"dtypes": REAL},
            device_check="ExactSame",
        ),
        "copysign.Tensor(Tensor self, Tensor other) -> Tensor": Row(
            "The magnitude of ``self`` with the sign of ``other``.",
            lambda x, other: math.copysign(x, other),
            pointwise={"promote": "int_to_float"},
            inplace=Inplace(variants="method", tags=()),
            out=Out("copysign.out"),
        ),
        "nextafter(Tensor self, Tensor other) -> Tensor": Row(
            "The number after every element of ``self`` in the direction of ``other``.",
            lambda x, other: math.nextafter(x, other),
            pointwise={"dtypes": "floating"},
            device_check="ExactSame",
        ),
    },
    **BINARY,
)
signs["sgn"].pointwise(dtypes="complex")(complex_sign)
signs["copysign.Tensor"].number_overload(
    "other", **number_entry("copysign", core=False, device_check="ExactSame", inplace_tags=())
)


@op("aten::positive", variants="function, method", tags="pointwise")
def positive(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """``self`` itself."""
    check(not is_boolean(self), "The `+` operator, on a bool tensor is not supported.")
    return self


@op("aten::heaviside", **{**BINARY, "inplace": Inplace(variants="method", tags=())})
def heaviside(self: Tensor, values: Tensor) -> Tensor:
    """0 for negative elements, 1 for positive ones, ``values`` for 0."""
    ...


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


heaviside.pointwise(lambda self, values: values if self == 0 else self > 0)
