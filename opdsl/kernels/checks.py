"""``check``: test conditions of shape functions and kernels, and raise errors that list the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opdsl.errors import ShapeError
from opdsl.runtime import values
from opdsl.runtime.lowering import SymbolicArray, lowering
from opdsl.runtime.symbols import expected

if TYPE_CHECKING:
    from opdsl.runtime.tensor import Tensor


def check(condition: object, message: str, **facts: object) -> None:
    """Raise ShapeError unless a condition holds.

    Args:
        condition: the condition that has to be true.
        message: the expectation, as a sentence.
        facts: the actual values, by name; they are appended to the message.

    Raises:
        ShapeError: the condition is false.

    >>> check(False, "expected a (N, C, L) tensor", got=(2, 3))
    Traceback (most recent call last):
    opdsl.errors.ShapeError: expected a (N, C, L) tensor (got=(2, 3))
    """
    if not expected(condition, message):
        listed = ", ".join(f"{name}={value!r}" for name, value in facts.items())
        raise ShapeError(f"{message} ({listed})" if listed else message)


def holds(truth: Tensor) -> bool:
    """Return whether the one element of a tensor is true. When a plan is lowered, the plan guards on true; a guard
    failure falls back to the kernel.

    The false case should be an error, or rare.
    """
    array: Any = values.readable(truth, "item")
    recorder = lowering.get()
    if recorder is None or type(array) is not SymbolicArray:
        return bool(array.item())
    (variable,) = recorder.run(bool, (array,), ["truth"])
    return recorder.ask(variable, True)
