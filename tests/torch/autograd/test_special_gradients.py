"""Tests of gradients at NaN, infinities, zeros, kinks, ties and overflowing exponentials, compared with PyTorch's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

import opdsl
from tests.torch.op_db import common, function_of, name_of, operators
from tests.torch.twins import theirs

POINTS = (
    math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -3.0, 6.0, 20.0, -20.0, 25.0, 1e-300,
    -1e-300, 750.0, -750.0, 1e300, -1e300,
)  # fmt: skip
FEWER = (math.inf, -math.inf, 0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 20.0, 1e-150, 1e150, -1e150)
BINARY = (
    "maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max", "atan2", "hypot", "pow", "xlogy", "copysign",
    "fmod", "mul", "div", "add", "sub",
)  # fmt: skip

# Points at which opdsl's gradient differs from PyTorch's, with the reason.
DIFFERENT = {
    **{
        f"nn.functional.{name}": ({math.nan}, "PyTorch's loop has NaN or 0 for NaN, its scalar code the gradient")
        for name in ("celu", "elu", "hardshrink", "hardswish", "hardtanh", "relu6", "selu", "softshrink")
    },
    **{
        name: ({math.inf}, "PyTorch's zeta function of infinity is NaN, and not 0")
        for name in (*(f"polygamma.polygamma_n_{n}" for n in range(5)), "special.polygamma.special_polygamma_n_0")
    },
    "digamma": (
        {point for point in POINTS if -math.inf < point < 0 and point.is_integer()},
        "PyTorch's trigamma function is finite at poles",
    ),
    **{name: ({math.nan}, "PyTorch has 1 for NaN, that of 0") for name in ("special.i1", "special.i1e")},
}

# Arguments of op_db's samples, for functions without defaults.
ARGUMENTS = {"nn.functional.threshold": (0.1, 20.0)}
SAMPLED = ("mvlgamma", "polygamma", "special.polygamma")  # functions whose first sample has the arguments

# PyTorch rounds the slope 1/6 of hardsigmoid to float32; its trigamma function has 9 digits.
COARSE = {"nn.functional.hardsigmoid": 1e-7, "digamma": 1e-8}


def unary() -> list[Any]:
    result = [
        operator
        for operator in operators()
        if isinstance(operator, common.UnaryUfuncInfo) and operator.supports_autograd
    ]
    return [
        operator for operator in result if name_of(operator) not in ("imag", "fill", "frexp", "nn.functional.prelu")
    ]


def differing(result: Any, expected: Any, places: list[Any], tolerance: float = 1e-13) -> list[Any]:
    mine, wanted = theirs(result), expected + 0  # PyTorch's zeros may have no memory
    close = torch.isclose(mine, wanted, rtol=tolerance, atol=1e-15, equal_nan=True)
    return [(places[at], mine[at].item(), wanted[at].item()) for at in (~close).nonzero().flatten().tolist()]


@pytest.mark.parametrize("info", unary(), ids=name_of)
def test_functions_of_one_argument(info: Any) -> None:
    name = name_of(info)
    left_out = DIFFERENT.get(name, (set(), ""))[0]
    points = [point for point in POINTS if str(point) not in map(str, left_out)]
    x = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    own = opdsl.tensor(points, dtype=opdsl.float64, requires_grad=True)
    more = next(iter(info.sample_inputs("cpu", x.dtype))).args if name.startswith(SAMPLED) else ARGUMENTS.get(name, ())
    expected = info.op(x, *more)
    ours = function_of(info)
    assert ours is not None
    actual = ours(own, *more)
    assert actual.requires_grad == expected.requires_grad
    if not expected.requires_grad:
        return
    (wanted,) = torch.autograd.grad(expected, x, torch.full_like(expected, 2.0))
    (inputs,) = opdsl.autograd.grad(actual, own, opdsl.full_like(actual.detach(), 2.0))
    assert differing(inputs, wanted, points, COARSE.get(name, 1e-13)) == []


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments(name: str) -> None:
    pairs = list(itertools.product(FEWER, FEWER))
    columns = [[pair[at] for pair in pairs] for at in (0, 1)]
    leaves = [torch.tensor(column, dtype=torch.float64, requires_grad=True) for column in columns]
    own = [opdsl.tensor(column, dtype=opdsl.float64, requires_grad=True) for column in columns]
    expected, actual = getattr(torch, name)(*leaves), getattr(opdsl, name)(*own)
    wanted = torch.autograd.grad(expected, leaves, torch.full_like(expected, 2.0), materialize_grads=True)
    grad = opdsl.autograd.grad(actual, own, opdsl.full_like(actual.detach(), 2.0), materialize_grads=True)
    assert [difference for pair in zip(grad, wanted, strict=True) for difference in differing(*pair, pairs)] == []
