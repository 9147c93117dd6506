"""Operations on the bits of integers and bools: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.entries import BINARY, CORE_BINARY, CORE_UNARY, number_entry, number_first_entry
from opdsl.declare import Inplace, op
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Scalar

# ---------------------------------------------------------------------------------------------------------- bitwise_and


@op("aten::bitwise_and.Tensor", **CORE_BINARY)
def bitwise_and(self: Tensor, other: Tensor) -> Tensor:
    """``self & other``; of bools whether both hold."""
    ...


@bitwise_and.pointwise(dtypes=("bool", "integer"))
def bitwise_and_scalar_function(self, other):
    return self & other


@bitwise_and.overload("Scalar", **number_entry("bitwise_and"))
def bitwise_and_number(self: Tensor, other: Scalar) -> Tensor:
    """``self & other`` for a number."""
    ...


bitwise_and_number.pointwise(wrapped="other", dtypes=("bool", "integer"))(bitwise_and_scalar_function)


@bitwise_and.overload("Scalar_Tensor", **number_first_entry("bitwise_and"))
def number_bitwise_and(self: Scalar, other: Tensor) -> Tensor:
    """``self & other`` for a number before the tensor."""
    ...


number_bitwise_and.pointwise(wrapped="self", dtypes=("bool", "integer"))(bitwise_and_scalar_function)


# ----------------------------------------------------------------------------------------------------------- bitwise_or


@op("aten::bitwise_or.Tensor", **CORE_BINARY)
def bitwise_or(self: Tensor, other: Tensor) -> Tensor:
    """``self | other``; of bools whether one holds."""
    ...


@bitwise_or.pointwise(dtypes=("bool", "integer"))
def bitwise_or_scalar_function(self, other):
    return self | other


@bitwise_or.overload("Scalar", **number_entry("bitwise_or"))
def bitwise_or_number(self: Tensor, other: Scalar) -> Tensor:
    """``self | other`` for a number."""
    ...


bitwise_or_number.pointwise(wrapped="other", dtypes=("bool", "integer"))(bitwise_or_scalar_function)


@bitwise_or.overload("Scalar_Tensor", **number_first_entry("bitwise_or"))
def number_bitwise_or(self: Scalar, other: Tensor) -> Tensor:
    """``self | other`` for a number before the tensor."""
    ...


number_bitwise_or.pointwise(wrapped="self", dtypes=("bool", "integer"))(bitwise_or_scalar_function)


# ---------------------------------------------------------------------------------------------------------- bitwise_xor


@op("aten::bitwise_xor.Tensor", **CORE_BINARY)
def bitwise_xor(self: Tensor, other: Tensor) -> Tensor:
    """``self ^ other``; of bools whether one of them holds."""
    ...


@bitwise_xor.pointwise(dtypes=("bool", "integer"))
def bitwise_xor_scalar_function(self, other):
    return self ^ other


@bitwise_xor.overload("Scalar", **number_entry("bitwise_xor"))
def bitwise_xor_number(self: Tensor, other: Scalar) -> Tensor:
    """``self ^ other`` for a number."""
    ...


bitwise_xor_number.pointwise(wrapped="other", dtypes=("bool", "integer"))(bitwise_xor_scalar_function)


@bitwise_xor.overload("Scalar_Tensor", **number_first_entry("bitwise_xor"))
def number_bitwise_xor(self: Scalar, other: Tensor) -> Tensor:
    """``self ^ other`` for a number before the tensor."""
    ...


number_bitwise_xor.pointwise(wrapped="self", dtypes=("bool", "integer"))(bitwise_xor_scalar_function)


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


@bitwise_left_shift.overload(
    "Tensor_Scalar", **number_entry("bitwise_left_shift", overload="Tensor_Scalar", core=False)
)
def bitwise_left_shift_number(self: Tensor, other: Scalar) -> Tensor:
    """``self << other`` for a number."""
    ...


bitwise_left_shift_number.pointwise(wrapped="other", dtypes="integer")(bitwise_left_shift_scalar_function)


@bitwise_left_shift.overload("Scalar_Tensor", **number_first_entry("bitwise_left_shift"))
def number_bitwise_left_shift(self: Scalar, other: Tensor) -> Tensor:
    """``self << other`` for a number before the tensor."""
    ...


number_bitwise_left_shift.pointwise(wrapped="self", dtypes="integer")(bitwise_left_shift_scalar_function)


# -------------------------------------------------------------------------------------------------- bitwise_right_shift


@op("aten::bitwise_right_shift.Tensor", **BINARY)
def bitwise_right_shift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``; the sign alone where a shift is negative or too far."""
    ...


@bitwise_right_shift.pointwise(dtypes="integer")
def bitwise_right_shift_scalar_function(self, other):
    return self >> other


@bitwise_right_shift.overload(
    "Tensor_Scalar", **number_entry("bitwise_right_shift", overload="Tensor_Scalar", core=False)
)
def bitwise_right_shift_number(self: Tensor, other: Scalar) -> Tensor:
    """``self >> other`` for a number."""
    ...


bitwise_right_shift_number.pointwise(wrapped="other", dtypes="integer")(bitwise_right_shift_scalar_function)


@bitwise_right_shift.overload("Scalar_Tensor", **number_first_entry("bitwise_right_shift"))
def number_bitwise_right_shift(self: Scalar, other: Tensor) -> Tensor:
    """``self >> other`` for a number before the tensor."""
    ...


number_bitwise_right_shift.pointwise(wrapped="self", dtypes="integer")(bitwise_right_shift_scalar_function)


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


@lshift.overload("Scalar", **shift_entry("__lshift__", "Scalar", ("pointwise",)))
def lshift_number(self: Tensor, other: Scalar) -> Tensor:
    """``self << other`` for a number."""
    ...


lshift_number.pointwise(wrapped="other", dtypes="integer")(bitwise_left_shift_scalar_function)


@op("aten::__rshift__.Tensor", **shift_entry("__rshift__", "Tensor", ()))
def rshift(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``"""
    ...


rshift.pointwise(dtypes="integer")(bitwise_right_shift_scalar_function)


@rshift.overload("Scalar", **shift_entry("__rshift__", "Scalar", ()))
def rshift_number(self: Tensor, other: Scalar) -> Tensor:
    """``self >> other`` for a number."""
    ...


rshift_number.pointwise(wrapped="other", dtypes="integer")(bitwise_right_shift_scalar_function)
