"""Tests that repeated writes between tensors that share storage agree with PyTorch, and run by plans."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch

import opdsl
from opdsl.dispatch.plans.policy import lowered_at_once, planned_at_once
from opdsl.errors import OpdslError, OverlapError
from opdsl.runtime.scopes import Setting
from tests.torch.twins import Twins, assert_agree

Pair = tuple[Any, Any]

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add_": lambda lib, a, b: a.add_(b),
    "mul_ twice": lambda lib, a, b: a.mul_(b).mul_(b),
    "sub_ with alpha": lambda lib, a, b: a.sub_(b, alpha=2),
    "copy_": lambda lib, a, b: a.copy_(b),
    "out=": lambda lib, a, b: lib.add(b, b, out=a),
    "cumsum out=": lambda lib, a, b: lib.cumsum(b, 0, out=a),
    "masked_fill_": lambda lib, a, b: a.masked_fill_(b > 3, 0.5),
    "setitem": lambda lib, a, b: a.__setitem__(slice(None), b),
    "part of setitem": lambda lib, a, b: a.__setitem__(slice(1, 4), b[1:4]),
    "addcmul_": lambda lib, a, b: a.addcmul_(b, b, value=0.5),
}

# Two views of a matrix of eight rows with six columns; those that overlap in part are refused by both libraries.
PAIRS: dict[str, Callable[[Any, int], Pair]] = {
    "rows": lambda x, n: (x[n], x[n + 1]),
    "rows, upwards": lambda x, n: (x[n + 1], x[n]),
    "columns": lambda x, n: (x[:, n % 5], x[:, n % 5 + 1]),
    "every other element": lambda x, n: (x.view(-1)[n : n + 12 : 2], x.view(-1)[n + 1 : n + 13 : 2]),
    "the same elements": lambda x, n: (x[n], x[n]),
    "other storage": lambda x, n: (x[n], x[n + 1].clone()),
    "shifted": lambda x, n: (x.view(-1)[n : n + 12], x.view(-1)[n + 1 : n + 13]),
}


def matrix() -> torch.Tensor:
    return (torch.arange(48.0) % 7).reshape(8, 6)


@pytest.mark.parametrize("at_once", [planned_at_once, lowered_at_once], ids=["exact", "forms"])
@pytest.mark.parametrize("write", WRITES)
def test_writes_between_views_agree(write: str, at_once: Callable[[], Setting[bool]]) -> None:
    with at_once():
        for n in (0, 3, 1, 5, 2):
            for name, pair in PAIRS.items():
                theirs = matrix()
                ours = Twins().of(theirs)
                expected = outcome(torch, WRITES[write], pair(theirs, n))
                assert outcome(opdsl, WRITES[write], pair(ours, n)) is expected, name
                assert_agree(ours, theirs)
                assert ours._version == theirs._version, name


def outcome(lib: Any, write: Callable[[Any, Any, Any], Any], pair: Pair) -> bool:
    """Return whether a write is made; False if it is refused."""
    try:
        write(lib, *pair)
    except (OverlapError, RuntimeError) as error:
        assert "single memory location" in str(error)
        return False
    return True


@pytest.mark.parametrize("name", ["rows", "every other element", "columns", "the same elements"])
def test_writes_between_views_run_by_plans(name: str) -> None:
    x = opdsl.zeros(8, 6)
    for n in range(40):
        first, second = PAIRS[name](x, n % 6)
        first.add_(second)
    first, second = PAIRS[name](x, 3)
    frames: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            frames.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        first.add_(second)
    finally:
        sys.setprofile(None)
    assert len(frames) < 20, frames


def test_gradients_of_writes_between_views_agree() -> None:
    for _ in range(4):
        gradients = []
        for lib in (opdsl, torch):
            x = lib.arange(12, dtype=lib.float32).requires_grad_()
            y = (x * 1).view(3, 4)
            y[0].mul_(y[1].clone())
            y[1] += y[2]
            (y * y).sum().backward()
            gradients.append(x.grad.numpy())
        assert (gradients[0] == gradients[1]).all()


def test_a_tensor_that_is_saved_and_written_through_another_view_is_refused_by_autograd() -> None:
    for _ in range(4):
        for lib in (opdsl, torch):
            y = (lib.arange(8, dtype=lib.float32).requires_grad_() * 1).view(2, 4)
            y[0].mul_(y[1])
            with pytest.raises((OpdslError, RuntimeError), match="modified by an inplace operation"):
                y.sum().backward()
