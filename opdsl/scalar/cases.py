"""Functions that look at texts, or at whether a number is given: a scalar function for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.reader import read
from opdsl.scalar.symbols import Choice

__all__ = ["read_cases"]


def read_cases(
    function: Callable[..., Any], texts: Iterable[str], optional: Iterable[str], known: Mapping[str, object]
) -> Iterator[tuple[dict[str, object], ScalarFunction]]:
    """Read a function once for each of the values that it compares parameters with, and once for what is none of them.

    Args:
        function: a Python function.
        texts: its parameters that are no numbers; each comparison with one is decided while it is read.
        optional: those that are numbers or tensors, or None; ``is None`` is decided likewise.
        known: the values of others.

    Returns:
        For each case the values that it is for, and the function. The first one is meant whose values are those of a
        call.

    Raises:
        ScalarFunctionError: the function holds what a scalar graph cannot, in one of the cases.

    >>> def scaled(x, mode):
    ...     return x * 2 if mode == "double" else x
    >>> for values, function in read_cases(scaled, ["mode"], [], {}):
    ...     print(values, function)
    {'mode': 'double'} <ScalarFunction scaled(x): 3 nodes>
    {} <ScalarFunction scaled(x): 1 nodes>
    """
    yield from _read(function, tuple(texts), tuple(optional), dict(known), {})


def _read(
    function: Callable[..., Any],
    texts: tuple[str, ...],
    optional: tuple[str, ...],
    known: dict[str, object],
    excluded: dict[str, tuple[object, ...]],
) -> Iterator[tuple[dict[str, object], ScalarFunction]]:
    choices = {name: Choice(name, excluded.get(name, ())) for name in (*texts, *optional) if name not in known}
    decided = {name: choices[name] for name in texts if name in choices}
    options = {name: choices[name] for name in optional if name in choices}
    found = read(function, constants={**known, **decided}, optional=options)
    met = next(((each, each.met[0]) for each in choices.values() if each.met), None)
    if met is None:
        yield {}, found
        return
    choice, value = met
    for values, case in _read(function, texts, optional, {**known, choice.name: value}, excluded):
        yield {choice.name: value, **values}, case
    without = {**excluded, choice.name: (*excluded.get(choice.name, ()), value)}
    yield from _read(function, texts, optional, known, without)
