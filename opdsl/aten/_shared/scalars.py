"""Scalar functions that combine two numbers: sum, product, maximum and minimum."""

from __future__ import annotations

from typing import Any


def plus(a: Any, b: Any) -> Any:
    return a + b


def times(a: Any, b: Any) -> Any:
    return a * b


def larger(a: Any, b: Any) -> Any:
    return max(a, b)


def smaller(a: Any, b: Any) -> Any:
    return min(a, b)
