"""What an operator's derivative reads like."""

from __future__ import annotations

import importlib
from typing import Any

from opdsl.dispatch import DispatchKey, Operator

__all__ = ["derivative_source"]

_COMPOSITE = DispatchKey("CompositeImplicitAutograd")


def derivative_source(operator: Operator) -> str:
    """The text of an operator's derivative, declared or derived, or why there is none."""
    if operator.derivative is not None:
        inspect = importlib.import_module("inspect")
        functions = [each.function for each in operator.derivative.declared]
        return "\n\n".join(inspect.getsource(each).rstrip() for each in functions)
    definition = _pointwise_definition(operator)
    if definition is not None:
        derivative = importlib.import_module("opdsl.autograd.pointwise").derivative_of_definition(definition)
        return str(derivative.source())
    if _COMPOSITE in operator.registrations:
        return f"# {operator.name} is composite: it is differentiated through the operators that it calls."
    return f"# {operator.name} has no derivative."


def _pointwise_definition(operator: Operator) -> Any:
    for kernels in operator.registrations.values():
        if getattr(kernels[0], "kind", None) == "pointwise":
            return getattr(kernels[0], "definition", None)
    return None
