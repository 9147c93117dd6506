"""Operations on the bits of integers and bools: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.entries import BINARY, CORE_BINARY, CORE_UNARY, number_entry, number_first_entry
from opdsl.declare import Inplace, op
from opdsl.runtime import Tensor

# ---------------------------------------------------------------------------------------------------------- bitwise_and


@op("aten::bitwise_and.Tensor", **CORE_BINARY)
def bitwise_and(self: Tensor, other: Tensor) -> Tensor:
    """``self & other``; of bools whether both hold."""
    ...


@bitwise_and.pointwise(dtypes=("bool", "integer"))
def bitwise_and_scalar_function(self, other):
    return self & other


bitwise_and_number = bitwise_and.number_overload("other", **number_entry("bitwise_and"))


number_bitwise_and = bitwise_and.number_overload("self", "Scalar_Tensor", **number_first_entry("bitwise_and"))


# ----------------------------------------------------------------------------------------------------------- bitwise_or


@op("aten::bitwise_or.Tensor", **CORE_BINARY)
def bitwise_or(self: Tensor, other: Tensor) -> Tensor:
    """``self | other``; of bools whether one holds."""
    ...


@bitwise_or.pointwise(dtypes=("bool", "integer"))
def bitwise_or_scalar_function(self, other):
    return self | other


bitwise_or_number = bitwise_or.number_overload("other", **number_entry("bitwise_or"))


number_bitwise_or = bitwise_or.number_overload("self", "Scalar_Tensor", **number_first_entry("bitwise_or"))


# ---------------------------------------------------------------------------------------------------------- bitwise_xor


@op("aten::bitwise_xor.Tensor", **CORE_BINARY)
def bitwise_xor(self: Tensor, other: Tensor) -> Tensor:
    """``self ^ other``; of bools whether one of them holds."""
    ...


@bitwise_xor.pointwise(dtypes=("bool", "integer"))
def bitwise_xor_scalar_function(self, other):
    return self ^ other


bitwise_xor_number = bitwise_xor.number_overload("other", **number_entry("bitwise_xor"))


number_bitwise_xor = bitwise_xor.number_overload("self", "Scalar_Tensor", **number_first_entry("bitwise_xor"))


# ---------------------------------------------------------------------------------------------------------- bitwise_not


@op("aten::bitwise_not", **{**CORE_UNARY, "inplace": Inplace(variants="method")})
def bitwise_not(self: Tensor) -> Tensor:
    """``~self``; of bools the opposite."""
    ...


@bitwise_not.pointwise(dtypes=("bool", "integer"))
def bitwise_not_scalar_function(self):
    return ~self


# --------------------------------------------------------------------------------------------------- bitwise_left_shift


@op("aten::bitwise_left_shift.Tensor", **BINARY)
def bitwise_left_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``; 0 where a shift is negative or too far."""
    ...


@bitwise_left_shift.pointwise(dtypes="integer")
def bitwise_left_shift_scalar_function(self, other):
    return self << other


bitwise_left_shift_number = bitwise_left_shift.number_overload(
    "other", "Tensor_Scalar", **number_entry("bitwise_left_shift", overload="Tensor_Scalar", core=False)
)


number_bitwise_left_shift = bitwise_left_shift.number_overload(
    "self", "Scalar_Tensor", **number_first_entry("bitwise_left_shift")
)


# -------------------------------------------------------------------------------------------------- bitwise_right_shift


@op("aten::bitwise_right_shift.Tensor", **BINARY)
def bitwise_right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``; the sign alone where a shift is negative or too far."""
    ...


@bitwise_right_shift.pointwise(dtypes="integer")
def bitwise_right_shift_scalar_function(self, other):
    return self >> other


bitwise_right_shift_number = bitwise_right_shift.number_overload(
    "other", "Tensor_Scalar", **number_entry("bitwise_right_shift", overload="Tensor_Scalar", core=False)
)


number_bitwise_right_shift = bitwise_right_shift.number_overload(
    "self", "Scalar_Tensor", **number_first_entry("bitwise_right_shift")
)


# ------------------------------------------------------------------------------------------------- Python's operators

for method, operators, tags in (
    ("__and__", (bitwise_and, bitwise_and_number), ()),
    ("__or__", (bitwise_or, bitwise_or_number), ()),
    ("__xor__", (bitwise_xor, bitwise_xor_number), ("pointwise",)),
):
    for operator in operators:
        operator.alias(f"aten::{method}", device_check="NoCheck", tags=tags, out=False)


def shift_entry(name: str, overload: str, inplace_tags: tuple[str, ...]) -> dict[str, Any]:
    """What the entries of ``<<`` and ``>>`` say."""
    return {
        "variants": "method, function",
        "tags": "pointwise",
        "structured": False,
        "inplace": Inplace(variants="method", tags=inplace_tags, autogen=f"{name}.{overload}_out"),
    }


@op("aten::__lshift__.Tensor", **shift_entry("__lshift__", "Tensor", ("pointwise",)))
def lshift(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``"""
    ...


lshift.pointwise(dtypes="integer")(bitwise_left_shift_scalar_function)


lshift_number = lshift.number_overload("other", **shift_entry("__lshift__", "Scalar", ("pointwise",)))


@op("aten::__rshift__.Tensor", **shift_entry("__rshift__", "Tensor", ()))
def rshift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``"""
    ...


rshift.pointwise(dtypes="integer")(bitwise_right_shift_scalar_function)


rshift_number = rshift.number_overload("other", **shift_entry("__rshift__", "Scalar", ()))
