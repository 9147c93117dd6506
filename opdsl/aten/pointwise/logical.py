"""Truth values: logical operators, and predicates of numbers."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.entries import UNARY
from opdsl.declare import Inplace, Out, op
from opdsl.runtime import Tensor


def logical_entry(name: str) -> dict[str, Any]:
    """What the entry of a logical operator says: PyTorch's are no structured ones."""
    return {
        "variants": "function, method",
        "tags": ("core", "pointwise"),
        "structured": False,
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(variants="method", dispatch={"CompositeExplicitAutograd": f"{name}_"}),
        "out": Out(explicit=True),
    }


@op("aten::logical_and", **logical_entry("logical_and"))
def logical_and(self: Tensor, other: Tensor) -> Tensor:
    """Where both elements are true: not 0."""
    ...


@logical_and.pointwise(promote="bool")
def logical_and_scalar_function(self, other):
    return bool(self) and bool(other)


@op("aten::logical_or", **logical_entry("logical_or"))
def logical_or(self: Tensor, other: Tensor) -> Tensor:
    """Where an element is true: not 0."""
    ...


@logical_or.pointwise(promote="bool")
def logical_or_scalar_function(self, other):
    return bool(self) or bool(other)


@op("aten::logical_xor", **logical_entry("logical_xor"))
def logical_xor(self: Tensor, other: Tensor) -> Tensor:
    """Where one element is true and the other is not."""
    ...


@logical_xor.pointwise(promote="bool")
def logical_xor_scalar_function(self, other):
    return bool(self) != bool(other)


@op("aten::logical_not", **logical_entry("logical_not"))
def logical_not(self: Tensor) -> Tensor:
    """Where an element is 0."""
    ...


@logical_not.pointwise(promote="bool")
def logical_not_scalar_function(self):
    return not self


# ---------------------------------------------------------------------------------------------------------- predicates


@op(
    "aten::isnan",
    variants="function, method",
    tags=("core", "pointwise"),
    device_guard=False,
    structured=False,
    out=Out(tags=()),
)
def isnan(self: Tensor) -> Tensor:
    """Where an element is NaN; of a complex number, one of its parts."""
    ...


@isnan.pointwise(promote="bool")
def isnan_scalar_function(self):
    return math.isnan(self)


@op(
    "aten::isinf",
    variants="function, method",
    tags=("core", "pointwise"),
    device_guard=False,
    structured=False,
    dispatch={"CompositeExplicitAutograd": "isinf"},
    out=Out(tags=()),
)
def isinf(self: Tensor) -> Tensor:
    """Where an element is infinite; of a complex number, one of its parts."""
    ...


@isinf.pointwise(promote="bool")
def isinf_scalar_function(self):
    return math.isinf(self)


@op(
    "aten::isfinite",
    variants="function, method",
    tags="pointwise",
    device_guard=False,
    dispatch=None,
)
def isfinite(self: Tensor) -> Tensor:
    """Where an element is neither infinite nor NaN; of a complex number, both of its parts."""
    ...


@isfinite.pointwise(promote="bool")
def isfinite_scalar_function(self):
    return math.isfinite(self)


@op("aten::isposinf", device_check="ExactSame", **{**UNARY, "inplace": False})
def isposinf(self: Tensor) -> Tensor:
    """Where an element is positive infinity."""
    ...


@isposinf.pointwise(promote="bool", cast="same", dtypes=("bool", "integer", "floating"))
def isposinf_scalar_function(self):
    return math.isinf(self) and self > 0


@op("aten::isneginf", device_check="ExactSame", **{**UNARY, "inplace": False})
def isneginf(self: Tensor) -> Tensor:
    """Where an element is negative infinity."""
    ...


@isneginf.pointwise(promote="bool", cast="same", dtypes=("bool", "integer", "floating"))
def isneginf_scalar_function(self):
    return math.isinf(self) and self < 0


@op(
    "aten::isreal",
    variants="function, method",
    dispatch=None,
    tags=(),
    device_check="ExactSame",
)
def isreal(self: Tensor) -> Tensor:
    """Where the imaginary part of an element is 0."""
    ...


@isreal.pointwise(promote="bool")
def isreal_scalar_function(self):
    return self.imag == 0
