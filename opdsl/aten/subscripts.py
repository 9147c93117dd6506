"""``x[...]`` with ints, slices, ``None`` and ``...``: views, read and written."""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType

from opdsl.aten.copying import copy_tensor_
from opdsl.aten.factories import full
from opdsl.aten.slicing import select, slice_tensor
from opdsl.aten.splitting import unbind
from opdsl.aten.views import alias, unsqueeze
from opdsl.dispatch.arguments import NO_MATCH, to_int, to_scalar
from opdsl.errors import ArgumentError, DimensionError, OptionError
from opdsl.runtime import Tensor, install_method

Index = int | slice | None | EllipsisType


def parse(index: object, ndim: int) -> list[Index]:
    """The parts of a subscript, with ``...`` written out.

    Args:
        index: what stands in the brackets.
        ndim: number of the tensor's dimensions.

    Raises:
        DimensionError: a part is no int, slice, None or ``...``, there are more ints and slices than dimensions, or
            two ``...``.
    """
    given = index if isinstance(index, tuple) else (index,)
    parts = [_part(each) for each in given]
    taken = sum(isinstance(each, (int, slice)) for each in parts)
    if taken > ndim:
        raise DimensionError(f"too many indices for tensor of dimension {ndim}")
    places = [place for place, each in enumerate(parts) if each is ...]
    if len(places) > 1:
        raise DimensionError("an index can only have a single ellipsis ('...')")
    whole: list[Index] = [slice(None)] * (ndim - taken)
    place = places[0] if places else len(parts)
    return [*parts[:place], *whole, *parts[place + 1 :]]


def _part(value: object) -> Index:
    if value is None or value is ... or isinstance(value, slice):
        return value
    number = NO_MATCH if isinstance(value, (bool, list)) else to_int(value)
    if not isinstance(number, int):
        raise DimensionError(
            f"tensors are indexed by ints, slices, None and ..., not by {type(value).__name__}. "
            "Masks and lists of indices are not supported yet; opdsl.where chooses by a condition."
        )
    return number


def get_item(self: Tensor, index: object) -> Tensor:
    """``x[index]``, a view."""
    seen = self
    dim = 0
    for part in parse(index, self.ndim):
        if isinstance(part, int):
            seen = select(seen, dim, part)
            continue
        if part is None:
            seen = unsqueeze(seen, dim)
        elif isinstance(part, slice) and part != slice(None):
            start, end = _bound(part.start), _bound(part.stop)
            seen = slice_tensor(seen, dim, start, end, 1 if part.step is None else _step(part.step))
        dim += 1
    # A subscript is always a new tensor: x[...] is not x.
    return alias(seen) if seen is self else seen


def _bound(value: object) -> int | None:
    if value is None:
        return None
    number = to_int(value)
    if not isinstance(number, int):
        raise ArgumentError(f"the bounds of a slice are ints or None, not {type(value).__name__}: {value!r}")
    return number


def _step(value: object) -> int:
    number = to_int(value)
    if not isinstance(number, int) or number <= 0:
        raise OptionError(f"the step of a slice is a positive int, not {value!r}. Tensors cannot step backwards.")
    return number


def set_item(self: Tensor, index: object, value: object) -> None:
    """``x[index] = value``: a number or a tensor that broadcasts."""
    written = _without_leading_ones(value) if isinstance(value, Tensor) else _zero_dim(value, self)
    copy_tensor_(get_item(self, index), written)


def _without_leading_ones(value: Tensor) -> Tensor:
    """The value without leading dimensions of size 1, which it may have more of than what it is written to.

    See ``slicePrefix1sSize`` in ATen/TensorIndexing.h.
    """
    while value.ndim and value.shape[0] == 1:
        value = select(value, 0, 0)
    return value


def _zero_dim(value: object, beside: Tensor) -> Tensor:
    """A number as a tensor of the dtype and device of another one."""
    number = to_scalar(value)
    if not isinstance(number, (int, float, complex)):
        raise ArgumentError(f"x[...] = value takes a tensor or a number, not {type(value).__name__}")
    return full([], number, dtype=beside.dtype, device=beside.device)


def iterate(self: Tensor) -> Iterator[Tensor]:
    """``for row in x``: the positions of the first dimension.

    Raises:
        ArgumentError: the tensor has no dimensions.
    """
    if self.ndim == 0:
        raise ArgumentError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


install_method("__getitem__", get_item, replace=True)
install_method("__setitem__", set_item, replace=True)
install_method("__iter__", iterate, replace=True)
