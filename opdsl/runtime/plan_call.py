"""Type of plans, and the description of plans that call a single kernel, which backends make native functions of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from opdsl.runtime.geometry import TensorMeta

__all__ = ["Plan", "PlanCall", "PlanOperand", "as_builtin"]

# A function of the arguments that are not determined by the plan's key, which does all the work of a call.
Plan: TypeAlias = Callable[..., Any]


class PlanOperand(NamedTuple):
    """Operand with which a plan calls its kernel.

    place: the index of the plan's argument that it comes from; None for a constant.
    is_array: whether it is the array of the argument, a tensor, and not the argument itself.
    value: the constant, if ``place`` is None.
    """

    place: int | None
    is_array: bool = False
    value: object = None


class PlanCall(NamedTuple):
    """Description of a plan that only calls its kernel and makes a tensor of the resulting array.

    name: the name of the operator.
    arguments: the number of arguments of the plan.
    operands: the operands of the kernel.
    result: the geometry of the new tensor.
    converts: whether an OverflowError of the kernel means that a number does not fit.
    """

    name: str
    arguments: int
    operands: tuple[PlanOperand, ...]
    result: TensorMeta
    converts: bool


def as_builtin(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the built-in function (machine code) for a kernel, if its backend can make one; else the kernel.

    A kernel written in Python makes it by its method ``as_builtin``.
    """
    make = getattr(kernel, "as_builtin", None)
    function: Callable[..., Any] = kernel if make is None else make()
    return function
