"""Options of ``op`` that many entries of native_functions.yaml share, and a decorator for shared docstrings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from opdsl.declare import Inplace, Out

F = TypeVar("F", bound=Callable[..., object])

UNARY: dict[str, Any] = {"variants": "function, method", "tags": "pointwise", "inplace": True, "out": True}
"""Options of ``op`` for a function of one tensor."""

CORE_UNARY: dict[str, Any] = {**UNARY, "tags": ("core", "pointwise")}
"""Options of ``op`` for a function of one tensor in PyTorch's core set."""

BINARY: dict[str, Any] = {**UNARY, "inplace": Inplace(variants="method")}
"""Options of ``op`` for a function of two tensors, whose in-place variant is a method only."""

CORE_BINARY: dict[str, Any] = {**BINARY, "tags": ("core", "pointwise")}
"""Options of ``op`` for a function of two tensors in PyTorch's core set."""

GRAD_INPUT = Out(".grad_input", args=("grad_input",))
"""Options of a gradient operator's ``out=`` variant."""

WITH_GRADIENT = ("CPU", "CUDA", "Meta", "Autograd")
"""Dispatch keys of an operator's body that serves autograd, too: without a derivative formula, its gradients are those
of the operators that it calls.
"""


def number_entry(
    name: str,
    *,
    overload: str = "Scalar",
    core: bool = True,
    inplace_tags: object = "pointwise",
) -> dict[str, Any]:
    """Return the ``op`` options of an overload whose second operand is a number, which PyTorch converts to a tensor.

    Args:
        name: the packet's name.
        overload: the overload's name, which the out variant's name contains.
        core: whether the operator belongs to PyTorch's core set.
        inplace_tags: the tags of the in-place variant.
    """
    return {
        "variants": "method, function",
        "tags": ("core", "pointwise") if core else "pointwise",
        "inplace": Inplace(variants="method", tags=inplace_tags),
        "out": Out(f"{name}.{overload}_out"),
    }


UNBOUND_NUMBER: dict[str, Any] = {
    "kernel": "CompositeExplicitAutograd",
    "variants": "function, method",
    "is_bound": False,
    "inplace": Inplace(variants="method"),
}
"""Options of ``op`` for an overload for numbers that calls the tensor overload and is not bound in Python."""

NUMBER_FIRST: dict[str, Any] = {"variants": "function", "tags": "pointwise", "out": True}
"""Options of ``op`` for an overload whose first operand is a number."""


def documented(text: str) -> Callable[[F], F]:
    """Return a decorator that sets a function's docstring, for functions that a loop or a helper declares."""

    def give(function: F) -> F:
        function.__doc__ = text
        return function

    return give
