"""Tests of reductions of several tensors: against NumPy on the CPU and an emulated grid, gradients, and refused
calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import opdsl
from opdsl import Ints, Library, Tensor, formula, primitives
from opdsl.errors import ArgumentError, KernelSignatureError, RoundedResultError, ShapeError
from opdsl.testing import Sample, check_op
from tests.emulation.libraries import needs_compiler
from tests.unit.backends.recording import Recorder, wrong_ones

lib = Library("test_reductions_of_several")


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    lib.close()


def weigh(x, weight):
    if weight is None:
        return x, 1.0
    return x * weight, weight


def divide(total, weights, count):
    return total / weights


def add_both(total, weights, more, more_weights):
    return total + more, weights + more_weights


def plus(a, b):
    return a + b


def distance(x, y, index, scale):
    return abs(x - y) * scale, index


def further(far, at, other, there):
    return (other if other > far else far), (there if other > far else at)


WEIGHTED_MEAN = primitives.fold(
    add_both, init=(0, 0), lift=weigh, finish=divide, accumulators=("value",) * 2, results=("value",),
    promote="int_to_float",
)  # fmt: skip
SQUARES = primitives.fold(plus, init=0, lift=lambda x, y: (x - y) * (x - y))
FARTHEST = primitives.fold(
    further, init=(-math.inf, 0), lift=distance, finish=lambda far, at, count, scale: (far, at),
    accumulators=("value", "index"), promote="floating",
)  # fmt: skip


@lib.op(out=True)
@formula
def weighted_mean(
    self: Tensor, weight: Tensor | None = None, dim: Ints[1] | None = None, keepdim: bool = False
) -> Tensor:
    return WEIGHTED_MEAN(self, weight, dim, keepdim)


@lib.op(out=True)
@formula
def squares(self: Tensor, other: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
    """Return the sum of squared differences."""
    return SQUARES(self, other, dim, keepdim)


@lib.op
@formula
def farthest(self: Tensor, other: Tensor, scale: float, dim: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the largest distance and the first index that has it."""
    return FARTHEST(self, other, scale, dim)


farthest.non_differentiable("self", "other")


SHAPES = [
    ((), ()),
    ((7,), (7,)),
    ((1000,), (1,)),
    ((5, 7), (5, 7)),
    ((5, 7), (7,)),
    ((5, 7), (5, 1)),
    ((7,), (4, 7)),
    ((40, 300), (300,)),
    ((300, 40), (300, 1)),
    ((3000, 3), (3000, 3)),
    ((3, 3000), (3000,)),
    ((2, 200_000), (200_000,)),
    ((4, 5, 60), (4, 1, 60)),
    ((4, 5, 60), (5, 1)),
]


def whole_numbers(shape: tuple[int, ...], seed: int) -> Tensor:
    """Return small whole numbers, whose float32 sums are exact."""
    generator = np.random.default_rng(seed)
    return opdsl.from_numpy(generator.integers(-4, 4, shape).astype(np.float32))


def calls(x: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor, int | None]]:
    """Yield tensors as given, with every other element, and transposed, each with all dimensions to fold."""
    pairs = [(x, y)]
    if x.ndim and y.ndim and x.shape[-1] == y.shape[-1]:
        pairs.append((x[..., ::2], y[..., ::2]))
    if x.ndim == y.ndim:
        pairs.append((x.t(), y.t()) if x.ndim < 3 else (x.transpose(0, 2), y.transpose(0, 2)))
    for one, other in pairs:
        for dim in (None, *range(max(one.ndim, other.ndim))):
            yield one, other, dim


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_elements_of_several_tensors_are_folded(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for x, y, dim in calls(whole_numbers(shapes[0], 1), whole_numbers(shapes[1], 2)):
        one, other = np.broadcast_arrays(x.numpy().astype(np.float64), y.numpy().astype(np.float64))
        np.testing.assert_array_equal(squares(x, y, dim).numpy(), ((one - other) ** 2).sum(dim))
        far, at = farthest(x, y, 2.0, dim)
        np.testing.assert_array_equal(far.numpy(), 2 * abs(one - other).max(dim))
        np.testing.assert_array_equal(at.numpy(), abs(one - other).argmax(dim))


@needs_compiler
def test_an_emulated_grid_gives_what_the_cpu_does(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["reduction"])
    with recorder.installed(monkeypatch):
        for shapes in SHAPES:
            recorder.operator = f"folds of {shapes}"
            for x, y, dim in calls(whole_numbers(shapes[0], 1), whole_numbers(shapes[1], 2)):
                squares(x, y, dim)
                farthest(x, y, 2.0, dim)
    entries = {launch.entry for record in recorder.records for launch in record.program.variants[0].launches}
    assert entries == {"whole", "parts", "rest"}
    assert wrong_ones(recorder.records) == []


SAMPLES = [
    Sample(opdsl.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]]), opdsl.tensor([[1.0, 2.0, 0.5], [1.0, 3.0, 2.0]])),
    Sample(opdsl.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]]), opdsl.tensor([1.0, 2.0, 0.5])),
    Sample(opdsl.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]]), opdsl.tensor([1.0, 2.0, 0.5]), 0),
    Sample(opdsl.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]]), opdsl.tensor([[1.0], [2.0]]), -1, True),
    Sample(opdsl.tensor([1.0, 2.0]), opdsl.tensor([[1.0, 2.0], [0.5, 2.5]]), 0),
]


def test_laws_hold() -> None:
    check_op(weighted_mean, [*SAMPLES, Sample(opdsl.tensor([1.0, 2.0]), None)])
    check_op(squares, [*SAMPLES, Sample(opdsl.ones(0, 3), opdsl.ones(3)), Sample(opdsl.ones(0, 3), opdsl.ones(3), 0)])
    check_op(farthest, [Sample(opdsl.tensor([1.0, 2.0]), opdsl.tensor([[1.0, 2.5], [0.5, 3.0]]), 0.5)])


def test_dtypes_promote_as_those_of_pointwise_operators() -> None:
    tensors = [
        opdsl.ones(2),
        opdsl.ones(2, dtype=opdsl.int64),
        opdsl.tensor(1.0, dtype=opdsl.float64),
        opdsl.ones(2).half(),
    ]
    for one, other in product(tensors, repeat=2):
        assert squares(one, other).dtype is (one - other).dtype


def test_elements_are_mapped() -> None:
    x, weight = opdsl.rand(4, 3, 5, dtype=opdsl.float64), opdsl.rand(5, 4, dtype=opdsl.float64)
    mapped = opdsl.vmap(lambda a, w: weighted_mean(a, w, 1), in_dims=(0, 1))(x, weight)
    wanted = [np.average(x[k].numpy(), axis=1, weights=weight[:, k].numpy()) for k in range(4)]
    np.testing.assert_allclose(mapped.numpy(), wanted)


def folded(name: str, **options: object) -> None:
    """Declare a fold of two tensors with two numbers as arguments."""
    loop = primitives.fold(plus, init=0, **options)

    @lib.op(name)
    @formula
    def f(self: Tensor, other: Tensor, low: float, high: float) -> Tensor:
        return loop(self, other, low, high)


def test_functions_take_arguments_in_their_order() -> None:
    with pytest.raises(KernelSignatureError, match=r"lift takes elements of self and other, .* in this order"):
        folded("shares", lift=lambda other, self: self - other, promote="floating")
    with pytest.raises(KernelSignatureError, match=r"finish takes .* in the order of the schema \(low, high\)"):
        folded(
            "shares_of_a_range",
            lift=lambda x, y: x - y,
            finish=lambda total, count, high, low: total / (high - low),
            promote="floating",
        )


def test_one_element_of_several_tensors_is_refused() -> None:
    with pytest.raises(KernelSignatureError, match="a lift is needed, which takes an element each of self, other"):
        folded("both")
    with pytest.raises(KernelSignatureError, match="lift takes elements of self and other"):
        folded("both", lift=lambda x: x)
    with pytest.raises(RoundedResultError):
        folded("both", lift=lambda x, y: x / y)


def test_an_argument_that_is_none_without_a_case_is_refused() -> None:
    products = primitives.fold(plus, init=0, lift=lambda x, y: x * y)

    @lib.op
    @formula
    def scaled(self: Tensor, other: Tensor | None = None) -> Tensor:
        return products(self, other)

    with pytest.raises(ArgumentError, match="other is None, but the reduction reads it"):
        scaled(opdsl.ones(2))


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(ShapeError, match="must match the size of tensor b"):
        squares(opdsl.ones(3), opdsl.ones(4))
