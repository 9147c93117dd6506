"""``opdsl.vmap`` beside ``torch.vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import ConversionError, OptionError

X = numpy.random.default_rng(0).standard_normal((3, 4, 5))
Y = numpy.random.default_rng(1).standard_normal((4, 5))
W = numpy.random.default_rng(2).standard_normal((5, 3))

CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "pointwise": lambda lib, x, y, w: lib.vmap(lambda a: a.sin() * 2)(x),
    "reduction": lambda lib, x, y, w: lib.vmap(lambda a: a.sum(0), in_dims=1)(x),
    "shared": lambda lib, x, y, w: lib.vmap(lambda a, b: a + b, in_dims=(0, None))(x, y),
    "products": lambda lib, x, y, w: lib.vmap(lambda a, b: a @ b, in_dims=(0, 1))(x, w),
    "out": lambda lib, x, y, w: lib.vmap(lambda a: a.t(), out_dims=2)(x),
    "last": lambda lib, x, y, w: lib.vmap(lambda a: a.mean(), in_dims=-1, out_dims=-1)(x),
    "several": lambda lib, x, y, w: lib.vmap(lambda a: (a.sum(), a.cumsum(0)), out_dims=(0, 1))(x),
    "nested": lambda lib, x, y, w: lib.vmap(lib.vmap(lambda a, b: a.dot(b)), in_dims=(0, None))(x, y),
    "structures": lambda lib, x, y, w: lib.vmap(
        lambda d, b: {"s": d["x"] + b, "l": [d["y"][0] * b]}, in_dims=({"x": 0, "y": [None]}, None)
    )({"x": x, "y": [y]}, y),
    "by name": lambda lib, x, y, w: lib.vmap(lambda a, k: a * k)(x, k=y),
    "written": lambda lib, x, y, w: (lib.vmap(lambda a: a.add_(1))(x), x),
    "empty": lambda lib, x, y, w: lib.vmap(lambda a: a.sum(0), out_dims=1)(x[:0]),
}


def listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: listed(each) for key, each in value.items()}
    return [listed(each) for each in value] if isinstance(value, (tuple, list)) else value.detach().numpy()


def close(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(close(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours.shape == theirs.shape and bool(numpy.allclose(ours, theirs, 1e-13, 1e-13))


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_pytorch(name: str) -> None:
    ours, theirs = (
        listed(CALLS[name](lib, *(lib.asarray(each.copy()) for each in (X, Y, W)))) for lib in (opdsl, torch)
    )
    assert close(ours, theirs)


def test_gradients_of_each_element_and_through_all() -> None:
    def loss(lib: Any) -> Callable[[Any, Any], Any]:
        return lambda w, a: ((a @ w).tanh() ** 2).sum()

    ours = opdsl.vmap(opdsl.autograd.functional.grad(loss(opdsl)), in_dims=(None, 0))(
        opdsl.asarray(W), opdsl.asarray(X)
    )
    theirs = torch.vmap(torch.func.grad(loss(torch)), in_dims=(None, 0))(torch.asarray(W), torch.asarray(X))
    assert close(listed(ours), listed(theirs))
    followed = opdsl.tensor(X, requires_grad=True)
    opdsl.vmap(lambda a: a.square().sum())(followed).sum().backward()
    assert numpy.allclose(followed.grad.numpy(), 2 * X)


def test_random_numbers() -> None:
    def noise(a: Any) -> Any:
        return opdsl.rand_like(a)

    batch = opdsl.zeros(4, 8)
    with pytest.raises(OptionError, match="randomness"):
        opdsl.vmap(noise)(batch)
    same, different = (opdsl.vmap(noise, randomness=each)(batch) for each in ("same", "different"))
    assert all(row.tolist() == same[0].tolist() for row in same)
    assert len({tuple(row.tolist()) for row in different}) == 4


@pytest.mark.parametrize(
    "call",
    [
        lambda x: opdsl.vmap(lambda a: a, in_dims=None)(x),
        lambda x: opdsl.vmap(lambda a: a, in_dims=3)(x),
        lambda x: opdsl.vmap(lambda a: a, in_dims=(0, 0))(x),
        lambda x: opdsl.vmap(lambda a, b: a)(x, x[:2]),
        lambda x: opdsl.vmap(lambda a: (a, a), out_dims=(0,))(x),
        lambda x: opdsl.vmap(lambda a: a)(opdsl.tensor(1.0)),
        lambda x: opdsl.vmap(lambda a: a, randomness="some")(x),
    ],
)
def test_calls_that_have_no_meaning(call: Callable[[Any], Any]) -> None:
    with pytest.raises(OptionError, match="vmap: "):
        call(opdsl.asarray(X))


def test_results_have_to_be_tensors() -> None:
    with pytest.raises(ConversionError, match="returns float"):
        opdsl.vmap(lambda a: 1.0)(opdsl.asarray(X))
