"""What many entries of native_functions.yaml say alike, and what declarations of families say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from opdsl.declare import Inplace, Out

F = TypeVar("F", bound=Callable[..., object])

UNARY: dict[str, Any] = {"variants": "function, method", "tags": "pointwise", "inplace": True, "out": True}
"""A function of one tensor."""

CORE_UNARY: dict[str, Any] = {**UNARY, "tags": ("core", "pointwise")}
"""A function of one tensor, of PyTorch's core set."""

BINARY: dict[str, Any] = {**UNARY, "inplace": Inplace(variants="method")}
"""A function of two tensors, whose in-place variant is a method only."""

CORE_BINARY: dict[str, Any] = {**BINARY, "tags": ("core", "pointwise")}
"""A function of two tensors, of PyTorch's core set."""

GRAD_INPUT = Out(".grad_input", args=("grad_input",))
"""The out variant of a gradient; a structured one."""

OWN_GRAD_INPUT = Out(".grad_input", args=("grad_input",), explicit=True)
"""The same of a kernel that is not structured."""

WITH_GRADIENT = ("CPU", "CUDA", "Meta", "Autograd")
"""What the body of an operator is the kernel of that has the gradients of what it calls, and no formula."""


def number_entry(
    name: str,
    *,
    overload: str = "Scalar",
    core: bool = True,
    inplace_tags: object = "pointwise",
    device_check: str = "NoCheck",
) -> dict[str, Any]:
    """What the entry says of an overload whose second operand is a number: PyTorch makes a tensor of it.

    Args:
        name: of the packet.
        overload: of the functional.
        core: whether it belongs to PyTorch's core set.
        inplace_tags: of the in-place variant.
        device_check: what all three entries say.
    """
    return {
        "variants": "method, function",
        "tags": ("core", "pointwise") if core else "pointwise",
        "structured": False,
        "device_check": device_check,
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(
            variants="method",
            tags=inplace_tags,
            dispatch={"CompositeExplicitAutograd": f"{name}_"},
            device_check=device_check,
        ),
        "out": Out(
            f"{name}.{overload}_out",
            explicit=True,
            dispatch={"CompositeExplicitAutograd": f"{name}_out"},
            device_check=device_check,
        ),
    }


def unbound_number_entry(name: str, *, overload: str = "Scalar", **options: object) -> dict[str, Any]:
    """What the entry says of an overload that calls the one of tensors, and that no Python call reaches.

    Args:
        name: of the packet.
        overload: of the functional.
        options: what it says besides.
    """
    return {
        "kernel": "CompositeExplicitAutograd",
        "variants": "function, method",
        "is_bound": False,
        "inplace": Inplace(variants="method", autogen=f"{name}.{overload}_out"),
        **options,
    }


def number_first_entry(name: str) -> dict[str, Any]:
    """What the entry says of an overload whose first operand is a number."""
    return {
        "variants": "function",
        "tags": "pointwise",
        "structured": False,
        "dispatch": {"CompositeExplicitAutograd": name},
        "out": True,
    }


def documented(text: str) -> Callable[[F], F]:
    """Give a function its documentation, where several are declared by one text."""

    def give(function: F) -> F:
        function.__doc__ = text
        return function

    return give
