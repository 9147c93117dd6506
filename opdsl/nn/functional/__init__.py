"""Counterpart of ``torch.nn.functional``: the same names, argument order and defaults, with reductions as strings.

docs/limits.md lists the missing functions. Other operators of ``opdsl.nn`` are available here, too, with the arguments
of their schemas.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from opdsl._attributes import python_module

_TOPICS = (
    "activation attention average_pooling classification_losses dropout embedding linear margin_losses max_pooling "
    "normalization regression_losses vision"
)

_operators = python_module("nn")


def _functions() -> dict[str, FunctionType]:
    """Return the functions of all topics, by name."""
    topics = [importlib.import_module(f"{__name__}.{topic}") for topic in _TOPICS.split()]
    return {
        name: value
        for topic in topics
        for name, value in vars(topic).items()
        if isinstance(value, FunctionType) and value.__module__ == topic.__name__ and not name.startswith("_")
    }


def __getattr__(name: str) -> Any:
    return getattr(_operators, name)


_given = _functions()
globals().update(_given)
__all__ = sorted(_given)
