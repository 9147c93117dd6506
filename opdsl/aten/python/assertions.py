"""Operators that assert conditions on tensors and numbers, so that traced programs can contain assertions."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.factories import zeros
from opdsl.declare import op
from opdsl.kernels import check, holds
from opdsl.runtime import Device, DType, Layout, MemoryFormat, Tensor
from opdsl.schema.vocabulary import Scalar, SymInt, TensorOptions


def require_true(self: Tensor, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Check that a tensor has exactly one element and that it is nonzero; the element of a meta tensor is not checked.

    Raises:
        ShapeError: the condition does not hold.
    """
    check(self.numel() == 1, f"expected a tensor with one element to assert, but got {list(self.shape)}")
    check(self.is_meta or holds(self != 0), message or "Assertion is failed")


def require_between(size: Any, min: int | None, max: int | None) -> None:
    """Check that a number is between two bounds, both included; a bound of None is not checked.

    Raises:
        ShapeError: the number is out of bounds, or the bounds are in the wrong order.
    """
    check(not isinstance(size, complex), f"expected a size, which is no complex number, got {size}")
    check(min is None or max is None or min <= max, f"Max must be greater than min, but got {max} < {min}")
    check(
        (min is None or size >= min) and (max is None or size <= max),
        f"Invalid value range for {size} between [{min}, {max}].",
    )


def require_true_number(self: complex, message: str) -> None:
    """Check that a number is nonzero.

    Raises:
        ShapeError: the number is 0.
    """
    check(bool(self), message)


def require_size(size: Any, min: int | None, max: int | None) -> None:
    """Check that a size is between two bounds, both included; the lower one is 0 by default.

    Raises:
        ShapeError: the size is out of bounds.
    """
    require_between(size, 0 if min is None else min, max)


@op("aten::_assert_async", kernel=True)
def _assert_async(self: Tensor) -> None:
    """Raise ShapeError unless the tensor's only element is nonzero."""
    require_true(self)


@op("aten::_assert_async.msg", kernel=True)
def _assert_async_msg(self: Tensor, assert_msg: str) -> None:
    """Raise ShapeError with the text ``assert_msg`` unless the tensor's only element is nonzero."""
    require_true(self, assert_msg)


@op("aten::_functional_assert_async.msg", kernel=True)
def _functional_assert_async_msg(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Raise ShapeError unless the tensor's only element is nonzero, and return a copy of the token that orders such
    steps.
    """
    require_true(self, assert_msg)
    return dep_token.clone()


@op("aten::_assert_scalar", kernel="CompositeExplicitAutograd")
def _assert_scalar(self: Scalar, assert_msg: str) -> None:
    """Raise ShapeError with the text ``assert_msg`` unless a number is nonzero."""
    require_true_number(self, assert_msg)


@op("aten::_functional_assert_scalar", kernel="CompositeExplicitAutograd")
def _functional_assert_scalar(self: Scalar, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Raise ShapeError unless a number is nonzero, and return a copy of the token that orders such steps."""
    require_true_number(self, assert_msg)
    return dep_token.clone()


@op("aten::_print", kernel="CompositeExplicitAutograd")
def _print(s: str) -> None:
    """Print a text."""
    print(s)


@op("aten::sym_constrain_range", kernel="CompositeExplicitAutograd")
def sym_constrain_range(size: Scalar, *, min: int | None = None, max: int | None = None) -> None:
    """Raise ShapeError unless a number is between two bounds, both included."""
    require_between(size, min, max)


@op("aten::sym_constrain_range_for_size", kernel="CompositeExplicitAutograd")
def sym_constrain_range_for_size(size: Scalar, *, min: int | None = None, max: int | None = None) -> None:
    """Raise ShapeError unless a size is between two bounds, both included; the lower one is 0 by default."""
    require_size(size, min, max)


@op("aten::_functional_sym_constrain_range", kernel="CompositeExplicitAutograd")
def _functional_sym_constrain_range(size: Scalar, min: int | None, max: int | None, dep_token: Tensor) -> Tensor:
    """Raise ShapeError unless a number is between two bounds, and return a copy of the token that orders such
    steps.
    """
    require_between(size, min, max)
    return dep_token.clone()


@op("aten::_functional_sym_constrain_range_for_size", kernel="CompositeExplicitAutograd")
def _functional_sym_constrain_range_for_size(
    size: Scalar, min: int | None, max: int | None, dep_token: Tensor
) -> Tensor:
    """Raise ShapeError unless a size is between two bounds, and return a copy of the token that orders such steps."""
    require_size(size, min, max)
    return dep_token.clone()


@op("aten::_assert_tensor_metadata", kernel=("CompositeExplicitAutograd", "Meta"))
def _assert_tensor_metadata(
    a: Tensor,
    size: list[SymInt] | None = None,
    stride: list[SymInt] | None = None,
    dtype: DType | None = None,
    *,
    device: Device | None = None,
    layout: Layout | None = None,
) -> None:
    """Raise ShapeError unless a tensor has the given sizes, strides, dtype, device and layout; None is not checked."""
    numbers = {"sizes": size, "strides": stride, "dtype": dtype, "device": device, "layout": layout}
    actual = {"sizes": a.shape, "strides": a.stride(), "dtype": a.dtype, "device": a.device, "layout": a.layout}
    for name, expected in numbers.items():
        value = tuple(expected) if isinstance(expected, list) else expected
        check(value is None or value == actual[name], f"Tensor {name} mismatch! Expected: {value}, Got: {actual[name]}")


@op("aten::_make_dep_token")
def _make_dep_token(*, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return a token: a zero-dim tensor that assertions take and return, so that a program keeps their order."""
    ...


@_make_dep_token.kernel
def _make_dep_token_kernel(dtype, layout, device, pin_memory):
    return zeros((), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
