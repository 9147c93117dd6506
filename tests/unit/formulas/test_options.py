"""Tests of formulas that are pointwise for some options and fold for others."""

from __future__ import annotations

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.testing import gradcheck

lib = Library("formula_options")


@lib.op(out=True)
@formula
def squared_errors(x: Tensor, y: Tensor, reduction: str = "none") -> Tensor:
    opdsl.check(reduction in ("none", "mean", "sum"), "reduction is none, mean or sum", got=reduction)
    error = (x - y).square()
    if reduction == "none":
        return error
    return error.mean() if reduction == "mean" else error.sum()


@lib.op
@formula
def scaled_or_centred(x: Tensor, centre: bool = False) -> Tensor:
    return x - x.mean(-1, keepdim=True) if centre else x * 2


@lib.op
@formula
def folded_or_not(x: Tensor, dim: int | None = None) -> Tensor:
    return opdsl.exp(x) if dim is None else opdsl.exp(x).sum(dim)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_texts_choose(reduction):
    x, y = (opdsl.from_numpy(np.random.default_rng(at).normal(size=(2, 3))) for at in (0, 1))
    error = (x.numpy() - y.numpy()) ** 2
    wanted = {"none": error, "mean": error.mean(), "sum": error.sum()}[reduction]
    assert np.allclose(squared_errors(x, y, reduction).numpy(), wanted, rtol=1e-14)
    assert np.allclose(squared_errors(x, y, reduction, out=opdsl.empty(0, dtype=opdsl.float64)).numpy(), wanted)
    assert gradcheck(lambda x, y: squared_errors(x, y, reduction), (x.requires_grad_(), y.requires_grad_()))


def test_truths_and_what_may_lack_choose():
    x = opdsl.tensor([[1.0, 3.0], [0.0, 4.0]])
    assert scaled_or_centred(x).tolist() == [[2.0, 6.0], [0.0, 8.0]]
    assert scaled_or_centred(x, True).tolist() == [[-1.0, 1.0], [-2.0, 2.0]]
    assert np.allclose(folded_or_not(x).numpy(), np.exp(x.numpy()))
    assert np.allclose(folded_or_not(x, 1).numpy(), np.exp(x.numpy()).sum(1))
