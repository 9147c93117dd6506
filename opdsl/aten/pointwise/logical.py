"""Truth values: logical operators, and predicates of numbers."""

from __future__ import annotations

import math
from typing import Any

from opdsl.declare import Inplace, Out, op
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
def logical_and(self: Tensor, other: Tensor) -> Tensor:
    """Return where both elements are true: not 0."""
    ...


logical_and.pointwise(promote="bool")(lambda a, b: bool(a) and bool(b))


@op("aten::logical_or", **ENTRY, **logical_entry("logical_or"))
def logical_or(self: Tensor, other: Tensor) -> Tensor:
    """Return where an element is true: not 0."""
    ...


logical_or.pointwise(promote="bool")(lambda a, b: bool(a) or bool(b))


@op("aten::logical_xor", **ENTRY, **logical_entry("logical_xor"))
def logical_xor(self: Tensor, other: Tensor) -> Tensor:
    """Return where one element is true and the other is not."""
    ...


logical_xor.pointwise(promote="bool")(lambda a, b: bool(a) != bool(b))


@op("aten::logical_not", **ENTRY, **logical_entry("logical_not"))
def logical_not(self: Tensor) -> Tensor:
    """Return where an element is 0."""
    ...


logical_not.pointwise(promote="bool")(lambda x: not x)


@op("aten::isnan", device_guard=False, out=Out(tags=()), **ENTRY)
def isnan(self: Tensor) -> Tensor:
    """Return where an element is NaN; of a complex number, one of its parts."""
    ...


isnan.pointwise(promote="bool")(lambda x: math.isnan(x))


@op("aten::isinf", device_guard=False, dispatch={"CompositeExplicitAutograd": "isinf"}, out=Out(tags=()), **ENTRY)
def isinf(self: Tensor) -> Tensor:
    """Return where an element is infinite; of a complex number, one of its parts."""
    ...


isinf.pointwise(promote="bool")(lambda x: math.isinf(x))


@op("aten::isfinite", **{**ENTRY, "tags": "pointwise", "device_guard": False, "dispatch": None})
def isfinite(self: Tensor) -> Tensor:
    """Return where an element is neither infinite nor NaN; of a complex number, both of its parts."""
    ...


isfinite.pointwise(promote="bool")(lambda x: math.isfinite(x))


@op("aten::isreal", **{**ENTRY, "tags": (), "device_check": "ExactSame", "dispatch": None})
def isreal(self: Tensor) -> Tensor:
    """Return where the imaginary part of an element is 0."""
    ...


isreal.pointwise(promote="bool")(lambda x: x.imag == 0)

PREDICATE: dict[str, Any] = {
    "variants": "function, method",
    "tags": "pointwise",
    "device_check": "ExactSame",
    "out": True,
}


OF_REAL: dict[str, Any] = {"promote": "bool", "cast": "same", "dtypes": ("bool", "integer", "floating")}


@op("aten::isposinf", **PREDICATE)
def isposinf(self: Tensor) -> Tensor:
    """Return where an element is positive infinity."""
    ...


isposinf.pointwise(**OF_REAL)(lambda x: math.isinf(x) and x > 0)


@op("aten::isneginf", **PREDICATE)
def isneginf(self: Tensor) -> Tensor:
    """Return where an element is negative infinity."""
    ...


isneginf.pointwise(**OF_REAL)(lambda x: math.isinf(x) and x < 0)


@op("aten::signbit", **PREDICATE)
def signbit(self: Tensor) -> Tensor:
    """Return whether the sign of every element is set; -0.0 has one."""
    ...


signbit.pointwise(**OF_REAL)(lambda x: math.copysign(1.0, x) < 0)
