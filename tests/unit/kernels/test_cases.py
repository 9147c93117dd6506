"""Tests of pointwise functions that compare strings or check for None: each case becomes a separate scalar function."""

from __future__ import annotations

import math

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, errors, formula, primitives
from opdsl.testing import Sample, check_op

X = np.array([0.25, 1.5, 4.0])


@pytest.fixture
def lib():
    with Library("cases") as library:
        yield library


@pytest.fixture
def act(lib):
    @lib.op(inplace=True, out=True)
    @formula
    def act(self: Tensor, other: Tensor | None = None, *, mode: str = "none", eps: float | None = None) -> Tensor:
        return ACT(self, other, mode=mode, eps=eps)

    return act


def act_scalar(x, y, how, eps):
    result = square(x) if how == "square" else math.log(x) if how in ("log", "ln") else plain(x, how)
    if y is not None:
        result = result * y
    return result if eps is None else result + eps


ACT = primitives.elements(act_scalar, promote="int_to_float")


def square(x):
    return x * x


def plain(x, how):
    return -x if how != "plain" and how == "minus" else x


def expected(x, other, mode, eps):
    result = {"square": x * x, "log": np.log(x), "ln": np.log(x), "minus": -x}.get(mode, x)
    return result * (1 if other is None else other) + (eps or 0)


@pytest.mark.parametrize("mode", ["square", "log", "ln", "minus", "none", "other"])
@pytest.mark.parametrize("eps", [None, 0.5])
def test_each_case_is_computed(act, mode, eps):
    for other in (None, np.array([2.0, 3.0, -1.0])):
        factor = None if other is None else opdsl.tensor(other)
        results = [act(opdsl.tensor(X), factor, mode=mode, eps=eps).numpy() for _ in range(3)]
        for actual in results:
            np.testing.assert_allclose(actual, expected(X, other, mode, eps), rtol=1e-15)


def test_gradients_and_variants_follow(act):
    samples = [
        (opdsl.tensor(X), opdsl.tensor(X[::-1].copy()) if other else None, mode, eps)
        for mode in ("square", "log", "none")
        for other in (False, True)
        for eps in (None, 0.5)
    ]
    check_op(act, [Sample(x, other, mode=mode, eps=eps) for x, other, mode, eps in samples])


def test_there_is_a_graph_for_each_case(act):
    text = act.derivative_source
    assert text.count("def act_scalar") == 2 * 6


WRONG = {
    "return x if how else -x": "neither true nor false",
    "return x * how": "the value of 'how' is not a number",
    "return how": "it returns the value of 'how'",
    "return x if how < 'b' else -x": "raises TypeError",
}


@pytest.mark.parametrize("body", WRONG)
def test_a_text_can_only_be_compared(lib, body, tmp_path):
    @lib.op
    def wrong(self: Tensor, how: str) -> Tensor: ...

    path = tmp_path / "wrong.py"
    path.write_text(f"def wrong_scalar(x, how):\n    {body}\n")
    namespace: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    loop, other = primitives.elements(namespace["wrong_scalar"]), primitives.elements(square)
    with pytest.raises(errors.ScalarFunctionError, match=WRONG[body]):
        wrong.formula(lambda self, how: loop(self, how))
    with pytest.raises(errors.KernelSignatureError, match="Choose functions by its value"):
        wrong.formula(lambda self: other(self))
