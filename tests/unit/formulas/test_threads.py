"""Tests of formulas that several threads read, declare and call at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

import opdsl
from opdsl import Library, Tensor, formula

THREADS = 8


def in_threads(work: Callable[[int], None]) -> list[BaseException]:
    """Run a function in threads that start together, and return the errors that they raise."""
    errors: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def run(index: int) -> None:
        start.wait()
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    return errors


def test_one_formula_is_read_by_many():
    with Library("formula_threads") as lib:

        @lib.op
        @formula
        def shared(self: Tensor, scale: float = 1.0) -> Tensor:
            y = self * scale if self > 0 else opdsl.exp(self)
            return y / (1 + y.abs().amax(-1, keepdim=True))

        @lib.op
        @formula
        def of_elements(self: Tensor, scale: float = 1.0) -> Tensor:
            return self * scale if self > 0 else opdsl.exp(self)

        def work(index: int) -> None:
            for size in (2, 3, 4):
                values = np.linspace(-1, 1, size * (1 + index % 3)).reshape(1 + index % 3, size)
                x = opdsl.tensor(values, requires_grad=True)
                y = np.where(values > 0, values * 2, np.exp(values))
                assert np.allclose(of_elements(x, 2.0).detach().numpy(), y)
                assert np.allclose(shared(x, 2.0).detach().numpy(), y / (1 + np.abs(y).max(-1, keepdims=True)))
                of_elements(x, 2.0).sum().backward()
                assert np.allclose(x.grad.numpy(), np.where(values > 0, 2.0, np.exp(values)))

        assert in_threads(work) == []


def test_threads_declare_call_and_let_go():
    def work(index: int) -> None:
        for turn in range(3):
            with Library(f"formula_thread_{index}_{turn}") as lib:

                @lib.op
                @formula
                def own(self: Tensor) -> Tensor:
                    return self * (index + 1) if self > 0 else self

                assert own(opdsl.tensor([-1.0, 2.0])).tolist() == [-1.0, 2.0 * (index + 1)]

    assert in_threads(work) == []
