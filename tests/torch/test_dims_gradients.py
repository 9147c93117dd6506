"""Tests of operators over dims that read, fold and write at indices: values and both orders of gradients equal
PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
import torch
from torch.nn import functional

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.formulas.showing import kernels_of

lib = Library("dims_gradients")


@lib.op
@formula
def smoothed(x: Tensor, target: Tensor) -> Tensor:
    """Compute the cross entropy with label smoothing."""
    n, c = dims(2)
    logs = x[n, c].log_softmax(c)
    return (-0.9 * logs.order(c)[target[n]] - 0.1 * logs.mean(c)).order(n).mean()


@lib.op
@formula
def focal(x: Tensor, target: Tensor) -> Tensor:
    """Compute the focal loss."""
    n, c = dims(2)
    logs = x[n, target[n]] - x[n, c].logsumexp(c)
    return (-((1.0 - opdsl.exp(logs)) ** 2.0) * logs).order(n).mean()


def focal_text(x: Any, target: Any) -> Any:
    """Compute ``focal`` in PyTorch."""
    logs = x.log_softmax(-1).gather(1, target[:, None])[:, 0]
    return (-((1 - logs.exp()) ** 2.0) * logs).mean()


@lib.op
@formula
def segment_softmax(x: Tensor, offsets: Tensor) -> Tensor:
    """Compute the softmax within each segment."""
    s = dims(1, [offsets.shape[0] - 1])
    u = dim(range(offsets[s], offsets[s + 1]))
    return x[u].softmax(u).order(u)


def segment_softmax_text(x: Any, offsets: Any) -> Any:
    """Compute ``segment_softmax`` in PyTorch."""
    return torch.cat([part.softmax(0) for part in x.split(offsets.diff().tolist())])


@lib.op
@formula
def weighted_bag(weight: Tensor, ids: Tensor, offsets: Tensor, per: Tensor) -> Tensor:
    """Compute the weighted sum of the rows of each bag."""
    s, c = dims(2, [offsets.shape[0] - 1, weight.shape[1]])
    u = dim(range(offsets[s], offsets[s + 1]))
    return (weight[ids[u], c] * per[u]).sum(u).order(s, c)


def weighted_bag_text(weight: Any, ids: Any, offsets: Any, per: Any) -> Any:
    """Compute ``weighted_bag`` in PyTorch."""
    rows = (weight[ids] * per[:, None]).split(offsets.diff().tolist())
    return torch.stack([row.sum(0) for row in rows])


@lib.op
@formula
def mean_bag(weight: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
    """Compute the mean of the rows of each bag."""
    s, c = dims(2, [offsets.shape[0] - 1, weight.shape[1]])
    u = dim(range(offsets[s], offsets[s + 1]))
    return weight[ids[u], c].mean(u).order(s, c)


def mean_bag_text(weight: Any, ids: Any, offsets: Any) -> Any:
    """Compute ``mean_bag`` in PyTorch."""
    return torch.stack([part.mean(0) for part in weight[ids].split(offsets.diff().tolist())])


@lib.op
@formula
def graph_attention(x: Tensor, a: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Compute attention of each node over its incoming edges."""
    e, c = dims(2)
    score = a[source[e], 0] + a[target[e], 1]
    power = opdsl.exp(opdsl.where(score > 0, score, 0.2 * score))
    total = opdsl.scatter(opdsl.zeros(x.shape[0], dtype=x.dtype), (target[e],), power, reduce="sum")
    message = power / total[target[e]] * x[source[e], c]
    return opdsl.scatter(opdsl.zeros(*x.shape, dtype=x.dtype), (target[e], c), message, reduce="sum")


def graph_attention_text(x: Any, a: Any, source: Any, target: Any) -> Any:
    """Compute ``graph_attention`` in PyTorch."""
    power = functional.leaky_relu(a[source, 0] + a[target, 1], 0.2).exp()
    total = torch.zeros(x.shape[0], dtype=x.dtype).index_add(0, target, power)
    return torch.zeros_like(x).index_add(0, target, (power / total[target])[:, None] * x[source])


@lib.op
@formula
def patches(x: Tensor, weight: Tensor, size: int = 2) -> Tensor:
    """Embed the patches of an image by a matrix."""
    sizes = [x.shape[1], x.shape[2] // size, x.shape[3] // size, size, size, weight.shape[0]]
    c, i, j, u, v, o = dims(6, sizes)
    return (x[..., c, i * size + u, j * size + v] * weight[o, c, u, v]).sum((c, u, v)).order(..., (i, j), o)


@lib.op
@formula
def mixture(y: Tensor, logits: Tensor) -> Tensor:
    """Sum the results of experts, weighted by a gate."""
    n, e, c = dims(3)
    return (logits[n, e].softmax(e) * y[n, e, c]).sum(e).order(n, c)


@lib.op
@formula
def windows(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel with a causal filter, by windows that begin outside of the sequence."""
    c, t, k = dims(3, [x.shape[-2], x.shape[-1], weight.shape[-1]])
    return (x.outside(0.0)[..., c, t + k - (weight.shape[-1] - 1)] * weight[c, k]).sum(k).order(..., c, t)


def windows_text(x: Any, weight: Any) -> Any:
    """Compute ``windows`` in PyTorch."""
    padded = functional.pad(x, (weight.shape[-1] - 1, 0))
    return functional.conv1d(padded, weight[:, None], groups=weight.shape[0])


class Case(NamedTuple):
    """Operator, an equal function in PyTorch, and the arguments of both."""

    operator: Callable[..., Any]
    text: Callable[..., Any]
    arrays: tuple[numpy.ndarray[Any, Any], ...]


def normal(*shape: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(sum(shape)).normal(size=shape)


def whole(below: int, count: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(below).integers(0, below, count)


OFFSETS = numpy.array([0, 3, 4, 9, 11])
CASES = {
    "label smoothing": Case(
        smoothed, lambda x, t: functional.cross_entropy(x, t, label_smoothing=0.1), (normal(6, 5), whole(5, 6))
    ),
    "focal loss": Case(focal, focal_text, (normal(6, 5), whole(5, 6))),
    "segment softmax": Case(segment_softmax, segment_softmax_text, (normal(11), OFFSETS)),
    "weighted bags": Case(weighted_bag, weighted_bag_text, (normal(7, 4), whole(7, 11), OFFSETS, normal(11))),
    "mean of bags": Case(mean_bag, mean_bag_text, (normal(7, 4), whole(7, 11), OFFSETS)),
    "graph attention": Case(
        graph_attention, graph_attention_text, (normal(5, 3), normal(5, 2), whole(5, 12), whole(5, 12)[::-1].copy())
    ),
    "patches": Case(
        patches, lambda x, w: functional.conv2d(x, w, stride=2).flatten(2).mT, (normal(2, 3, 6, 4), normal(5, 3, 2, 2))
    ),
    "mixture": Case(
        mixture, lambda y, logits: (logits.softmax(-1)[..., None] * y).sum(1), (normal(4, 3, 6), normal(4, 3))
    ),
    "windows": Case(windows, windows_text, (normal(2, 3, 7), normal(3, 4))),
}


def leaves(case: Case, convert: Callable[[Any], Any]) -> list[Any]:
    """Return copies of the arrays as tensors; float64 tensors require gradients."""
    pairs = [(array, convert(array.copy())) for array in case.arrays]
    return [tensor.requires_grad_() if array.dtype == numpy.float64 else tensor for array, tensor in pairs]


def slopes(grad: Callable[..., Any], function: Callable[..., Any], inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return gradients of the sum of the squared results, and of the sum of these gradients' squares."""
    wanted = [input for input in inputs if input.requires_grad]
    first = grad((function(*inputs) ** 2).sum(), wanted, create_graph=True)
    second = grad(sum((gradient**2).sum() for gradient in first), wanted)
    return [gradient.detach().numpy() for gradient in first], [gradient.numpy() for gradient in second]


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_pytorch(name: str) -> None:
    case = CASES[name]
    actual = case.operator(*[opdsl.from_numpy(array) for array in case.arrays])
    wanted = case.text(*[torch.from_numpy(array) for array in case.arrays])
    numpy.testing.assert_allclose(actual.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_are_those_of_pytorch(name: str, order: int) -> None:
    case = CASES[name]
    own = slopes(opdsl.autograd.grad, case.operator, leaves(case, opdsl.from_numpy))[order - 1]
    its = slopes(torch.autograd.grad, case.text, leaves(case, torch.from_numpy))[order - 1]
    for one, other in zip(own, its, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_sums_read_one_element_for_all(name: str) -> None:
    case = CASES[name]
    own, its = leaves(case, opdsl.from_numpy), leaves(case, torch.from_numpy)
    case.operator(*own).sum().backward()
    case.text(*its).sum().backward()
    for one, other in zip(own, its, strict=True):
        if other.grad is not None:
            numpy.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-11, atol=1e-11)


def test_a_product_of_a_vector_and_a_matrix_at_each_position_is_no_call_of_a_library() -> None:
    mixture(*[opdsl.from_numpy(array) for array in CASES["mixture"].arrays])
    assert not any("bmm" in text for _, text in kernels_of(mixture.operator))


def test_what_elements_choose_of_rows_is_read_as_it_lies() -> None:
    focal(*[opdsl.from_numpy(array) for array in CASES["focal loss"].arrays])
    assert not any("permute" in text for _, text in kernels_of(focal.operator))
