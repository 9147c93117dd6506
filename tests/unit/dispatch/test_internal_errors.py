"""Tests of errors during lowering: the call's own errors, internal errors, and values of elements, which are no
errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, traceable
from opdsl.dispatch.plans.policy import lowered_at_once, planned_at_once
from opdsl.errors import InternalError, OpdslError, ShapeError


@contextmanager
def refusing_symbols(error: Exception) -> Iterator[Any]:
    """Yield an operator declared traceable whose body raises an error for symbolic sizes."""
    with Library("testinternalerrors") as lib:

        @lib.op
        @traceable
        def grown(self: Tensor) -> Tensor:
            if type(self.shape[0]) is not int:
                raise error
            return self + 1

        yield grown


@pytest.mark.parametrize("error", [TypeError("no symbols"), KeyError("x"), ShapeError("no such shape")])
def test_what_the_call_itself_does_not_raise_is_internal(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPDSL_DUMP", str(tmp_path))
    with (
        refusing_symbols(error) as grown,
        lowered_at_once(),
        pytest.raises(InternalError, match=r"grown.*OPDSL_DUMP") as raised,
    ):
        grown(opdsl.ones(3))
    assert raised.value.__cause__ is error
    assert not isinstance(raised.value, (OpdslError, RuntimeError))
    (report,) = tmp_path.glob("*internal-error*.txt")
    assert f"{type(error).__name__}: " in report.read_text()


def test_a_call_that_is_refused_does_not_bar_others_from_plans() -> None:
    with Library("testinternalerrors") as lib:

        @lib.op
        @traceable
        def joined(self: Tensor, other: Tensor) -> Tensor:
            return self * other

        with lowered_at_once():
            with pytest.raises(ShapeError, match="must match"):
                joined(opdsl.ones(3), opdsl.ones(4))
            for size in (5, 6):
                assert joined(opdsl.ones(size), opdsl.full((size,), 2.0)).tolist() == [2.0] * size
        plans = [plan for table in joined.__globals__["forms"].values() for plan in table.values()]
        assert len(plans) == 1


def test_refused_calls_are_lowered_now_and_then_only() -> None:
    lowered = []
    with Library("testinternalerrors") as lib:

        @lib.op
        @traceable
        def picky(self: Tensor) -> Tensor:
            lowered.append(type(self.shape[0]) is not int)
            opdsl.kernels.check(self.shape[0] > 99, "expected a long tensor")
            return self + 1

        for size in range(200, 203):
            picky(opdsl.ones(size))
        for size in range(2, 40):
            with pytest.raises(ShapeError):
                picky(opdsl.ones(size))
    assert sum(lowered) <= 4


def test_calls_that_elements_may_refuse_are_lowered() -> None:
    rng = numpy.random.default_rng(3)
    for n in (3, 8, 5, 11):
        values, levels = rng.random((n, 4)), rng.random(2)
        with lowered_at_once():
            result = opdsl.quantile(opdsl.from_numpy(values), opdsl.from_numpy(levels), 0)
            encoded = opdsl.nn.functional.one_hot(opdsl.from_numpy(numpy.arange(n) % 3), 3)
        numpy.testing.assert_allclose(result.numpy(), numpy.quantile(values, levels, axis=0))
        assert encoded.tolist() == numpy.eye(3, dtype=int)[numpy.arange(n) % 3].tolist()
    forms = [plan for table in opdsl.quantile.__globals__["forms"].values() for plan in table.values()]
    assert forms  # it has a plan, whose guards check the elements
    with pytest.raises(ShapeError, match="range"):
        opdsl.quantile(opdsl.from_numpy(rng.random((9, 4))), opdsl.from_numpy(numpy.array([0.5, 1.5])), 0)


def test_gradients_by_numbers_are_planned() -> None:
    for at_once in (lowered_at_once, planned_at_once):
        with at_once():
            for n in (3, 4, 5):
                x = opdsl.ones(n).requires_grad_()
                y = opdsl.ops.aten.mul.Scalar(x, 2.5)
                opdsl.ops.aten.div.Scalar(y, 0.5).sum().backward()
                assert x.grad is not None and x.grad.tolist() == [5.0] * n
