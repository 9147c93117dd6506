"""Tests of strides, dtypes and shapes of pointwise results for operands of any layout, compared with PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from tests.torch.twins import Twins, agree, agree_or_fail, assert_agree, differences

SIZES = st.integers(0, 3)
DTYPES = st.sampled_from([torch.float32, torch.int64, torch.bool, torch.float16])


@st.composite
def operands(draw: Any, count: int, *, ndim: int = 5) -> list[torch.Tensor]:
    """Return tensors that broadcast: permuted, with gaps, expanded, of fewer dimensions, with dimensions of size 1 and
    0.
    """
    shape = draw(st.lists(SIZES, max_size=ndim))
    return [draw(operand(shape)) for _ in range(count)]


@st.composite
def operand(draw: Any, shape: list[int]) -> torch.Tensor:
    kept = shape[draw(st.integers(0, len(shape))) :]
    sizes = [draw(st.sampled_from([size, size, size, 1])) for size in kept]
    order = draw(st.permutations(range(len(sizes))))
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in sizes]
    laid = torch.ones([sizes[dim] * steps[dim] for dim in order], dtype=draw(DTYPES))
    for index, dim in enumerate(order):
        laid = laid.narrow(index, 0, laid.shape[index])[(slice(None),) * index + (slice(None, None, steps[dim]),)]
    strided = laid.permute([order.index(dim) for dim in range(len(sizes))])
    expanded = draw(st.booleans())
    return strided.expand([size if expanded and mine == 1 else mine for size, mine in zip(kept, sizes, strict=True)])


@settings(max_examples=300)
@given(operands(2))
def test_binary(pair: list[torch.Tensor]) -> None:
    agree(lambda lib, x, y: lib.add(x, y), *pair, repeat=1)


@settings(max_examples=100)
@given(operands(3))
def test_ternary(three: list[torch.Tensor]) -> None:
    agree(lambda lib, c, x, y: lib.where(c == 1, x, y), *three, repeat=1)


@settings(max_examples=100)
@given(operands(1))
def test_unary(one: list[torch.Tensor]) -> None:
    agree(lambda lib, x: lib.ne(x, 0), *one, repeat=1)


@settings(max_examples=150)
@given(operands(3))
def test_out(three: list[torch.Tensor]) -> None:
    """Errors, and the shape, strides and elements of the output, equal PyTorch's."""
    x, y, out = three
    if out.numel() and 0 in out.stride() and any(size > 1 for size in out.shape):
        out = out.clone()
    agree_or_fail(lambda lib, x, y, out: lib.mul(x, y, out=out), x, y, out)


@settings(max_examples=150)
@given(operands(2))
def test_in_place(pair: list[torch.Tensor]) -> None:
    x, y = pair
    agree_or_fail(lambda lib, x, y: x.add_(y), x.clone(), y)


@settings(max_examples=60)
@given(operands(1, ndim=4))
def test_meta_says_the_same(one: list[torch.Tensor]) -> None:
    (x,) = one
    ours = Twins().of(x)
    meta = opdsl.ops.aten.mul.Tensor.meta(ours, ours)
    assert (meta.shape, meta.stride()) == (tuple((x * x).shape), (x * x).stride())


def test_channels_last_beside_contiguous() -> None:
    x = torch.ones(2, 3, 4, 5)
    y = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for pair in ((x, y), (y, x), (y, y), (y, torch.ones(3, 1, 1)), (torch.ones(3, 1, 1), y)):
        agree(lambda lib, x, y: lib.add(x, y), *pair)


@pytest.mark.parametrize("ndim", [24, 25, 26, 64])
def test_many_dimensions(ndim: int) -> None:
    """Results of many dimensions have PyTorch's strides, also beyond 25, where PyTorch no longer coalesces
    dimensions.
    """
    shape = (2,) + (1,) * (ndim - 2) + (3,)
    ours = opdsl.add(opdsl.ones(shape), opdsl.ones(shape))
    assert ours.shape == shape
    assert_agree(ours, torch.ones(shape) + torch.ones(shape))


def test_a_zero_dim_tensor_of_the_cpu_joins_a_tensor_elsewhere() -> None:
    agree(lambda lib, x, y: lib.add(x, y), torch.ones(2, 3, device="meta"), torch.ones(()), repeat=1)
    agree_or_fail(lambda lib: lib.add(lib.ones(2, device="meta"), lib.ones(1)))


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.add(x[:-1], x[1:], out=x[1:]),
        lambda lib, x: lib.add(x, 1, out=x),
        lambda lib, x: lib.add(x[:2], 1, out=x[2:4]),
        lambda lib, x: x[:1].expand(3).add_(1),
        lambda lib, x: x[1:].add_(x[:-1]),
        lambda lib, x: x.add_(lib.ones(2, 4)),
        lambda lib, x: lib.exp(lib.ones(4, dtype=lib.int64), out=lib.zeros(4, dtype=lib.int64)),
        lambda lib, x: lib.ones(4, dtype=lib.int64).add_(0.5),
        lambda lib, x: lib.add(x, x, out=lib.zeros(0, dtype=lib.int32)),
    ],
)
def test_rules_of_outputs(call: Any) -> None:
    agree_or_fail(call, torch.arange(4.0))


def test_differences_are_seen() -> None:
    """The comparison of results detects other strides."""
    assert differences(opdsl.ones(2, 2).t(), torch.ones(2, 2)) == ["strides (1, 2) for (2, 1)"]
