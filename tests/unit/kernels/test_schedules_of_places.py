"""Tests of schedules of loops over indices: the interpreter computes the same as for the unscheduled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl.backends.cpu import indexed as chosen
from opdsl.backends.cpu.accesses import program_of
from opdsl.kernels.calls import Layout
from opdsl.kernels.kernel import Kernel
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.joining import joined
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.model import Array, Program
from opdsl.kernels.loops.rewriting import specialised
from opdsl.nn import functional

CALLS = {
    "pad, reflect": "f.pad(x, (2, 3, 1, 1), 'reflect')",
    "largest of windows": "f.max_pool2d(x, 3, 2, 1, return_indices=True)",
    "means of windows": "f.avg_pool2d(x, 3, 1, 1)",
    "means of wide windows": "f.avg_pool2d(x, 5, 1, 2)",
    "means of uneven windows": "f.adaptive_avg_pool2d(x, 3)",
    "largest of uneven windows": "f.adaptive_max_pool2d(x, 2)",
    "neighbours": "f.interpolate(x, scale_factor=2)",
    "bilinear": "f.interpolate(x, scale_factor=1.5, mode='bilinear')",
    "points": "f.grid_sample(x, opdsl.linspace(-1.2, 1.2, 60).reshape(2, 5, 3, 2), align_corners=False)",
    "points of many channels": "f.grid_sample(x.repeat(1, 30, 1, 1), opdsl.linspace(-1, 1, 60).reshape(2, 5, 3, 2))",
}


def captured(text: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Return the forms of the kernels that a statement and its backward pass run, each with the layout."""
    result = []
    plain = chosen._form

    def form(kernel: Kernel, layout: Layout) -> Any:
        output = plain(kernel, layout)
        if is_known(layout):
            result.append((output, layout))
        return output

    monkeypatch.setattr(chosen, "_form", form)
    rng = np.random.default_rng(0)
    x = opdsl.tensor(rng.integers(-9, 9, (2, 3, 7, 6)).astype("float32")).requires_grad_()
    y = eval(text, {"f": functional, "x": x, "opdsl": opdsl})
    y = y[0] if isinstance(y, tuple) else y
    y.backward(opdsl.ones_like(y))
    return result


def memory(array: Array, words: dict[str, int], rng: np.random.Generator) -> Any:
    """Return random numbers for an array, from its first element to its last one."""
    sizes, strides = ([words.get(str(number), number) for number in part] for part in (array.sizes, array.strides))
    count = 1 + sum((int(size) - 1) * int(stride) for size, stride in zip(sizes, strides, strict=True))
    return rng.integers(-3, 4, count).astype(array.dtype.numpy)


def is_known(layout: Layout) -> bool:
    """Return whether sizes are numbers: those of a plan of a form are symbols."""
    return all(type(size) is int for sizes in layout.sizes for size in sizes)


def words_of(form: Any, layout: Layout) -> dict[str, int]:
    """Return the values that a kernel reads from its plan, with strides in elements."""
    words = dict(zip(chosen._words(form), chosen._details(form.kernel, layout), strict=True))
    for operand, spec in zip(form.kernel.operands, (*layout.inputs, *layout.outputs), strict=True):
        for word in words:
            if word.startswith(f"{operand.name}_s"):
                words[word] //= spec.dtype.itemsize
    return words


def ran(program: Program, words: dict[str, int]) -> list[Any]:
    """Run a program on fixed random numbers, and return the memory of all arrays."""
    check_program(program)
    rng = np.random.default_rng(1)
    memories = [
        memory(parameter, words, rng) if isinstance(parameter, Array) else 0.5 for parameter in program.parameters
    ]
    interpret(program, memories, [words[word] for word in program.words])
    return memories


@pytest.mark.parametrize("name", CALLS)
def test_a_schedule_does_what_its_loops_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = captured(CALLS[name], monkeypatch)
    assert forms
    for form, layout in forms:
        words = words_of(form, layout)
        plain = specialised(program_of(form.kernel, form.strides), dict(form.known))
        for one, other in zip(ran(plain, words), ran(chosen.scheduled(form), words), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("dims", "left"), [(2, 3), (3, 3)])
def test_dimensions_that_lie_behind_one_another_are_one(dims: int, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[tuple[Kernel, Layout]] = []

    def kept(kernel: Kernel, layout: Layout) -> tuple[Kernel, Layout]:
        if is_known(layout):
            pairs.append((kernel, layout))
        return joined(kernel, layout)

    monkeypatch.setattr(chosen, "joined", kept)
    rng = np.random.default_rng(0)
    x = opdsl.tensor(rng.integers(-9, 9, (2, 3, *(4, 5, 6)[:dims])).astype("float32")).requires_grad_()
    points = opdsl.tensor(rng.uniform(-1.2, 1.2, (2, *(2, 4, 3)[:dims], dims)).astype("float32")).requires_grad_()
    y = functional.grid_sample(x, points, align_corners=False)
    y.backward(opdsl.ones_like(y))
    assert len(pairs) == 3
    for computation in pairs:
        one = joined(*computation)
        assert (own_points(computation[0]), own_points(one[0])) == (dims + 2, left)
        np.testing.assert_array_equal(*(np.concatenate(ran_call(*axis)) for axis in (computation, one)))


def test_dimensions_of_views_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setattr(chosen, "joined", lambda *inputs: (counts.append(own_points(joined(*inputs)[0])), inputs)[1])
    points = opdsl.zeros(2, 4, 6, 2)[:, :, :5]
    functional.grid_sample(opdsl.ones(2, 3, 5, 5), points, align_corners=False)
    assert {*counts} == {4}


def own_points(kernel: Kernel) -> int:
    """Return the number of the result's indices in the function."""
    return sum(axis.name.startswith("i") for axis in kernel.ranges)


def ran_call(kernel: Kernel, layout: Layout) -> list[Any]:
    """Run the loops of a call, and return the memory of all arrays."""
    loops = lowered(kernel, layout, trusted=True)
    return ran(loops.program, dict(zip(loops.program.words, loops.words, strict=True)))
