"""Tests of gradients at NaN, infinities and kinks, compared with PyTorch's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

import opdsl
from tests.torch.twins import theirs

VALUES = (0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 100.0, -100.0, math.inf, -math.inf, math.nan)
FUNCTIONS = {
    "angle": torch.angle,
    "celu": torch.celu,
    "hardshrink": torch.nn.functional.hardshrink,
    "selu": torch.selu,
    "sinc": torch.sinc,
}
OF_NN = ("elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid", "relu6", "softplus", "softshrink")
OF_TWO = ("fmax", "fmin", "hypot", "logaddexp", "logaddexp2", "maximum", "minimum", "remainder", "xlogy")


def gradients(function: Any, lib: Any, columns: tuple[tuple[float, ...], ...]) -> list[Any]:
    tensors = [lib.tensor(column, dtype=lib.float64, requires_grad=True) for column in columns]
    grad: list[Any] = list(lib.autograd.grad(function(*tensors).sum(), tensors))
    return grad


def assert_close(ours: list[Any], expected: list[Any]) -> None:
    for one, two in zip(ours, expected, strict=True):
        torch.testing.assert_close(theirs(one), two, equal_nan=True, rtol=1e-7, atol=0)


@pytest.mark.parametrize("name", (*FUNCTIONS, *OF_NN))
def test_of_one_argument(name: str) -> None:
    function = FUNCTIONS.get(name) or getattr(torch.nn.functional, name.replace("_s", "s") if "log" in name else name)
    own = getattr(opdsl, name) if name in FUNCTIONS else getattr(opdsl.nn, name)
    assert_close(gradients(own, opdsl, (VALUES,)), gradients(function, torch, (VALUES,)))


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two_arguments(name: str) -> None:
    columns = tuple(zip(*itertools.product(VALUES, VALUES), strict=True))
    assert_close(gradients(getattr(opdsl, name), opdsl, columns), gradients(getattr(torch, name), torch, columns))
