"""Which operator's kernel runs on a device, for errors that come later than its call."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from opdsl.runtime.tensor import Tensor

__all__ = ["Calling", "calling", "described"]


class Calling(NamedTuple):
    """A call.

    operator: its full name.
    tensors: by the names of their arguments.
    """

    operator: str
    tensors: tuple[tuple[str, Tensor], ...]


calling: ContextVar[Calling | None] = ContextVar("opdsl_calling", default=None)
"""The call whose kernel runs on a device other than the CPU; the outermost one, if kernels call operators."""


def described() -> str:
    """The operator and its arguments of integers, for a message."""
    from opdsl.runtime.dtype import Category

    call = calling.get()
    if call is None:
        return "an operator"
    names = [name for name, tensor in call.tensors if tensor.dtype.category is Category.INT]
    return f"{call.operator} ({', '.join(dict.fromkeys(names))})" if names else call.operator
