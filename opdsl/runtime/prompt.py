"""Operators at Python's prompt: their schemas are shown, where Python would show the address of a function.

What users call is a plain function, as pickles, debuggers and Sphinx want it, and such a function has no text of its
own. Notebooks ask for one in another way, see ``opdsl.declare.notebooks``.
"""

from __future__ import annotations

import builtins
import sys
from types import FunctionType
from typing import Any

__all__ = ["show_schemas", "text_of"]


def text_of(value: object) -> str | None:
    """Return the schemas that a function calls, one to a line; None of what is no operator's function.

    Args:
        value: anything.
    """
    operator: Any = value.__dict__.get("operator") if isinstance(value, FunctionType) else None
    if not type(operator).__module__.startswith("opdsl."):
        return None
    packet = operator.packet
    operators = packet.overloads.values() if packet.function is value else [operator]
    return "\n".join(str(overload.schema) for overload in operators)


def show_schemas() -> None:
    """Have Python's prompt show the schemas of operators; another display than Python's own is left alone."""
    if sys.displayhook is not sys.__displayhook__:
        return

    def display(value: object) -> None:
        text = text_of(value)
        if text is None:
            sys.__displayhook__(value)
        else:
            print(text)
            builtins.__dict__["_"] = value  # as Python's own does

    sys.displayhook = display
