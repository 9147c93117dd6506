"""Display of operators at Python's prompt: their schemas, instead of the address of a function.

Users call plain functions, which pickle, debuggers and Sphinx need, and a plain function has no custom representation.
Notebooks use another mechanism, see ``opdsl.declare.notebooks``.
"""

from __future__ import annotations

import builtins
import sys
from types import FunctionType
from typing import Any

__all__ = ["show_schemas", "text_of"]


def text_of(value: object) -> str | None:
    """Return the schemas of an operator's Python function, one per line; None for any other object.

    Args:
        value: any object.
    """
    operator: Any = value.__dict__.get("operator") if isinstance(value, FunctionType) else None
    if not type(operator).__module__.startswith("opdsl."):
        return None
    packet = operator.packet
    operators = packet.overloads.values() if packet.function is value else [operator]
    return "\n".join(str(overload.schema) for overload in operators)


def show_schemas() -> None:
    """Install a display hook that shows schemas of operators at Python's prompt, unless there is another hook."""
    if sys.displayhook is not sys.__displayhook__:
        return

    def display(value: object) -> None:
        text = text_of(value)
        if text is None:
            sys.__displayhook__(value)
        else:
            print(text)
            builtins.__dict__["_"] = value  # as Python's own display hook does

    sys.displayhook = display
