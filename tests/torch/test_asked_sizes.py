"""Tests of compiled functions and formulas whose code asks about sizes and numbers, at ever new ones: PyTorch's
results.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("asked_sizes")

SHAPES = ((5, 4), (2, 3), (4, 4), (3, 5), (2, 2), (5, 2), (1, 4), (4, 1), (6, 3), (0, 3), (1, 1), (9, 9), (3, 2))


def last_of(tensors: Any) -> Any:
    return tensors[-1]


def times_rows(x: Any) -> Any:
    return x * x.shape[0]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: times_rows(x[:3]),
    "slice from the end": lambda x: times_rows(x[-3:]),
    "inner slice": lambda x: x[1:-1].sum() + x[1:-1].shape[0],
    "step": lambda x: times_rows(x[::2]),
    "diagonal": lambda x: times_rows(x.diagonal()),
    "upper diagonal": lambda x: times_rows(x.diagonal(1)),
    "squeeze": lambda x: x[:, 1:].squeeze() * x[:, 1:].squeeze().ndim,
    "squeeze of a dimension": lambda x: x[:, 1:].squeeze(1) * x[:, 1:].squeeze(1).ndim,
    "unbind": lambda x: last_of(x.unbind(0)) * len(x.unbind(0)),
    "unbind in place": lambda x: last_of((x + 0).unbind(0)).mul_(2),
    "split": lambda x: last_of(x.split(2)) * len(x.split(2)),
    "chunk": lambda x: last_of(x.chunk(3)) * len(x.chunk(3)),
    "iteration": lambda x: sum((row * at for at, row in enumerate(x)), x.sum(0)),
    "narrow": lambda x: times_rows(x.narrow(0, 0, min(2, x.shape[0]))),
    "layout": lambda x: x * 2 if x[:, 1:].is_contiguous() else x,
}


def outcome(function: Callable[[Any], Any], argument: Any) -> Any:
    """Return the result of a call, or None if it raises an error."""
    try:
        return function(argument)
    except (IndexError, RuntimeError, opdsl.errors.OpdslError):
        return None


def test_compiled_functions() -> None:
    for name, function in FUNCTIONS.items():
        compiled = opdsl.compile(function)
        for shape in SHAPES:
            x = torch.randn(shape, dtype=torch.float64)
            expected, computed = outcome(function, x), outcome(compiled, opdsl.from_dlpack(x))
            assert (expected is None) == (computed is None), (name, shape)
            if expected is not None:
                torch.testing.assert_close(torch.from_dlpack(computed), expected, msg=f"{name} {shape}")


def test_traced_programs_state_what_they_serve() -> None:
    def first(x: Tensor) -> Tensor:
        return x.unbind(0)[0]

    def rows_or_one(x: Tensor) -> Tensor:
        return x * 2 if x.shape[0] == 1 else x

    for function, requirement in ((first, "s1 == 3"), (rows_or_one, "s1 > 1")):
        program = opdsl.trace(function, opdsl.ones(3, 2))
        assert requirement in program.guards
        with pytest.raises(opdsl.errors.ProgramError, match=requirement):
            program(opdsl.ones(1, 2))


def rounded(x: Any, count: int, scale: float) -> Any:
    return x * count if round(scale) == 0 else x.sum(-1, keepdim=True) + x


@pytest.mark.parametrize("seed", (18, 21, 33, 49, 52))
def test_numbers_that_select_what_is_computed(seed: int) -> None:
    """A program for one float is not used for another one after shapes and floats have changed many times."""
    draw = random.Random(seed)
    compiled = opdsl.compile(rounded)
    shapes = draw.sample((*SHAPES[:9], (0, 3), (3, 0), (3, 3)), 12)
    for shape in shapes:
        for scale in (draw.choice((0.5, 1.5, 0.0, 2.0, 1.0)), draw.choice((0.5, 3.25))):
            x = torch.randn(shape, dtype=torch.float64)
            count = draw.choice((0, 1, 2, 5))
            computed = compiled(opdsl.from_dlpack(x), count, scale)
            torch.testing.assert_close(torch.from_dlpack(computed), rounded(x, count, scale))


@lib.op
@formula
def scaled_if_one(x: Tensor) -> Tensor:
    """Scale a single column, and normalize others."""
    if x.shape[-1] == 1:
        return x * 3
    return x / x.sum(-1, keepdim=True)


@lib.op
@formula
def elementwise_if_one(x: Tensor) -> Tensor:
    """Scale a single column, and negate others."""
    return x * 3 if x.shape[-1] <= 1 else -x


@lib.op
@formula
def elementwise_if_few(x: Tensor) -> Tensor:
    """Scale few elements, and negate others."""
    return x * 3 if x.numel() < 4 else -x


@lib.op
@formula
def by_dimensions(x: Tensor) -> Tensor:
    """Scale what has one dimension but for those of size 1."""
    return x * 3 if x.squeeze().ndim == 1 else -x


@lib.op
@formula
def by_slice(x: Tensor) -> Tensor:
    """Scale by the number of the first columns."""
    return x * 3 if x[:, :2].shape[1] == 2 else -x


@lib.op
@formula
def by_largest(x: Tensor) -> Tensor:
    """Scale a row or two."""
    return x * 3 if max(x.shape[0], 2) == 2 else -x


@lib.op
@formula
def by_difference(x: Tensor) -> Tensor:
    """Scale more than one column."""
    return x * 3 if bool(x.shape[1] - 1) else -x


@lib.op
@formula
def weighted_rows(x: Tensor) -> Tensor:
    """Add rows with weights."""
    total = x.sum(0) * 0
    for row in x.unbind(0):
        total = total * 2 + row
    return total


def weighted(x: torch.Tensor) -> torch.Tensor:
    total = x.sum(0) * 0
    for row in x.unbind(0):
        total = total * 2 + row
    return total


def chosen(holds: Callable[[torch.Tensor], bool]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x * 3 if holds(x) else -x


FORMULAS: dict[Any, Callable[[torch.Tensor], torch.Tensor]] = {
    scaled_if_one: lambda x: x * 3 if x.shape[-1] == 1 else x / x.sum(-1, keepdim=True),
    elementwise_if_one: chosen(lambda x: x.shape[-1] <= 1),
    elementwise_if_few: chosen(lambda x: x.numel() < 4),
    by_dimensions: chosen(lambda x: x.squeeze().ndim == 1),
    by_slice: chosen(lambda x: x[:, :2].shape[1] == 2),
    by_largest: chosen(lambda x: max(x.shape[0], 2) == 2),
    by_difference: chosen(lambda x: x.shape[1] != 1),
    weighted_rows: weighted,
}


@pytest.mark.parametrize("operator", FORMULAS)
@pytest.mark.parametrize("is_recorded", (False, True))
def test_formulas(operator: Any, is_recorded: bool) -> None:
    for shape in (*SHAPES, *SHAPES[::-1]):
        x = torch.randn(shape, dtype=torch.float64)
        result = operator(opdsl.from_dlpack(x).requires_grad_(is_recorded))
        torch.testing.assert_close(torch.from_dlpack(result.detach()), FORMULAS[operator](x), msg=f"{shape}")
