"""Calls in formulas of functions that are no operators: those of PyTorch and NumPy, and ``opdsl.tensor``."""

from __future__ import annotations

import importlib
import sys
from types import FunctionType
from typing import Any

import numpy

from opdsl.runtime import Tensor
from opdsl.runtime.symbol import is_symbol

__all__ = ["call_named", "filling_tensor", "instead_of", "is_tensor_maker"]


def instead_of(function: Any) -> tuple[str, str] | None:
    """Return, for a function of NumPy or PyTorch, the argument kind and the opdsl call that an error suggests; else
    None.

    PyTorch is not imported for this: a formula can only call it if it is imported already.
    """
    function_name = getattr(function, "__name__", None)
    if not isinstance(function_name, str) or isinstance(function, type):
        return None
    if getattr(numpy, function_name, None) is function:
        return "NumPy's arrays", call_named(function_name)
    torch = sys.modules.get("torch")
    if torch is not None and getattr(torch, function_name, None) is function:
        return "PyTorch's tensors", call_named(function_name)
    networks = getattr(getattr(torch, "nn", None), "functional", None)
    is_of_networks = getattr(networks, function_name, None) is function
    return ("PyTorch's tensors", f"opdsl.nn.functional.{function_name}(x)") if is_of_networks else None


def call_named(name: str) -> str:
    """Return the opdsl call that an error suggests in place of another library's function of that name."""
    return f"opdsl.{name}(x)" if hasattr(sys.modules["opdsl"], name) else "it with operators of opdsl"


def is_tensor_maker(function: FunctionType) -> bool:
    """Return whether a function is ``opdsl.tensor``."""
    return function.__name__ == "tensor" and function.__module__ == "opdsl.aten.create.construction"


def filling_tensor(data: Any, **options: Any) -> Tensor:
    """Make a tensor as ``opdsl.tensor`` does; a single number by the operator ``full``, so that it is a constant in
    kernels.
    """
    values = {option: value for option, value in options.items() if value is not None and value is not False}
    if (type(data) in (bool, int, float, complex) or is_symbol(data)) and "requires_grad" not in values:
        full: Any = importlib.import_module("opdsl._attributes").aten["full"]
        filling: Tensor = full((), data, **values)
    else:
        filling = importlib.import_module("opdsl.aten.create.construction").tensor(data, **options)
    return filling
