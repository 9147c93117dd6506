"""Operators that nobody has declared: derived from definitions as gradients are, or put together of several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

from opdsl.dispatch import DispatchKey, Operator, Registry
from opdsl.errors import ScalarFunctionError
from opdsl.kernels.definitions.structured import Definition
from opdsl.runtime.forking import held_across_fork
from opdsl.scalar import ScalarFunction
from opdsl.schema import FunctionSchema

__all__ = ["defined", "derivative_of_definition", "free_name", "known_operator", "shown"]

_lock = held_across_fork(threading.RLock())

# They are nobody's to call by name, so they stand in a registry of their own.
_registry = Registry()


def derivative_of_definition(definition: Definition) -> Any:
    """Return the derivative of a definition; None where there is none."""
    if not definition.derived_by:
        return None
    if definition.derivative is None:
        module, _, name = definition.derived_by.partition(":")
        derivative = getattr(import_module(module), name)(definition)  # imports have locks of their own
        with _lock:
            if definition.derivative is None:
                definition.derivative = derivative
    return definition.derivative


def known_operator(schema: FunctionSchema) -> Callable[..., Any] | None:
    """The operator of a schema, if it is defined: other arguments were wanted, or the operator was declared before."""
    known = _registry.operators.get(schema.name.qualified)
    return None if known is None else _registry.packets[known.packet_name].operator_function(known)


def defined(schema: FunctionSchema, definition: Definition, name: str, *, accepts_numbers: bool) -> Callable[..., Any]:
    """A new operator, as a function.

    Args:
        schema: of the operator.
        definition: computes it, wherever the operator that it is derived of runs.
        name: of that operator.
        accepts_numbers: whether numbers stand for tensors.
    """
    with _lock:
        known = known_operator(schema)
        if known is not None:
            return known
        operator = Operator(schema, _registry.fallbacks, accepts_numbers=accepts_numbers, location=name)
        for key in ("CPU", "CUDA", "Meta", "CompositeExplicitAutograd"):
            operator.registrations[DispatchKey(key)] = [definition.kernel("functional", operator, key)]
        return _registry.define(operator, __name__).operator_function(operator)


def free_name(name: str, taken: Collection[str]) -> str:
    """A name that is not taken."""
    while name in taken:
        name += "_"
    return name


def shown(function: ScalarFunction) -> str:
    """A derivative as it reads in float64, or why it has none."""
    try:
        return str(function.specialise(dict.fromkeys(function.parameters, "float64"), default_float="float64"))
    except ScalarFunctionError as error:
        return str(error)
