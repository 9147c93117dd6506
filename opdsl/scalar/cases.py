"""Specialization of functions that compare string parameters, or test for None: one scalar function for each case."""

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
    """Return the cases that several functions distinguish, so that all of them can be traced for each case.

    Args:
        functions: Python functions.
        texts: names of parameters that are not numbers, of which a function may take some.
        optional: names of parameters that may be None; if one has a default, the default replaces None.
        rows: whether the functions may fold rows.

    Returns:
        For each case the parameter values that it is for, in the form of ``read_cases``, and constants for tracing the
        functions.

    Raises:
        ScalarFunctionError: a function contains, in one of the cases, an expression that no scalar graph can represent.
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
    # An optional parameter that is not None stays a parameter.
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
    """Trace a function once for each value that it compares a parameter with, and once for all other values.

    Args:
        function: a Python function.
        texts: its parameters that are not numbers; comparisons with them are decided while tracing.
        optional: its parameters that are numbers or tensors, or None; ``is None`` is decided while tracing.
        known: the values of other parameters.
        rows: whether it may fold rows.

    Returns:
        For each case the parameter values that it is for, and the traced function. The first case whose values equal
        those of a call applies.

    Raises:
        ScalarFunctionError: the function contains, in one of the cases, an expression that no scalar graph can
            represent.

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
