"""Forms of the calls that a script makes."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opdsl.dispatch import Operator
from opdsl.dispatch.layers.modes import DispatchMode
from opdsl.runtime import Tensor
from opdsl.shipping.forms import Form, TensorForm

__all__ = ["recorded_forms"]


def recorded_forms(script: Path, operators: Sequence[Operator]) -> dict[str, list[Form]]:
    """Run a script, and return the forms of its calls of operators, by their names.

    Sizes that are equal in all calls of a form have the same name in it.
    """
    recorder = _Recorder(operators)
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(script)]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        with recorder:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, path
    return {name: [_form(calls) for calls in kinds.values()] for name, kinds in recorder.calls.items()}


class _Recorder(DispatchMode):
    """Mode that records the arguments of calls.

    calls: for each operator the calls, by all that their forms have but sizes.
    """

    before_decomposition = True

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = frozenset(operators)
        self.calls: dict[str, dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {}

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Record a call, and make it."""
        own = operator.operator
        if own in self.operators:
            call = tuple(map(_layout, args)), {name: _layout(value) for name, value in kwargs.items()}
            key = repr([_without_sizes(value) for value in (*call[0], *call[1].items())])
            self.calls.setdefault(own.name, {}).setdefault(key, []).append(call)
        return operator(*args, **kwargs)


def _layout(value: Any) -> Any:
    """Return a tensor's form with its own sizes; other arguments unchanged."""
    if isinstance(value, (list, tuple)) and any(isinstance(element, Tensor) for element in value):
        return [_layout(element) for element in value]
    if not isinstance(value, Tensor):
        return value
    order = None if value.is_contiguous() else value.geometry.form.order
    return TensorForm(value.dtype, tuple(value.shape), order)


def _without_sizes(value: Any) -> Any:
    if isinstance(value, TensorForm):
        return value.dtype.name, len(value.sizes), value.order
    if isinstance(value, (list, tuple)):
        return [_without_sizes(element) for element in value]
    return type(value).__name__ if isinstance(value, float) else value


def _form(calls: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]]) -> Form:
    """Return the form of calls that differ in sizes alone."""
    columns = list(zip(*(_sizes((*positional, *named.values())) for positional, named in calls), strict=True))
    names = {column: f"n{at}" for at, column in enumerate(dict.fromkeys(columns))}
    sizes = iter([names[column] for column in columns])
    positional, named = calls[0]
    return Form(
        tuple(_named(value, sizes) for value in positional),
        {name: _named(value, sizes) for name, value in named.items()},
    )


def _sizes(values: Sequence[Any]) -> list[int]:
    sizes: list[int] = []
    for value in values:
        if isinstance(value, TensorForm):
            sizes += [size for size in value.sizes if isinstance(size, int)]
        elif isinstance(value, list):
            sizes += _sizes([element for element in value if isinstance(element, TensorForm)])
    return sizes


def _named(value: Any, names: Iterator[str]) -> Any:
    if isinstance(value, list):
        return [_named(element, names) for element in value]
    if not isinstance(value, TensorForm):
        return value
    return TensorForm(value.dtype, tuple(next(names) for _ in value.sizes), value.order)
