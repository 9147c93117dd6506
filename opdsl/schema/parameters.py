"""What kernels have to know of the arguments of their operator: which are tensors, numbers, or neither."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.schema.base_types import Role as Role
from opdsl.schema.model import Argument, FunctionSchema
from opdsl.schema.types import BaseType, ListType, OptionalType

DYNAMIC = frozenset((Role.TENSOR, Role.TENSORS, Role.SCALAR, Role.FLOAT))
"""Roles of arguments that a plan is handed; of the others it knows the values (``opdsl.dispatch.signature``)."""

NUMBERS = frozenset((Role.SCALAR, Role.FLOAT, Role.INT, Role.BOOL))
"""Roles of arguments that are numbers inside a loop."""


class Parameter(NamedTuple):
    """One argument of an operator that is no output: its name and its role."""

    name: str
    role: Role

    @property
    def is_dynamic(self) -> bool:
        """Whether a plan is handed it on each call."""
        return self.role in DYNAMIC


def parameters_of(schema: FunctionSchema) -> tuple[Parameter, ...]:
    """The arguments of an operator that are no outputs, in schema order."""
    return tuple(_parameter(each) for each in (*schema.positional, *schema.keyword_only))


def dynamic_names(schema: FunctionSchema) -> tuple[str, ...]:
    """The names of the arguments that a plan is handed, in schema order."""
    return tuple(each.name for each in map(_parameter, schema.arguments) if each.is_dynamic)


def _parameter(argument: Argument) -> Parameter:
    kind = argument.type
    if isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, ListType):
        return Parameter(argument.python_name, Role.TENSORS if kind.base is BaseType.Tensor else Role.VALUE)
    return Parameter(argument.python_name, PYTHON_TYPES[kind].role if isinstance(kind, BaseType) else Role.VALUE)


def names(parameters: Iterable[Parameter]) -> str:
    """The parameters' names, for messages."""
    return ", ".join(each.name for each in parameters)
