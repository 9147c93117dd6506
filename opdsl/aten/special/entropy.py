"""Operators of entropy and statistics (``special_entr``, ``special_xlog1py``, ``special_ndtr``), and
``float_power``.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten.pointwise.blends import number_xlogy, xlogy, xlogy_number
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.exponentials import erfc
from opdsl.aten.pointwise.powers import number_pow, pow_number, pow_tensors
from opdsl.declare import Out, formula, forward, op
from opdsl.errors import DTypeError
from opdsl.kernels import resize_output
from opdsl.runtime import Category, DType, Tensor, can_cast, complex128, float64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar

SPECIAL: dict[str, Any] = {"python_module": "special", "variants": "function"}


# -------------------------------------------------------------------------------------------------------------- entropy


@op("aten::special_entr", tags="pointwise", out=True, **SPECIAL)
@formula(dtypes=("bool", "integer", "floating"))
def special_entr(self: Tensor) -> Tensor:
    """``-self * log(self)``; 0 at 0, minus infinity below."""
    beyond = where(self == 0, 0.0, where(self < 0, -math.inf, self))
    return where(self > 0, -(self * self.log()), beyond)


special_entr.derivative(self=lambda grad, self: grad * (-self.log() - 1))


# ------------------------------------------------------------------------------------------------- xlogy, xlog1py, ndtr


def number_overload(name: str, overload: str) -> dict[str, Any]:
    """Return the options of an overload that takes a number."""
    out = Out(f"{name}.{overload}_out")
    return {**SPECIAL, "tags": "pointwise", "out": out}


def xlog1py_gradient(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    """Return the gradient of ``xlog1py`` for ``self``: ``grad * log(1 + other)``, but 0 where ``self`` is 0 and
    ``other`` is at most -1.
    """
    return where((self == 0) * (other <= -1), 0.0, special_xlog1py(grad, other))


special_xlog1py_elements = primitives.elements(
    lambda x, y: y if math.isnan(y) else 0.0 if x == 0 else x * math.log1p(y), promote="int_to_float", dtypes="floating"
)


@op("aten::special_xlog1py", tags="pointwise", out=True, **SPECIAL)
@formula
def special_xlog1py(self: Tensor, other: Tensor) -> Tensor:
    """``self * log(1 + other)``; 0 where ``self`` is 0."""
    return special_xlog1py_elements(self, other)


special_xlog1py.derivative(self=xlog1py_gradient, other=lambda grad, self, other: grad * self / (other + 1))
for number in ("self", "other"):
    special_xlog1py.number_overload(
        number, f"{number}_scalar", **number_overload("special_xlog1py", f"{number}_scalar")
    )

ALIAS: dict[str, Any] = {"out": True, **SPECIAL}


@op("aten::special_xlogy", **ALIAS)
@forward(xlogy)
def special_xlogy(self: Tensor, other: Tensor) -> Tensor:
    """``self * log(other)``; 0 where ``self`` is 0."""


@op("aten::special_xlogy.self_scalar", **ALIAS)
@forward(number_xlogy)
def special_xlogy_self_scalar(self: Scalar, other: Tensor) -> Tensor:
    """``self * log(other)`` for a number ``self``; 0 if it is 0."""


@op("aten::special_xlogy.other_scalar", **ALIAS)
@forward(xlogy_number)
def special_xlogy_other_scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self * log(other)`` for a number ``other``; 0 where ``self`` is 0."""


@op("aten::special_ndtr", **SPECIAL, out=Out(cast="safe"))
def special_ndtr(self: Tensor) -> Tensor:
    """Return the cumulative distribution function of the standard normal distribution."""
    return erfc(self / -math.sqrt(2)) * 0.5


def cast_into(out: Tensor, value: Tensor) -> Tensor:
    """Copy a result into ``out``, converted to its dtype.

    Raises:
        DTypeError: the result cannot be cast to that dtype.
    """
    if not can_cast(value.dtype, out.dtype):
        raise DTypeError(
            f"result type {value.dtype.scalar_type} can't be cast to the desired output type {out.dtype.scalar_type}"
        )
    resize_output(out, value.shape)
    return out.copy_(value)


# ---------------------------------------------------------------------------------------------------------- float_power


def double_dtype(*operands: Tensor | complex) -> DType:
    """Return complex128 if an operand is complex, else float64."""
    is_complex = any(
        operand.dtype.category is Category.COMPLEX
        if isinstance(operand, Tensor)
        else isinstance(operand, complex) and not isinstance(operand, (int, float))
        for operand in operands
    )
    return complex128 if is_complex else float64


def as_double(operand: Any, dtype: DType) -> Any:
    """Convert an operand to double precision."""
    if isinstance(operand, Tensor):
        return operand.to(dtype)
    return complex(operand) if dtype is complex128 else float(operand)


def require_double(what: str, target: Tensor, *operands: Tensor | complex) -> None:
    """Check that the tensor to write has the dtype of the double precision result. Raises DTypeError for others."""
    dtype = double_dtype(*operands)
    if target.dtype is not dtype:
        raise DTypeError(
            f"the {what} has dtype {target.dtype.scalar_type} but the operation's result requires dtype "
            f"{dtype.scalar_type}"
        )


@op(
    "aten::float_power.Tensor_Tensor",
    variants="function, method",
    tags="pointwise",
    out=Out("float_power.Tensor_Tensor_out"),
)
def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    """``self ** exponent``, computed and returned in double precision."""
    dtype = double_dtype(self, exponent)
    return pow_tensors(self.to(dtype), exponent.to(dtype))


float_power.sharding(elementwise=True)


@float_power.inplace_variant("float_power_.Tensor", variants="method", tags="pointwise")
def float_power_(self: Tensor[Alias("a", write=True)], exponent: Tensor) -> Tensor[Alias("a", write=True)]:
    """Replace the tensor, which has double precision, by ``self ** exponent``."""
    require_double("base given to float_power_", self, self, exponent)
    return self.pow_(exponent.to(self.dtype))


@float_power.overload(
    "Tensor_Scalar", variants="function, method", tags="pointwise", out=Out("float_power.Tensor_Scalar_out")
)
def float_power_number(self: Tensor, exponent: Scalar) -> Tensor:
    """``self ** exponent`` for a number ``exponent``, computed and returned in double precision."""
    dtype = double_dtype(self, exponent)
    return pow_number(self.to(dtype), as_double(exponent, dtype))


float_power_number.sharding(elementwise=True)


@float_power_number.inplace_variant("float_power_.Scalar", variants="method", tags="pointwise")
def float_power_number_(self: Tensor[Alias("a", write=True)], exponent: Scalar) -> Tensor[Alias("a", write=True)]:
    """Replace the tensor, which has double precision, by ``self ** exponent`` for a number ``exponent``."""
    require_double("base given to float_power_", self, self, exponent)
    return self.pow_(as_double(exponent, self.dtype))


@float_power.overload("Scalar", tags="pointwise", out=Out("float_power.Scalar_out"))
def number_float_power(self: Scalar, exponent: Tensor) -> Tensor:
    """``self ** exponent`` for a number ``self``, computed and returned in double precision."""
    dtype = double_dtype(self, exponent)
    return number_pow(as_double(self, dtype), exponent.to(dtype))


number_float_power.sharding(elementwise=True)
