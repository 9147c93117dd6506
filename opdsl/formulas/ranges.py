"""``range(offsets[s], offsets[s + 1])`` in formulas: ranges whose ends are elements of tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

from opdsl.errors import DimError, OpdslError
from opdsl.formulas.dim_tensor import Dim, DimTensor
from opdsl.runtime import Category, Tensor
from opdsl.runtime.dtype import bool_
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import is_symbol

__all__ = ["ElementRange", "End", "element_range", "end_of"]

_WRITE = "Write opdsl.dim(range(offsets[s], offsets[s + 1])), of a vector of integers."

_reading_ends: ContextVar[bool] = ContextVar("formula_reads_ends", default=False)


class End(NamedTuple):
    """Read of an offsets tensor that is an end of a range, kept unevaluated since it must not determine the size of a
    dim.

    tensor: the tensor that is read.
    position: the index: a dim, or integers over one.
    """

    tensor: Tensor
    position: DimTensor


class ElementRange(NamedTuple):
    """Range for each index of a dim.

    start, stop: integers over the dim.
    over: the dim.
    """

    start: DimTensor
    stop: DimTensor
    over: Dim


def end_of(value: object, parts: list[Any]) -> End | None:
    """Return an unevaluated ``End`` for a read while the ends of a range are being evaluated; else None."""
    if not _reading_ends.get() or not isinstance(value, Tensor) or len(parts) != 1:
        return None
    return End(value, parts[0]) if isinstance(parts[0], DimTensor) else None


def element_range(*thunks: Callable[[], Any]) -> Any:
    """Evaluate ``range(...)``: return a Python range, or the ranges of a ragged dim if its ends are elements of
    tensors.

    Raises:
        DimError: the ends do not vary along one common dim, or are no integers.
    """
    ends = [_end(end) for end in thunks]
    for end in ends:
        if isinstance(end, End) and end.tensor.ndim != 1:
            shape = list(end.tensor.shape)
            raise DimError(
                f"range(...): the ends have to be read from a vector (got a tensor of shape {shape}). {_WRITE}"
            )
    if not any(isinstance(end, (End, Tensor, DimTensor)) for end in ends):
        return range(*ends)
    if len(ends) != 2:
        raise DimError(f"range(...): expected two ends, both elements over a dim (got {len(ends)}). {_WRITE}")
    first, last = ends
    over = _over(first, last)
    if over is not None:
        if first.tensor.shape[0] == 0:
            raise DimError(
                "range(...): a vector of offsets needs one element more than there are ranges (got an empty one). "
                "Begin it with 0."
            )
        # The last offset ends a range and begins none, so there is one range less.
        over.bind(first.tensor.shape[0] - 1, f"the range of a vector of {first.tensor.shape[0]} offsets")
        kept = first.tensor.narrow(0, 0, over.settle("the ends of ranges"))
        ends = [DimTensor(kept, (over,)) if end.position is over else end.tensor[end.position] for end in (first, last)]
    values = [end.tensor[end.position] if isinstance(end, End) else end for end in ends]
    return _ranges(values)


def _over(first: object, last: object) -> Dim | None:
    """Return the dim ``s`` if the ends are ``offsets[s]`` and another read of the same vector; else None."""
    if not isinstance(first, End) or not isinstance(last, End) or first.tensor is not last.tensor:
        return None
    bare = [end.position for end in (first, last) if isinstance(end.position, Dim) and end.position.is_plain]
    return bare[0] if len(bare) == 1 else None


def _end(end: Callable[[], Any]) -> Any:
    with Setting(_reading_ends, True):
        try:
            value = end()
        except (TypeError, OpdslError):  # the read is part of an expression, so it is evaluated as a value
            value = None
    return value if isinstance(value, End) else end()


def _ranges(values: list[Any]) -> ElementRange:
    if not all(isinstance(value, DimTensor) for value in values):
        number = next(value for value in values if not isinstance(value, DimTensor))
        kind = "a number" if isinstance(number, int) or is_symbol(number) else "a tensor without dims"
        raise DimError(
            f"range(...): both ends have to be elements over a dim, or neither (got {kind} and one). {_WRITE}"
        )
    start, stop = values
    dims = tuple(dict.fromkeys((*start.dims, *stop.dims)))
    if len(dims) != 1 or len(start.dims) != len(stop.dims) or start.ndim or stop.ndim:
        listed = ", ".join(dim.name for dim in dims)
        raise DimError(f"range(...): both ends have to vary along the same dim (got ({listed})). {_WRITE}")
    for value in values:
        if value.dtype is bool_ or value.dtype.category > Category.INT:
            raise DimError(
                f"range(...): the ends have to be integers (got {value.dtype}). Write offsets.to(opdsl.int64)."
            )
    return ElementRange(start, stop, dims[0])
