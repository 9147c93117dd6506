"""What programs hold true of tensors and numbers, as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.aten.create.factories import zeros
from opdsl.declare import Library, Row, op
from opdsl.kernels import check, holds
from opdsl.runtime import Device, DType, Layout, MemoryFormat, Tensor
from opdsl.schema.vocabulary import SymInt, TensorOptions

lib = Library("aten")


def require_true(self: Tensor, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """That the only element of a tensor is true; of one without elements nothing is said.

    Raises:
        ShapeError: it is not.
    """
    check(self.numel() == 1, f"expected a tensor with one element to assert, but got {list(self.shape)}")
    check(self.is_meta or holds(self != 0), message)


def require_between(size: Any, min: int | None, max: int | None) -> None:
    """That a number lies between two others.

    Raises:
        ShapeError: it does not.
    """
    check(not isinstance(size, complex), f"expected a size, which is no complex number, got {size}")
    check(min is None or max is None or min <= max, f"Max must be greater than min, but got {max} < {min}")
    check(
        (min is None or size >= min) and (max is None or size <= max),
        f"Invalid value range for {size} between [{min}, {max}].",
    )


def require_true_number(self: complex, message: str) -> None:
    """That a number is true.

    Raises:
        ShapeError: it is not.
    """
    check(bool(self), message)


def require_size(size: Any, min: int | None, max: int | None) -> None:
    """``require_between`` of what is a size: not below 0."""
    require_between(size, 0 if min is None else min, max)


def in_order(condition: Callable[..., None]) -> Callable[..., Tensor]:
    """The condition, and a copy of a tensor that stands for the order of such steps."""

    def checked(*given: Any) -> Tensor:
        condition(*given[:-1])
        token: Tensor = given[-1]
        return token.clone()

    return checked


ORDERED = "and a copy of a tensor that stands for the order of such steps."

lib.table(
    {
        "_assert_async(Tensor self) -> ()": Row("Raise an error unless the only element is true.", require_true),
        "_assert_async.msg(Tensor self, str assert_msg) -> ()": Row(
            "Raise an error with a text of one's own unless the only element is true.", require_true
        ),
        "_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor": Row(
            f"``_assert_async``, {ORDERED}", in_order(require_true)
        ),
    },
    kernel=True,
)

lib.table(
    {
        "_assert_scalar(Scalar self, str assert_msg) -> ()": Row(
            "Raise an error unless a number is true.", require_true_number
        ),
        "_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor": Row(
            f"``_assert_scalar``, {ORDERED}", in_order(require_true_number)
        ),
        "_print(str s) -> ()": Row("Print a text.", print),
        "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()": Row(
            "Raise an error unless a number lies between two others.", require_between
        ),
        "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()": Row(
            "``sym_constrain_range`` of what is a size: not below 0.", require_size
        ),
        "_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor": Row(
            f"``sym_constrain_range``, {ORDERED}", in_order(require_between)
        ),
        "_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor": Row(
            f"``sym_constrain_range_for_size``, {ORDERED}", in_order(require_size)
        ),
    },
    kernel="CompositeExplicitAutograd",
)


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
    """Raise an error unless a tensor has the sizes, strides, dtype, device and layout that are given."""
    given = {"sizes": size, "strides": stride, "dtype": dtype, "device": device, "layout": layout}
    found = {"sizes": a.shape, "strides": a.stride(), "dtype": a.dtype, "device": a.device, "layout": a.layout}
    for name, expected in given.items():
        value = tuple(expected) if isinstance(expected, list) else expected
        check(value is None or value == found[name], f"Tensor {name} mismatch! Expected: {value}, Got: {found[name]}")


@op("aten::_make_dep_token")
def _make_dep_token(*, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor that stands for the order of steps without results."""
    ...


@_make_dep_token.kernel
def _make_dep_token_kernel(dtype, layout, device, pin_memory):
    return zeros((), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
