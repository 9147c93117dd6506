"""Tests of values over dims under autograd, in operators' bodies, traced and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
import pytest
import torch

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.errors import DimError, KernelError, OpdslError, PositionError
from opdsl.formulas.showing import kernels_of
from opdsl.testing import gradcheck, gradgradcheck

lib = Library("dim_programs")


def compute_distances(self: Tensor, other: Tensor) -> Tensor:
    """Return the distance of each point of one set from each point of another."""
    i, j, k = dims(3)
    return (self[..., i, k] - other[..., j, k]).square().sum(k).sqrt().order(..., i, j)


def compute_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return scaled dot product attention."""
    b, s, t, d, e = dims(5)
    scores = (query[b, s, d] * key[b, t, d]).sum(d) / d.size**0.5
    return (scores.softmax(t) * value[b, t, e]).sum(t).order(b, s, e)


def compute_window_sums(self: Tensor, weight: Tensor) -> Tensor:
    """Return a convolution along the last dimension, with zeros out of bounds."""
    c, u = dims(2)
    i = dim(self.shape[-1])
    return (self.outside(0.0)[..., c, i + u - 1] * weight[c, u]).sum((c, u)).order(..., i)


def compute_picked(self: Tensor, target: Tensor) -> Tensor:
    """Return the mean of the selected elements of log-softmax: the cross entropy."""
    n, c = dims(2)
    return -self[n, c].log_softmax(c).order(c)[target[n]].mean(n).order()


distances, attention, window_sums, picked = (
    lib.op(f"dim_programs::{function.__name__}")(function)
    for function in (compute_distances, compute_attention, compute_window_sums, compute_picked)
)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(seed).standard_normal(shape))


TARGET = opdsl.tensor([0, 2, 1])
CASES: dict[str, tuple[Callable[..., Tensor], Callable[[int], tuple[Tensor, ...]], Callable[..., Tensor]]] = {
    "distances": (compute_distances, lambda n: (numbers(n, 4), numbers(5, 4, seed=1)), opdsl.cdist),
    "attention": (
        compute_attention,
        lambda n: (numbers(2, n, 4), numbers(2, n + 1, 4, seed=1), numbers(2, n + 1, 3, seed=2)),
        opdsl.nn.functional.scaled_dot_product_attention,
    ),
    "window_sums": (
        compute_window_sums,
        lambda n: (numbers(2, 3, n + 2), numbers(3, 3, seed=1)),
        lambda x, w: opdsl.nn.functional.conv1d(x, w[None], padding=1)[:, 0],
    ),
    "picked": (
        compute_picked,
        lambda n: (numbers(n, n + 2), opdsl.arange(n) % 3),
        opdsl.nn.functional.cross_entropy,
    ),
}

OPERATORS = {"distances": distances, "attention": attention, "window_sums": window_sums, "picked": picked}


@pytest.mark.parametrize("name", CASES)
def test_a_body_with_dims_serves_all_sizes(name: str) -> None:
    function, arguments, wanted = CASES[name]
    operator, compiled = OPERATORS[name], opdsl.compile(function)
    for size in (3, 3, 3, 5, 6, 7, 2, 1):
        inputs = arguments(size)
        for run in (operator, compiled):
            numpy.testing.assert_allclose(run(*inputs).numpy(), wanted(*inputs).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_formula_with_dims_is_its_text(name: str) -> None:
    function, arguments, wanted = CASES[name]
    operator = lib.op(f"dim_programs::{name}_formula")(opdsl.formula(function))
    for size in (3, 3, 5, 1):
        tensors = arguments(size)
        numpy.testing.assert_allclose(operator(*tensors).numpy(), wanted(*tensors).numpy(), rtol=1e-9, atol=1e-9)
    tensors = tuple(input.requires_grad_() if input.is_floating_point() else input for input in arguments(3))
    assert gradcheck(operator, tensors)


@pytest.mark.parametrize("name", CASES)
def test_a_traced_function_has_symbolic_sizes(name: str) -> None:
    function, arguments, wanted = CASES[name]
    program = opdsl.trace(function, *arguments(7))
    inputs = arguments(6)
    numpy.testing.assert_allclose(program(*inputs).numpy(), wanted(*inputs).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    operator, (_, arguments, _) = OPERATORS[name], CASES[name]
    tensors = tuple(input.requires_grad_() if input.is_floating_point() else input for input in arguments(3))
    assert gradcheck(operator, tensors)
    assert gradgradcheck(operator, tensors)


def test_gradients_reach_reads_of_every_kind() -> None:
    def function(x: Tensor) -> Tensor:
        i, j = dims(2)
        u = dim(range(-1, 2))
        near = x.outside("skip")[i, j + u].mean(u)
        turned = x.outside("circular")[i, j + 1] * x.outside("reflect")[i, j - 2] + x.outside("replicate")[i, j + 3]
        j_size = x[0, j] * 0
        return (near + turned + j_size + x[i, j].prod(j)).order(i, j)

    assert gradcheck(function, (numbers(2, 4).requires_grad_(),))


def test_no_grad_is_that_of_the_text() -> None:
    i, j, k = dims(3)
    x = numbers(2, 3).requires_grad_()
    y = numbers(4, 3)
    with opdsl.no_grad():
        quiet = x[i, k] * y[j, k]
    assert not quiet.sum(k).order(i, j).requires_grad
    with opdsl.no_grad():
        pending = x[i, k] * y[j, k]
    assert not (pending + 0).order(i, j, k).requires_grad
    loud = x[i, k] * y[j, k]
    with opdsl.no_grad():
        assert loud.order(i, j, k).requires_grad


def test_a_position_outside_is_refused_in_programs_too() -> None:
    program = opdsl.trace(compute_picked, numbers(4, 6), opdsl.tensor([0, 1, 2, 3]))
    for operator in (picked, program):
        for wrong in (-1, 6):
            with pytest.raises(PositionError):
                operator(numbers(4, 6), opdsl.tensor([0, wrong, 2, 3]))


def test_a_result_with_dims_is_refused() -> None:
    @lib.op
    def unplaced(self: Tensor) -> Tensor:
        """Return a value that still has dims."""
        i, j = dims(2)
        return self[i, j]

    with pytest.raises(KernelError, match=r"order\(\.\.\., i\)"):
        unplaced(numbers(2, 3))

    def returns_dims(x: Tensor) -> Tensor:
        return x[dim()]

    with pytest.raises(OpdslError, match="order"):
        opdsl.trace(returns_dims, numbers(3))


def test_a_dim_that_a_trace_has_sized_is_refused_outside() -> None:
    i = dim()
    opdsl.trace(lambda x: x[i].sum(i).order(), numbers(3))
    with pytest.raises(DimError, match="while a function was traced"):
        numbers(3)[i].sum(i)


def test_operators_of_ones_own_go_per_position() -> None:
    b = dim()
    x, y = numbers(2, 3, 4), numbers(2, 5, 4, seed=1)
    result = distances(x[b], y[b]).order(b, ...)
    numpy.testing.assert_allclose(result.numpy(), opdsl.cdist(x, y).numpy(), atol=1e-9)


def test_vmap_goes_over_values_with_dims() -> None:
    x, y = numbers(3, 2, 4), numbers(5, 4, seed=1)
    mapped = opdsl.vmap(distances, in_dims=(0, None))(x, y)
    numpy.testing.assert_allclose(mapped.numpy(), opdsl.cdist(x, y).numpy(), atol=1e-9)


@lib.op
@formula
def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    i, j, d, e = dims(4)
    scores = (q[..., i, d] * k[..., j, d]).sum(d) / q.shape[-1] ** 0.5
    scores = scores if j <= i else opdsl.tensor(-math.inf)
    return (scores.softmax(j) * v[..., j, e]).sum(j).order(..., i, e)


@lib.op
@formula
def depthwise(x: Tensor, weight: Tensor) -> Tensor:
    c, t, k = dims(3, [x.shape[-2], x.shape[-1], weight.shape[-1]])
    return (x.outside(0.0)[..., c, t + k - 1] * weight[c, k]).sum(k).order(..., c, t)


def test_results_over_dims_are_contiguous() -> None:
    x = opdsl.randn(2, 5, 4)
    assert causal_attention(x, x, x).is_contiguous()
    assert depthwise(x, opdsl.randn(5, 3)).is_contiguous()


def test_a_mask_is_fused_with_what_it_is_for() -> None:
    x = opdsl.randn(2, 5, 4)
    causal_attention(x, x, x)
    ((title, _),) = kernels_of(causal_attention.operator)
    assert title.endswith("4 kernels, of them not fused: aten::bmm, aten::_softmax")


@lib.op
@formula
def linear(x: Tensor, weight: Tensor) -> Tensor:
    i, k, o = dims(3)
    return (x[..., i, k] * weight[k, o]).sum(k).order(..., i, o)


@lib.op
@formula
def conv2d(x: Tensor, weight: Tensor) -> Tensor:
    o, c, i, j, u, v = dims(6, [*weight.shape[:2], *x.shape[-2:], *weight.shape[2:]])
    return (x.outside(0.0)[..., c, i + u - 1, j + v - 1] * weight[o, c, u, v]).sum((c, u, v)).order(..., o, i, j)


@lib.op
@formula
def strided(x: Tensor, weight: Tensor) -> Tensor:
    size = (x.shape[-1] - weight.shape[-1]) // 2 + 1
    o, c, t, k = dims(4, [*weight.shape[:2], size, weight.shape[-1]])
    return (x[..., c, 2 * t + k] * weight[o, c, k]).sum((c, k)).order(..., o, t)


def products(operator: Callable[..., Tensor], *tensors: Tensor, names: tuple[str, ...] = ("bmm", "mm")) -> int:
    operator(*tensors)
    ((_, text), *_) = kernels_of(operator.operator)  # type: ignore[attr-defined]
    return sum(text.count(f"aten.{name}.") for name in names)


def test_weights_without_positional_dimensions_are_multiplied_by_the_library() -> None:
    x, weight = opdsl.randn(2, 3, 4), opdsl.randn(4, 5)
    assert products(linear, x, weight) == 1
    assert numpy.allclose(linear(x, weight).numpy(), x.numpy() @ weight.numpy(), atol=1e-5)


def test_windows_times_a_weight_are_a_convolution() -> None:
    x, weight = (opdsl.randn(*shape, dtype=opdsl.float64).requires_grad_() for shape in ((2, 3, 5, 4), (6, 3, 3, 3)))
    convolved = conv2d(x, weight)
    wanted = torch.conv2d(torch.from_numpy(x.detach().numpy()), torch.from_numpy(weight.detach().numpy()), padding=1)
    assert products(conv2d, x, weight, names=("convolution",)) == 1
    assert products(conv2d, x, weight) == 0
    assert numpy.allclose(convolved.detach().numpy(), wanted.numpy())
    assert gradcheck(conv2d, (x, weight))


def test_windows_in_steps_are_a_convolution_in_steps() -> None:
    x, weight = (opdsl.randn(*shape, dtype=opdsl.float64).requires_grad_() for shape in ((2, 3, 9), (4, 3, 3)))
    convolved = strided(x, weight)
    wanted = torch.conv1d(torch.from_numpy(x.detach().numpy()), torch.from_numpy(weight.detach().numpy()), stride=2)
    assert products(strided, x, weight, names=("convolution",)) == 1
    assert products(strided, x, weight) == 0
    assert numpy.allclose(convolved.detach().numpy(), wanted.numpy())
    assert gradcheck(strided, (x, weight))


def test_a_convolution_of_windows_is_contiguous() -> None:
    assert conv2d(opdsl.randn(2, 3, 5, 4), opdsl.randn(6, 3, 3, 3)).is_contiguous()


def test_each_channel_on_its_own_is_no_product() -> None:
    x, weight = opdsl.randn(2, 5, 9), opdsl.randn(5, 3)
    assert products(depthwise, x, weight) == 0
    wanted = torch.conv1d(torch.from_numpy(x.numpy()), torch.from_numpy(weight.numpy())[:, None], padding=1, groups=5)
    assert numpy.allclose(depthwise(x, weight).numpy(), wanted.numpy(), atol=1e-5)


@lib.op
@formula
def squeezed(self: Tensor) -> Tensor:
    i = dim()
    return (2 * self[i].squeeze()).order(i, ...)


def test_sizes_of_1_after_larger_ones_are_squeezed() -> None:
    for shape, wanted in (((3, 4), (3, 4)), ((3, 1), (3,)), ((1, 1), (1,)), ((1, 4), (1, 4)), ((2, 1, 3), (2, 3))):
        assert squeezed(opdsl.ones(shape)).shape == wanted


@lib.op
@formula
def reflected(self: Tensor) -> Tensor:
    i, j = dims(2, [*self.shape])
    return self.outside("reflect")[i - 1, j + 1].order(i, j) + self


def test_dimensions_of_size_1_after_larger_ones_are_reflected() -> None:
    """A dimension of size 1 has one element to read."""
    for rows, columns in ((3, 4), (3, 4), (1, 1), (1, 4), (3, 1), (2, 2)):
        x = numpy.random.default_rng(rows).normal(size=(rows, columns))
        padded = numpy.pad(x, ((1, 0), (0, 1)), mode="reflect")
        numpy.testing.assert_array_equal(reflected(opdsl.from_numpy(x)).numpy(), padded[:-1, 1:] + x)
