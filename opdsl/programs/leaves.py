"""Flattening of the arguments of a call into leaves (tensors and numbers) and the remaining structure."""

from __future__ import annotations

import inspect
import keyword
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from opdsl.dispatch.binding.arguments import value_key
from opdsl.programs.steps import Input
from opdsl.runtime import Tensor

__all__ = [
    "LEAF",
    "RESERVED",
    "Leaves",
    "as_leaves",
    "closed_argument",
    "flatten",
    "is_size",
    "structure_key",
    "unflatten",
]

RESERVED = frozenset((*keyword.kwlist, "math", "max", "min", "opdsl", "repr", "guard_failed"))
"""Names that have another meaning in the source text of a program."""


class _Leaf:
    """Type of the placeholder for a leaf in a structure."""

    def __repr__(self) -> str:
        return "*"


LEAF = _Leaf()


class Leaves(NamedTuple):
    """Flattened arguments of a call.

    names: parameter names of the leaves.
    values: the tensors and floats, in order.
    structure: positional and named arguments, with ``LEAF`` in place of each leaf.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    structure: tuple[tuple[Any, ...], dict[str, Any]]


def flatten(
    function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any], *, with_sizes: bool = False
) -> Leaves:
    """Flatten the arguments of a call: tensors and floats are leaves, other values part of the structure.

    Args:
        function: its parameters name the leaves.
        positional, named: of the call.
        with_sizes: whether integers of two or more are leaves as well.
    """
    names: list[str] = []
    values: list[Any] = []

    def walk(value: Any, name: str) -> Any:
        if isinstance(value, Tensor) or type(value) is float or (with_sizes and is_size(value)):
            names.append(name)
            values.append(value)
            return LEAF
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(
                *[walk(member, f"{name}_{key}") for key, member in zip(value._fields, value, strict=True)]
            )
        if type(value) in (tuple, list):
            return type(value)([walk(member, f"{name}_{index}") for index, member in enumerate(value)])
        if type(value) is dict:
            return {key: walk(member, f"{name}_{key}") for key, member in value.items()}
        return value

    parameters = _positional_names(function, len(positional))
    parts = tuple([walk(argument, name) for name, argument in zip(parameters, positional, strict=True)])
    kept = {name: walk(value, name) for name, value in named.items()}
    return Leaves(_identifiers(names), tuple(values), (parts, kept))


def closed_argument(leaves: Leaves) -> object:
    """Return an argument that hides tensors from flattening, such as a data class with tensors; None if there is
    none.
    """

    def contents(part: Any) -> Iterable[Any]:
        if is_dataclass(part) and not isinstance(part, type):
            return [getattr(part, field.name, None) for field in fields(part)]
        if isinstance(part, Mapping):
            return part.values()
        return part if isinstance(part, (tuple, list, Set, deque)) else ()

    def has_tensor(part: Any) -> bool:
        return isinstance(part, Tensor) or any(map(has_tensor, contents(part)))

    def walk(part: Any) -> object:
        is_open = type(part) in (tuple, list, dict) or (isinstance(part, tuple) and hasattr(part, "_fields"))
        if not is_open:
            return part if has_tensor(part) else None
        return next((closed for closed in map(walk, contents(part)) if closed is not None), None)

    return walk(leaves.structure)


def is_size(value: object) -> bool:
    """Return whether a value may be a size that varies between calls."""
    return type(value) is int and value >= 2


def structure_key(value: Any, values: list[Any]) -> object:
    """Return a hashable key of a structure without its leaves.

    Args:
        value: the arguments, or one of them.
        values: list to which the leaves are appended.

    Raises:
        TypeError: an argument has no key.
    """
    kind = type(value)
    if kind is Tensor or kind is float:
        values.append(value)
        return LEAF
    if value is LEAF:
        return LEAF
    if isinstance(value, Tensor):
        raise TypeError("a tensor of another class")
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return (kind, *[structure_key(member, values) for member in value])
    if kind is dict:
        return (kind, *[(name, structure_key(member, values)) for name, member in value.items()])
    return value_key(value)


def as_leaves(inputs: Sequence[Input], values: tuple[Any, ...]) -> Leaves:
    """Return the arguments of a program as flattened arguments without structure."""
    return Leaves(tuple(input.name for input in inputs), values, ((LEAF,) * len(values), {}))


def unflatten(leaves: Leaves, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and named arguments of a call with the given leaves."""
    remaining = iter(values)

    def walk(part: Any) -> Any:
        if part is LEAF:
            return next(remaining)
        if isinstance(part, tuple) and hasattr(part, "_fields"):
            return type(part)(*map(walk, part))
        if type(part) in (tuple, list):
            return type(part)([walk(member) for member in part])
        if type(part) is dict:
            return {key: walk(value) for key, value in part.items()}
        return part

    positional, named = leaves.structure
    return tuple([walk(argument) for argument in positional]), {name: walk(value) for name, value in named.items()}


@lru_cache(maxsize=1024)
def _positional_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return the parameter names of the positional arguments of a call."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in by_place][:count]
    return names + [f"argument{index}" for index in range(len(names), count)]


def _identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """Convert names to distinct ASCII identifiers that do not begin with an underscore."""
    texts: list[str] = []
    for text in names:
        letters = [letter if letter.isascii() and letter.isalnum() else "_" for letter in text]
        identifier = "".join(letters).lstrip("_") or "argument"
        identifier = f"argument_{identifier}" if identifier[0].isdecimal() else identifier
        while identifier in texts or identifier in RESERVED:
            identifier += "_"
        texts.append(identifier)
    return tuple(texts)
