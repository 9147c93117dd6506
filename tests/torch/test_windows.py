"""Tests of contractions of sliding windows over dims, which are convolutions, compared with PyTorch and loops."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy
import pytest
import torch
from torch.nn import functional

import opdsl
from opdsl import Tensor, dim, dims, formula

RANDOM = numpy.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Return random numbers in float64."""
    return RANDOM.standard_normal(shape)


def along(x: Tensor, weight: Tensor, stride: int, dilation: int, offset: int, size: int) -> Tensor:
    """Contract windows along the last dimension."""
    o, c, t, k = dims(4, [*weight.shape[:2], size, weight.shape[-1]])
    read = x.outside(0.0)[..., c, stride * t + k * dilation + offset]
    return (read * weight[o, c, k]).sum((c, k)).order(..., o, t)


def by_loops(x: Any, weight: Any, stride: int, dilation: int, offset: int, size: int) -> Any:
    """Compute ``along`` in NumPy, by loops over outputs and window elements."""
    sums = numpy.zeros((*x.shape[:-2], weight.shape[0], size))
    for t, k in itertools.product(range(size), range(weight.shape[-1])):
        at = stride * t + dilation * k + offset
        if 0 <= at < x.shape[-1]:
            sums[..., t] += x[..., at] @ weight[:, :, k].T
    return sums


CASES = [
    (stride, dilation, offset, size)
    for stride in (1, 2, 3)
    for dilation in (1, 2, -1, -3)
    for offset in (-4, -1, 0, 3)
    for size in (1, 5, 9)
]


@pytest.mark.parametrize(("stride", "dilation", "offset", "size"), CASES)
def test_windows_reach_outside_on_either_side(stride: int, dilation: int, offset: int, size: int) -> None:
    x, weight = normal(2, 3, 8), normal(4, 3, 3)
    run = formula(along)
    result = run(opdsl.from_numpy(x), opdsl.from_numpy(weight), stride, dilation, offset, size)
    numpy.testing.assert_allclose(result.numpy(), by_loops(x, weight, stride, dilation, offset, size), atol=1e-12)


@formula
def in_planes(x: Tensor, weight: Tensor) -> Tensor:
    """Contract windows of planes whose channels have two dims."""
    o, g, c, i, j, u, v = dims(7, [*weight.shape[:3], x.shape[-2] - 2, x.shape[-1] - 1, *weight.shape[3:]])
    return (x[..., g, c, i + u, j + v] * weight[o, g, c, u, v]).sum((g, c, u, v)).order(..., o, i, j)


def planes_text(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Compute ``in_planes`` in PyTorch."""
    return functional.conv2d(x.flatten(-4, -3), weight.flatten(1, 2))


@formula
def in_volumes(x: Tensor, weight: Tensor) -> Tensor:
    """Contract windows of volumes with one channel."""
    o, i, j, k, u, v, w = dims(7, [weight.shape[0], *x.shape[-3:], *weight.shape[1:]])
    read = x.outside(0.0)[..., i + u - 1, j + v - 1, k - w]
    return (weight[o, u, v, w] * read).sum((u, v, w)).order(..., o, i, j, k)


def volumes_text(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Compute ``in_volumes`` in PyTorch."""
    padded = functional.pad(x[:, None], (weight.shape[-1] - 1, 0, 1, weight.shape[-2] - 2, 1, weight.shape[-3] - 2))
    return functional.conv3d(padded, weight[:, None].flip(-1))


@formula
def of_batches(x: Tensor, weight: Tensor) -> Tensor:
    """Contract windows whose batch dim the weight does not have, with results in another dim order."""
    b, o, c, t, k = dims(5, [x.shape[1], *weight.shape[:2], x.shape[0], weight.shape[2]])
    return (x.outside(0.0)[t + k - 1, b, c] * weight[o, c, k]).sum((k, c)).order(t, o, b)


def batches_text(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Compute ``of_batches`` in PyTorch."""
    return functional.conv1d(x.permute(1, 2, 0), weight, padding=1).permute(2, 1, 0)


WRITTEN = [
    pytest.param(in_planes, planes_text, ((2, 2, 3, 6, 7), (4, 2, 3, 3, 2)), id="planes"),
    pytest.param(in_planes, planes_text, ((2, 3, 6, 7), (4, 2, 3, 3, 2)), id="planes-alone"),
    pytest.param(in_volumes, volumes_text, ((2, 4, 5, 6), (3, 3, 2, 3)), id="volumes"),
    pytest.param(of_batches, batches_text, ((7, 2, 3), (4, 3, 3)), id="batches"),
]


@pytest.mark.parametrize(("run", "text", "shapes"), WRITTEN)
def test_values_and_gradients_of_both_orders(run: Any, text: Any, shapes: Any) -> None:
    arrays = [normal(*shape) for shape in shapes]
    ours = [opdsl.from_numpy(array.copy()).requires_grad_() for array in arrays]
    theirs = [torch.from_numpy(array.copy()).requires_grad_() for array in arrays]
    for module, operands, function in ((opdsl, ours, run), (torch, theirs, text)):
        result = function(*operands)
        gradients = module.autograd.grad(result.sin().sum(), operands, create_graph=True)
        second = module.autograd.grad(sum((gradient**2).sum() for gradient in gradients), operands)
        operands[:] = [result, *gradients, *second]
    for mine, wanted in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose(mine.detach().numpy(), wanted.detach().numpy(), atol=1e-9)


def test_a_formula_of_windows_is_a_convolution() -> None:
    program = opdsl.trace(in_volumes, opdsl.ones(2, 4, 5, 6), opdsl.ones(3, 3, 2, 3))
    assert "convolution" in program.source


def test_windows_whose_elements_are_skipped_are_none() -> None:
    @formula
    def skipping(x: Tensor, weight: Tensor) -> Tensor:
        o, c, t, k = dims(4, [*weight.shape[:2], x.shape[-1], weight.shape[-1]])
        return (x.outside("skip")[..., c, t + k - 1] * weight[o, c, k]).sum((c, k)).order(..., o, t)

    x, weight = normal(2, 3, 8), normal(4, 3, 3)
    result = skipping(opdsl.from_numpy(x), opdsl.from_numpy(weight))
    numpy.testing.assert_allclose(result.numpy(), by_loops(x, weight, 1, 1, -1, 8), atol=1e-12)


def test_one_element_stands_for_all_channels() -> None:
    @formula
    def shared(x: Tensor, weight: Tensor) -> Tensor:
        o, c, t, k = dims(4, [*weight.shape[:2], x.shape[-1] - 2, weight.shape[-1]])
        return (x[..., c, t + k] * weight[o, c, k]).sum((c, k)).order(..., o, t)

    x, weight = normal(2, 1, 8), normal(4, 3, 3)
    actual = shared(opdsl.from_numpy(x), opdsl.from_numpy(weight))
    wanted = by_loops(x.repeat(3, axis=1), weight, 1, 1, 0, 6)
    numpy.testing.assert_allclose(actual.numpy(), wanted, atol=1e-12)


def test_a_read_outside_is_an_error() -> None:
    @formula
    def beyond(x: Tensor, weight: Tensor) -> Tensor:
        """Read two elements too many."""
        o, c, t, k = dims(4, [*weight.shape[:2], x.shape[-1], weight.shape[-1]])
        return (x[..., c, t + k] * weight[o, c, k]).sum((c, k)).order(..., o, t)

    operator = opdsl.Library("windows_beyond").op(beyond)
    for call in (beyond, operator, operator):
        with pytest.raises(opdsl.errors.PositionError, match=r"x.outside\(0.0\)"):
            call(opdsl.ones(2, 3, 8), opdsl.ones(4, 3, 3))


def test_dims_that_are_ranges_and_no_read_tells() -> None:
    @formula
    def every_other(x: Tensor, weight: Tensor) -> Tensor:
        o, c, k = dims(3)
        t = dim(range(1, x.shape[-1] - 2, 2))
        return (weight[o, c, k] * x[..., c, t + k]).sum((c, k)).order(..., o, t)

    x, weight = normal(2, 3, 9), normal(4, 3, 3)
    result = every_other(opdsl.from_numpy(x), opdsl.from_numpy(weight))
    numpy.testing.assert_allclose(result.numpy(), by_loops(x, weight, 2, 1, 1, 3), atol=1e-12)


def test_new_sizes_and_batches() -> None:
    run = formula(along)
    for length in (6, 9, 7, 12, 6):
        x, weight = normal(5, 2, 3, length), normal(4, 3, 3)
        wanted = by_loops(x, weight, 2, 1, -1, length // 2)
        ours = [opdsl.from_numpy(x), opdsl.from_numpy(weight)]
        mapped = opdsl.vmap(lambda x, weight=ours[1], size=length // 2: run(x, weight, 2, 1, -1, size))(ours[0])
        numpy.testing.assert_allclose(mapped.numpy(), wanted, atol=1e-12)
        numpy.testing.assert_allclose(run(*ours, 2, 1, -1, length // 2).numpy(), wanted, atol=1e-12)


def read_and_weight() -> tuple[Tensor, Tensor, tuple[opdsl.Dim, ...]]:
    """Return a tensor and a weight of ones, and dims for windows of three along 8 elements."""
    return opdsl.ones(3, 8), opdsl.ones(4, 3, 3), dims(4, [4, 3, 6, 3])


def test_writes_after_the_read_change_nothing() -> None:
    x, weight, (o, c, t, k) = read_and_weight()
    read = x[c, t + k]
    product = read * weight[o, c, k]
    x.add_(1)
    assert product.sum((c, k)).order(o, t).unique().tolist() == [9.0]


def test_writes_to_the_elements_that_were_read_count() -> None:
    x, weight, (o, c, t, k) = read_and_weight()
    read = x[c, t + k]
    read.order(c, t, k).mul_(2)
    assert (read * weight[o, c, k]).sum((c, k)).order(o, t).unique().tolist() == [18.0]


def test_writes_in_a_compiled_function_count_as_in_a_call() -> None:
    def run(x: Tensor, weight: Tensor) -> Tensor:
        o, c, t, k = dims(4, [4, 3, 6, 3])
        y = x + 1
        read = y[c, t + k]
        y.mul_(5)
        return (read * weight[o, c, k]).sum((c, k)).order(o, t)

    x, weight, _ = read_and_weight()
    assert opdsl.compile(run)(x, weight).unique().tolist() == run(x, weight).unique().tolist() == [18.0]


def test_gradients_flow_only_where_the_read_was_recorded() -> None:
    x, weight, (o, c, t, k) = read_and_weight()
    x.requires_grad_()
    with opdsl.no_grad():
        read = x[c, t + k]
    weight.requires_grad_()
    (read * weight[o, c, k]).sum((c, k)).order(o, t).sum().backward()
    assert x.grad is None


def test_gradients_asked_for_after_the_read_do_not_flow_into_it() -> None:
    x, weight, (o, c, t, k) = read_and_weight()
    read = x[c, t + k]
    x.requires_grad_()
    assert not (read * weight[o, c, k]).sum((c, k)).order(o, t).requires_grad


def test_a_channel_may_be_the_element_of_the_window() -> None:
    x, weight = normal(3, 8), normal(4, 3)
    o, t, k = dims(3, [4, 6, 3])
    actual = (opdsl.from_numpy(x)[k, t + k] * opdsl.from_numpy(weight)[o, k]).sum(k).order(o, t)
    wanted = [[sum(x[k, t + k] * weight[o, k] for k in range(3)) for t in range(6)] for o in range(4)]
    numpy.testing.assert_allclose(actual.numpy(), wanted, atol=1e-12)


def test_dims_that_cancel_stay() -> None:
    x, weight, (o, c, t, k) = read_and_weight()
    z = dim(5)
    assert (x[c, t + k + z - z] * weight[o, c, k]).sum((c, k)).order(o, t, z).shape == (4, 6, 5)


@pytest.mark.parametrize("sizes", list(itertools.product((0, 4), (0, 3), (0, 6), (0, 3))))
def test_sizes_of_zero(sizes: tuple[int, ...]) -> None:
    o, c, t, k = dims(4, sizes)
    x, weight = opdsl.ones(sizes[1], 8), opdsl.ones(sizes[0], sizes[1], sizes[3])
    result = (x.outside(0.0)[c, t + k] * weight[o, c, k]).sum((c, k)).order(o, t)
    assert (result.shape, result.sum().item()) == ((sizes[0], sizes[2]), float(math.prod(sizes)))


@pytest.mark.parametrize(("far", "count"), [((1, 1, -(10**11)), 0), ((10**11, 1, 0), 3), ((1, 10**10, 0), 6)])
def test_windows_far_out_of_bounds_read_zeros(far: tuple[int, int, int], count: int) -> None:
    x, weight, (o, c, t, k) = read_and_weight()
    stride, dilation, offset = far
    read = x.outside(0.0)[c, t * stride + k * dilation + offset]
    assert (read * weight[o, c, k]).sum((c, k)).order(o, t).sum().item() == 4 * 3 * count
