"""Tests of functions for which PyTorch loses digits at some arguments: values equal PyTorch's where these are right.

``test_op_db`` does not compare the values of these functions (``tolerances.ARBITRARY``). mpmath determines which values
of PyTorch are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import opdsl
from tests.torch.tolerances import ARBITRARY

# Units in the last place by which PyTorch's values may be off to count as right, and opdsl's may differ from these.
RIGHT, ALIKE = 8, 24

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "digamma": (opdsl.digamma, mpmath.digamma),
    "polygamma": (lambda x, n: opdsl.polygamma(n, x), lambda x, n: mpmath.polygamma(n, x)),
    "special_polygamma": (lambda x, n: opdsl.special.polygamma(n, x), lambda x, n: mpmath.polygamma(n, x)),
    "special_ndtr": (opdsl.special.ndtr, mpmath.ncdf),
}


def exact_value(definition: Callable[..., Any], x: float, orders: tuple[int, ...]) -> float | None:
    """Return the exact value, or None if the function has none."""
    try:
        return float(definition(mpmath.mpf(x), *orders))
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        return None


def arguments_of(name: str, dtype: torch.dtype) -> list[tuple[torch.Tensor, tuple[int, ...]]]:
    """Return the samples of op_db, and numbers from below the poles to large ones."""
    arguments = []
    for info in op_db:
        if info.name.replace(".", "_") == name:
            for sample in info.sample_inputs("cpu", dtype):
                values = (sample.input, *sample.args)
                points = next(value for value in values if isinstance(value, torch.Tensor))
                orders = tuple(value for value in values if isinstance(value, int))
                arguments.append((points.flatten()[:100].contiguous(), orders))
    grid = torch.cat([torch.linspace(-8.9, 30, 150, dtype=dtype), torch.logspace(-6, 2, 20, dtype=dtype)])
    return [*arguments, *((grid, orders) for orders in dict.fromkeys(orders for _, orders in arguments))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_pytorch_where_these_are_right(name: str, dtype: torch.dtype) -> None:
    function, definition = FUNCTIONS[name]
    assert name in ARBITRARY
    theirs_of = getattr(torch, name.removeprefix("special_")) if "ndtr" not in name else torch.special.ndtr
    eps = torch.finfo(dtype).eps
    compared, all_of_them, wrong = 0, 0, []
    for points, orders in arguments_of(name, dtype):
        ours = function(opdsl.from_dlpack(points), *orders).tolist()
        theirs = theirs_of(*orders, points).tolist()
        for x, our, their in zip(points.tolist(), ours, theirs, strict=True):
            exact = exact_value(definition, x, orders)
            if exact is None:
                continue
            all_of_them += 1
            unit = eps * max(abs(exact), 1.0 if name == "digamma" else torch.finfo(dtype).tiny)
            if abs(their - exact) <= RIGHT * unit:
                compared += 1
                if not abs(our - their) <= ALIKE * unit:
                    wrong.append((x, orders, our, their, exact))
    assert compared > all_of_them / 2, f"{compared} of {all_of_them} are right in PyTorch"
    assert not wrong, wrong[:5]
