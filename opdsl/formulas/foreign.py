"""Functions in the text of a formula that are no operators: PyTorch's, NumPy's, and what makes a tensor of data."""

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
    """Return what a function of NumPy or PyTorch takes, and the call that does it here; None for other functions.

    PyTorch is not imported: nobody calls it who has not done so.
    """
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or isinstance(function, type):
        return None
    if getattr(numpy, name, None) is function:
        return "NumPy's arrays", call_named(name)
    torch = sys.modules.get("torch")
    if torch is not None and getattr(torch, name, None) is function:
        return "PyTorch's tensors", call_named(name)
    networks = getattr(getattr(torch, "nn", None), "functional", None)
    is_of_networks = getattr(networks, name, None) is function
    return ("PyTorch's tensors", f"opdsl.nn.functional.{name}(x)") if is_of_networks else None


def call_named(name: str) -> str:
    """Return what to write in the place of a function of another library: the operator of its name, if there is one."""
    return f"opdsl.{name}(x)" if hasattr(sys.modules["opdsl"], name) else "it with operators of opdsl"


def is_tensor_maker(function: FunctionType) -> bool:
    """Return whether a function is ``opdsl.tensor``."""
    return function.__name__ == "tensor" and function.__module__ == "opdsl.aten.create.construction"


def filling_tensor(data: Any, **options: Any) -> Tensor:
    """Make a tensor as ``opdsl.tensor`` does; of one number by an operator, so that kernels hold the number itself."""
    values = {name: value for name, value in options.items() if value is not None and value is not False}
    if (type(data) in (bool, int, float, complex) or is_symbol(data)) and "requires_grad" not in values:
        full: Any = importlib.import_module("opdsl._attributes").aten["full"]
        tensor: Tensor = full((), data, **values)
    else:
        tensor = importlib.import_module("opdsl.aten.create.construction").tensor(data, **options)
    return tensor
