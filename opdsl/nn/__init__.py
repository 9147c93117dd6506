"""Neural network functions: ``opdsl.nn.functional`` with PyTorch's names, and the operators with ``python_module: nn``.

``opdsl.nn.<name>`` is the operator itself, with the arguments of its schema. May import: everything below.
"""

from __future__ import annotations

import importlib
from typing import Any

from opdsl._attributes import python_module

_operators = python_module("nn")


def __getattr__(name: str) -> Any:
    return importlib.import_module("opdsl.nn.functional") if name == "functional" else getattr(_operators, name)


def __dir__() -> list[str]:
    return sorted({"functional", *dir(_operators)})
