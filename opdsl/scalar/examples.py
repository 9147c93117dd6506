"""Scalar functions that doctests use as examples."""

from __future__ import annotations

import math


def smooth_relu(x: float, beta: float = 1.0) -> float:
    """Return ``log(1 + exp(beta * x)) / beta``, without overflow."""
    z = beta * x
    return (max(z, 0.0) + math.log1p(math.exp(-abs(z)))) / beta
