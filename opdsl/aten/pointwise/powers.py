"""Powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.aten._shared.checks import category_of
from opdsl.aten._shared.entries import CORE_BINARY, UNARY
from opdsl.declare import Inplace, Out, op
from opdsl.kernels import check
from opdsl.runtime import Category, Tensor
from opdsl.schema.vocabulary import Scalar

POWERS = ("integer", "floating", "complex")


@op("aten::pow.Tensor_Tensor", **{**CORE_BINARY, "inplace": Inplace("pow_.Tensor", variants="method")})
def pow_tensors(self: Tensor, exponent: Tensor) -> Tensor:
    """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    ...


@pow_tensors.pointwise(dtypes=POWERS)
def pow_scalar_function(self, exponent):
    return self**exponent


@pow_tensors.overload("Tensor_Scalar", **{**CORE_BINARY, "inplace": Inplace("pow_.Scalar", variants="method")})
def pow_number(self: Tensor, exponent: Scalar) -> Tensor:
    """``self ** exponent`` for a number."""
    ...


@pow_number.meta
def pow_number_meta(ctx, self, exponent):
    falls = category_of(self) <= Category.INT and isinstance(exponent, int) and exponent < 0
    check(not falls, "Integers to negative integer powers are not allowed.")


def power(exponent: complex) -> Callable[[Any], Any]:
    """The scalar function of a known power, which is far cheaper than that of any."""

    def power_scalar_function(self: Any) -> Any:
        return self**exponent

    return power_scalar_function


for known in (False, True, 0, 1, 2, 3, -1, -2, 0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5):
    whole = isinstance(known, int) and known >= 0  # PyTorch allows integers no others
    kinds = ("floating", "complex", *(("integer",) if whole else ()), *(("bool",) if isinstance(known, bool) else ()))
    pow_number.pointwise(when={"exponent": known}, dtypes=kinds, cast="safe")(power(known))

pow_number.pointwise(promoting="exponent", dtypes="integer")(pow_scalar_function)
pow_number.pointwise(wrapped="exponent", dtypes="floating")(pow_scalar_function)


# A known exponent of 0 gives 1, as in PyTorch, of complex zeros, infinities and NaN, too; real numbers do so anyway.
@pow_number.pointwise(wrapped="exponent", dtypes="complex")
def pow_number_complex(self, exponent):
    return 1 if exponent == 0 else self**exponent


@pow_tensors.overload("Scalar", structured_inherits=None, tags=("core", "pointwise"), out=True)
def number_pow(self: Scalar, exponent: Tensor) -> Tensor:
    """``self ** exponent`` for a number as base."""
    ...


number_pow.pointwise(wrapped="self", dtypes=POWERS)(lambda self, exponent: 1 if self == 1 else self**exponent)


@op("aten::square", device_check="NoCheck", **{**UNARY, "out": Out(device_check="ExactSame")})
def square(self: Tensor) -> Tensor:
    """``self ** 2``"""
    ...


square.forward(pow_number, exponent=2)
