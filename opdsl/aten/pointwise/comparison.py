"""Pointwise comparisons (``eq``, ``lt``, ...), and selection by a condition (``where``)."""

from __future__ import annotations

from typing import Any

from opdsl import primitives
from opdsl.aten.create.factories import full
from opdsl.declare import Inplace, Out, formula, forward, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, bool_, result_type, uint8
from opdsl.schema.vocabulary import Scalar

# Options of all comparison operators.
COMPARISON: dict[str, Any] = {
    "variants": "method, function",
    "tags": ("core", "pointwise"),
    "inplace": Inplace(variants="method", tags=()),
}


@op("aten::eq.Tensor", out=Out("eq.Tensor_out"), **COMPARISON)
@formula
def eq(self: Tensor, other: Tensor) -> Tensor:
    """``self == other``"""
    return primitives.eq(self, other)


@op("aten::ne.Tensor", out=Out("ne.Tensor_out"), **COMPARISON)
@formula
def ne(self: Tensor, other: Tensor) -> Tensor:
    """``self != other``"""
    return primitives.ne(self, other)


@op("aten::lt.Tensor", out=Out("lt.Tensor_out"), **COMPARISON)
@formula
def lt(self: Tensor, other: Tensor) -> Tensor:
    """``self < other``"""
    return primitives.lt(self, other)


@op("aten::le.Tensor", out=Out("le.Tensor_out"), **COMPARISON)
@formula
def le(self: Tensor, other: Tensor) -> Tensor:
    """``self <= other``"""
    return primitives.le(self, other)


@op("aten::gt.Tensor", out=Out("gt.Tensor_out"), **COMPARISON)
@formula
def gt(self: Tensor, other: Tensor) -> Tensor:
    """``self > other``"""
    return primitives.gt(self, other)


@op("aten::ge.Tensor", out=Out("ge.Tensor_out"), **COMPARISON)
@formula
def ge(self: Tensor, other: Tensor) -> Tensor:
    """``self >= other``"""
    return primitives.ge(self, other)


eq_number, ne_number, lt_number, le_number, gt_number, ge_number = (
    operator.number_overload("other", out=Out(f"{operator.schema.name.base}.Scalar_out"), **COMPARISON)
    for operator in (eq, ne, lt, le, gt, ge)
)


@op(
    "aten::where.self",
    variants="function, method",
    tags=("core", "pointwise"),
    out=Out("where.self_out", tags=()),
)
@formula
def where(condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """``self if condition else other``, for each element."""
    return primitives.where(condition, self, other)


@where.meta
def where_meta(ctx, condition, self, other):
    check(
        condition.dtype in (bool_, uint8),
        f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.scalar_type}",
    )
    out = ctx.maybe_get_output()
    wanted = result_type((self, other), get_default_dtype())
    if out is not None and out.dtype is not wanted:
        raise DTypeError(f"Expected out type to be {wanted.scalar_type} but got {out.dtype.scalar_type}")


def number_beside(number: complex, *tensors: Tensor) -> Tensor:
    """Return a number as a zero-dim tensor, whose dtype is that of promoting it with the given tensors."""
    dtype: DType = result_type((*tensors, number), get_default_dtype())
    device = tensors[0].device if tensors else None
    return full([], number, dtype=dtype, device=device)


@where.overload("ScalarSelf")
@forward(where, self=lambda self, other: number_beside(self, other))
def where_number_self(condition: Tensor, self: Scalar, other: Tensor) -> Tensor:
    """``self if condition else other``, for a number ``self``."""


@where.overload("ScalarOther", variants="function, method")
@forward(where, other=lambda self, other: number_beside(other, self))
def where_number_other(condition: Tensor, self: Tensor, other: Scalar) -> Tensor:
    """``self if condition else other``, for a number ``other``."""


def one_of(condition: Tensor, value: complex, *both: complex) -> Tensor:
    """Return the number ``value`` as a zero-dim tensor, whose dtype is that of promoting the two numbers ``both``."""
    dtype: DType = result_type(both, get_default_dtype())
    return full([], value, dtype=dtype, device=condition.device)


@where.overload("Scalar")
@forward(
    where,
    self=lambda condition, self, other: one_of(condition, self, self, other),
    other=lambda condition, self, other: one_of(condition, other, self, other),
)
def where_numbers(condition: Tensor, self: Scalar, other: Scalar) -> Tensor:
    """``self if condition else other``, for two numbers."""


@where.overload("")
def where_nonzero(condition: Tensor) -> list[Tensor]:
    """Return the indices of the nonzero elements, one tensor for each dimension."""
    return list(condition.nonzero(as_tuple=True))
