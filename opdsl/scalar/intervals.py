"""Interval analysis: bounds of the integers in a scalar graph, from the bounds of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from opdsl.scalar.function import ScalarFunction

__all__ = ["COUNT", "Interval", "intervals"]

COUNT = "row_count()"
"""Name in the mapping of known bounds for the number of elements of a row."""


class Interval(NamedTuple):
    """Smallest and largest value of a node; None if a bound is unknown."""

    low: Any
    high: Any


# Floating-point numbers below this limit fit into int64 when they are truncated.
_LARGE = float(1 << 62)

_UNKNOWN = Interval(None, None)


def intervals(
    function: ScalarFunction,
    known: Mapping[str, Interval],
    smallest: Callable[..., Any] = min,
    largest: Callable[..., Any] = max,
) -> list[Interval]:
    """Compute the bounds of all nodes of a function; those of floating-point numbers are approximate, but of exact
    sign.

    Args:
        function: untyped.
        known: the bounds of parameters; other parameters have unknown bounds.
        smallest, largest: compute the minimum and maximum of bounds, which need not be plain numbers.

    >>> from opdsl.scalar import read
    >>> def f(i, j): return 2 * i - j
    >>> intervals(read(f), {"i": Interval(0, 3), "j": Interval(0, 1)})[-1]
    Interval(low=-1, high=6)
    """
    rules = _rules(smallest, largest)
    bounds: list[Interval] = []
    for node in function.nodes:
        operands = [bounds[at] for at in node.arguments]
        if node.op == "constant":
            is_real = isinstance(node.value, (bool, int)) or (isinstance(node.value, float) and isfinite(node.value))
            bounds.append(Interval(node.value, node.value) if is_real else _UNKNOWN)
        elif node.op == "parameter":
            bounds.append(known.get(str(node.value), _UNKNOWN))
        elif node.op == "row_count":
            bounds.append(known.get(COUNT, _UNKNOWN))
        elif node.op == "convert":
            bounds.append(operands[0] if node.value == "int64" and not _has_float(operands[0]) else _UNKNOWN)
        else:
            rule = rules.get(node.op)
            bounds.append(_UNKNOWN if rule is None else rule(*operands))
    return bounds


def _has_float(interval: Interval) -> bool:
    return any(isinstance(bound, float) for bound in interval)


def _rules(smallest: Callable[..., Any], largest: Callable[..., Any]) -> dict[str, Callable[..., Interval]]:
    def add(a: Interval, b: Interval) -> Interval:
        return Interval(_if(a.low, b.low, lambda x, y: x + y), _if(a.high, b.high, lambda x, y: x + y))

    def subtract(a: Interval, b: Interval) -> Interval:
        return Interval(_if(a.low, b.high, lambda x, y: x - y), _if(a.high, b.low, lambda x, y: x - y))

    def negative(a: Interval) -> Interval:
        return Interval(_if(a.high, 0, lambda x, y: -x), _if(a.low, 0, lambda x, y: -x))

    def multiply(a: Interval, b: Interval) -> Interval:
        if None in (*a, *b):
            return _UNKNOWN
        if a.low == a.high or b.low == b.high:
            one, other = (a.low, b) if a.low == a.high else (b.low, a)
            return (
                Interval(one * other.low, one * other.high) if one >= 0 else Interval(one * other.high, one * other.low)
            )
        products = [x * y for x in a for y in b]
        return Interval(smallest(*products), largest(*products))

    def fma(a: Interval, b: Interval, c: Interval) -> Interval:
        return add(multiply(a, b), c)

    def floor_divide(a: Interval, b: Interval) -> Interval:
        if None in b or b.low != b.high or not b.low > 0:
            return _UNKNOWN
        return Interval(_if(a.low, b.low, lambda x, y: x // y), _if(a.high, b.low, lambda x, y: x // y))

    def remainder(a: Interval, b: Interval) -> Interval:
        return Interval(0, b.high - 1) if b.high is not None and b.low is not None and b.low > 0 else _UNKNOWN

    def maximum(a: Interval, b: Interval) -> Interval:
        return Interval(_either(a.low, b.low, largest), _if(a.high, b.high, largest))

    def minimum(a: Interval, b: Interval) -> Interval:
        return Interval(_if(a.low, b.low, smallest), _either(a.high, b.high, smallest))

    def divide(a: Interval, b: Interval) -> Interval:
        if None in (*a, *b) or not b.low > 0 or not a.low >= 0:
            return _UNKNOWN
        return Interval(a.low / b.high, a.high / b.low)

    def to_integer(a: Interval) -> Interval:
        """Return the bounds of a conversion to an integer; numbers that do not fit 64 bits become negative."""
        if None in a or not isinstance(a.low, float | int) or not a.low >= 0 or not a.high < _LARGE:
            return a if isinstance(a.low, int) and isinstance(a.high, int) else _UNKNOWN
        return Interval(0, None) if isinstance(a.low, float) or isinstance(a.high, float) else a

    def rounded(a: Interval) -> Interval:
        return _UNKNOWN if _has_float(a) else a  # whole numbers are not rounded

    def select(condition: Interval, a: Interval, b: Interval) -> Interval:
        return Interval(_if(a.low, b.low, smallest), _if(a.high, b.high, largest))

    return {
        "add": add,
        "subtract": subtract,
        "negative": negative,
        "multiply": multiply,
        "fma": fma,
        "rounded": rounded,
        "floor_divide": floor_divide,
        "remainder": remainder,
        "maximum": maximum,
        "minimum": minimum,
        "select": select,
        "divide": divide,
        "to_integer": to_integer,
        "to_floating": lambda a: a,
    }


def _if(first: Any, second: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Combine two bounds if both are known, else return None."""
    return None if first is None or second is None else combine(first, second)


def _either(first: Any, second: Any, choose: Callable[..., Any]) -> Any:
    """Choose one of two bounds if both are known, else return the known one."""
    return choose(first, second) if first is not None and second is not None else second if first is None else first
