"""What an operator's derivative reads like: derived when somebody looks."""

from __future__ import annotations

import importlib
from collections import UserString
from typing import Any

from opdsl.dispatch import DispatchKey, Operator

__all__ = ["DerivativeSource"]

_COMPOSITE = DispatchKey("CompositeImplicitAutograd")


class DerivativeSource(UserString):
    """The text of an operator's derivative, a string that is made when it is first looked at.

    Args:
        operator: whose.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    @property
    def data(self) -> str:  # type: ignore[override]
        """The text."""
        return _text(self._operator)


def _text(operator: Operator) -> str:
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
