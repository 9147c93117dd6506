"""Logical operators (``logical_and``, ...) and predicates of numbers (``isnan``, ``signbit``)."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.declare import Inplace, Out, formula, op
from opdsl.runtime import Tensor

ENTRY: dict[str, Any] = {"variants": "function, method", "tags": ("core", "pointwise")}
LOGICAL: dict[str, Any] = {**ENTRY, "inplace": Inplace(variants="method"), "out": True}


@op("aten::logical_and", **LOGICAL)
@formula
def logical_and(self: Tensor, other: Tensor) -> Tensor:
    """Return a mask of where both elements are nonzero."""
    return primitives.logical_and(self, other)


@op("aten::logical_or", **LOGICAL)
@formula
def logical_or(self: Tensor, other: Tensor) -> Tensor:
    """Return a mask of where at least one element is nonzero."""
    return primitives.logical_or(self, other)


@op("aten::logical_xor", **LOGICAL)
@formula
def logical_xor(self: Tensor, other: Tensor) -> Tensor:
    """Return a mask of where exactly one element is nonzero."""
    return primitives.logical_xor(self, other)


@op("aten::logical_not", **LOGICAL)
@formula
def logical_not(self: Tensor) -> Tensor:
    """Return a mask of the elements that are 0."""
    return primitives.logical_not(self)


@op("aten::isnan", out=Out(tags=()), **ENTRY)
@formula
def isnan(self: Tensor) -> Tensor:
    """Return a mask of the elements that are NaN; complex ones if a part is."""
    return primitives.isnan(self)


@op("aten::isinf", out=Out(tags=()), **ENTRY)
@formula
def isinf(self: Tensor) -> Tensor:
    """Return a mask of the elements that are infinite; complex ones if a part is."""
    return primitives.isinf(self)


@op("aten::isfinite", **{**ENTRY, "tags": "pointwise"})
@formula
def isfinite(self: Tensor) -> Tensor:
    """Return a mask of the elements that are neither infinite nor NaN; complex ones if both parts are."""
    return primitives.isfinite(self)


@op("aten::isreal", **{**ENTRY, "tags": ()})
@formula
def isreal(self: Tensor) -> Tensor:
    """Return a mask of the elements whose imaginary part is 0."""
    return primitives.isreal(self)


PREDICATE: dict[str, Any] = {"variants": "function, method", "tags": "pointwise", "out": True}


OF_REAL: dict[str, Any] = {"promote": "bool", "cast": "same", "dtypes": ("bool", "integer", "floating")}


isposinf_elements = primitives.elements(lambda x: math.isinf(x) and x > 0, **OF_REAL)


@op("aten::isposinf", **PREDICATE)
@formula
def isposinf(self: Tensor) -> Tensor:
    """Return a mask of the elements that are positive infinity."""
    return isposinf_elements(self)


isneginf_elements = primitives.elements(lambda x: math.isinf(x) and x < 0, **OF_REAL)


@op("aten::isneginf", **PREDICATE)
@formula
def isneginf(self: Tensor) -> Tensor:
    """Return a mask of the elements that are negative infinity."""
    return isneginf_elements(self)


signbit_elements = primitives.elements(lambda x: math.copysign(1.0, x) < 0, **OF_REAL)


@op("aten::signbit", **PREDICATE)
@formula
def signbit(self: Tensor) -> Tensor:
    """Return a mask of the elements whose sign bit is set, which includes -0.0."""
    return signbit_elements(self)
