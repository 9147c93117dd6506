"""Tests of sorting, selection and embedding, compared with PyTorch's: ties, NaN, layouts; and of functions in
kernels.
"""

from __future__ import annotations

import math

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Array, Library, Tensor
from tests.torch.twins import assert_agree

pytestmark = pytest.mark.usefixtures("plans_at_once")

DTYPES = [torch.float32, torch.float16, torch.int64, torch.uint8]


def tied(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Return numbers with many ties and a few NaN."""
    values = torch.randint(0, 7, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    if dtype.is_floating_point:
        values[values == 3] = torch.nan
        values[values == 4] = -0.0
    return values


def ours(tensor: torch.Tensor) -> opdsl.Tensor:
    return opdsl.from_numpy(tensor.numpy())


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from(DTYPES),
    st.booleans(),
    st.sampled_from([True, False]),
    st.data(),
)
def test_sort_orders_ties_as_pytorch_does(shape, dtype, descending, stable, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = tied(tuple(shape), dtype)
    ordered = ours(x).sort(stable=stable, dim=dim, descending=descending)
    assert_agree(tuple(ordered), tuple(x.sort(stable=stable, dim=dim, descending=descending)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [17, 1000, 30_000, 40_000])
@pytest.mark.parametrize("descending", [False, True])
def test_long_rows_are_sorted_as_pytorch_does(dtype, size, descending):
    x = tied((size,), dtype)
    expected = x.sort(dim=0, descending=descending, stable=size > 32768)  # longer rows keep the order of ties
    assert_agree(tuple(ours(x).sort(0, descending)), tuple(expected))


@pytest.mark.parametrize("size", [48, 49, 20_000])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("bits", [1, 32, 33, 64])
def test_integers_of_every_width_are_sorted(size, descending, bits):
    generator = torch.Generator().manual_seed(bits)
    least = -(2 ** (bits - 1)) + 1 if bits > 1 else 0
    x = torch.randint(least, -least or 2, (3, size), generator=generator)
    ordered = ours(x).sort(stable=True, dim=1, descending=descending)
    assert_agree(tuple(ordered), tuple(x.sort(stable=True, dim=1, descending=descending)))
    assert_agree(tuple(ours(x.t()).sort(stable=True, dim=0)), tuple(x.t().sort(stable=True, dim=0)))


@pytest.mark.parametrize("common", [0, 2, 8, 15, 16])
@pytest.mark.parametrize("size", [60, 700, 20000])
def test_integers_that_share_their_upper_halves_are_sorted(common: int, size: int) -> None:
    draw = numpy.random.default_rng(size)
    numbers = draw.integers(-(2**62), 2**62, size)
    numbers[: size * common // 16] = draw.integers(0, 2**20, size * common // 16) - 5
    numbers[::7] = numbers[0]
    for shuffled in (numbers, numpy.sort(numbers)[::-1].copy(), draw.permutation(numbers)):
        ordered = opdsl.from_numpy(shuffled).sort(stable=True)
        numpy.testing.assert_array_equal(ordered.indices.numpy(), numpy.argsort(shuffled, kind="stable"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_floating_point_numbers_of_all_sizes_are_sorted(dtype):
    exponents = torch.linspace(-24, 15, 5000).to(torch.float64)
    x = torch.cat([2**exponents, -(2**exponents), torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan])])
    x = x.to(dtype)[torch.randperm(x.numel(), generator=torch.Generator().manual_seed(0))]
    assert_agree(tuple(ours(x).sort(stable=True)), tuple(x.sort(stable=True)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("length", "k"), [(5, 5), (40, 1), (300, 4), (300, 5), (300, 200), (2000, 30), (9, 0)])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_topk_finds_the_same_of_equal_elements(dtype, length, k, largest, ordered):
    x = tied((3, length), dtype)
    assert_agree(tuple(ours(x).topk(k, 1, largest, ordered)), tuple(x.topk(k, 1, largest, ordered)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 50, 99, 100])
def test_kthvalue_finds_the_same_of_equal_elements(dtype, k):
    x = tied((2, 100, 3), dtype)
    assert_agree(tuple(ours(x).kthvalue(k, 1)), tuple(x.kthvalue(k, 1)))


def test_adversarial_orders_fall_back_to_heap_sort():
    # An order in which the median of three is always among the smallest elements.
    size = 2000
    x = torch.zeros(size)
    for i in range(size // 2):
        x[2 * i], x[2 * i + 1] = float(i), float(size // 2 + i)
    x = torch.cat([x, x.flip(0), torch.arange(size).float()])
    assert_agree(tuple(ours(x).sort(0)), tuple(x.sort(0)))


def test_results_have_names():
    ordered = opdsl.tensor([3.0, 1.0, 2.0]).sort()
    assert ordered.values.tolist() == [1.0, 2.0, 3.0]
    assert ordered.indices.tolist() == [1, 2, 0]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("padding", [-1, 1])
def test_the_gradient_of_an_embedding(scale, padding):
    grads = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    # PyTorch does not check for rows out of bounds.
    indices = torch.tensor([[0, 1, 1, 4], [2, 1, 3, 0] if scale else [7, 1, -3, 0]])
    gradients = opdsl.ops.aten.embedding_dense_backward(ours(grads), ours(indices), 5, padding, scale)
    assert_agree(gradients, torch.ops.aten.embedding_dense_backward(grads, indices, 5, padding, scale), tolerance=1e-6)


def double(x: float) -> float:
    return 2.0 * x


def quadruple(x: float) -> float:
    return double(double(x))


def test_kernels_may_call_functions_of_their_module():
    with Library("test_order") as lib:

        @lib.op
        def fourfold(self: Tensor) -> Tensor: ...

        @fourfold.meta
        def fourfold_meta(ctx, self):
            ctx.set_output(0, self.shape, like=self)

        @fourfold.out_kernel("CPU")
        def fourfold_cpu(self: Array, out: Array) -> None:
            for i in range(self.shape[0]):
                out[i] = quadruple(self[i])

        numpy.testing.assert_array_equal(fourfold(opdsl.tensor([1.0, 2.5])).numpy(), [4.0, 10.0])


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0, 4.0], [math.nan, 1.0, 3.0, 2.0], [math.nan] * 2, [-math.inf, 5.0]])
def test_a_median_of_all_elements_is_found_by_selection(name: str, values: list[float]) -> None:
    theirs = torch.tensor(values).reshape(2, -1).t()
    ours = opdsl.from_numpy(theirs.numpy())
    for _ in range(3):
        assert str(getattr(opdsl, name)(ours).item()) == str(getattr(torch, name)(theirs).item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize(("shape", "dim"), [((300,), 0), ((9, 70), 1), ((70, 3, 4), 0), ((40_000,), 0)])
def test_rows_sorted_as_words_of_key_and_index(dtype: torch.dtype, shape: tuple[int, ...], dim: int) -> None:
    """Sorting words that pack a key and its index orders extremes, signed zeros, NaN and ties as PyTorch does."""
    generator = torch.Generator().manual_seed(5)
    values = torch.randint(-(1 << 31), (1 << 31) - 1, shape, dtype=torch.int64, generator=generator)
    if dtype.is_floating_point:
        values = values.to(torch.int32).view(torch.float32)  # all bit patterns, including NaN and infinities
        values.view(-1)[::7], values.view(-1)[::11], values.view(-1)[::13] = -0.0, 0.0, -torch.inf
    inputs = values.to(dtype)
    if dtype is torch.int32:
        inputs.view(-1)[0], inputs.view(-1)[-1] = -(1 << 31), (1 << 31) - 1
    for descending in (False, True):
        wanted = torch.sort(inputs, dim=dim, descending=descending, stable=True)
        ordered = opdsl.sort(opdsl.from_dlpack(inputs), dim=dim, descending=descending, stable=True)
        assert ordered[1].tolist() == wanted.indices.tolist()
        if inputs.shape[dim] < 1 << 15:
            assert_agree(opdsl.sort(opdsl.from_dlpack(inputs), dim, descending), torch.sort(inputs, dim, descending))
