"""Tests that consecutive kernels run as one function and share a block of memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.backends.cpu.builtin import Plan
from opdsl.backends.cpu.memory import allocator
from opdsl.backends.cpu.sequence import sequenced
from opdsl.runtime.lowering import Check, Step, SymbolicArray


def values(*shape: int, seed: int = 0) -> Any:
    return opdsl.from_numpy(numpy.random.default_rng(seed).normal(size=shape))


def chained(x: Any, w: Any) -> Any:
    """Compute products with unfused steps between them, views, and several results."""
    first = (x @ w).tanh()
    left, right = (first.t() @ first).chunk(2, 1)
    joined = opdsl.cat([left.exp(), right * 2], 1) @ w.t()
    return joined.sum(0), joined[1:].t(), first


def lines(compiled: Any) -> list[str]:
    """Return the names of the functions that the plan for exact geometries calls."""
    (running,) = (program for form in compiled._forms.values() for program in form.running)
    (plan,) = running.plans.plans.values()
    return [getattr(entry, "__name__", "") for entry in plan.__globals__.values()]


def test_kernels_between_which_nothing_is_done_are_one_call() -> None:
    compiled = opdsl.compile(chained)
    kept = []
    for seed in (0, 0, 0, 1, 2):
        inputs = values(6, 4, seed=seed), values(4, 4, seed=seed + 9)
        kept.append((compiled(*inputs), chained(*inputs)))
    for actual, wanted in kept:  # later calls do not change earlier results
        for one, other in zip(actual, wanted, strict=True):
            assert one.stride() == other.stride()
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-13)
    assert lines(compiled).count("kernels_cpu") == 1
    assert not any(line.startswith("product") for line in lines(compiled))


def test_threads_share_no_block() -> None:
    compiled = opdsl.compile(chained)
    inputs = [(values(6, 4, seed=seed), values(4, 4, seed=seed + 50)) for seed in range(8)]
    wanted = [chained(*input)[0].tolist() for input in inputs]
    for input in inputs:
        compiled(*input)

    def run(at: int) -> bool:
        return all(compiled(*inputs[at])[0].tolist() == result for result in [compiled(*inputs[at])[0].tolist()] * 50)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(8)))
    for input, one in zip(inputs, wanted, strict=True):
        numpy.testing.assert_allclose(compiled(*input)[0].numpy(), one, rtol=1e-13)


def test_numbers_that_come_with_a_call_are_seen() -> None:
    compiled = opdsl.compile(lambda x, w, a: ((x @ w) * a) @ w + 3)
    for a in (0.5, 2.0, 2.0, -1.0, 0.25):
        x, w = values(3, 4), values(4, 4, seed=1)
        numpy.testing.assert_allclose(compiled(x, w, a).numpy(), (((x @ w) * a) @ w + 3).numpy(), rtol=1e-13)


def test_writes_to_arguments_are_done_in_order() -> None:
    def function(x: Any, w: Any) -> Any:
        y = x @ w
        w.copy_(y.t() @ y)
        return x @ w, y

    compiled = opdsl.compile(function)
    for seed in range(4):
        ours, wanted = ((values(4, 4, seed=seed), values(4, 4, seed=9)) for _ in range(2))
        for one, other in zip((*compiled(*ours), *ours), (*function(*wanted), *wanted), strict=True):
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


def _kernel() -> Any:
    """Return the kernel of ``x * y + x`` for vectors of four elements, which allocates its result."""
    compiled = opdsl.compile(lambda x, y: x * y + x)
    for _ in range(4):
        compiled(values(4), values(4))
    (running,) = (program for form in compiled._forms.values() for program in form.running)
    (plan,) = running.plans.plans.values()
    return next(kernel for kernel in plan.__self__.owned if type(getattr(kernel, "__self__", None)) is Plan)


def test_what_a_check_reads_is_no_part_of_the_block() -> None:
    kernel = _kernel()
    x, y = SymbolicArray("x.array", None), SymbolicArray("y.array", None)

    def step(first: Any, second: Any, name: str) -> Step:
        return Step(kernel, (first, second), (name,))

    a, b = (SymbolicArray(f"array{at}", None) for at in range(2))
    steps = [step(x, y, "array0"), step(a, y, "array1"), step(b, a, "array2"), Check("array1.any()", True)]
    sequence = sequenced(steps, {"array2"})
    names = [entry.results[0] for entry in sequence if isinstance(entry, Step) and entry.results]
    assert names == ["array1", "array2", "block_of_array0"]
    assert [type(entry) for entry in sequence[-2:]] == [Step, Check]
    run = sequence[-2]
    assert isinstance(run, Step)
    assert [operand.text for operand in run.operands] == ["block_of_array0", "x.array", "y.array", "array1", "array2"]
    rows = [numpy.arange(4.0) + at for at in range(2)]
    results = [numpy.zeros(4) for _ in range(2)]
    run.function(numpy.empty(64, numpy.uint8), *rows, *results)
    one = rows[0] * rows[1] + rows[0]
    two = one * rows[1] + one
    numpy.testing.assert_array_equal(results, [two, two * one + two])
    with pytest.raises(TypeError):
        run.function(None, *rows, *results)
    with pytest.raises(TypeError):
        run.function(*rows)


def test_one_kernel_stays_as_it_is() -> None:
    steps = [Step(_kernel(), (SymbolicArray("x.array", None),) * 2, ("array0",))]
    assert sequenced(steps, {"array0"}) == steps
    assert isinstance(allocator((4,), numpy.dtype("f8")), partial)
