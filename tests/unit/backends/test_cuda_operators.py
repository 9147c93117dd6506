"""Tests of operators on emulated CUDA devices, against the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opdsl
from tests.emulation.driver import EmulatedDriver
from tests.emulation.libraries import needs_compiler

pytestmark = needs_compiler

Case = Callable[[Callable[..., Any]], Any]


def matrix(to: Callable[..., Any]) -> Any:
    """Return a matrix of three rows of whole numbers, converted by a function."""
    return to(opdsl.arange(12.0).reshape(3, 4))


ROWS = [0, 2, 0]
PLACES = [[0, 1], [1, 0], [3, 3]]
MASK = [[True, False, True, False]] * 3

OPERATORS: dict[str, Case] = {
    "exp": lambda to: opdsl.exp(matrix(to).t()),
    "where": lambda to: opdsl.where(to(opdsl.tensor(MASK)), 1.0, matrix(to)),
    "searchsorted": lambda to: opdsl.searchsorted(to(opdsl.tensor([1.0, 4.0, 4.0])), matrix(to)),
    "median": lambda to: opdsl.median(matrix(to), 0)[1],
    "mode": lambda to: opdsl.mode(to(opdsl.tensor(PLACES)), 1)[0],
    "unique_dim": lambda to: opdsl.ops.aten.unique_dim(to(opdsl.tensor(PLACES)), 0)[0],
    "histc": lambda to: opdsl.histc(matrix(to), 4),
    "sum": lambda to: matrix(to).sum([1]),
    "argmax": lambda to: matrix(to).argmax(0),
    "var": lambda to: matrix(to).var(),
    "softmax": lambda to: opdsl.softmax(matrix(to), 0),
    "layer_norm": lambda to: opdsl.layer_norm(matrix(to), [4]),
    "cumsum": lambda to: matrix(to).cumsum(1),
    "cummax": lambda to: opdsl.cummax(matrix(to), 1)[1],
    "gather": lambda to: matrix(to).gather(1, to(opdsl.tensor(PLACES))),
    "index": lambda to: matrix(to)[to(opdsl.tensor(ROWS))],
    "index_put": lambda to: matrix(to).index_put([to(opdsl.tensor(ROWS[:2]))], to(opdsl.tensor(5.0))),
    "index_put accumulate": lambda to: matrix(to).index_put([to(opdsl.tensor(ROWS))], to(opdsl.tensor(5.0)), True),
    "index_add": lambda to: matrix(to).index_add(0, to(opdsl.tensor(ROWS)), matrix(to)),
    "index_copy": lambda to: matrix(to).index_copy(0, to(opdsl.tensor(ROWS[:2])), matrix(to)[:2]),
    "index_fill": lambda to: matrix(to).index_fill(0, to(opdsl.tensor(ROWS)), 2.0),
    "index_select": lambda to: matrix(to).index_select(0, to(opdsl.tensor(ROWS))),
    "embedding": lambda to: opdsl.ops.aten.embedding(matrix(to), to(opdsl.tensor(ROWS))),
    "embedding_dense_backward": lambda to: opdsl.ops.aten.embedding_dense_backward(
        matrix(to), to(opdsl.tensor(ROWS)), 4, -1, False
    ),
    "scatter": lambda to: matrix(to).scatter(1, to(opdsl.tensor(PLACES[:2])), 1.0),
    "scatter_add": lambda to: matrix(to).scatter_add(1, to(opdsl.tensor(PLACES)), matrix(to)),
    "scatter_reduce": lambda to: matrix(to).scatter_reduce(1, to(opdsl.tensor(PLACES)), matrix(to), "amax"),
    "take": lambda to: matrix(to).take(to(opdsl.tensor([0, 11, -1]))),
    "put": lambda to: matrix(to).put(to(opdsl.tensor([0, 11])), to(opdsl.tensor([5.0, 6.0]))),
    "cat": lambda to: opdsl.cat([matrix(to), matrix(to)[:1].half()]),
    "stack": lambda to: opdsl.stack([matrix(to), matrix(to)], 1),
    "masked_fill": lambda to: matrix(to).masked_fill(to(opdsl.tensor(MASK)), 7.0),
    "masked_scatter": lambda to: matrix(to).masked_scatter(to(opdsl.tensor(MASK)), matrix(to)),
    "masked_select": lambda to: matrix(to).masked_select(to(opdsl.tensor(MASK))),
    "nonzero": lambda to: matrix(to).nonzero(),
    "repeat_interleave": lambda to: opdsl.repeat_interleave(to(opdsl.tensor([1, 0, 3, 2], dtype=opdsl.int32))),
    "repeat_interleave of nothing": lambda to: opdsl.repeat_interleave(to(opdsl.tensor([0, 0]))),
    "repeat_interleave of rows": lambda to: matrix(to).repeat_interleave(to(opdsl.tensor([1, 0, 3])), 0, output_size=4),
    "mse_loss": lambda to: opdsl.ops.aten.mse_loss(matrix(to), matrix(to).flip([0])),
    "binary_cross_entropy": lambda to: opdsl.ops.aten.binary_cross_entropy(matrix(to) / 12, matrix(to).flip([1]) / 12),
    "nll_loss": lambda to: opdsl.ops.aten.nll_loss(matrix(to), to(opdsl.tensor([3, 0, -100]))),
    "cross_entropy_loss": lambda to: opdsl.ops.aten.cross_entropy_loss(matrix(to), to(opdsl.tensor([3, 0, 1]))),
    "flip": lambda to: matrix(to).flip([0, 1]),
    "roll": lambda to: matrix(to).roll(1, 0),
    "tril": lambda to: matrix(to).tril(),
    "sort": lambda to: opdsl.sort(matrix(to), 1, True)[0],
    "argsort": lambda to: (matrix(to) % 3).argsort(dim=0, stable=True),
    "sort of a number": lambda to: opdsl.sort(to(opdsl.tensor(3.0)))[1],
    "topk": lambda to: opdsl.topk(matrix(to), 2, 1)[0],
    "kthvalue": lambda to: opdsl.kthvalue(matrix(to), 2, 0)[0],
    "equal": lambda to: opdsl.tensor(opdsl.equal(matrix(to), matrix(to))),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_agrees_with_the_cpu(name: str, cuda: EmulatedDriver) -> None:
    expected = OPERATORS[name](lambda tensor: tensor)
    actual = OPERATORS[name](lambda tensor: tensor.cuda())
    assert actual.dtype is expected.dtype
    np.testing.assert_allclose(actual.cpu().numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["hermite_polynomial_h", "laguerre_polynomial_l", "legendre_polynomial_p"])
def test_polynomials_of_a_degree_for_each_element_are_one_launch(name: str, cuda: EmulatedDriver) -> None:
    x, degree = opdsl.tensor([0.5, 2.0, -1.0, 0.25]), opdsl.tensor([0.0, 3.0, 7.0, -1.0])
    function = getattr(opdsl.special, name)
    on_device = x.cuda(), degree.cuda()
    cuda.calls.clear()
    result = function(*on_device)
    assert [call.name for call in cuda.calls].count("launch") == 1
    np.testing.assert_allclose(result.cpu().numpy(), function(x, degree).numpy(), rtol=1e-6)


def weights(device: str) -> Any:
    """Return the weights of two distributions over 100 numbers, a third of which have weight 0."""
    numbers = opdsl.arange(200.0).reshape(2, 100)
    return (numbers * (numbers.long() % 3 > 0).float()).to(device)


RANDOM: dict[str, Callable[[str], Any]] = {
    "normal_": lambda device: opdsl.empty(1000, device=device).normal_(0.0, 1.0),
    "uniform_ of columns": lambda device: opdsl.empty((50, 20), device=device).t().uniform_(),
    "rand": lambda device: opdsl.rand((9000,), dtype=opdsl.bfloat16, device=device).float(),
    "randint": lambda device: opdsl.randint(0, 100, (50,), device=device),
    "exponential_": lambda device: opdsl.empty(100, dtype=opdsl.float64, device=device).exponential_(),
    "bernoulli": lambda device: opdsl.bernoulli(opdsl.full((30,), 0.5, device=device)),
    "randperm": lambda device: opdsl.randperm(3000, device=device),
    "randperm of bytes": lambda device: opdsl.randperm(100, dtype=opdsl.uint8, device=device),
    "multinomial": lambda device: opdsl.multinomial(weights(device), 40),
    "multinomial with replacement": lambda device: opdsl.multinomial(weights(device), 500, True),
    "multinomial of a row": lambda device: opdsl.multinomial(weights(device)[0].bfloat16(), 5),
    "complex": lambda device: opdsl.view_as_real(opdsl.randn(10, dtype=opdsl.complex64, device=device)),
    "dropout": lambda device: opdsl.ops.aten.native_dropout(opdsl.ones(40, device=device), 0.5, True)[0],
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_of_a_seed_are_those_of_the_cpu(name: str, cuda: EmulatedDriver) -> None:
    draws = []
    for device in ("cpu", "cuda"):
        opdsl.manual_seed(5)
        draws.append(RANDOM[name](device).cpu().numpy())
    assert np.array_equal(*draws)


FACTORIES: dict[str, Callable[[str], Any]] = {
    "zeros": lambda device: opdsl.zeros((3, 4), device=device),
    "ones": lambda device: opdsl.ones((3, 4), dtype=opdsl.bfloat16, device=device).float(),
    "full": lambda device: opdsl.full((3, 4), 2.5, device=device),
    "zeros_like": lambda device: opdsl.zeros_like(opdsl.ones((2,), device=device)),
    "arange": lambda device: opdsl.arange(5, device=device),
    "linspace": lambda device: opdsl.linspace(0, 1, 6, device=device),
    "eye": lambda device: opdsl.eye(3, device=device),
    "fill_": lambda device: opdsl.ones((3,), device=device).fill_(7.0),
    "clone": lambda device: opdsl.ones((3,), device=device).clone(),
    "rand": lambda device: opdsl.rand((5000,), device=device),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_called_again_makes_its_tensor_on_the_device_that_is_named(name: str, cuda: EmulatedDriver) -> None:
    """A second call, which runs by a plan, creates the tensor on the named device, even if another device is
    current.
    """
    opdsl.manual_seed(5)
    expected = [FACTORIES[name]("cpu").numpy() for _ in range(2)]
    opdsl.manual_seed(5)
    for array in expected:
        result = FACTORIES[name]("cuda:1")
        assert result.device == opdsl.Device("cuda", 1) and result.array.index == 1
        assert np.array_equal(result.cpu().numpy(), array)


def test_invalid_probabilities_are_refused(cuda: EmulatedDriver) -> None:
    with pytest.raises(RuntimeError, match="contains either `inf`, `nan` or element < 0"):
        opdsl.multinomial(opdsl.tensor([1.0, -1.0]).cuda(), 1)
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        opdsl.multinomial(opdsl.zeros(3).cuda(), 1)
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        opdsl.repeat_interleave(opdsl.tensor([1, -1]).cuda())


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(7,), (3, 60), (2048,), (9000,), (4097, 2)])
def test_sorting(shape: tuple[int, ...], dtype: str, descending: bool, cuda: EmulatedDriver) -> None:
    generator = np.random.default_rng(3)
    values = generator.integers(-40, 40, shape).astype(np.float64)
    values[values == 7] = -0.0
    if "float" in dtype:
        values[values == 9] = np.nan
        values[values == -9] = -np.inf
    x = opdsl.from_numpy(values).to(getattr(opdsl, dtype))
    expected = opdsl.sort(x, stable=True, dim=0, descending=descending)
    ordered = opdsl.sort(x.cuda(), stable=True, dim=0, descending=descending)
    assert np.array_equal(ordered[1].cpu().numpy(), expected[1].numpy())
    assert np.array_equal(ordered[0].cpu().double().numpy(), expected[0].double().numpy(), equal_nan=True)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(
    ("shape", "count", "dtype"),
    [
        ((30,), 7, "int16"),
        ((2, 2049), 5, "bfloat16"),
        ((9000,), 1, "float64"),
        ((66_000,), 40, "int16"),
        ((4100, 2), 1024, "float64"),
        ((5000,), 1025, "bfloat16"),
        ((5000,), 0, "float64"),
    ],
)
def test_the_first_elements_of_an_order(
    shape: tuple[int, ...], count: int, dtype: str, largest: bool, cuda: EmulatedDriver
) -> None:
    """``topk`` returns the first elements of a stable sort, for random rows and for rows in reverse order."""
    values = np.random.default_rng(4).integers(-2000, 2000, shape).astype(np.float64)
    if "float" in dtype:
        values[values % 50 == 1] = np.nan
    if count == 1:
        values = np.sort(values)[:: 1 if largest else -1].copy()
    x, dim = opdsl.from_numpy(values).to(getattr(opdsl, dtype)), int(np.argmax(shape))
    expected = opdsl.sort(x, stable=True, dim=dim, descending=largest)
    result = opdsl.topk(x.cuda(), count, dim, largest)
    for part, whole in zip(result, expected, strict=True):
        first = whole.narrow(dim, 0, count).double().numpy()
        assert np.array_equal(part.cpu().double().numpy(), first, equal_nan=True)
