"""Operations on the bits of integers and bools: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.entries import BINARY, CORE_BINARY, CORE_UNARY, number_entry, number_first_entry
from opdsl.declare import Inplace, op
from opdsl.runtime import Tensor


@op("aten::bitwise_not", **{**CORE_UNARY, "inplace": Inplace(variants="method")})
def bitwise_not(self: Tensor) -> Tensor:
    """``~self``; of bools the opposite."""
    ...


bitwise_not.pointwise(dtypes=("bool", "integer"))(lambda x: ~x)

# ----------------------------------------------------------------------------------------------- and, or, exclusive or


@op("aten::bitwise_and.Tensor", **CORE_BINARY)
def bitwise_and(self: Tensor, other: Tensor) -> Tensor:
    """``self & other``; of bools whether both hold."""
    ...


bitwise_and.pointwise(dtypes=("bool", "integer"))(lambda a, b: a & b)


@op("aten::bitwise_or.Tensor", **CORE_BINARY)
def bitwise_or(self: Tensor, other: Tensor) -> Tensor:
    """``self | other``; of bools whether one holds."""
    ...


bitwise_or.pointwise(dtypes=("bool", "integer"))(lambda a, b: a | b)


@op("aten::bitwise_xor.Tensor", **CORE_BINARY)
def bitwise_xor(self: Tensor, other: Tensor) -> Tensor:
    """``self ^ other``; of bools whether one of them holds."""
    ...


bitwise_xor.pointwise(dtypes=("bool", "integer"))(lambda a, b: a ^ b)

for operator, method, tags in (
    (bitwise_and, "__and__", ()),
    (bitwise_or, "__or__", ()),
    (bitwise_xor, "__xor__", ("pointwise",)),
):
    name = operator.schema.name.base
    number = operator.number_overload("other", **number_entry(name))
    operator.number_overload("self", "Scalar_Tensor", **number_first_entry(name))
    for each in (operator, number):
        each.alias(f"aten::{method}", device_check="NoCheck", tags=tags, out=False)

# -------------------------------------------------------------------------------------------------------------- shifts


def shift_entry(name: str, overload: str, inplace_tags: tuple[str, ...]) -> dict[str, Any]:
    """What the entries of ``<<`` and ``>>`` say."""
    return {
        "variants": "method, function",
        "tags": "pointwise",
        "structured": False,
        "inplace": Inplace(variants="method", tags=inplace_tags, autogen=f"{name}.{overload}_out"),
    }


@op("aten::bitwise_left_shift.Tensor", **BINARY)
def bitwise_left_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``; 0 where a shift is negative or too far."""
    ...


@op("aten::__lshift__.Tensor", **shift_entry("__lshift__", "Tensor", ("pointwise",)))
def left_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``"""
    ...


@op("aten::bitwise_right_shift.Tensor", **BINARY)
def bitwise_right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``; the sign alone where a shift is negative or too far."""
    ...


@op("aten::__rshift__.Tensor", **shift_entry("__rshift__", "Tensor", ()))
def right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``"""
    ...


bitwise_left_shift.pointwise(dtypes="integer")(lambda a, b: a << b)
left_shift.pointwise(dtypes="integer")(lambda a, b: a << b)
bitwise_right_shift.pointwise(dtypes="integer")(lambda a, b: a >> b)
right_shift.pointwise(dtypes="integer")(lambda a, b: a >> b)

for shift, operator, tags in (
    (bitwise_left_shift, left_shift, ("pointwise",)),
    (bitwise_right_shift, right_shift, ()),
):
    name, method = shift.schema.name.base, operator.schema.name.base
    shift.number_overload("other", "Tensor_Scalar", **number_entry(name, overload="Tensor_Scalar", core=False))
    shift.number_overload("self", "Scalar_Tensor", **number_first_entry(name))
    operator.number_overload("other", **shift_entry(method, "Scalar", tags))
