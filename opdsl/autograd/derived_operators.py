"""Operators without a declaration: derived from definitions for gradients, or composed of several kernels."""

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

# A separate registry, as users do not call derived operators by name.
_registry = Registry()


def derivative_of_definition(definition: Definition) -> Any:
    """Return the derivative of a definition, deriving it on first use; None if it has no derivative."""
    if not definition.derived_by:
        return None
    if definition.derivative is None:
        module, _, attribute = definition.derived_by.partition(":")
        # Outside of the lock, since imports take locks.
        derivative = getattr(import_module(module), attribute)(definition)
        with _lock:
            if definition.derivative is None:
                definition.derivative = derivative
    return definition.derivative


def known_operator(schema: FunctionSchema) -> Callable[..., Any] | None:
    """Return the derived operator with a schema if it is defined already; None if not."""
    known = _registry.operators.get(schema.name.qualified)
    return None if known is None else _registry.packets[known.packet_name].operator_function(known)


def defined(schema: FunctionSchema, definition: Definition, name: str, *, accepts_numbers: bool) -> Callable[..., Any]:
    """Define a derived operator, unless it is defined, and return it as a function.

    Args:
        schema: of the operator.
        definition: computes it, on every backend of the operator that it is derived from.
        name: of that operator.
        accepts_numbers: whether numbers are accepted for tensors.
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
    """Append underscores to a name until it is not among taken ones."""
    while name in taken:
        name += "_"
    return name


def shown(function: ScalarFunction) -> str:
    """Return the text of a derivative typed for float64, or the reason why it has none."""
    try:
        return str(function.specialise(dict.fromkeys(function.parameters, "float64"), default_float="float64"))
    except ScalarFunctionError as error:
        return str(error)
