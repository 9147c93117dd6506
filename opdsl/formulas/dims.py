"""``opdsl.dims`` and ``opdsl.dim``: first-class dimensions, named after the variables they are assigned to."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, EllipsisType
from typing import Literal, SupportsIndex, cast, overload

from opdsl.errors import DimError
from opdsl.formulas.dim_tensor import Dim, DimTensor
from opdsl.formulas.ragged import RaggedDim
from opdsl.formulas.ranges import ElementRange
from opdsl.runtime.symbol import is_symbol

__all__ = ["AnyDim", "AnyDims", "Dim", "DimTensor", "dim", "dims"]

Sizes = Sequence[int | None]

AnyDim = int | Dim | Sequence[Dim | EllipsisType]
"""Argument of an operator for one dimension; several dims denote their product, in row-major order."""

AnyDims = int | Dim | EllipsisType | Sequence[int | Dim | EllipsisType]
"""Argument of an operator for several dimensions; ``...`` denotes all positional ones."""


@overload
def dims(n: Literal[1], sizes: Sizes | None = None) -> Dim: ...
@overload
def dims(n: Literal[2], sizes: Sizes | None = None) -> tuple[Dim, Dim]: ...
@overload
def dims(n: Literal[3], sizes: Sizes | None = None) -> tuple[Dim, Dim, Dim]: ...
@overload
def dims(n: Literal[4], sizes: Sizes | None = None) -> tuple[Dim, Dim, Dim, Dim]: ...
@overload
def dims(n: Literal[5], sizes: Sizes | None = None) -> tuple[Dim, Dim, Dim, Dim, Dim]: ...
@overload
def dims(n: Literal[6], sizes: Sizes | None = None) -> tuple[Dim, Dim, Dim, Dim, Dim, Dim]: ...
@overload
def dims(n: Literal[7], sizes: Sizes | None = None) -> tuple[Dim, Dim, Dim, Dim, Dim, Dim, Dim]: ...
@overload
def dims(n: Literal[8], sizes: Sizes | None = None) -> tuple[Dim, Dim, Dim, Dim, Dim, Dim, Dim, Dim]: ...
@overload
def dims(n: int, sizes: Sizes | None = None) -> Dim | tuple[Dim, ...]: ...
def dims(n: int, sizes: Sizes | None = None) -> Dim | tuple[Dim, ...]:
    """Return first-class dimensions, as in ``functorch.dim``.

    Reading a tensor at a dim, ``x[..., i]``, determines its size. Values computed from such reads vary along the dims:
    they broadcast by name, are folded over dims (``.sum(i)``), and ``.order(..., i)`` makes plain dimensions of dims.

    Args:
        n: number of dims.
        sizes: the size of each, None for those that reads determine.

    Returns:
        One dim for ``n == 1``, a tuple otherwise.

    Raises:
        DimError: ``n`` is no positive int, or the number of sizes differs.

    >>> import opdsl
    >>> i, j, k = opdsl.dims(3)
    >>> x, y = opdsl.ones(2, 5), opdsl.zeros(3, 5)
    >>> (x[i, k] - y[j, k]).square().sum(k).order(i, j)
    tensor([[5., 5., 5.],
            [5., 5., 5.]])
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise DimError(f"dims(n): n has to be a positive int (got {n!r}). Write i, j = dims(2).")
    if sizes is not None and (not isinstance(sizes, (list, tuple)) or len(sizes) != n):
        raise DimError(
            f"dims({n}, sizes): sizes has to be a list of {n} sizes, with None for each that a read determines (got "
            f"{sizes!r}). Write dims({n}, [{', '.join(['None'] * n)}])."
        )
    frame = sys._getframe(1)
    new_dims = tuple(
        Dim(_Name(frame.f_code, frame.f_lasti, at), _extent(size)) for at, size in enumerate(sizes or (None,) * n)
    )
    return new_dims[0] if n == 1 else new_dims


def dim(extent: int | range | ElementRange | None = None) -> Dim:
    """Return one first-class dimension.

    Args:
        extent: its size; or the range of its values, so that reading at the dim reads at these indices; in a formula
            possibly a range for each index of another dim, ``range(offsets[s], offsets[s + 1])``; None if reads
            determine the size.

    Raises:
        DimError: it is none of these.

    >>> import opdsl
    >>> x = opdsl.arange(10)
    >>> u = opdsl.dim(range(2, 8, 3))
    >>> x[u].order(u)
    tensor([2, 5])
    """
    frame = sys._getframe(1)
    name = _Name(frame.f_code, frame.f_lasti, 0)
    if isinstance(extent, ElementRange):
        return RaggedDim(name, extent)
    return Dim(name, extent if isinstance(extent, range) else _extent(extent))


def _extent(size: object) -> int | None:
    """Check the given size of a dim and return it as an int.

    Raises:
        DimError: it is no size.
    """
    if size is None or is_symbol(size):
        return cast("int | None", size)  # a symbolic size represents an int
    if isinstance(size, bool) or not hasattr(size, "__index__") or isinstance(size, DimTensor):
        raise DimError(f"the size of a dim has to be an int, a range or None (got {type(size).__name__}: {size!r})")
    count: int = operator.index(cast("SupportsIndex", size))
    if count < 0:
        raise DimError(f"the size of a dim must not be negative (got {count})")
    return count


class _Name:
    """Name of the variable that a call's result is assigned to, found in the bytecode on demand.

    code, place: the calling code, and the offset of the call in it.
    at: index among several results.
    """

    __slots__ = ("_at", "_code", "_place")

    def __init__(self, code: CodeType, place: int, at: int) -> None:
        self._code = code
        self._place = place
        self._at = at

    def __call__(self) -> str:
        stored = _stored_names(self._code, self._place)
        return stored[self._at] if self._at < len(stored) else f"d{self._at}"


@lru_cache(maxsize=512)  # error messages for missing attributes contain names, and hasattr() raises them often
def _stored_names(code: CodeType, place: int) -> tuple[str, ...]:
    """Return the variables that the instructions after a call store its result, or its parts, in."""
    behind = [one for one in dis.get_instructions(code) if one.offset > place and one.opname != "CACHE"]
    count = 1
    if behind and behind[0].opname == "UNPACK_SEQUENCE":
        count = behind.pop(0).arg or 0
    stored: list[str] = []
    for instruction in behind:
        if len(stored) >= count or not instruction.opname.startswith("STORE_"):
            break
        value = instruction.argval
        # Since Python 3.13 one instruction may store two variables.
        stored += value if isinstance(value, tuple) else [str(value)]
    return tuple(stored[:count])
