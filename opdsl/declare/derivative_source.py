"""Source text of an operator's derivative."""

from __future__ import annotations

import importlib
from typing import Any

from opdsl.dispatch import Operator
from opdsl.dispatch.keys import COMPOSITE_KEY

__all__ = ["derivative_source"]


def derivative_source(operator: Operator) -> str:
    """Return the text of an operator's derivative, declared or derived, or a comment that says why it has no
    derivative.
    """
    declared = getattr(operator.derivative, "declared", None)  # a view's derivative, derived on demand, has none
    if declared:
        return "\n\n".join(map(_text, declared))
    derivative = None if declared is not None else _derived(operator)
    if derivative is not None:
        return str(derivative.source())
    if COMPOSITE_KEY in operator.registrations:
        return f"# {operator.name} is composite: it is differentiated through the operators that it calls."
    return f"# {operator.name} has no derivative."


def _text(formula: Any) -> str:
    """Return the source of a derivative formula; for a lambda, only the lambda expression after its argument name."""
    function = formula.function
    if function.__name__ != "<lambda>":
        return str(importlib.import_module("inspect").getsource(function)).rstrip()
    definitions = importlib.import_module("opdsl.autograd.saving").definitions(function)
    text = importlib.import_module("ast").unparse(definitions[0]) if definitions else "lambda ..."
    return f"{formula.names[0]} = {text}"


def _derived(operator: Operator) -> Any:
    """Return the derivative that is derived from an operator's definition; None without a definition."""
    for kernels in operator.registrations.values():
        definition = getattr(kernels[0], "definition", None)
        if definition is not None:
            derived = importlib.import_module("opdsl.autograd.derived_operators")
            return derived.derivative_of_definition(definition)
    return None
