"""Numbers that are not known yet: what a tracer hands to shape functions in place of sizes (``torch.SymInt``).

No tracer is known here by name. Its numbers are told by a method that all of PyTorch's symbols have, and it says itself
how a size is made that only elements tell.
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
    """Whether a value is a number that is not known yet."""
    return hasattr(type(value), "__sym_max__")


def symbolic_kind(value: object) -> type | None:
    """``int`` or ``float``, whichever a symbolic number is; None for other values."""
    if not is_symbolic(value):
        return None
    if type(value) is Symbol:
        return value.kind
    return int if hasattr(type(value), "__index__") else float


def expected(condition: object, message: str) -> bool:
    """Whether a condition holds; one of symbols of which nothing is known is taken to hold.

    Args:
        condition: what should hold.
        message: said where a tracer's program finds later that it does not.
    """
    expect = getattr(condition, "expect", None)
    if expect is None:
        return bool(condition)
    expect(message)
    return True


def dynamic_size(least: int = 0, most: int | None = None) -> int:
    """A size that only the elements of tensors tell, for the ``Meta`` kernel of an operator that is tagged
    ``dynamic_output_shape``: ``torch.compile`` and ``torch.export`` go on with it as a number that is not known.

    Args:
        least: what the size is at least.
        most: what it is at most; None where there is no limit.

    Raises:
        MissingKernelError: nobody traces, so that there is no such number.

    >>> dynamic_size()
    Traceback (most recent call last):
    opdsl.errors.MissingKernelError: the shape of this result depends on elements, which tensors on meta do not have...
    """
    make = _maker.get()
    if make is None:
        raise MissingKernelError(
            "the shape of this result depends on elements, which tensors on meta do not have. Run it on the CPU, or "
            "trace it with torch.compile or torch.export, which go on with a size that is not known."
        )
    return make(least, most)


def making_sizes(make: SizeMaker) -> Setting[SizeMaker | None]:
    """Have ``dynamic_size`` answered by a tracer within this block."""
    return Setting(_maker, make)
