"""Tests of plans for traceable kernels, which consist of the plans of the operators that they call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import opdsl
from opdsl import Alias, Library, Tensor, formula, traceable
from opdsl.dispatch import Operator
from opdsl.dispatch.plans.policy import MOST_VARIANTS as LIMIT
from opdsl.kernels import fill_


@contextmanager
def without_looking_for_kernels() -> Iterator[None]:
    """Make calls in this block fail unless they run by plans."""
    find = Operator.find
    Operator.find = None  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Operator.find = find  # type: ignore[method-assign]


@contextmanager
def declared(body: Callable[..., Any], *, is_traceable: bool = True) -> Iterator[Any]:
    """Declare a composite operator with a body, and yield it."""
    with Library("testtracing") as lib:
        yield lib.op(traceable(body) if is_traceable else body)


def square() -> Tensor:
    return opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_a_body_does_not_run_once_it_is_planned() -> None:
    runs = []

    def body(self: Tensor, other: Tensor) -> Tensor:
        runs.append(1)
        return (self.t() + other).exp() - 1

    with declared(body) as f:
        f(square(), square())
        first = f(square(), square())
        seen = len(runs)
        with without_looking_for_kernels():
            second = f(square(), square())
        assert len(runs) == seen
        assert first.tolist() == second.tolist() == ((square().t() + square()).exp() - 1).tolist()


@pytest.mark.parametrize(
    "call",
    [lambda x: x.reshape(4), lambda x: x.sum(), lambda x: x.mean(), lambda x: x @ x, lambda x: x.ravel()],
)
def test_operators_of_aten_that_are_planned_so(call: Callable[[Tensor], Tensor]) -> None:
    call(square())
    expected = call(square()).tolist()
    with without_looking_for_kernels():
        assert call(square()).tolist() == expected


def test_a_planned_view_is_a_view() -> None:
    square().reshape(4)
    x = square()
    x.reshape(4).neg_()
    assert x.tolist() == [[-1.0, -2.0], [-3.0, -4.0]]


def test_lists_of_tensors_are_given_and_returned() -> None:
    def body(tensors: list[Tensor]) -> list[Tensor]:
        joined = opdsl.cat([tensors[1], tensors[0]])
        return [joined.neg(), joined.t()]

    with declared(body) as f:
        for _ in range(3):
            first, second = f([square(), square().t()])
            assert first.tolist() == [[-1.0, -3.0], [-2.0, -4.0], [-1.0, -2.0], [-3.0, -4.0]]
            assert second.shape == (2, 4)


def test_in_place_steps_on_a_result_are_made_again() -> None:
    def body(self: Tensor) -> Tensor:
        total = self.add(1)
        total.mul_(self)
        return total

    with declared(body) as f:
        for _ in range(3):
            x = square()
            assert f(x).tolist() == [[2.0, 6.0], [12.0, 20.0]]
            assert x.tolist() == square().tolist()


def test_numbers_of_the_call_are_never_taken_for_constants() -> None:
    def body(self: Tensor, by: float) -> Tensor:
        return self * (by + 1)

    with declared(body) as f:
        for by in (1.0, 2.0, 1.0, 3.0):
            assert f(opdsl.ones(1), by).tolist() == [by + 1]


def test_shapes_that_elements_decide_are_not_planned() -> None:
    def body(self: Tensor) -> Tensor:
        return opdsl.nonzero(self).sum()

    with declared(body) as f:
        for values, expected in (([0.0, 1.0], 1), ([1.0, 1.0], 1), ([0.0, 0.0], 0), ([0.0, 2.0], 1)):
            assert f(opdsl.tensor(values)).tolist() == expected


def test_a_tensor_from_elsewhere_is_not_planned_as_an_argument() -> None:
    elsewhere = opdsl.ones(2)

    def body(self: Tensor) -> Tensor:
        return self + elsewhere

    with declared(body) as f:
        for _ in range(3):
            assert f(opdsl.ones(2)).tolist() == [2.0, 2.0]


def test_a_body_without_the_promise_runs_each_time() -> None:
    runs = []

    def body(self: Tensor) -> Tensor:
        runs.append(1)
        return self.neg()

    with declared(body, is_traceable=False) as f:
        for _ in range(4):
            f(square())
    assert len(runs) == 4


def test_a_newer_kernel_of_what_is_called_is_used_and_given_back() -> None:
    def inner(self: Tensor) -> Tensor:
        return self @ self

    with declared(inner) as f, Library("testtracingouter") as lib:

        @lib.op
        @traceable
        def outer(self: Tensor) -> Tensor:
            return f(self).neg()

        expected = outer(square()).tolist()
        assert outer(square()).tolist() == expected
        with Library("testtracing") as newer:

            @newer.impl("aten::mm", "CPU")
            def mm_newer(self, mat2):
                return self * 0

            for _ in range(2):
                assert outer(square()).tolist() == [[0.0, 0.0], [0.0, 0.0]]
                assert (square() @ square()).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        for _ in range(2):
            assert outer(square()).tolist() == expected


def test_modes_and_recorders_see_what_a_planned_body_calls() -> None:
    names: list[str] = []

    class Note(opdsl.DispatchMode):
        def dispatch(self, operator, args, kwargs):
            names.append(operator.__name__)
            return operator(*args, **kwargs)

    x, y = opdsl.ones(2, 3, 4), opdsl.ones(2, 4, 3)
    for _ in range(2):
        x @ y
    with Note():
        x @ y
    assert "bmm" in names and "matmul" not in names
    names.clear()
    for _ in range(2):
        with opdsl.record_calls(lambda operator, *_: names.append(operator.__name__)):
            x @ y
    assert names == ["matmul"] * 2


def test_the_default_dtype_belongs_to_the_plan() -> None:
    def body(self: Tensor) -> Tensor:
        return self + 0.5

    with declared(body) as f:
        x = opdsl.tensor([1])
        for dtype in (opdsl.float32, opdsl.float64, opdsl.float32, opdsl.float64):
            opdsl.set_default_dtype(dtype)
            try:
                assert f(x).dtype is dtype
            finally:
                opdsl.set_default_dtype(opdsl.float32)


def test_calls_that_require_gradients_and_those_that_do_not() -> None:
    with Library("testtracinggradients") as lib:

        @lib.op
        @formula
        def cube(self: Tensor) -> Tensor:
            return self * self * self

        @lib.op
        @traceable
        def ninth(self: Tensor) -> Tensor:
            return cube(cube(self))

        for wanted in (False, True, False, True, True):
            x = opdsl.full((2,), 2.0, requires_grad=wanted)
            actual = ninth(x)
            assert actual.tolist() == [512.0, 512.0]
            assert actual.requires_grad is wanted
            if wanted:
                actual.backward(opdsl.full((2,), 1.0))
                assert x.grad.tolist() == [9 * 2.0**8] * 2


def test_an_error_of_the_body_is_the_same_each_time() -> None:
    with pytest.raises(RuntimeError) as first:
        square().reshape(3)
    with pytest.raises(RuntimeError) as second:
        square().reshape(3)
    assert str(first.value) == str(second.value)


def test_numbers_have_plans_of_their_own() -> None:
    runs = []

    def body(self: Tensor, by: float) -> Tensor:
        runs.append(by)
        return self * by

    with declared(body) as f:
        for by in (1.0, 2.0):
            f(opdsl.ones(1), by)
        seen = len(runs)
        assert [f(opdsl.ones(1), by).tolist() for by in (2.0, 1.0)] == [[2.0], [1.0]]
        assert len(runs) == seen


def test_the_two_zeros_are_two_numbers() -> None:
    def body(self: Tensor, by: float) -> Tensor:
        return self * by

    with declared(body) as f:
        for by in (0.0, -0.0, 0.0, -0.0):
            assert str(f(opdsl.ones(1), by).item()) == str(by)


def test_numbers_that_never_come_again_are_not_planned_without_end() -> None:
    runs = []

    def body(self: Tensor, by: float) -> Tensor:
        runs.append(by)
        return self * by

    with declared(body) as f:
        for count in range(3 * LIMIT):
            assert f(opdsl.ones(1), float(count)).item() == count
    assert len(runs) < 5 * LIMIT


def test_an_argument_may_be_the_result() -> None:
    runs = []

    def body(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
        runs.append(1)
        return self

    with declared(body) as f:
        x = square()
        assert f(x) is f(x) is x
        seen = len(runs)
        assert f(x) is x
        assert len(runs) == seen


def test_what_is_written_without_a_call_is_not_planned() -> None:
    def body(self: Tensor) -> Tensor:
        filled = opdsl.empty_like(self)
        fill_(filled, 3)
        return filled

    with declared(body) as f:
        for _ in range(3):
            assert f(square()).tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_tracing_uses_up_no_random_numbers() -> None:
    def body(self: Tensor) -> Tensor:
        return self * opdsl.rand_like(self)

    def drawn() -> list[object]:
        opdsl.manual_seed(3)
        return [f(opdsl.ones(2)).tolist() for _ in range(3)]

    with declared(body) as f:
        assert drawn() == drawn()


def test_results_of_geometries_that_elements_decide_are_returned_as_they_are() -> None:
    def body(self: Tensor) -> Tensor:
        return opdsl.nonzero(self)

    with declared(body) as f:
        for values, expected in (([0.0, 1.0], [[1]]), ([1.0, 1.0], [[0], [1]]), ([0.0, 0.0], [])):
            assert f(opdsl.tensor(values)).tolist() == expected


@pytest.mark.parametrize("mark", [traceable, opdsl.formula])
def test_numbers_looked_up_in_sets_and_dicts_are_those_of_the_call(mark: Callable[..., Any]) -> None:
    def body(self: Tensor, k: int) -> Tensor:
        return self * (2.0 if k in {9, 16} else {12: 3.0}.get(k, 1.0) + (self.shape[0] in {5, 7}))

    with Library("testtracing") as lib:
        looked_up = lib.op(mark(body))
        for _ in range(2):
            for k, size in ((10, 3), (11, 4), (9, 3), (12, 6), (13, 5), (16, 7), (14, 7), (12, 5), (9, 8)):
                expected = 2.0 if k in {9, 16} else {12: 3.0}.get(k, 1.0) + (size in {5, 7})
                assert looked_up(opdsl.ones(size), k).tolist() == [expected] * size
