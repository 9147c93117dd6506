"""Parameters of an operator's kernels: its arguments with their roles, such as tensor or number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.schema.base_types import Role as Role
from opdsl.schema.model import Argument, FunctionSchema
from opdsl.schema.types import BaseType, ListType, OptionalType

NUMBERS = frozenset((Role.SCALAR, Role.FLOAT, Role.INT, Role.BOOL))
"""Roles of arguments that are numbers inside a loop."""


class Parameter(NamedTuple):
    """Argument of an operator that is no output: its name and its role."""

    name: str
    role: Role


def parameters_of(schema: FunctionSchema) -> tuple[Parameter, ...]:
    """Return the arguments of an operator that are no outputs, in schema order."""
    return tuple(_parameter(argument) for argument in (*schema.positional, *schema.keyword_only))


def _parameter(argument: Argument) -> Parameter:
    kind = argument.type
    if isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, ListType):
        return Parameter(argument.python_name, Role.TENSORS if kind.base is BaseType.Tensor else Role.VALUE)
    return Parameter(argument.python_name, PYTHON_TYPES[kind].role if isinstance(kind, BaseType) else Role.VALUE)


def names(parameters: Iterable[Parameter]) -> str:
    """Return the names of parameters as text, for messages."""
    return ", ".join(parameter.name for parameter in parameters)
