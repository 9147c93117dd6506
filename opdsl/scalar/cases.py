"""Functions that look at texts, or at whether a number is given: a scalar function for each case."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from opdsl.scalar.calls import parameter_defaults, parameter_names
from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.reader import read
from opdsl.scalar.source import function_source
from opdsl.scalar.symbols import Choice

__all__ = ["known_cases", "read_cases"]


def known_cases(
    functions: Iterable[Callable[..., Any]], texts: Collection[str], optional: Collection[str], *, rows: bool = False
) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """What functions tell apart, to read all of them by.

    Args:
        functions: Python functions.
        texts: names of parameters that are no numbers, of which a function takes some.
        optional: names of those that may be None; where one has a default, that stands for None.
        rows: whether the functions may fold rows.

    Returns:
        For each case the values that it is for, as ``read_cases`` gives them, and constants to read the functions with.

    Raises:
        ScalarFunctionError: a function holds what a scalar graph cannot, in one of the cases.
    """
    compared: dict[str, list[object]] = {}
    for function in functions:
        names, defaults = parameter_names(function_source(function)), parameter_defaults(function)
        own = [name for name in names if name in texts]
        perhaps = [name for name in names if name in optional and name not in {*texts, *defaults}]
        compared |= {name: compared.get(name, []) for name in own}
        for values, _ in read_cases(function, own, perhaps, {}, rows=rows):
            for name, value in values.items():
                alternatives = compared.setdefault(name, [])
                alternatives += [] if value in alternatives else [value]
    # A parameter that is not None stays one.
    for chosen in itertools.product(*([*values, Choice(name, values)] for name, values in compared.items())):
        case = dict(zip(compared, chosen, strict=True))
        known = {name: value for name, value in case.items() if name in texts or not isinstance(value, Choice)}
        yield {name: value for name, value in case.items() if not isinstance(value, Choice)}, known


def read_cases(
    function: Callable[..., Any],
    texts: Iterable[str],
    optional: Iterable[str],
    known: Mapping[str, object],
    *,
    rows: bool = False,
) -> Iterator[tuple[dict[str, object], ScalarFunction]]:
    """Read a function once for each of the values that it compares parameters with, and once for what is none of them.

    Args:
        function: a Python function.
        texts: its parameters that are no numbers; each comparison with one is decided while it is read.
        optional: those that are numbers or tensors, or None; ``is None`` is decided likewise.
        known: the values of others.
        rows: whether it may fold rows.

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
    yield from _read(function, tuple(texts), tuple(optional), dict(known), {}, rows)


def _read(
    function: Callable[..., Any],
    texts: tuple[str, ...],
    optional: tuple[str, ...],
    known: dict[str, object],
    excluded: dict[str, tuple[object, ...]],
    rows: bool,
) -> Iterator[tuple[dict[str, object], ScalarFunction]]:
    choices = {name: Choice(name, excluded.get(name, ())) for name in (*texts, *optional) if name not in known}
    decided = {name: choices[name] for name in texts if name in choices}
    options = {name: choices[name] for name in optional if name in choices}
    scalar_function = read(function, constants={**known, **decided}, optional=options, rows=rows)
    met = next(((choice, choice.met[0]) for choice in choices.values() if choice.met), None)
    if met is None:
        yield {}, scalar_function
        return
    choice, value = met
    for values, case in _read(function, texts, optional, {**known, choice.name: value}, excluded, rows):
        yield {choice.name: value, **values}, case
    without = {**excluded, choice.name: (*excluded.get(choice.name, ()), value)}
    yield from _read(function, texts, optional, known, without, rows)
