"""Tests that repeated calls of operators that write or index tensors agree with PyTorch, with and without a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from tests.torch.twins import Twins, assert_agree

pytestmark = pytest.mark.usefixtures("plans_at_once")

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)

# Functions of a tensor, a mask, indices and values, which return the tensors to compare.
CALLS: dict[str, Callable[..., Any]] = {
    "fill": lambda x, mask, at, values: x.fill_(1),
    "zero": lambda x, mask, at, values: x.zero_(),
    "copy": lambda x, mask, at, values: x.copy_(values[0]),
    "copy cast": lambda x, mask, at, values: x.copy_(mask),
    "masked_fill": lambda x, mask, at, values: x.masked_fill(mask, 1),
    "masked_fill_": lambda x, mask, at, values: x.masked_fill_(mask, 1),
    "masked_fill row": lambda x, mask, at, values: x.masked_fill(mask[0], 1),
    "write int": lambda x, mask, at, values: x.__setitem__(1, 1),
    "write slice": lambda x, mask, at, values: x.__setitem__((slice(None), slice(1, None, 2)), 1),
    "write row": lambda x, mask, at, values: x.__setitem__(1, x[0]),
    "write mask": lambda x, mask, at, values: x.__setitem__(mask, 1),
    "write row mask": lambda x, mask, at, values: x.__setitem__(mask[:, 0], 1),
    "write column mask": lambda x, mask, at, values: x.__setitem__((slice(None), mask[0]), 1),
    "write positions": lambda x, mask, at, values: x.__setitem__(at, values),
    "write columns": lambda x, mask, at, values: x.__setitem__((slice(None), at), 1),
    "write numbers by positions": lambda x, mask, at, values: x.__setitem__(at, 1),
    "write numbers by a list": lambda x, mask, at, values: x.__setitem__([0, -1], 1),
    "write a column": lambda x, mask, at, values: x.__setitem__((slice(None), 0), 1),
    "write list": lambda x, mask, at, values: x.__setitem__([0, 2], values),
    "read mask": lambda x, mask, at, values: x[mask],
    "read row mask": lambda x, mask, at, values: x[mask[:, 0]],
    "read columns": lambda x, mask, at, values: x[:, at],
    "read list": lambda x, mask, at, values: x[[0, -1]],
    "read pairs": lambda x, mask, at, values: x[at, at],
    "read slice": lambda x, mask, at, values: x[..., None, 1:],
    "put": lambda x, mask, at, values: x.index_put((at,), values),
    "put accumulated": lambda x, mask, at, values: x.index_put((at,), values, True),
    "index_fill": lambda x, mask, at, values: x.index_fill(0, at, 1),
    "index_copy": lambda x, mask, at, values: x.index_copy(0, at, values),
    "index_add": lambda x, mask, at, values: x.index_add(0, at, values),
    "scatter": lambda x, mask, at, values: x.scatter(0, at.reshape(2, 1), values),
    "scatter number": lambda x, mask, at, values: x.scatter(0, at.reshape(2, 1), 1),
    "scatter_": lambda x, mask, at, values: x.scatter_(0, at.reshape(2, 1), values),
    "take": lambda x, mask, at, values: x.take(at),
    "flip": lambda x, mask, at, values: x.flip((0, 1)),
    "tril": lambda x, mask, at, values: x.tril(),
    "triu": lambda x, mask, at, values: x.triu_(1),
    "nonzero": lambda x, mask, at, values: x.nonzero(),
}
SUMS = ("put accumulated", "index_add")  # PyTorch does not accumulate bools


def operands(dtype: torch.dtype, layout: str) -> tuple[torch.Tensor, ...]:
    x = (torch.arange(12.0) % 5).reshape(3, 4)
    x = {"contiguous": x, "transposed": x.reshape(4, 3).t(), "view": torch.cat([x, x], 1)[:, 1:5]}[layout].to(dtype)
    x = x if layout != "view" else torch.cat([x, x], 1)[:, 2:6]
    return x, x > 1, torch.tensor([2, 0]), torch.ones(2, 4).to(dtype)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "view"])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in CALLS for dtype in DTYPES if name not in SUMS or dtype is not torch.bool],
)
def test_calls_by_plans_agree(name: str, dtype: torch.dtype, layout: str) -> None:
    call = CALLS[name]
    for _ in range(3):
        theirs = operands(dtype, layout)
        twins = Twins()
        ours = [twins.of(operand) for operand in theirs]
        expected, actual = call(*theirs), call(*ours)
        if expected is not None:
            assert_agree(actual, expected)
        assert_agree(ours[0], theirs[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x, n: x.fill_(n),
        lambda x, n: x.masked_fill(x > 1, n),
        lambda x, n: x.masked_fill_(x > 1, n),
        lambda x, n: x.scatter(0, x.argsort(0), n),
        lambda x, n: x.index_fill(0, x.argsort()[:1], n),
        lambda x, n: x.new_full((2,), n),
        lambda x, n: x.where(x > 1, n),
        lambda x, n: x.index_add(0, x.argsort(), x, alpha=n),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16], ids=str)
def test_other_numbers_than_those_of_the_first_call(call: Callable[..., Any], dtype: torch.dtype) -> None:
    x = torch.tensor([3, 1, 2]).to(dtype)
    numbers = [2, 7, 0, -1] if dtype is torch.int64 else [2.0, 7.0, 0.0, -0.0, float("inf"), float("nan"), 0.5, 3]
    for number in (*numbers, *reversed(numbers)):
        actual, expected = call(Twins().of(x), number), call(x.clone(), number)
        assert_agree(actual, expected)


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda x, at: x[at], IndexError),
        (lambda x, at: x.index_put_((at,), opdsl.tensor(1.0)), IndexError),
        (lambda x, at: x.index_fill_(0, at, 1.0), IndexError),
        (lambda x, at: x.scatter(0, at, 1.0), RuntimeError),
        (lambda x, at: x.take(at), IndexError),
    ],
)
def test_a_plan_looks_at_positions(call: Callable[..., Any], wrong: type[Exception]) -> None:
    x = opdsl.ones(3)
    for _ in range(2):
        call(x, opdsl.tensor([2, 0]))
    with pytest.raises(wrong):
        call(x, opdsl.tensor([3, 0]))
    assert x.shape == (3,)


@pytest.mark.parametrize(
    "call", [lambda x: x.fill_(1e39), lambda x: x.masked_fill_(x > 0, 1e39), lambda x: x.__setitem__(0, 1e39)]
)
def test_a_plan_refuses_numbers_that_do_not_fit(call: Callable[..., Any]) -> None:
    x = opdsl.ones(3)
    x.fill_(1.0)
    x.masked_fill_(x > 0, 1.0)
    x[0] = 1.0
    with pytest.raises(RuntimeError):
        call(x)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_plan_refuses_memory_that_overlaps() -> None:
    base = opdsl.arange(6)
    for _ in range(2):
        base[:3].copy_(opdsl.arange(3))
        base[:3].index_put_((opdsl.tensor([0]),), opdsl.tensor([7]))
    with pytest.raises(RuntimeError):
        base[:3].copy_(base[1:4])
    with pytest.raises(RuntimeError):
        base[:3].index_put_((base[1:2],), opdsl.tensor([7]))


def test_a_plan_counts_versions() -> None:
    x, mask, at = opdsl.ones(3), opdsl.tensor([True, False, True]), opdsl.tensor([0])
    for call in (
        lambda: x.fill_(1.0),
        lambda: x.zero_(),
        lambda: x.masked_fill_(mask, 1.0),
        lambda: x[1:].copy_(x.new_zeros(2)),
        lambda: x.index_put_((at,), opdsl.tensor(1.0)),
        lambda: x.uniform_(),
    ):
        call()
        for _ in range(2):
            before = x._version
            call()
            assert x._version > before


def test_gradients_of_what_is_written() -> None:
    def of(lib: Any, x: Any) -> Any:
        y = x * 2
        y[0] = 3.0
        y[1:, 0] = x[0, 0]
        y.masked_fill_(y > 4, 0.0)
        return (y[:, [0, 1]].tril() * y.flip(0)[:, :2]).sum()

    for _ in range(3):
        theirs = torch.arange(12.0).reshape(3, 4).requires_grad_()
        ours = opdsl.arange(12.0).reshape(3, 4).requires_grad_()
        of(torch, theirs).backward()
        of(opdsl, ours).backward()
        assert ours.grad.tolist() == theirs.grad.tolist()


def test_random_numbers_by_plans_are_those_without() -> None:
    calls = (
        lambda **how: opdsl.rand(4, **how),
        lambda **how: opdsl.randn(2, 3, **how),
        lambda **how: opdsl.randint(0, 9, (5,), **how),
        lambda **how: opdsl.empty(5000).uniform_(-1, 1, **how),
        lambda **how: opdsl.empty(3, dtype=opdsl.float64).normal_(1, 2, **how),
        lambda **how: opdsl.ones(6).bernoulli_(0.5, **how),
    )
    for call in calls:
        drawn = []
        for _ in range(4):
            generator = opdsl.Generator().manual_seed(7)
            drawn.append([call(generator=generator).tolist() for _ in range(2)])
            opdsl.manual_seed(7)
            drawn.append([call().tolist() for _ in range(2)])
        assert all(numbers == drawn[0] for numbers in drawn)
        assert drawn[0][0] != drawn[0][1]


@pytest.mark.parametrize("index", [0, slice(1, None), [0, 2], opdsl.tensor([True, False, True])])
def test_a_plan_refuses_a_number_that_does_not_fit(index: Any) -> None:
    x = opdsl.tensor([1, 2, 3], dtype=opdsl.int8)
    for value in (4, 5, 6):
        x[index] = value
    before, version = x.tolist(), x._version
    with pytest.raises(opdsl.errors.NumberError):
        x[index] = 1000
    assert (x.tolist(), x._version) == (before, version)


def test_tensors_are_compared_by_a_plan() -> None:
    one, other = opdsl.ones(3), opdsl.ones(3)
    assert [opdsl.equal(one, other) for _ in range(3)] == [True] * 3
    other[1] = 2
    assert opdsl.equal(one, other) is False


def test_an_answer_that_elements_decide_is_not_kept() -> None:
    @opdsl.op("planned::shown")
    def shown(x: opdsl.Tensor, y: opdsl.Tensor) -> opdsl.Tensor:
        return x + 1 if opdsl.equal(x, y) else x - 1

    x, y = opdsl.ones(2), opdsl.ones(2)
    assert [shown(x, y).tolist() for _ in range(3)] == [[2.0, 2.0]] * 3
    y.fill_(3)
    assert shown(x, y).tolist() == [0.0, 0.0]


def test_random_numbers_of_a_plan_are_those_without(plans_at_once: None) -> None:
    """Plans draw equal random numbers, also beyond 2**63, where the position in the sequence is a negative int64."""
    state = opdsl.tensor([255] * 16, dtype=opdsl.uint8)
    draws = []
    for _ in range(3):
        opdsl.set_rng_state(state)
        draws.append(opdsl.empty(4).uniform_().tolist())
    assert draws[0] == draws[1] == draws[2]


def test_multinomial_draws_what_has_weight() -> None:
    weights = opdsl.tensor([0.0, 0.25, 0.75, 0.0])
    counts = [0] * 4
    for _ in range(400):
        drawn = opdsl.multinomial(weights, 2)
        assert sorted(drawn.tolist()) == [1, 2]
        counts[drawn[0].item()] += 1
    assert 250 < counts[2] < 350
    with pytest.raises(opdsl.errors.OpdslError, match="sum of probabilities"):
        opdsl.multinomial(weights * 0, 2)


@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_lists_are_read_and_written_again_and_again(shape: tuple[int, ...]) -> None:
    theirs = torch.arange(6.0)[: 3 * len(shape)].reshape(shape)
    ours = opdsl.from_numpy(theirs.clone().numpy())
    for places in [[0, 2], [2, 1], [0, 2], [0, 2], [1, 1], [0, 2], [2, 1]] * 2:
        assert ours[places].tolist() == theirs[places].tolist()
        ours[places] += 1
        theirs[places] += 1
        assert ours.tolist() == theirs.tolist()


# Writes of a number to a tensor of complex numbers.
COMPLEX_WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "fill_": lambda x, number: x.fill_(number),
    "write slice": lambda x, number: x.__setitem__(slice(1, 3), number),
    "write strided": lambda x, number: x.__setitem__((slice(None), slice(None, None, 2)), number),
    "write mask": lambda x, number: x.__setitem__(x.abs() > 2, number),
}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float32, torch.int64])
@pytest.mark.parametrize("name", COMPLEX_WRITES)
def test_complex_numbers_are_written_by_plans(name: str, dtype: torch.dtype) -> None:
    for number in (0, 1.5, 2 + 0j, -3, 0.25 + 0j, *((1.5 - 2j, 1j) if dtype.is_complex else ())):
        theirs = (torch.arange(12.0) % 5).reshape(3, 4).to(dtype)
        ours = Twins().of(theirs)
        if dtype is torch.int64 and number == 0.25:
            number = 2j - 2j
        COMPLEX_WRITES[name](theirs, number)
        COMPLEX_WRITES[name](ours, number)
        assert_agree(ours, theirs)
