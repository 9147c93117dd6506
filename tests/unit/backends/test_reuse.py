"""Tests that large results reuse the memory of operands that are not read any more, and of no others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.backends.cpu import reuse, sequence
from opdsl.backends.cpu.memory import empty_cache, memory_stats

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _every_array_is_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for operand in (reuse, sequence):
        monkeypatch.setattr(operand, "LARGE", -1)
    yield


def values(*shape: int, seed: int = 0) -> Any:
    return opdsl.from_numpy(numpy.random.default_rng(seed).normal(size=shape))


def views_made(compiled: Any) -> int:
    """Return the number of array views that the plan for exact geometries creates."""
    (running,) = (program for form in compiled._forms.values() for program in form.running)
    (plan,) = running.plans.plans.values()
    return sum(getattr(entry, "__name__", "") == "array_view" for entry in plan.__globals__.values())


def assert_same(result: Any, wanted: Any) -> None:
    for one, other in zip(result, wanted, strict=True):
        assert one.stride() == other.stride()
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


# Functions, each with the number of its results that reuse the memory of an operand.
FUNCTIONS: dict[str, tuple[Function, int]] = {
    "a product that is read once": (lambda x: ((x @ x).tanh(),), 1),
    "a product that is read once on the way": (lambda x: ((x @ x).tanh() @ x,), 1),
    "one of two": (lambda x: (((x @ x) + (x @ x.t())).exp() @ x,), 1),
    "a row": (lambda x: ((x @ x).log_softmax(-1) @ x,), 1),
    "an argument": (lambda x: (x.tanh() @ x,), 0),
    "what is read again": (lambda x: ((y := x @ x).tanh() @ y,), 0),
    "what is returned": (lambda x: ((y := x @ x), y.tanh() @ x), 0),
    "a view of what is returned": (lambda x: ((y := x @ x)[1:], y.tanh() @ x), 0),
    "what is read in another order, too": (lambda x: (((y := x @ x) + y.t()) @ x,), 0),
    "what is smaller": (lambda x: (((x @ x)[:1] + x) @ x,), 0),
    "what is transposed, as its result": (lambda x: ((x @ x).t().tanh() @ x,), 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_reuse_the_memory_of_operands_that_are_not_read_any_more(name: str) -> None:
    function, over = FUNCTIONS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "with_results_over_operands", lambda steps, *_: steps)
        plain = opdsl.compile(function)
        for seed in range(3):
            plain(values(4, 4, seed=seed))
    compiled = opdsl.compile(function)
    for seed in range(4):
        inputs = values(4, 4, seed=seed)
        before = inputs.numpy().copy()
        assert_same(compiled(inputs), function(inputs))
        numpy.testing.assert_array_equal(inputs.numpy(), before)
    assert views_made(compiled) - views_made(plain) == over


def random_function(draw: random.Random) -> Function:
    """Return a random function of two matrices: products, pointwise calls, rows, views; it returns its last two
    values.
    """
    steps: list[Function] = [
        lambda a, b: a @ b,
        lambda a, b: (a - b).tanh(),
        lambda a, b: a.softmax(-1) * b,
        lambda a, b: a.t().sigmoid() + b,
        lambda a, b: (a - a.mean(0, keepdim=True)) * 0.5 + b.sum(-1, keepdim=True),
        lambda a, b: opdsl.where(a > b, a, b.abs()),
        lambda a, b: a.reshape(-1).view(b.shape) + b,
        lambda a, b: opdsl.cat([a[2:], b[:2]]),
        lambda a, b: opdsl.native_layer_norm(a, (4,), b[0], b[1], 1e-5)[0],
    ]
    choices = [(draw.choice(steps), draw.random(), draw.random()) for _ in range(10)]

    def function(x: Any, y: Any) -> Any:
        output = [x, y]
        for step, first, second in choices:
            output.append(step(*(output[-1 - int(operand * min(4, len(output)))] for operand in (first, second))))
        return output[-1], output[-2].t()

    return function


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_give_what_their_functions_give(seed: int) -> None:
    function = random_function(random.Random(seed))
    compiled = opdsl.compile(function)
    for at in range(3):
        inputs = values(4, 4, seed=at), values(4, 4, seed=at + 50)
        for one, other in zip(compiled(*inputs), function(*inputs), strict=True):
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_gradients_of_random_programs_are_those_of_their_functions(seed: int) -> None:
    function = random_function(random.Random(seed))
    compiled = opdsl.compile(function)
    for at in range(3):
        inputs = [values(4, 4, seed=at).requires_grad_(), values(4, 4, seed=at + 50).requires_grad_()]
        actual, wanted = (
            opdsl.autograd.grad(operand(*inputs)[0].square().sum(), inputs, allow_unused=True)
            for operand in (compiled, function)
        )
        for one, other in zip(actual, wanted, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-10)


def test_three_large_arrays_that_live_after_one_another_take_the_memory_of_two() -> None:
    size = 512 * 512 * 8
    x = values(512, 512)
    compiled = opdsl.compile(lambda x: (((x @ x) + (x @ x.t())).exp() @ x).sum())
    with opdsl.no_grad():
        for _ in range(3):
            compiled(x)
        empty_cache()
        compiled(x)
    assert memory_stats()["cached"] == 2 * size
