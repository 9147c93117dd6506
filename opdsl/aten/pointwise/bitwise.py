"""Bitwise operators on integers and bools: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import BINARY, CORE_BINARY, CORE_UNARY, NUMBER_FIRST, number_entry
from opdsl.declare import Inplace, formula, op
from opdsl.runtime import Tensor


@op("aten::bitwise_not", **{**CORE_UNARY, "inplace": Inplace(variants="method")})
@formula
def bitwise_not(self: Tensor) -> Tensor:
    """``~self``; logical not for bools."""
    return primitives.bitwise_not(self)


# ------------------------------------------------------------------------------------------------ and, or, exclusive or


@op("aten::bitwise_and.Tensor", **CORE_BINARY)
@formula
def bitwise_and(self: Tensor, other: Tensor) -> Tensor:
    """``self & other``; logical and for bools."""
    return primitives.bitwise_and(self, other)


@op("aten::bitwise_or.Tensor", **CORE_BINARY)
@formula
def bitwise_or(self: Tensor, other: Tensor) -> Tensor:
    """``self | other``; logical or for bools."""
    return primitives.bitwise_or(self, other)


@op("aten::bitwise_xor.Tensor", **CORE_BINARY)
@formula
def bitwise_xor(self: Tensor, other: Tensor) -> Tensor:
    """``self ^ other``; logical exclusive or for bools."""
    return primitives.bitwise_xor(self, other)


for operator, method, tags in (
    (bitwise_and, "__and__", ()),
    (bitwise_or, "__or__", ()),
    (bitwise_xor, "__xor__", ("pointwise",)),
):
    name = operator.schema.name.base
    number = operator.number_overload("other", **number_entry(name))
    operator.number_overload("self", "Scalar_Tensor", **NUMBER_FIRST)
    for overload in (operator, number):
        overload.alias(f"aten::{method}", tags=tags, out=False)

# --------------------------------------------------------------------------------------------------------------- shifts


SHIFT: dict[str, Any] = {
    "variants": "method, function",
    "tags": "pointwise",
    "inplace": Inplace(variants="method", tags=()),
}
"""Options of ``op`` for an overload of ``__lshift__`` or ``__rshift__``."""

LEFT_SHIFT: dict[str, Any] = {**SHIFT, "inplace": Inplace(variants="method", tags=("pointwise",))}
"""Options of ``op`` for ``__lshift__``, whose in-place variant has a tag."""


@op("aten::bitwise_left_shift.Tensor", **BINARY)
@formula
def bitwise_left_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``; 0 where ``other`` is negative or at least the number of bits."""
    return primitives.bitwise_left_shift(self, other)


@op("aten::__lshift__.Tensor", **LEFT_SHIFT)
@formula
def left_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``"""
    return primitives.bitwise_left_shift(self, other)


@op("aten::bitwise_right_shift.Tensor", **BINARY)
@formula
def bitwise_right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``; 0 or -1, by the sign of ``self``, where ``other`` is negative or at least the number of
    bits.
    """
    return primitives.bitwise_right_shift(self, other)


@op("aten::__rshift__.Tensor", **SHIFT)
@formula
def right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``"""
    return primitives.bitwise_right_shift(self, other)


for shift, operator, entry in ((bitwise_left_shift, left_shift, LEFT_SHIFT), (bitwise_right_shift, right_shift, SHIFT)):
    name = shift.schema.name.base
    shift.number_overload("other", "Tensor_Scalar", **number_entry(name, overload="Tensor_Scalar", core=False))
    shift.number_overload("self", "Scalar_Tensor", **NUMBER_FIRST)
    operator.number_overload("other", **entry)
