"""Tests of calls with ever new numbers, compared with PyTorch: plans of forms serve them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.aten.create import ranges
from opdsl.dispatch.plans.call_cache import CallCache
from opdsl.dispatch.plans.policy import (
    GENERAL_FROM,
    HOT_FROM,
    HOT_NUMBERS_FROM,
    MOST_VARIANTS,
    lowered_at_once,
    planned_at_once,
)

Elements = Callable[[int], Sequence[numpy.ndarray[Any, Any]]]


def values(*shape: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape).astype(numpy.float32)


def functional(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else opdsl.nn.functional


def with_rate(lib: Any, n: int, *lists: Any) -> Any:
    """Update lists of tensors as optimizers do, with other numbers in each step."""
    tensors = list(lists)
    lib._foreach_div_(tensors, (1 - 0.9**n) ** 0.5)
    lib._foreach_addcdiv_(tensors, [*tensors], [tensor.abs() + 1 for tensor in tensors], -0.1 / n)
    return tensors


def with_letters(lib: Any, n: int, x: Any, y: Any) -> Any:
    """Compute einsum products whose equations have other letters for each number, in another alphabetical order."""
    i, j, k = numpy.random.default_rng(n).permutation(list(string.ascii_letters))[:3]
    return lib.einsum(f"{i}{j},{j}{k}->{k}{i}", x, y), lib.einsum(f"{i}...,{i}...", x, x)


def written_at_list(lib: Any, n: int, x: Any) -> Any:
    x[[n, n + 1, 0]] = 1.5
    return x


CALLS: dict[str, tuple[Elements, Callable[..., Any]]] = {
    "tril": (lambda n: [values(40, 70)], lambda lib, n, x: (x.tril(n), x.tril(-n), x.triu(-n))),
    "diagonal": (lambda n: [values(8, 200)], lambda lib, n, x: (x.diagonal(n), x.t().diagonal(-n))),
    "a slice from the end": (lambda n: [values(3, 200)], lambda lib, n, x: (x[:, -n:], x[:, :-n])),
    "unfold": (lambda n: [values(200)], lambda lib, n, x: x.unfold(0, n, 2)),
    "linspace": (lambda n: [], lambda lib, n: (lib.linspace(0, 1, n), lib.logspace(0, 1, n))),
    "tril_indices": (lambda n: [], lambda lib, n: (lib.tril_indices(n, 9, n - 20), lib.triu_indices(7, n, -3))),
    "one_hot": (lambda n: [numpy.arange(9)], lambda lib, n, x: functional(lib).one_hot(x, n + 9)),
    "one_hot of what elements say": (lambda n: [numpy.arange(n)], lambda lib, n, x: functional(lib).one_hot(x)),
    "histc": (lambda n: [values(300)], lambda lib, n, x: lib.histc(x, n, -2, 2)),
    "histc between edges": (lambda n: [values(300)], lambda lib, n, x: lib.histc(x, 20, -n / 60, n / 50)),
    "pooling": (lambda n: [values(1, 200)], lambda lib, n, x: functional(lib).avg_pool1d(x, n)),
    "isin": (lambda n: [numpy.arange(n), numpy.arange(3, n // 9 + 5)], lambda lib, n, x, y: lib.isin(x, y)),
    "resized": (
        lambda n: [values(1, 2, 9, 9)],
        lambda lib, n, x: functional(lib).interpolate(x, (n // 2 + 3, n), mode="bilinear"),
    ),
    "resized by a factor": (
        lambda n: [values(1, 2, 9)],
        lambda lib, n, x: functional(lib).interpolate(x, scale_factor=n / 7, mode="linear"),
    ),
    "attention": (
        lambda n: [values(1, 2, n, 8)] * 3,
        lambda lib, n, *x: functional(lib).scaled_dot_product_attention(*x, is_causal=True),
    ),
    "an equation": (lambda n: [values(3, 4), values(4, 5)], with_letters),
    "a list of positions": (lambda n: [values(200, 3)], lambda lib, n, x: (x[[n, n // 2]], x[:, [n % 3, -1]])),
    "written at a list of positions": (lambda n: [values(200, 3)], written_at_list),
    "lists and numbers": (lambda n: [values(3, 2), values(4)], with_rate),
}

NUMBERS = tuple(int(number) for number in numpy.random.default_rng(0).permutation(range(9, 119)))
LEARNED = 70


def held(name: str, n: int) -> None:
    """Compare a call with a number with PyTorch's result."""
    elements, call = CALLS[name]
    arrays = elements(n)
    ours = flat(call(opdsl, n, *[opdsl.from_numpy(array.copy()) for array in arrays]))
    theirs = flat(call(torch, n, *[torch.from_numpy(array.copy()) for array in arrays]))
    assert len(ours) == len(theirs), n
    for mine, other in zip(ours, theirs, strict=True):
        assert (tuple(mine.shape), tuple(mine.stride())) == (tuple(other.shape), tuple(other.stride())), n
        numpy.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=2e-5, atol=2e-6, err_msg=f"number {n}")


def flat(result: Any) -> list[Any]:
    """Return all tensors of a result."""
    return [leaf for part in result for leaf in flat(part)] if isinstance(result, (tuple, list)) else [result]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the calls that no plan served, in a list that tests clear."""
    names: list[str] = []
    usual = CallCache.slow

    def noted(self: CallCache, *inputs: Any) -> object:
        names.append(self.name)
        return usual(self, *inputs)

    monkeypatch.setattr(CallCache, "slow", noted)
    return names


@pytest.mark.parametrize("name", CALLS)
def test_new_numbers_are_served_by_plans(name: str, slow: list[str]) -> None:
    for n in NUMBERS[:LEARNED]:
        held(name, n)
    slow.clear()
    for n in NUMBERS[LEARNED:]:
        held(name, n)
    # A few numbers may fail a new guard and need a plan; the calls of no kind do so again and again.
    assert len(slow) <= 4, slow


DRAWN: dict[str, Callable[..., Any]] = {
    "dropout": lambda x, n: opdsl.nn.functional.dropout(x, n / 130),
    "normal_": lambda x, n: x.normal_(n / 7, n / 9),
    "log_normal_": lambda x, n: x.log_normal_(n / 70, n / 90),
    "uniform_": lambda x, n: x.uniform_(-n / 7, n / 9),
    "bernoulli_": lambda x, n: x.bernoulli_(n / 130),
    "exponential_": lambda x, n: x.exponential_(n / 7),
}


@pytest.mark.parametrize("name", DRAWN)
def test_new_numbers_of_distributions_are_served_by_plans(name: str, slow: list[str]) -> None:
    def drawn(n: int) -> Any:
        return DRAWN[name](opdsl.from_numpy(values(50)), n).numpy()

    for n in NUMBERS[:10]:
        drawn(n)
    slow.clear()
    for n in NUMBERS[10:]:
        assert numpy.isfinite(drawn(n)).all()
    assert len(slow) <= 4, slow
    opdsl.manual_seed(n)
    served = drawn(n)
    opdsl.manual_seed(n)
    with planned_at_once():
        numpy.testing.assert_array_equal(drawn(n), served)


def test_small_numbers_of_calls_without_tensors_share_plans(slow: list[str]) -> None:
    for n in (20, 30, 40):
        held("tril_indices", n)
    slow.clear()
    for rows in range(2, 9):
        for columns in range(2, 9):
            assert opdsl.tril_indices(rows, columns).tolist() == torch.tril_indices(rows, columns).tolist()
    assert len(slow) <= 8, slow


def test_one_hot_with_as_many_classes_as_bytes_adds_no_guard(slow: list[str]) -> None:
    for n in NUMBERS[:LEARNED]:
        held("one_hot of what elements say", n)
    slow.clear()
    for _ in range(3):
        held("one_hot of what elements say", 8)
    assert slow == []


def test_specialized_plans_leave_other_numbers_to_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    for often in range(30, 50):
        for _ in range(HOT_NUMBERS_FROM + 8):
            opdsl.arange(often)
    computed: list[Any] = []
    usual = ranges.arange_size

    def noted(*inputs: Any) -> int:
        computed.append(inputs)
        return usual(*inputs)

    monkeypatch.setattr(ranges, "arange_size", noted)
    for n in NUMBERS:
        assert opdsl.arange(n).tolist() == torch.arange(n).tolist()
    assert len(computed) <= 4


def test_repeated_numbers_get_specialized_plans_when_these_pay(slow: list[str]) -> None:
    assert HOT_FROM < HOT_NUMBERS_FROM
    for _ in range(HOT_FROM + 8):
        for n in range(300, 304):
            opdsl.eye(n)
    slow.clear()
    for _ in range(HOT_FROM):
        opdsl.eye(303)
    assert slow == []
    for _ in range(HOT_NUMBERS_FROM):
        opdsl.eye(303)
    assert 1 <= slow.count("eye") <= 3
    slow.clear()
    opdsl.eye(303)
    assert slow == []


def test_small_integers_of_options_are_told_apart() -> None:
    x = values(2, 3, 4, 5)
    with lowered_at_once():
        for dim in (0, 3, 2, -1, 1, -4, -3, 2):
            ours, theirs = (lib.from_numpy(x).cumsum(dim) for lib in (opdsl, torch))
            numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_integers_are_told_apart_where_python_code_asks() -> None:
    seen: list[int] = []
    with opdsl.Library("testnumbers") as lib:

        @lib.op
        @opdsl.traceable
        def powers(self: opdsl.Tensor, count: int) -> opdsl.Tensor:
            power = self
            for _ in range(count // 10):
                power = power * self
            return power if count % 2 else -power

        with lowered_at_once():
            for count in (9, 10, 11, 25, 30, -9, -11, 0, 1, 40, 41):
                x = opdsl.full((2,), 2.0)
                sign = 1.0 if count % 2 else -1.0
                seen.append(count)
                assert powers(x, count).tolist() == [sign * 2.0 ** (1 + max(count // 10, 0))] * 2, count


def test_numbers_of_lists_of_tensors_are_handed_to_plans() -> None:
    for scale in (0.5, 2, -0.0, 3.25, True, float("nan"), 7, 1e300):
        for _ in range(3):
            ours, theirs = (
                lib._foreach_mul([lib.ones(2), lib.ones(3, dtype=lib.int64)], scale) for lib in (opdsl, torch)
            )
            for mine, other in zip(ours, theirs, strict=True):
                assert str(mine.dtype).rpartition(".")[2] == str(other.dtype).rpartition(".")[2]
                numpy.testing.assert_array_equal(mine.numpy(), other.numpy())


def test_a_form_has_a_bounded_number_of_plans_and_the_last_is_general() -> None:
    x = opdsl.ones(3, 4)
    for n in NUMBERS:
        (opdsl.ones(n, n // 3 + 1) + opdsl.ones(n, 1)).t().contiguous()
    assert (x + x).tolist() == [[2.0] * 4] * 3
    forms = [
        value
        for value in opdsl.add.__globals__["forms"].values()
        for value in value.values()
        if hasattr(value, "variants")
    ]
    assert 0 < GENERAL_FROM < MOST_VARIANTS
    assert all(len(form.variants) <= GENERAL_FROM + 2 for form in forms)
