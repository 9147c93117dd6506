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


def shift_entry(name: str, overload: str, inplace_tags: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of an overload of ``__lshift__`` or ``__rshift__``."""
    return {
        "variants": "method, function",
        "tags": "pointwise",
        "inplace": Inplace(variants="method", tags=inplace_tags),
    }


@op("aten::bitwise_left_shift.Tensor", **BINARY)
@formula
def bitwise_left_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``; 0 where ``other`` is negative or at least the number of bits."""
    return primitives.bitwise_left_shift(self, other)


@op("aten::__lshift__.Tensor", **shift_entry("__lshift__", "Tensor", ("pointwise",)))
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


@op("aten::__rshift__.Tensor", **shift_entry("__rshift__", "Tensor", ()))
@formula
def right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``"""
    return primitives.bitwise_right_shift(self, other)


for shift, operator, tags in (
    (bitwise_left_shift, left_shift, ("pointwise",)),
    (bitwise_right_shift, right_shift, ()),
):
    name, method = shift.schema.name.base, operator.schema.name.base
    shift.number_overload("other", "Tensor_Scalar", **number_entry(name, overload="Tensor_Scalar", core=False))
    shift.number_overload("self", "Scalar_Tensor", **NUMBER_FIRST)
    operator.number_overload("other", **shift_entry(method, "Scalar", tags))
