"""Truth values: logical operators, and predicates of numbers."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.declare import Inplace, Out, formula, op
from opdsl.runtime import Tensor

ENTRY: dict[str, Any] = {"variants": "function, method", "tags": ("core", "pointwise"), "structured": False}


def logical_entry(name: str) -> dict[str, Any]:
    """What the entry of a logical operator says besides: PyTorch's are no structured ones."""
    return {
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(variants="method", dispatch={"CompositeExplicitAutograd": f"{name}_"}),
        "out": Out(explicit=True),
    }


@op("aten::logical_and", **ENTRY, **logical_entry("logical_and"))
@formula
def logical_and(self: Tensor, other: Tensor) -> Tensor:
    """Return where both elements are true: not 0."""
    return primitives.logical_and(self, other)


@op("aten::logical_or", **ENTRY, **logical_entry("logical_or"))
@formula
def logical_or(self: Tensor, other: Tensor) -> Tensor:
    """Return where an element is true: not 0."""
    return primitives.logical_or(self, other)


@op("aten::logical_xor", **ENTRY, **logical_entry("logical_xor"))
@formula
def logical_xor(self: Tensor, other: Tensor) -> Tensor:
    """Return where one element is true and the other is not."""
    return primitives.logical_xor(self, other)


@op("aten::logical_not", **ENTRY, **logical_entry("logical_not"))
@formula
def logical_not(self: Tensor) -> Tensor:
    """Return where an element is 0."""
    return primitives.logical_not(self)


@op("aten::isnan", device_guard=False, out=Out(tags=()), **ENTRY)
@formula
def isnan(self: Tensor) -> Tensor:
    """Return where an element is NaN; of a complex number, one of its parts."""
    return primitives.isnan(self)


@op("aten::isinf", device_guard=False, dispatch={"CompositeExplicitAutograd": "isinf"}, out=Out(tags=()), **ENTRY)
@formula
def isinf(self: Tensor) -> Tensor:
    """Return where an element is infinite; of a complex number, one of its parts."""
    return primitives.isinf(self)


@op("aten::isfinite", **{**ENTRY, "tags": "pointwise", "device_guard": False, "dispatch": None})
@formula
def isfinite(self: Tensor) -> Tensor:
    """Return where an element is neither infinite nor NaN; of a complex number, both of its parts."""
    return primitives.isfinite(self)


@op("aten::isreal", **{**ENTRY, "tags": (), "device_check": "ExactSame", "dispatch": None})
@formula
def isreal(self: Tensor) -> Tensor:
    """Return where the imaginary part of an element is 0."""
    return primitives.isreal(self)


PREDICATE: dict[str, Any] = {
    "variants": "function, method",
    "tags": "pointwise",
    "device_check": "ExactSame",
    "out": True,
}


OF_REAL: dict[str, Any] = {"promote": "bool", "cast": "same", "dtypes": ("bool", "integer", "floating")}


isposinf_elements = primitives.elements(lambda x: math.isinf(x) and x > 0, **OF_REAL)


@op("aten::isposinf", **PREDICATE)
@formula
def isposinf(self: Tensor) -> Tensor:
    """Return where an element is positive infinity."""
    return isposinf_elements(self)


isneginf_elements = primitives.elements(lambda x: math.isinf(x) and x < 0, **OF_REAL)


@op("aten::isneginf", **PREDICATE)
@formula
def isneginf(self: Tensor) -> Tensor:
    """Return where an element is negative infinity."""
    return isneginf_elements(self)


signbit_elements = primitives.elements(lambda x: math.copysign(1.0, x) < 0, **OF_REAL)


@op("aten::signbit", **PREDICATE)
@formula
def signbit(self: Tensor) -> Tensor:
    """Return whether the sign of every element is set; -0.0 has one."""
    return signbit_elements(self)
