"""Tests of how many kernels operators launch on CUDA, and of what these kernels compute, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opdsl
import opdsl.nn.functional as F
from opdsl import Tensor
from opdsl.aten.nn.attention_weights import attention_by_rows
from opdsl.backends.cuda import cublas
from opdsl.errors import PositionError
from tests.emulation.driver import EmulatedDriver
from tests.emulation.libraries import needs_compiler
from tests.emulation.products import HostProducts

pytestmark = needs_compiler

RANDOM = np.random.default_rng(0)


def on_device(array: Any) -> Tensor:
    """Return a copy of a NumPy array on the device."""
    return opdsl.from_numpy(np.ascontiguousarray(array)).to("cuda")


def launches(cuda: EmulatedDriver, run: Callable[[], object]) -> list[int]:
    """Return the numbers of kernels that the first and later calls of a function launch."""
    counts = []
    for _ in range(4):
        cuda.calls.clear()
        run()
        counts.append(len(cuda.named("launch")))
    return counts


# ------------------------------------------------------------------------------------------------------ cross entropy


def cross_entropy(x: Any, target: Any, weight: Any, ignored: int, reduction: str) -> Any:
    """Return the cross entropy of float64 numbers, of which dimension 1 has the classes."""
    rows = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
    logarithms = rows - np.log(np.exp(rows).sum(1, keepdims=True))
    counts = target.reshape(-1) != ignored
    places = np.where(counts, target.reshape(-1), 0)
    weights = np.where(counts, 1.0 if weight is None else weight[places], 0.0)
    total = -(logarithms[np.arange(len(rows)), places] * weights).sum()
    return total / weights.sum() if reduction == "mean" else total


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("shape", [(32, 10), (3, 5, 4, 6), (700, 7), (2, 4, 9)])
def test_cross_entropy_is_two_kernels(
    shape: tuple[int, ...], is_weighted: bool, reduction: str, cuda: EmulatedDriver
) -> None:
    x = RANDOM.standard_normal(shape).astype(np.float32)
    target = RANDOM.integers(0, shape[1], (shape[0], *shape[2:]))
    target.reshape(-1)[::3] = 2
    weight = RANDOM.random(shape[1]).astype(np.float32) if is_weighted else None
    own = on_device(x), on_device(target), None if weight is None else on_device(weight)
    results: list[Tensor] = []
    counts = launches(
        cuda,
        lambda: results.append(F.cross_entropy(own[0], own[1], own[2], ignore_index=2, reduction=reduction)),
    )
    assert counts == [2] * 4
    expected = cross_entropy(x.astype(np.float64), target, weight, 2, reduction)
    np.testing.assert_allclose([result.item() for result in results], [expected] * 4, rtol=1e-5)


def test_a_class_out_of_bounds_is_reported_by_the_kernel_of_the_loss(cuda: EmulatedDriver) -> None:
    x, target = on_device(np.zeros((4, 3), np.float32)), on_device(np.array([0, 3, 1, 2]))
    F.cross_entropy(x, target)
    with pytest.raises(PositionError, match=r"nll_loss.*index 3 is out of bounds for dimension with size 3"):
        opdsl.cuda.synchronize()
    assert F.cross_entropy(x, target, ignore_index=3).item() == pytest.approx(np.log(3))


def test_the_loss_of_no_elements_is_nan(cuda: EmulatedDriver) -> None:
    x, target = on_device(np.zeros((4, 3), np.float32)), on_device(np.full(4, -100))
    assert np.isnan(F.cross_entropy(x, target).item())


# ------------------------------------------------------------------------------------------------------------ indices


@pytest.mark.parametrize(
    ("call", "count"),
    [
        (lambda table, index: F.embedding(index, table), 2),
        (lambda table, index: table.gather(0, index.unsqueeze(1)), 2),
        (lambda table, index: table.index_select(0, index), 2),
        (lambda table, index: table.scatter_add(0, index.unsqueeze(1), table[:, :1]), 3),
    ],
)
def test_a_planned_call_checks_indices_once(
    call: Callable[[Tensor, Tensor], Tensor], count: int, cuda: EmulatedDriver
) -> None:
    """One kernel checks the indices, another one uses them; ``scatter_add`` copies the tensor first."""
    table, index = on_device(np.ones((5, 4), np.float32)), on_device(np.array([0, 4, 1]))
    assert launches(cuda, lambda: call(table, index))[-1] == count
    assert sum(arguments[0] == "look_inside" for arguments in cuda.named("launch")) == 1


# ------------------------------------------------------------------------------------------------------------ nonzero


@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.int64, np.complex64])
@pytest.mark.parametrize(("shape", "count"), [((700,), 2), ((5, 6), 2), ((3, 4, 5), 2), ((300, 500), 3)])
def test_nonzero_counts_then_writes(shape: tuple[int, ...], count: int, dtype: Any, cuda: EmulatedDriver) -> None:
    """Long tensors are counted in parts, by two kernels."""
    array = (RANDOM.random(shape) > 0.5).astype(dtype)
    own, results = on_device(array), []
    assert launches(cuda, lambda: results.append(opdsl.nonzero(own))) == [count] * 4
    for result in results:
        np.testing.assert_array_equal(result.cpu().numpy(), np.argwhere(array))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (1,), (2, 3)])
def test_nonzero_of_none(shape: tuple[int, ...], cuda: EmulatedDriver) -> None:
    assert opdsl.nonzero(on_device(np.zeros(shape, np.float32))).shape == (0, len(shape))


@pytest.mark.parametrize("number", [0.0, 3.0])
def test_nonzero_of_a_number(number: float, cuda: EmulatedDriver) -> None:
    """Its strides are those of PyTorch: the columns, of which there are none, would be contiguous."""
    result, count = opdsl.nonzero(opdsl.tensor(number).cuda()), int(number != 0)
    assert (result.shape, result.strides) == ((count, 0), (1, count))


def test_a_transposed_mask_selects_in_its_own_order(cuda: EmulatedDriver) -> None:
    array, mask = RANDOM.standard_normal((6, 5)).astype(np.float32), RANDOM.random((5, 6)) > 0.5
    result = on_device(array)[on_device(mask).t()]
    np.testing.assert_array_equal(result.cpu().numpy(), array[mask.T])


# ------------------------------------------------------------------------------------------------------------ dropout


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_dropout_is_one_kernel(dtype: str, cuda: EmulatedDriver) -> None:
    """It keeps what ``bernoulli_`` would draw from the same random numbers, divided by the probability."""
    x = on_device(np.arange(1.0, 3001.0).reshape(3, 1000)).to(getattr(opdsl, dtype))
    assert launches(cuda, lambda: F.dropout(x, 0.25, True)) == [1] * 4
    opdsl.manual_seed(5)
    kept = opdsl.empty_like(x, dtype=opdsl.bool).bernoulli_(0.75).cpu().numpy()
    opdsl.manual_seed(5)
    dropped = F.dropout(x, 0.25, True).double().cpu().numpy()
    wide = x if dtype == "float64" else x.float()  # 16-bit numbers are computed in float32
    expected = np.where(kept, (wide * (1 / 0.75)).to(x.dtype).double().cpu().numpy(), 0)
    np.testing.assert_array_equal(dropped, expected)
    assert 0.7 < kept.mean() < 0.8


def test_the_gradient_of_dropout_drops_the_same_elements(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(100, device="cuda").requires_grad_()
    dropped = F.dropout(x, 0.5, True)
    dropped.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.cpu().numpy(), dropped.detach().cpu().numpy())


def test_a_graph_of_dropout_drops_other_elements_in_each_run(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(64, device="cuda")
    run = opdsl.cuda.graph(lambda x: F.dropout(x, 0.5, True))
    first, second = (run(x).tolist() for _ in range(2))
    assert first != second and {*first, *second} == {0.0, 2.0}


def test_a_captured_loss_reports_classes_out_of_bounds(cuda: EmulatedDriver) -> None:
    x, target = on_device(np.zeros((4, 3), np.float32)), on_device(np.array([0, 1, 1, 2]))
    run = opdsl.cuda.graph(F.cross_entropy)
    assert run(x, target).item() == pytest.approx(np.log(3))
    run(x, on_device(np.array([0, 7, 1, 2])))
    with pytest.raises(PositionError, match="index 7"):
        opdsl.cuda.synchronize()


# ---------------------------------------------------------------------------------------------------------- attention


@pytest.fixture
def products(cuda: EmulatedDriver) -> Iterator[HostProducts]:
    """Install an emulated cuBLAS."""
    emulated = HostProducts(cuda)
    cublas.use(emulated)
    yield emulated
    cublas.use(None)


def attention(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> Any:
    """Return attention in float64; queries that attend to no key get 0."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    weights = np.where(scores == -np.inf, 0, np.exp(scores - np.where(most == -np.inf, 0, most)))
    return weights @ value / np.maximum(weights.sum(-1, keepdims=True), 1e-300)


MASKS: dict[str, Callable[[int, int], Any]] = {
    "none": lambda queries, keys: None,
    "chosen": lambda queries, keys: RANDOM.random((queries, keys)) > np.arange(queries)[:, None] / queries,
    "added": lambda queries, keys: RANDOM.standard_normal((2, 1, 1, keys)).astype(np.float32),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("mask", [*MASKS, "causal"])
@pytest.mark.parametrize("keys", [24, 37])
def test_attention_is_one_kernel_between_two_products(
    keys: int, mask: str, dtype: str, cuda: EmulatedDriver, products: HostProducts
) -> None:
    arrays = [RANDOM.standard_normal((2, 3, length, 16)).astype(np.float32) for length in (20, keys, keys)]
    tensors = [on_device(array).to(getattr(opdsl, dtype)) for array in arrays]
    numbers = None if mask == "causal" else MASKS[mask](20, keys)
    own = None if numbers is None else on_device(numbers)
    if own is not None and own.dtype is not opdsl.bool:
        own = own.to(tensors[0].dtype)
        numbers = own.double().cpu().numpy()
    results: list[Tensor] = []

    def run() -> None:  # the way of heads that have no tiles
        results.append(attention_by_rows(*tensors, own, mask == "causal", 0.25))

    assert launches(cuda, run) == [1] * 4
    rounded = [heads.double().cpu().numpy() for heads in tensors]
    expected = attention(*rounded, numbers, mask == "causal")
    for actual in results:
        np.testing.assert_allclose(
            actual.double().cpu().numpy(), expected, rtol=0, atol=1e-5 if dtype == "float32" else 3e-2
        )


def test_attention_of_heads_without_tiles_has_gradients(cuda: EmulatedDriver, products: HostProducts) -> None:
    arrays = [RANDOM.standard_normal((1, 2, 5, 8)).astype(np.float32) for _ in range(3)]
    gradients = []
    calls: dict[str, Callable[..., Tensor]] = {
        "cpu": lambda *tensors: F.scaled_dot_product_attention(*tensors, is_causal=True),
        "cuda": lambda *tensors: attention_by_rows(*tensors, None, True, 8**-0.5),
    }
    for device, call in calls.items():
        tensors = [opdsl.from_numpy(array).to(device).requires_grad_() for array in arrays]
        call(*tensors).square().sum().backward()
        gradients.append([leaf.grad.cpu().numpy() for leaf in tensors if leaf.grad is not None])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


# --------------------------------------------------------------------------------------------------------- convolution


def convolution(x: Any, weight: Any, bias: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """Return the convolution of images in float64, window by window."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    outputs, channels, height, width = weight.shape
    counts = [(size - dilation * (length - 1) - 1) // stride + 1
              for size, length in zip(padded.shape[2:], (height, width), strict=True)]  # fmt: skip
    result = np.zeros((len(x), outputs, *counts))
    for output, row, column in np.ndindex(outputs, *counts):
        first = output // (outputs // groups) * channels
        rows, columns = (slice(stride * at, stride * at + dilation * (length - 1) + 1, dilation)
                         for at, length in ((row, height), (column, width)))  # fmt: skip
        window = padded[:, first : first + channels, rows, columns]
        result[:, output, row, column] = (window * weight[output]).sum((1, 2, 3)) + bias[output]
    return result


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2)])
def test_a_convolution_is_one_kernel(
    stride: int, padding: int, dilation: int, groups: int, cuda: EmulatedDriver, products: HostProducts
) -> None:
    x, weight, bias = (
        RANDOM.standard_normal(shape).astype(np.float32) for shape in ((2, 4, 9, 11), (6, 4 // groups, 3, 2), (6,))
    )
    tensors, results = [on_device(array) for array in (x, weight, bias)], []

    def run() -> None:
        results.append(F.conv2d(*tensors, stride=stride, padding=padding, dilation=dilation, groups=groups))

    assert launches(cuda, run) == [1] * 4
    expected = convolution(x, weight, bias, stride, padding, dilation, groups)
    for actual in results:
        np.testing.assert_allclose(actual.cpu().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_gradients_of_a_convolution_agree_with_the_cpu(cuda: EmulatedDriver, products: HostProducts) -> None:
    arrays = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 7, 8), (4, 3, 3, 3))]
    gradients = []
    for device in ("cpu", "cuda"):
        tensors = [opdsl.from_numpy(array).to(device).requires_grad_() for array in arrays]
        F.conv2d(*tensors, padding=1, stride=2).square().sum().backward()
        gradients.append([leaf.grad.cpu().numpy() for leaf in tensors if leaf.grad is not None])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
