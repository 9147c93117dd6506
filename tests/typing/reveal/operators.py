"""Assertions of the types of calls, implementations and attributes of operators, with the plugin."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_type

from numpy.typing import NDArray

import opdsl
from opdsl import (
    Alias,
    Array,
    Device,
    DispatchTable,
    DType,
    Ints,
    Layout,
    Library,
    Operator,
    Out,
    Scalar,
    Tensor,
    TensorOptions,
)
from opdsl.aten.pointwise.division import floor_divide
from opdsl.kernels import MetaContext
from opdsl.runtime.views import View
from opdsl.schema import FunctionSchema

lib = Library("typing_reveal_operators")


class Extremes(NamedTuple):
    """Named results of an operator."""

    values: Tensor
    indices: Tensor


# ------------------------------------------------------------------------------------------------------- declarations


@lib.op
def plain(self: Tensor, n: int = 1, *, scale: Scalar = 1) -> Tensor: ...


@lib.op(out=Out(args=("values", "indices"), precomputed=("int precomputed",)))
def extremes(self: Tensor, dim: Ints[1] | None = None, names: list[str] | None = None) -> Extremes: ...


@lib.op(accepts_numbers=True)
def numeric(self: Tensor, other: Tensor | None = None) -> list[Tensor]: ...


@lib.op
def factory(size: list[int], *, options: TensorOptions) -> Tensor: ...


@plain.overload("Tensor", out=True)
def plain_tensor(self: Tensor, n: Tensor) -> tuple[Tensor, int]: ...


def calls(x: Tensor, size: tuple[int, ...], number: float) -> None:
    assert_type(plain(x), Tensor)
    assert_type(plain(self=x, n=2, scale=1j), Tensor)
    assert_type(plain(x, x), tuple[Tensor, int])
    assert_type(plain(x, x, out=(x, 1)), tuple[Tensor, int])
    assert_type(plain_tensor(x, x), tuple[Tensor, int])
    assert_type(extremes(x, 1), Extremes)
    assert_type(extremes(x, size, ("a", "b")).values, Tensor)
    assert_type(extremes(x, [1, 2], ["a"], out=(x, x)), Extremes)
    assert_type(numeric(x, 1), list[Tensor])
    assert_type(numeric(number), list[Tensor])
    assert_type(factory(size), Tensor)
    assert_type(factory([1], dtype=opdsl.float32, device=None), Tensor)
    assert_type(factory(1, 2, 3), Tensor)


def python(x: Tensor) -> None:
    """Apply Python's operators to tensors."""
    assert_type(x + 1, Tensor)
    assert_type(2.0 * x[0] @ -x, Tensor)
    assert_type(x == x, Tensor)
    assert_type(x != 1, Tensor)
    assert_type(x < 1, Tensor)


def local(x: Tensor) -> None:
    """Declare packets inside a function."""

    @lib.op(out=True)
    def inner(self: Tensor) -> Tensor: ...

    @inner.overload("int")
    def inner_int(self: Tensor, n: int) -> int: ...

    assert_type(inner(x, out=x), Tensor)
    assert_type(inner(x, 1), int)


def given(x: Tensor) -> None:
    """Use the attributes of operators."""
    operator: Operator[..., Tensor] = plain
    assert_type(operator(x), Tensor)
    assert_type(plain.schema, FunctionSchema)
    assert_type(plain.tags, tuple[str, ...])
    assert_type(plain.dispatch_table(), DispatchTable)
    assert_type(plain.meta(x, 2), Tensor)
    assert_type(plain.variants["functional"](x), Tensor)
    assert_type(opdsl.add(x, 2, alpha=3), Tensor)
    assert_type(floor_divide(x, 2), Tensor)
    assert_type(floor_divide(x, x, out=x), Tensor)


# ---------------------------------------------------------------------------------------------------- implementations


@plain.meta
def plain_meta(ctx, self, n, scale):
    assert_type(ctx, MetaContext)
    assert_type(self, Tensor)
    assert_type(n, int)
    assert_type(scale, int | float | bool | complex)


@plain.out_kernel("CPU")
def plain_cpu(self, n, scale, out):
    assert_type(self, NDArray[Any])
    assert_type(n, int)
    assert_type(out, NDArray[Any])


@plain.out_kernel("CUDA", compiled=False)
def plain_cuda(self, n, scale, out):
    assert_type(self, Tensor)
    assert_type(out, Tensor)


@plain.out_kernel("Meta")
def plain_unknown(self, n, scale, out):
    assert_type(self, Any)
    assert_type(n, int)


@extremes.out_kernel("CPU", compiled=False)
def extremes_cpu(self, dim, names, precomputed, values, indices):
    assert_type(dim, tuple[int, ...] | None)
    assert_type(names, tuple[str, ...] | None)
    assert_type(precomputed, Any)
    assert_type(values, Tensor)
    assert_type(indices, Tensor)


@extremes.out_kernel("CPU")
def extremes_annotated(self: Array, dim, names, precomputed, values: Array, indices: Array) -> None:
    assert_type(dim, tuple[int, ...] | None)


@extremes.kernel("CPU", "CUDA")
def extremes_kernel(self, dim, names):
    assert_type(self, Tensor)
    return self, self


@numeric.kernel("CPU")
def numeric_kernel(self, other):
    assert_type(self, Tensor | int | float | bool | complex)
    return (opdsl.neg(opdsl.as_tensor(other)),)


@factory.kernel("CPU")
def factory_kernel(size, dtype, layout, device, pin_memory):
    assert_type(size, tuple[int, ...])
    assert_type(dtype, DType | None)
    assert_type(layout, Layout | None)
    assert_type(device, Device | None)
    assert_type(pin_memory, bool | None)
    return opdsl.zeros(size)


@lib.op
def view(self: Tensor[Alias("a")], dim: int) -> Tensor[Alias("a")]: ...


@view.view_kernel("CPU")
def view_kernel(self, dim):
    assert_type(self, View)
    assert_type(dim, int)
    return self


# Operators of other modules, and names that only begin with the name of an operator.


@floor_divide.kernel("Lazy")
def floor_divide_lazy(self, other):
    assert_type(self, Tensor | int | float | bool | complex)
    return floor_divide(self, other)


@opdsl.mul.kernel("Lazy")
def mul_lazy(self, other):
    assert_type(self, Any)
    return self


@plain.variants["functional"].kernel("Lazy")
def plain_lazy(self, n, scale):
    assert_type(self, Any)
    return self
