"""Truth values: logical operators, and predicates of numbers."""

from __future__ import annotations

import math
from typing import Any

from opdsl.declare import Inplace, Library, Out, Row

lib = Library("aten")

ENTRY: dict[str, Any] = {"variants": "function, method", "tags": ("core", "pointwise"), "structured": False}


def logical_entry(name: str) -> dict[str, Any]:
    """What the entry of a logical operator says besides: PyTorch's are no structured ones."""
    return {
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(variants="method", dispatch={"CompositeExplicitAutograd": f"{name}_"}),
        "out": Out(explicit=True),
    }


logical = lib.table(
    {
        "logical_and(Tensor self, Tensor other) -> Tensor": Row(
            "Where both elements are true: not 0.", lambda a, b: bool(a) and bool(b), **logical_entry("logical_and")
        ),
        "logical_or(Tensor self, Tensor other) -> Tensor": Row(
            "Where an element is true: not 0.", lambda a, b: bool(a) or bool(b), **logical_entry("logical_or")
        ),
        "logical_xor(Tensor self, Tensor other) -> Tensor": Row(
            "Where one element is true and the other is not.",
            lambda a, b: bool(a) != bool(b),
            **logical_entry("logical_xor"),
        ),
        "logical_not(Tensor self) -> Tensor": Row(
            "Where an element is 0.", lambda x: not x, **logical_entry("logical_not")
        ),
    },
    pointwise={"promote": "bool"},
    **ENTRY,
)
logical_and, logical_or, logical_xor = logical["logical_and"], logical["logical_or"], logical["logical_xor"]

lib.table(
    {
        "isnan(Tensor self) -> Tensor": Row(
            "Where an element is NaN; of a complex number, one of its parts.",
            lambda x: math.isnan(x),
            device_guard=False,
            out=Out(tags=()),
        ),
        "isinf(Tensor self) -> Tensor": Row(
            "Where an element is infinite; of a complex number, one of its parts.",
            lambda x: math.isinf(x),
            device_guard=False,
            dispatch={"CompositeExplicitAutograd": "isinf"},
            out=Out(tags=()),
        ),
        "isfinite(Tensor self) -> Tensor": Row(
            "Where an element is neither infinite nor NaN; of a complex number, both of its parts.",
            lambda x: math.isfinite(x),
            tags="pointwise",
            device_guard=False,
            dispatch=None,
        ),
        "isreal(Tensor self) -> Tensor": Row(
            "Where the imaginary part of an element is 0.",
            lambda x: x.imag == 0,
            tags=(),
            device_check="ExactSame",
            dispatch=None,
        ),
    },
    pointwise={"promote": "bool"},
    **ENTRY,
)

lib.table(
    {
        "isposinf(Tensor self) -> Tensor": Row(
            "Where an element is positive infinity.", lambda x: math.isinf(x) and x > 0
        ),
        "isneginf(Tensor self) -> Tensor": Row(
            "Where an element is negative infinity.", lambda x: math.isinf(x) and x < 0
        ),
        "signbit(Tensor self) -> Tensor": Row(
            "Whether the sign of every element is set; -0.0 has one.", lambda x: math.copysign(1.0, x) < 0
        ),
    },
    pointwise={"promote": "bool", "cast": "same", "dtypes": ("bool", "integer", "floating")},
    variants="function, method",
    tags="pointwise",
    device_check="ExactSame",
    out=True,
)
