"""Symbolic numbers of tracers, which shape functions receive in place of sizes (``torch.SymInt``).

This module does not depend on a particular tracer. Symbolic numbers are recognized by a method that all of PyTorch's
symbols have, and the tracer provides the function that makes data-dependent sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from opdsl.errors import MissingKernelError
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import Symbol

__all__ = ["dynamic_size", "expected", "is_symbolic", "making_sizes", "symbolic_kind"]

SizeMaker = Callable[[int, int | None], int]

_maker: ContextVar[SizeMaker | None] = ContextVar("opdsl_size_maker", default=None)


def is_symbolic(value: object) -> bool:
    """Return whether a value is a symbolic number."""
    return hasattr(type(value), "__sym_max__")


def symbolic_kind(value: object) -> type | None:
    """Return ``int`` or ``float``, whichever kind a symbolic number is; None for other values."""
    if not is_symbolic(value):
        return None
    if type(value) is Symbol:
        return value.kind
    return int if hasattr(type(value), "__index__") else float


def expected(condition: object, message: str) -> bool:
    """Return whether a condition holds; a symbolic condition without a known value is assumed to hold.

    Args:
        condition: the condition, plain or symbolic.
        message: the error message if the traced program later finds that the condition does not hold.
    """
    expect = getattr(condition, "expect", None)
    if expect is None:
        return bool(condition)
    expect(message)
    return True


def dynamic_size(least: int = 0, most: int | None = None) -> int:
    """Return a new symbolic size that depends on elements, in ``Meta`` kernels tagged ``dynamic_output_shape``.

    ``torch.compile`` and ``torch.export`` continue with it as an unknown number.

    Args:
        least: the lower bound of the size.
        most: its upper bound, or None.

    Raises:
        MissingKernelError: there is no tracer, so that no symbolic size can be made.

    >>> dynamic_size()
    Traceback (most recent call last):
    opdsl.errors.MissingKernelError: the shape of this result depends on elements, which tensors on meta do not have...
    """
    make = _maker.get()
    if make is None:
        raise MissingKernelError(
            "the shape of this result depends on elements, which tensors on meta do not have. Run it on the CPU, or "
            "trace it with torch.compile or torch.export, which continue with an unknown size."
        )
    return make(least, most)


def making_sizes(make: SizeMaker) -> Setting[SizeMaker | None]:
    """Return a context manager in which a tracer's function makes the sizes of ``dynamic_size``."""
    return Setting(_maker, make)
