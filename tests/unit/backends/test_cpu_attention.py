"""Tests of the CPU's kernel of attention, compared with NumPy in double precision."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cpu import attention as planner
from opdsl.backends.cpu import engine
from opdsl.kernels.primitives.attention import attend, attend_backward

Numbers = numpy.ndarray[Any, Any]

# Queries and keys: so few queries that they are taken one by one, fewer than a tile has, exactly a tile, more.
LENGTHS = ((1, 1), (3, 300), (4, 128), (5, 7), (96, 128), (97, 129), (200, 300))


def numbers(*shape: int, dtype: str = "float32") -> Numbers:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def reference(q: Numbers, k: Numbers, v: Numbers, mask: Numbers | None, scale: float, causal: bool) -> Any:
    """Return the means of values and the log-sum-exps of scores, with whole matrices in double precision."""
    members = q.shape[1] // k.shape[1]
    k, v = (numpy.repeat(heads.astype("float64"), members, 1) for heads in (k, v))
    scores = q.astype("float64") @ k.swapaxes(2, 3) * scale
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = numpy.where(numpy.tri(*scores.shape[2:], dtype=bool), scores, -numpy.inf)
    most = scores.max(-1, keepdims=True)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        weights = numpy.where(scores == -numpy.inf, 0.0, numpy.exp(scores - most))
        total = weights.sum(-1, keepdims=True)
        return weights @ v / numpy.where(total == 0, 1, total), (most + numpy.log(total))[..., 0]


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    out, sums = q.new_empty((*q.shape[:3], v.shape[3])), q.new_empty(q.shape[:3])
    attend(q, k, v, mask, scale, causal, out, sums)
    return out, sums


def compare(q: Numbers, k: Numbers, v: Numbers, mask: Numbers | None = None, causal: bool = False) -> None:
    tensors = [None if array is None else opdsl.from_numpy(array) for array in (q, k, v, mask)]
    out, sums = attended(*tensors, 0.7, causal)  # type: ignore[arg-type]  # only the mask may be None
    wanted, wanted_sums = reference(q, k, v, mask, 0.7, causal)
    # Errors grow with the roots of the numbers of terms in products and sums.
    limit = 40 * numpy.finfo(q.dtype).eps
    numpy.testing.assert_allclose(out.numpy(), wanted, rtol=limit, atol=limit)
    numpy.testing.assert_allclose(sums.numpy(), wanted_sums, rtol=limit, atol=limit)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_and_sums_agree_with_whole_matrices(lengths: tuple[int, int], causal: bool, dtype: str) -> None:
    queries, keys = lengths
    q, k, v = (numbers(2, 2, count, 24, dtype=dtype) for count in (queries, keys, keys))
    compare(q, k, v, causal=causal)


@pytest.mark.parametrize(("size", "value_size"), [(1, 1), (3, 17), (64, 5), (8, 40), (20, 123)])
@pytest.mark.parametrize("queries", [2, 20])
def test_sizes_of_heads(size: int, value_size: int, queries: int) -> None:
    compare(numbers(1, 2, queries, size), numbers(1, 2, 140, size), numbers(1, 2, 140, value_size))


def test_groups_of_heads_share_keys_and_values() -> None:
    compare(numbers(2, 6, 40, 16), numbers(2, 3, 50, 16), numbers(2, 3, 50, 16), causal=True)


@pytest.mark.parametrize("sizes", [(1, 1, True, True), (2, 3, True, True), (2, 1, False, True), (1, 3, True, False)])
@pytest.mark.parametrize("queries", [3, 100])
def test_masks_are_added_and_broadcast(sizes: tuple[int, int, bool, bool], queries: int) -> None:
    samples, heads, has_queries, has_keys = sizes
    mask = numbers(samples, heads, queries if has_queries else 1, 150 if has_keys else 1)
    compare(numbers(2, 3, queries, 8), numbers(2, 3, 150, 8), numbers(2, 3, 150, 8), mask)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
@pytest.mark.parametrize("queries", [2, 100])
def test_any_strides(order: tuple[int, ...], queries: int) -> None:
    """Tensors whose dimensions lie in another order in memory, elements of a head two apart among them."""
    arrays = [numbers(2, 3, count, 12)[..., ::2] for count in (queries, 140, 140)]
    wanted, _ = reference(*arrays, None, 0.5, False)
    back = sorted(range(4), key=order.__getitem__)
    q, k, v = (opdsl.from_numpy(array.transpose(order).copy()).permute(back) for array in arrays)
    out = q.new_empty([q.shape[at] for at in order]).permute(back)
    attend(q, k, v, None, 0.5, False, out)
    numpy.testing.assert_allclose(out.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_queries_without_keys_get_zeros() -> None:
    q, k, v = (opdsl.from_numpy(numbers(1, 1, 3, 4)) for _ in range(3))
    mask = opdsl.zeros(3, 3)
    mask[1] = -float("inf")
    out, sums = attended(q, k, v, mask, 1.0, False)
    assert out[0, 0, 1].tolist() == [0.0] * 4
    assert sums[0, 0, 1].item() == -float("inf")
    assert bool(out[0, 0, 0].isfinite().all())


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_query_that_is_no_number_has_no_mean_and_leaves_others_alone(number: float) -> None:
    q, k, v = (opdsl.from_numpy(numbers(1, 1, 5, 4)) for _ in range(3))
    q[0, 0, 2] = number
    out, _ = attended(q, abs(k), v, None, 1.0, False)
    assert out.isnan().any(-1)[0, 0].tolist() == [False, False, True, False, False]


def test_results_are_the_same_for_any_number_of_threads() -> None:
    q, k, v = (opdsl.from_numpy(numbers(1, 4, 300, 32)) for _ in range(3))
    before, results = opdsl.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            opdsl.set_num_threads(count)
            results.append(attended(q, k, v, None, 0.2, False)[0].numpy().tobytes())
    finally:
        opdsl.set_num_threads(before)
    assert results[1:] == results[:1] * 2


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("has_many", [False, True])
def test_every_width_of_vectors_and_height_of_tiles(
    lanes: int, has_many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM divides vectors that are wider than the processor's."""
    monkeypatch.setattr(engine, "vector_bytes", lambda: 4 * lanes)
    monkeypatch.setattr(engine, "has_feature", lambda name: has_many)
    text = planner.text(planner.machine, "float32", lanes)
    code = engine.compile_ir(f"attention {lanes} {has_many}", lambda: text, ["attention"])
    monkeypatch.setattr(planner, "_code", lambda module, call: code)
    for queries in (2, 110):
        q, k, v = (numbers(1, 1, count, 20) for count in (queries, 150 + lanes + has_many, 150 + lanes + has_many))
        compare(q, k, v, causal=True)  # sizes that no other test has, so that the kernel is not cached


# ----------------------------------------------------------------------------------------------------------- gradients


def gradients(q: Tensor, k: Tensor, v: Tensor, grad: Tensor, mask: Tensor | None, causal: bool) -> list[Numbers]:
    out, sums = attended(q, k, v, mask, 0.7, causal)
    results = [heads.new_empty(heads.shape) for heads in (q, k, v)]
    attend_backward((q, k, v, mask), (grad, out, sums), 0.7, causal, (results[0], results[1], results[2]))
    return [result.numpy() for result in results]


def reference_gradients(
    q: Numbers, k: Numbers, v: Numbers, grad: Numbers, mask: Numbers | None, causal: bool
) -> list[Numbers]:
    """Return gradients by the whole matrices of weights in double precision."""
    members = q.shape[1] // k.shape[1]
    q, keys, values, grad = (array.astype("float64") for array in (q, k, v, grad))
    keys, values = (numpy.repeat(heads, members, 1) for heads in (keys, values))
    out, sums = reference(q, k, v, mask, 0.7, causal)
    scores = q @ keys.swapaxes(2, 3) * 0.7 + (0 if mask is None else mask)
    if causal:
        scores = numpy.where(numpy.tri(*scores.shape[2:], dtype=bool), scores, -numpy.inf)
    weights = numpy.exp(scores - sums[..., None])
    slopes = weights * (grad @ values.swapaxes(2, 3) - (grad * out).sum(-1, keepdims=True)) * 0.7
    whole = slopes.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ grad
    shapes = [(array.shape[0], array.shape[1], members, *array.shape[2:]) for array in (k, v)]
    return [slopes @ keys, *(array.reshape(shape).sum(2) for array, shape in zip(whole, shapes, strict=True))]


def compare_gradients(q: Numbers, k: Numbers, v: Numbers, mask: Numbers | None = None, causal: bool = False) -> None:
    grad = numbers(*q.shape[:3], v.shape[3], dtype=str(q.dtype))
    tensors = [opdsl.from_numpy(array) for array in (q, k, v, grad)]
    added = None if mask is None else opdsl.from_numpy(mask)
    limit = 200 * numpy.finfo(q.dtype).eps
    results = gradients(tensors[0], tensors[1], tensors[2], tensors[3], added, causal)
    for actual, wanted in zip(results, reference_gradients(q, k, v, grad, mask, causal), strict=True):
        numpy.testing.assert_allclose(actual, wanted, rtol=limit, atol=limit * max(1.0, abs(wanted).max()))


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_agree_with_whole_matrices(lengths: tuple[int, int], causal: bool, dtype: str) -> None:
    queries, keys = lengths
    q, k, v = (numbers(2, 2, count, 24, dtype=dtype) for count in (queries, keys, keys))
    compare_gradients(q, k, v, causal=causal)


@pytest.mark.parametrize(("size", "value_size"), [(1, 1), (3, 17), (64, 5), (20, 123)])
def test_gradients_of_sizes_of_heads(size: int, value_size: int) -> None:
    compare_gradients(numbers(1, 2, 110, size), numbers(1, 2, 140, size), numbers(1, 2, 140, value_size))


def test_gradients_of_shared_keys_and_values_are_added_up() -> None:
    compare_gradients(numbers(2, 6, 40, 16), numbers(2, 3, 150, 16), numbers(2, 3, 150, 16), causal=True)


def test_gradients_with_a_mask() -> None:
    arrays = numbers(2, 3, 100, 8), numbers(2, 3, 150, 8), numbers(2, 3, 150, 8)
    compare_gradients(*arrays, numbers(2, 1, 100, 150))


def test_gradients_of_any_strides() -> None:
    arrays = [numbers(2, 3, count, 12)[..., ::2] for count in (100, 140, 140, 100)]
    order, back = (3, 1, 0, 2), (2, 1, 3, 0)
    strided = [opdsl.from_numpy(array.transpose(order).copy()).permute(back) for array in arrays]
    plain = [opdsl.from_numpy(array.copy()) for array in arrays]
    for actual, wanted in zip(gradients(*strided, None, False), gradients(*plain, None, False), strict=True):
        numpy.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-5)


def test_gradients_are_the_same_for_any_number_of_threads() -> None:
    tensors = [opdsl.from_numpy(numbers(2, 2, 300, 32)) for _ in range(4)]
    before, results = opdsl.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            opdsl.set_num_threads(count)
            results.append([array.tobytes() for array in gradients(*tensors, None, False)])
    finally:
        opdsl.set_num_threads(before)
    assert results[1:] == results[:1] * 2
