"""Operations on the bits of integers and bools: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.entries import BINARY, CORE_BINARY, CORE_UNARY, number_entry, number_first_entry
from opdsl.declare import Inplace, Library, Row

lib = Library("aten")

lib.table(
    {"bitwise_not(Tensor self) -> Tensor": Row("``~self``; of bools the opposite.", lambda x: ~x)},
    pointwise={"dtypes": ("bool", "integer")},
    **{**CORE_UNARY, "inplace": Inplace(variants="method")},
)

# ----------------------------------------------------------------------------------------------- and, or, exclusive or

logical = lib.table(
    {
        "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor": Row(
            "``self & other``; of bools whether both hold.", lambda a, b: a & b
        ),
        "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor": Row(
            "``self | other``; of bools whether one holds.", lambda a, b: a | b
        ),
        "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor": Row(
            "``self ^ other``; of bools whether one of them holds.", lambda a, b: a ^ b
        ),
    },
    pointwise={"dtypes": ("bool", "integer")},
    **CORE_BINARY,
)
for operator, method, tags in zip(
    logical.values(), ("__and__", "__or__", "__xor__"), ((), (), ("pointwise",)), strict=True
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


for name, method, tags, doc, function in (
    (
        "bitwise_left_shift",
        "__lshift__",
        ("pointwise",),
        "``self << other``; 0 where a shift is negative or too far.",
        lambda a, b: a << b,
    ),
    (
        "bitwise_right_shift",
        "__rshift__",
        (),
        "``self >> other``; the sign alone where a shift is negative or too far.",
        lambda a, b: a >> b,
    ),
):
    shifts = lib.table(
        {
            f"{name}.Tensor(Tensor self, Tensor other) -> Tensor": Row(doc, function, **BINARY),
            f"{method}.Tensor(Tensor self, Tensor other) -> Tensor": Row(
                doc.partition(";")[0], function, **shift_entry(method, "Tensor", tags)
            ),
        },
        pointwise={"dtypes": "integer"},
    )
    shift, operator = shifts.values()
    shift.number_overload("other", "Tensor_Scalar", **number_entry(name, overload="Tensor_Scalar", core=False))
    shift.number_overload("self", "Scalar_Tensor", **number_first_entry(name))
    operator.number_overload("other", **shift_entry(method, "Scalar", tags))
