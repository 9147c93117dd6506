"""Functions of PyTorch in the text of a formula: they take tensors of their own alone."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["instead_of"]


def instead_of(function: Any) -> str | None:
    """Return the call that does what a function of PyTorch does; None for other functions.

    PyTorch is not imported: nobody calls it who has not done so.
    """
    torch = sys.modules.get("torch")
    name = getattr(function, "__name__", None)
    if torch is None or not isinstance(name, str) or isinstance(function, type):
        return None
    if getattr(torch, name, None) is function:
        return f"opdsl.{name}(x)"
    networks = getattr(getattr(torch, "nn", None), "functional", None)
    return f"opdsl.nn.functional.{name}(x)" if getattr(networks, name, None) is function else None
