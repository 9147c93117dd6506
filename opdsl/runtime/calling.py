"""Context variable with the operator call whose kernel runs on a device, for errors that are reported later."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from opdsl.runtime.tensor import Tensor

__all__ = ["Calling", "calling", "described"]


class Calling(NamedTuple):
    """Operator call whose kernel runs on a device.

    operator: the full name of the operator.
    tensors: the tensor arguments, with their names.
    """

    operator: str
    tensors: tuple[tuple[str, Tensor], ...]


calling: ContextVar[Calling | None] = ContextVar("opdsl_calling", default=None)
"""Call whose kernel runs on a device other than the CPU; the outermost one, if kernels call operators."""


def described() -> str:
    """Return the name of the operator that is running and of its integer tensor arguments, for an error message."""
    from opdsl.runtime.dtype import Category

    call = calling.get()
    if call is None:
        return "an operator"
    names = [name for name, tensor in call.tensors if tensor.dtype.category is Category.INT]
    return f"{call.operator} ({', '.join(dict.fromkeys(names))})" if names else call.operator
