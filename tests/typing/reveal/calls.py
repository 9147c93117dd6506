"""Assertions of the result types of opdsl's functions, methods and packets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

import opdsl
from opdsl import DispatchTable, DType, Scalar, Tensor
from opdsl.schema import FunctionSchema


def functions(x: Tensor, number: float) -> None:
    assert_type(opdsl.add(x, number), Tensor)
    assert_type(opdsl.add(number, x, alpha=2, out=x), Tensor)
    assert_type(opdsl.eq(x, 1), Tensor)
    assert_type(opdsl.zeros(2, 3, dtype=opdsl.int64), Tensor)
    assert_type(opdsl.zeros([2]), Tensor)
    assert_type(opdsl.split(x, 2), list[Tensor])
    assert_type(opdsl.chunk(x, 2, dim=1), list[Tensor])
    assert_type(opdsl.max(x), Tensor)
    assert_type(opdsl.max(x, x), Tensor)
    assert_type(opdsl.max(x, 0).indices, Tensor)
    assert_type(opdsl.max(x, 0, out=(x, x)).values, Tensor)
    assert_type(opdsl.max(x, dim=0)[0], Tensor)
    assert_type(opdsl.std_mean(x), tuple[Tensor, Tensor])
    assert_type(opdsl.is_nonzero(x), bool)
    assert_type(opdsl.equal(x, x), bool)
    assert_type(opdsl.nn.gelu(x), Tensor)
    assert_type(opdsl.tensor([1]), Tensor)
    assert_type(opdsl.nonzero(x), Tensor)
    assert_type(opdsl.nonzero(x, as_tuple=True), tuple[Tensor, ...])
    assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
    assert_type(opdsl.broadcast_tensors(x, x), list[Tensor])


def methods(x: Tensor) -> None:
    assert_type(x.add(2, alpha=3), Tensor)
    assert_type(x.add_(x), Tensor)
    assert_type(x.view(2, 3), Tensor)
    assert_type(x.view((2, 3)), Tensor)
    assert_type(x.float(), Tensor)
    assert_type(x.to("cpu", opdsl.float64), Tensor)
    assert_type(x.max(0).values, Tensor)
    assert_type(x.split([1, 2]), list[Tensor])
    assert_type(x.sort().indices, Tensor)
    assert_type(x.item(), bool | int | float | complex)
    assert_type(x.size(), tuple[int, ...])
    assert_type(x.size(0), int)
    assert_type(x.stride(1), int)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.dtype, DType)
    assert_type(x.T, Tensor)
    assert_type(x.real, Tensor)
    assert_type(x.is_contiguous(), bool)
    assert_type(x.grad, Tensor | None)
    assert_type(x.tolist(), Any)


def python(x: Tensor, scalar: Scalar) -> None:
    assert_type(x + 1, Tensor)
    assert_type(1.5 - x, Tensor)
    assert_type(x * scalar, Tensor)
    assert_type(scalar / x, Tensor)
    assert_type(x @ x, Tensor)
    assert_type(2**x, Tensor)
    assert_type(x // 2 % 3, Tensor)
    assert_type(-x, Tensor)
    assert_type(~x, Tensor)
    assert_type(x & 1, Tensor)
    assert_type(x < 1, Tensor)
    assert_type(x == x, Tensor)
    assert_type(x != 1, Tensor)
    assert_type(x[0, ..., None], Tensor)
    assert_type(iter(x), Iterator[Tensor])
    assert_type(len(x), int)
    assert_type(float(x), float)


def packets(x: Tensor) -> None:
    assert_type(opdsl.ops.aten.add(x, 1), Tensor)
    assert_type(opdsl.ops.aten.add.Tensor(x, x), Tensor)
    assert_type(opdsl.ops.aten.max.dim(x, 0).values, Tensor)
    assert_type(opdsl.ops.aten.max.default(x), Tensor)
    assert_type(opdsl.ops.aten.add_.Tensor(x, x, alpha=1.0), Tensor)
    assert_type(opdsl.ops.aten.split.Tensor(x, 2), list[Tensor])
    assert_type(opdsl.add.schema, FunctionSchema)
    assert_type(opdsl.exp.dispatch_table(), DispatchTable)
    assert_type(opdsl.exp.meta(x), Tensor)
    assert_type(opdsl.ops.aten.exp.default.meta(x), Tensor)
