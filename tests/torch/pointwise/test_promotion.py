"""Tests of type promotion, compared with PyTorch's: dtypes and values for every pair of dtypes and kind of number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
import torch

import opdsl
from tests.torch.twins import DTYPES, Twins, differences, of

FULL = "OPDSL_TEST_FULL" in os.environ
OPERATORS = ("add", "mul", "div", "maximum", "eq", "lt", "where", "rsub", "cat")
SHAPES = (((3,), (3,)), ((3,), ()), ((), (3,)), ((), ()))
NUMBERS = (True, 2, 2.5, 1 + 2j)
ALL = (*DTYPES, torch.complex64, torch.complex128)
DEFAULTS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set the default dtype of both libraries for the duration of the context."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    opdsl.set_default_dtype(of(dtype))
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        opdsl.set_default_dtype(of(before))


def call(lib: Any, name: str, x: Any, y: Any) -> Any:
    if name == "where":
        return lib.where(lib.full((3,), True, device=getattr(x, "device", None)), x, y)
    return lib.cat((x, y)) if name == "cat" else getattr(lib, name)(x, y)


def outcome(lib: Any, name: str, x: Any, y: Any) -> Any:
    """Return the result of a call, or RuntimeError if it raises one."""
    try:
        return call(lib, name, x, y)
    except RuntimeError:
        return RuntimeError


def compare(name: str, x: Any, y: Any, *, computes: bool = True) -> list[str]:
    """Return the differences from PyTorch in two calls; with ``computes=False`` meta tensors compare dtype and shape
    only.
    """
    if torch.result_type(x, y) is torch.complex32:
        return []  # opdsl has no complex numbers with 16-bit parts
    expected = outcome(torch, name, x, y)
    if not computes and isinstance(expected, torch.Tensor):
        x, y, expected = x.to("meta"), y.to("meta"), expected.to("meta")
    twins = Twins().of((x, y))
    problems: list[str] = []
    for _ in range(2):
        actual = outcome(opdsl, name, *twins)
        if expected is RuntimeError or actual is RuntimeError:
            problems += [] if actual is expected else [f"{actual} for {expected}"]
        else:
            problems += differences(actual, expected)
    return [f"{name}({x!r}, {y!r}): {problem}" for problem in problems]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_pairs_of_dtypes(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """All pairs of dtypes promote as in PyTorch; each test computes the values of every third pair."""
    wrong: list[str] = []
    turn = OPERATORS.index(name) + SHAPES.index(shapes)
    for (row, one), (column, two) in product(enumerate(ALL), enumerate(ALL)):
        x, y = torch.ones(shapes[0], dtype=one), torch.full(shapes[1], 2, dtype=two)
        wrong += compare(name, x, y, computes=FULL or (row + column + turn) % 3 == 0)
    assert wrong == []


@pytest.mark.parametrize("default", DEFAULTS, ids=str)
@pytest.mark.parametrize("name", ["add", "div", "eq", "where"])
def test_numbers_beside_tensors(name: str, default: torch.dtype) -> None:
    wrong: list[str] = []
    with default_dtype(default):
        for dtype, number, shape in product(ALL, NUMBERS, ((3,), ())):
            wrong += compare(name, torch.ones(shape, dtype=dtype), number)
    assert wrong == []


@pytest.mark.parametrize("default", DEFAULTS, ids=str)
def test_two_numbers_of_where(default: torch.dtype) -> None:
    wrong: list[str] = []
    with default_dtype(default):
        for one, two in product(NUMBERS, NUMBERS):
            wrong += compare("where", one, two)
    assert wrong == []


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "reciprocal"])
def test_integers_become_the_default_dtype(name: str) -> None:
    x = torch.arange(1, 4)
    wrong: list[str] = []
    for default in DEFAULTS:
        with default_dtype(default):
            expected = getattr(torch, name)(x)
            for _ in range(2):
                wrong += differences(getattr(opdsl, name)(of(x)), expected)
    assert wrong == []


@pytest.mark.parametrize("value", [True, 2, 2.5], ids=repr)
def test_full_takes_the_dtype_of_its_number(value: float) -> None:
    wrong: list[str] = []
    for default in DEFAULTS:
        with default_dtype(default):
            expected = torch.full((2,), value)
            for _ in range(2):
                wrong += differences(opdsl.full((2,), value), expected)
    assert wrong == []


def test_operands_are_promoted_before_anything_is_computed_of_them() -> None:
    both = []
    for lib in (torch, opdsl):
        factors = lib.tensor([200, 255], dtype=lib.uint8)
        both.append(lib.addcmul(lib.tensor([1, 2]), factors, factors).tolist())
    assert both[0] == both[1]
