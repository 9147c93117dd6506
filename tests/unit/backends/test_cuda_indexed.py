"""Tests of loops over indices in CUDA C++, run by an emulated grid, against the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import opdsl
from opdsl import Ints, Library, Tensor, primitives
from opdsl.backends.cuda.schedules import by_threads
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.making import Loops
from tests.emulation import programs as emulation
from tests.emulation.libraries import needs_compiler
from tests.unit.backends.recording import Recorder, differs
from tests.unit.kernels.loop_programs import Drawn, drawn_programs

pytestmark = needs_compiler


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("cuda_indexed") as lib:
        yield lib


def by_positions(operator: Any, **options: Any) -> Callable[[Callable[..., Any]], None]:
    """Return a decorator that computes an operator by a function of indices."""

    def attach(function: Callable[..., Any]) -> None:
        loop = primitives.positions(function, **options)

        @operator.formula  # type: ignore[untyped-decorator]
        def formula(self: Tensor) -> Tensor:
            return loop(self)

    return attach


def require_agreement(recorder: Recorder) -> None:
    """Check that an emulated grid computes the CPU's results for all records."""
    programs = [record.program for record in recorder.records]
    emulation.build(programs)
    for run, program in zip(recorder.records, programs, strict=True):
        operands = run.operands
        emulation.run(program, operands)
        outputs = operands[len(operands) - len(run.results) :]
        assert not any(differs(*pair, exact=False) for pair in zip(outputs, run.results, strict=True)), run.operator


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "uint8", "complex64"])
def test_margins_and_gradients(library: Library, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["indexed"])
    kind = getattr(opdsl, dtype)
    x = (opdsl.arange(70).view(2, 5, 7) % 11).to(kind)
    with recorder.installed(monkeypatch):
        for margin in (1, "replicate", "reflect", "circular"):

            @library.op
            def f(self: Tensor, before: int) -> Tensor: ...

            @f.meta
            def f_meta(ctx, self, before):  # type: ignore[no-untyped-def]
                ctx.set_output(0, (self.shape[0], self.shape[1] + 4, self.shape[2] + 3), like=self)

            @by_positions(f, at=("...", "i", "j"), margin=margin)
            def element(self, before, i, j):  # type: ignore[no-untyped-def]
                return self[..., i - before, j - 1] + self[..., i - before, j]

            recorder.operator = f"{margin} {dtype}"
            f(x.clone(), 2)
            if kind.is_floating_point or kind.is_complex:
                y = x.clone().requires_grad_()
                f(y, 2).sum().backward(opdsl.ones((), dtype=kind))
    assert len(recorder.records) == (12 if kind.is_floating_point or kind.is_complex else 4)
    require_agreement(recorder)


def test_folds(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    @library.op
    def pooled(self: Tensor, size: Ints[2], padding: Ints[2]) -> tuple[Tensor, Tensor]: ...

    @pooled.meta
    def pooled_meta(ctx, self, size, padding):  # type: ignore[no-untyped-def]
        counts = [n + 2 * p - k + 1 for n, k, p in zip(self.shape[-2:], size, padding, strict=True)]
        ctx.set_output(0, (*self.shape[:-2], *counts), like=self)
        ctx.set_output(1, (*self.shape[:-2], *counts), like=self, dtype=opdsl.int64)
        return {"u": size[0], "v": size[1]}

    @by_positions(pooled, at=("...", "i", "j"), over=("u", "v"), fold="max", margin="skip")
    def largest(self, padding, i, j, u, v):  # type: ignore[no-untyped-def]
        return self[..., i + u - padding[0], j + v - padding[1]]

    @library.op
    def distance(self: Tensor, other: Tensor, p: float) -> Tensor: ...

    @by_positions(distance, at=("...", "i", "j"), over="k", fold="sum", finish=lambda total, p: math.pow(total, 1 / p))
    def term(self, other, p, i, j, k):  # type: ignore[no-untyped-def]
        return abs(self[..., i, k] - other[..., j, k]) ** p

    @library.op
    def picked(self: Tensor, places: Tensor) -> Tensor: ...

    @by_positions(picked, at=("i", "j"))
    def element(self, places, i, j):  # type: ignore[no-untyped-def]
        return self[i, places[j]] ** 2

    recorder = Recorder(["indexed"])
    x = (opdsl.arange(70.0).view(2, 5, 7) * 7 % 11).requires_grad_()
    with recorder.installed(monkeypatch):
        pooled(x, (3, 2), (1, 1))[0].sum().backward()
        distance(x, (opdsl.ones(3, 7) * 0.5).requires_grad_(), 3.0).sum().backward()
        picked(x[0], opdsl.tensor([2, 2, 0])).sum().backward()
    assert len(recorder.records) >= 8
    require_agreement(recorder)


@settings(max_examples=6)
@given(drawn=drawn_programs())
def test_the_printer_does_what_the_oracle_does(drawn: Drawn) -> None:
    expected: list[Any] = [array.copy() for array in drawn.arrays]
    interpret(drawn.program, [*expected, *drawn.numbers], drawn.words)
    loops = Loops(drawn.program, tuple(drawn.words), tuple(range(len(drawn.program.parameters))))
    for threaded in (0, len(drawn.program.points[0])):  # one thread for all points, or a thread for each
        copies = [array.copy() for array in drawn.arrays]
        emulation.run(by_threads(loops, threaded), [*copies, *drawn.numbers])
        for one, other in zip(copies, expected, strict=True):
            np.testing.assert_array_equal(one, other)
