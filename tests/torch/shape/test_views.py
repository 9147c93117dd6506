"""Tests of views, compared with PyTorch's: shape, strides, offset, shared memory and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as some

import opdsl
from opdsl.runtime import share_storage, storage_root
from tests.torch.twins import Twins, agree_or_fail, assert_agree, assert_fails, of
from tests.torch.values import layouts, ordinary, strided

pytestmark = pytest.mark.usefixtures("plans_at_once")

View = Callable[[Any, Any], Any]

# Views of a tensor of shape (2, 3, 4, 5).
VIEWS: dict[str, View] = {
    "transpose": lambda lib, x: lib.transpose(x, 1, -1),
    "transpose_same": lambda lib, x: x.transpose(2, 2),
    "permute": lambda lib, x: lib.permute(x, (3, 0, -2, 1)),
    "view_merged": lambda lib, x: x.view(2, 12, 5),
    "view_split": lambda lib, x: x.view(2, 3, 2, 2, 5),
    "view_inferred": lambda lib, x: x.view(2, -1),
    "reshape": lambda lib, x: lib.reshape(x, (6, 20)),
    "reshape_flat": lambda lib, x: x.reshape(-1),
    "slice": lambda lib, x: lib.narrow(x, 2, 1, 2),
    "select": lambda lib, x: lib.select(x, 1, -1),
    "expand": lambda lib, x: x.expand(7, -1, -1, -1, -1),
    "unsqueeze": lambda lib, x: lib.unsqueeze(x, -2),
    "squeeze": lambda lib, x: lib.squeeze(x),
    "squeeze_dim": lambda lib, x: lib.squeeze(x, 1),
    "unbind": lambda lib, x: lib.unbind(x, 1),
    "alias": lambda lib, x: lib.ops.aten.alias(x),
    "detach": lambda lib, x: x.detach(),
    "view_as": lambda lib, x: x.view_as(lib.empty(24, 5)),
    "reshape_as": lambda lib, x: x.reshape_as(lib.empty(24, 5)),
    "ravel": lambda lib, x: lib.ravel(x),
    "flatten": lambda lib, x: lib.flatten(x, 1, -2),
    "unflatten": lambda lib, x: x.unflatten(2, (2, -1)),
    "as_strided": lambda lib, x: x.as_strided((2, 3), (1, 2), 1),
    "as_strided_here": lambda lib, x: lib.as_strided(x, (2, 2), (0, 1)),
    "swapaxes": lambda lib, x: lib.swapaxes(x, 0, 3),
    "movedim": lambda lib, x: x.movedim((0, 1), (-1, 0)),
    "movedim_one": lambda lib, x: lib.movedim(x, 1, 3),
    "T": lambda lib, x: x[0, 0].T,
    "mT": lambda lib, x: x.mT,
    "mH": lambda lib, x: x.mH,
    "H": lambda lib, x: x[0, 0].H,
    "adjoint": lambda lib, x: lib.adjoint(x),
    "real": lambda lib, x: x.real,
    "diagonal": lambda lib, x: lib.diagonal(x, 1, 0, 3),
    "unfold": lambda lib, x: x.unfold(3, 2, 2),
    "broadcast_to": lambda lib, x: lib.broadcast_to(x, (7, 2, 3, 4, 5)),
    "split": lambda lib, x: lib.split(x, 2, 3),
    "split_sizes": lambda lib, x: x.split((1, 0, 4), -1),
    "chunk": lambda lib, x: lib.chunk(x, 3, 2),
    "tensor_split": lambda lib, x: lib.tensor_split(x, 3, 3),
    "tensor_split_indices": lambda lib, x: x.tensor_split((1, 7, -1), 3),
    "tensor_split_tensor": lambda lib, x: x.tensor_split(lib.tensor([1, 3]), 3),
    "hsplit": lambda lib, x: lib.hsplit(x, 3),
    "vsplit": lambda lib, x: lib.vsplit(x, (1,)),
    "dsplit": lambda lib, x: lib.dsplit(x, 2),
    "narrow_from": lambda lib, x: lib.narrow(x, 3, lib.tensor(-2), 2),
    "contiguous": lambda lib, x: x.contiguous(),
    "channels_last": lambda lib, x: x.contiguous(memory_format=lib.channels_last),
    "same": lambda lib, x: x.to(x.dtype),
    "copy": lambda lib, x: x.clone(),
    "copy_contiguous": lambda lib, x: x.clone(memory_format=lib.contiguous_format),
}
FULL = ("contiguous", "channels_last", "permuted", "transposed", "sliced", "offset", "expanded", "expanded_number")


def relation(result: Any, source: Any) -> tuple[bool, bool, int]:
    """Return whether a result is its source, whether both share memory, and at which offset."""
    if isinstance(result, torch.Tensor):
        shares = result.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
        return result is source, shares, result.storage_offset() if shares else 0
    shares = share_storage(result, source)
    return result is source, shares, result.storage_offset() if shares else 0


def agree_as_views(call: View, x: torch.Tensor) -> None:
    """Check that geometry, values and memory shared with the operand equal PyTorch's, without and with a plan."""
    twin = Twins().of(x)
    try:
        expected = call(torch, x)
    except (RuntimeError, IndexError) as error:
        for _ in range(2):
            assert_fails(lambda: call(opdsl, twin), error)
        return
    results = expected if isinstance(expected, (tuple, list)) else [expected]
    for _ in range(2):
        actual = call(opdsl, twin)
        assert_agree(actual, expected)
        views = actual if isinstance(actual, (tuple, list)) else [actual]
        assert [relation(view, twin) for view in views] == [relation(result, x) for result in results]


@pytest.mark.parametrize("layout", FULL)
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_every_layout(name: str, layout: str) -> None:
    agree_as_views(VIEWS[name], layouts()[layout])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3), (1, 1), (2, 3, 4)], ids=str)
def test_t(shape: tuple[int, ...]) -> None:
    agree_as_views(lambda lib, x: x.t(), ordinary(torch.float32, shape))


@settings(max_examples=80)
@given(strided(), some.integers(-5, 4), some.integers(-5, 4))
def test_any_transpose(x: torch.Tensor, one: int, two: int) -> None:
    agree_as_views(lambda lib, value: lib.transpose(value, one, two), x)


@settings(max_examples=80)
@given(strided(most=3), some.lists(some.integers(-3, 3), max_size=4))
def test_any_permutation(x: torch.Tensor, dims: list[int]) -> None:
    agree_as_views(lambda lib, value: lib.permute(value, dims), x)


@settings(max_examples=250)
@given(strided(most=3), some.lists(some.sampled_from((-1, 0, 1, 2, 3, 4, 6, 8, 12)), max_size=4))
def test_any_view(x: torch.Tensor, size: list[int]) -> None:
    agree_as_views(lambda lib, value: value.view(size), x)


@settings(max_examples=120)
@given(strided(most=3), some.lists(some.sampled_from((-1, 0, 1, 2, 3, 4, 6, 8, 12)), max_size=4))
def test_any_reshape(x: torch.Tensor, size: list[int]) -> None:
    agree_as_views(lambda lib, value: lib.reshape(value, size), x)


@settings(max_examples=80)
@given(strided(most=3), some.lists(some.integers(-1, 4), max_size=5))
def test_any_expansion(x: torch.Tensor, size: list[int]) -> None:
    assume(x.ndim > 0 or -1 not in size)  # PyTorch creates a tensor with a negative size
    agree_as_views(lambda lib, value: value.expand(size), x)


@settings(max_examples=80)
@given(strided(most=3), some.integers(-4, 3), some.integers(-5, 5), some.integers(-1, 5))
def test_any_narrowing(x: torch.Tensor, dim: int, start: int, length: int) -> None:
    agree_as_views(lambda lib, value: lib.narrow(value, dim, start, length), x)


@settings(max_examples=80)
@given(strided(most=3), some.integers(-4, 3), some.integers(-5, 5))
def test_any_selection(x: torch.Tensor, dim: int, index: int) -> None:
    agree_as_views(lambda lib, value: lib.select(value, dim, index), x)


@settings(max_examples=60)
@given(strided(most=3), some.integers(-5, 4))
def test_any_added_and_removed_dimension(x: torch.Tensor, dim: int) -> None:
    agree_as_views(lambda lib, value: lib.unsqueeze(value, dim), x)
    agree_as_views(lambda lib, value: lib.squeeze(value, dim), x)
    agree_as_views(lambda lib, value: lib.unbind(value, dim), x)


@settings(max_examples=60)
@given(strided(most=3), some.lists(some.integers(-3, 2), max_size=3))
def test_any_removed_dimensions(x: torch.Tensor, dims: list[int]) -> None:
    agree_as_views(lambda lib, value: lib.squeeze(value, tuple(dims)), x)


@pytest.mark.parametrize("to", [torch.float32, torch.float64, torch.int16, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8, torch.bfloat16], ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "row", "zero_dim"])
def test_views_of_another_dtype(layout: str, dtype: torch.dtype, to: torch.dtype) -> None:
    x = layouts(torch.int64)[layout].abs().to(dtype)
    kind = {torch: to, opdsl: of(to)}
    # Bytes other than 0 and 1 are undefined as bools in PyTorch, too.
    source = x.clamp(0, 1) if to is torch.bool else x
    agree_as_views(lambda lib, value: value.view(kind[lib]), source)


def test_writing_into_a_view_changes_its_base() -> None:
    x = torch.zeros(3, 4)
    own = of(x)
    for lib, value in ((torch, x), (opdsl, own)):
        lib.transpose(value, 0, 1).add_(1)
        lib.narrow(value, 0, 1, 1).mul_(5)
        value.view(-1).neg_()
    assert_agree(own, x)


def test_views_of_views_have_one_base() -> None:
    base = opdsl.full((3, 4), 1.0)
    for _ in range(2):
        assert storage_root(base.t().view(dtype=opdsl.int32).unsqueeze(0)) is base


@pytest.mark.parametrize("name", ["t_", "transpose_"])
def test_views_in_place(name: str) -> None:
    x = ordinary(torch.float32, (3, 4))
    arguments = () if name == "t_" else (0, 1)
    agree_or_fail(lambda lib, value: getattr(value, name)(*arguments), x)


def test_a_transposed_tensor_keeps_its_place_for_other_views() -> None:
    x = of(torch.arange(6.0).view(2, 3))
    before = x.view(-1)
    x.t_()
    before.add_(1)
    assert x.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


def test_a_view_of_meta_has_no_memory_and_the_same_form() -> None:
    x = torch.empty((3, 4), device="meta")
    own = Twins().of(x)
    for _ in range(2):
        assert_agree(own.transpose(0, 1).unsqueeze(0), x.transpose(0, 1).unsqueeze(0))


COPYING = {
    "reshape": lambda lib, x: x.t().reshape(-1),
    "flatten": lambda lib, x: x.t().flatten(),
    "reshape_as": lambda lib, x: x.t().reshape_as(lib.ones(6)),
    "unsafe": lambda lib, x: lib.ops.aten._unsafe_view(x.clone(), [6]),
}


@pytest.mark.parametrize("name", COPYING)
def test_what_had_to_be_copied_is_no_view(name: str) -> None:
    for lib in (torch, opdsl):
        for _ in range(2):
            x = lib.ones(2, 3, requires_grad=True)
            copied = COPYING[name](lib, x)
            assert not COPYING[name](lib, x).detach_().requires_grad
            assert not copied._is_view()
            copied.mul_(2)
            copied.sum().backward()
            assert x.grad is not None and x.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize(
    ("shape", "window"),
    [
        ((10,), (0, 3, 1)),
        ((4, 30), (1, 20, 2)),
        ((4, 30, 2), (-2, 5, 3)),
        ((3, 4), (-2, 3, 1)),
        ((5, 6), (0, 2, 2)),
        ((), (0, 1, 1)),
    ],
)
def test_windows_give_each_element_the_sum_of_its_gradients(
    shape: tuple[int, ...], window: tuple[int, int, int]
) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    leaf = opdsl.from_numpy(x.detach().numpy().copy()).requires_grad_()
    (expected,) = torch.autograd.grad(x.unfold(*window).pow(2).sum(), (x,))
    (gradient,) = opdsl.autograd.grad(leaf.unfold(*window).pow(2).sum(), (leaf,))
    torch.testing.assert_close(torch.from_numpy(gradient.numpy()), expected)
