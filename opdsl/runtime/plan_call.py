"""What a plan is; and one that is a single call of a kernel, as values of which a backend makes a native function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from opdsl.runtime.geometry import TensorMeta

__all__ = ["Plan", "PlanCall", "PlanOperand", "as_builtin"]

# Takes what is not in the key that it is kept under, and does all of a call's work.
Plan: TypeAlias = Callable[..., Any]


class PlanOperand(NamedTuple):
    """One of the things that a plan calls its kernel with.

    place: of the plan's argument that it comes from, None for a value that is the same in every call.
    is_array: whether it is the array of the argument, a tensor, and not the argument itself.
    value: where there is no place.
    """

    place: int | None
    is_array: bool = False
    value: object = None


class PlanCall(NamedTuple):
    """A plan that does nothing but call its kernel and make a tensor of the array that it gives.

    name: of the operator.
    arguments: how many arguments the plan is handed.
    operands: what it calls the kernel with.
    result: the geometry of the new tensor.
    converts: whether an OverflowError of the kernel means that a number does not fit.
    """

    name: str
    arguments: int
    operands: tuple[PlanOperand, ...]
    result: TensorMeta
    converts: bool


def as_builtin(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return what plans of exact geometries call in place of a kernel: machine code, where its backend can make some.

    A kernel in Python that has a method ``as_builtin`` is given as a built-in function by it.
    """
    make = getattr(kernel, "as_builtin", None)
    function: Callable[..., Any] = kernel if make is None else make()
    return function
