"""``x[...]``, read and written: ints, slices, ``None``, ``...``, masks, index tensors, lists, and all of them together.

The rules are those of torch/csrc/autograd/python_variable_indexing.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.aten.construction import tensor
from opdsl.aten.copying import copy_tensor_
from opdsl.aten.factories import empty, full, zeros
from opdsl.aten.indexing import index_put_, index_tensor
from opdsl.aten.slicing import select, slice_tensor
from opdsl.aten.splitting import unbind
from opdsl.aten.views import alias, unsqueeze
from opdsl.dispatch.arguments import NO_MATCH, to_int, to_scalar
from opdsl.errors import ArgumentError, DimensionError, OptionError
from opdsl.runtime import Category, Tensor, bool_, install_method, int64, uint8, wrap_dimension
from opdsl.runtime.tensor import Index
from opdsl.schema.vocabulary import Scalar

_MASKS = (bool_, uint8)

# Longer lists are always taken for index tensors.
_LONGEST_TUPLE = 32


class Subscript(NamedTuple):
    """A subscript, taken apart.

    seen: a view of the tensor after its ints, slices, ``None`` and ``...``.
    indices: what then indexes the dimensions of the view; empty where nothing does.
    """

    seen: Tensor
    indices: list[Tensor | None]


def take_apart(self: Tensor, index: object) -> Subscript:
    """Take a subscript apart.

    Raises:
        DimensionError: there are more indices than dimensions, a position lies outside, or a part is no index.
        OptionError, ArgumentError: a slice has a step or a bound that is none.
    """
    parts = parts_of(index)
    taken = sum(map(dimensions_of, parts))
    if taken > self.ndim:
        raise DimensionError(f"too many indices for tensor of dimension {self.ndim}")
    seen, dim, indexed = self, 0, 0
    indices: list[Tensor | None] = []  # which stand for the dimensions before ``indexed``, a mask for several
    for part in parts:
        if part is ...:
            dim += self.ndim - taken
            continue
        if isinstance(part, int) and not isinstance(part, bool):
            seen = select_at(seen, dim, part)
            continue
        if isinstance(part, slice):
            seen = slice_at(seen, dim, part)
        elif part is None:
            seen = unsqueeze(seen, dim)
        else:
            if isinstance(part, bool):
                seen = unsqueeze(seen, dim)
                part = zeros([1], dtype=int64) if part else empty([0], dtype=int64)
            indices += [*[None] * (dim - indexed), part]
            dim += dimensions_of(part)
            indexed = dim
            continue
        dim += 1
    return Subscript(seen, indices)


def parts_of(index: object) -> list[Any]:
    """The parts of a subscript: ints, bools, slices, None, ``...`` and tensors of at least one dimension.

    Raises:
        DimensionError, ArgumentError: a part is no index.
    """
    parts = index if isinstance(index, (tuple, list)) and is_tuple(index) else (index,)
    return [part_of(each) for each in parts]


def is_tuple(index: Sequence[object]) -> bool:
    """Whether a sequence stands for a tuple: a list does where it holds more than numbers, as in NumPy of old."""
    if isinstance(index, tuple):
        return True
    if len(index) >= _LONGEST_TUPLE:
        return False
    return any(each is None or each is ... or isinstance(each, (Tensor, slice, Sequence)) for each in index)


def part_of(value: object) -> Any:
    """One part of a subscript; a zero-dim tensor of integers is an int, one of bools a bool.

    Raises:
        DimensionError, ArgumentError: it is no index.
    """
    if value is None or value is ... or isinstance(value, (bool, slice)):
        return value
    if isinstance(value, Tensor):
        if value.ndim or value.dtype.category > Category.INT:
            return value
        return bool(value.item()) if value.dtype in _MASKS else value.item()
    if isinstance(value, (str, bytes)):
        raise ArgumentError(f"tensors are not indexed by {type(value).__name__}: {value!r}")
    if isinstance(value, (Sequence, numpy.ndarray)) and numpy.ndim(value):
        return index_of(value)
    number = position_of(value)
    if number is None:
        raise DimensionError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(value).__name__})"
        )
    return number


def position_of(value: object) -> int | None:
    """An int, or what Python takes for one; None for anything else."""
    if isinstance(value, (bool, numpy.bool_)) or not hasattr(value, "__index__"):
        return None
    return int(value.__index__())


def index_of(data: Any) -> Tensor:
    """A list or array as an index tensor: a mask of bools, int64 of anything else."""
    made = tensor(data if numpy.size(data) else numpy.empty(numpy.shape(data), numpy.int64))
    return made if made.dtype in _MASKS else made.to(int64)


def dimensions_of(part: object) -> int:
    """How many dimensions a part indexes."""
    if part is None or part is ... or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, Tensor) and part.dtype in _MASKS else 1


def select_at(seen: Tensor, dim: int, position: int) -> Tensor:
    """One position of a dimension.

    Raises:
        DimensionError: there is no such position, or the tensor has no dimensions.
    """
    if seen.ndim == 0:
        raise DimensionError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
    size = seen.shape[wrap_dimension(dim, seen.ndim)]
    if not -size <= position < size:
        raise DimensionError(f"index {position} is out of bounds for dimension {dim} with size {size}")
    return select(seen, dim, position)


def slice_at(seen: Tensor, dim: int, part: slice) -> Tensor:
    """A slice of a dimension.

    Raises:
        OptionError: its step is not positive. ArgumentError: a bound is no int.
        DimensionError: the tensor has no dimensions.
    """
    start, end, step = _bound(part.start), _bound(part.stop), 1 if part.step is None else _step(part.step)
    if not start and end is None and step == 1:
        return seen  # also after `...` that stand for more dimensions than there are: nobody asks for the size
    return slice_tensor(seen, dim, start, end, step)


def _bound(value: object) -> int | None:
    if value is None:
        return None
    number = to_int(value)
    number = position_of(value) if number is NO_MATCH else number
    if not isinstance(number, int):
        raise ArgumentError(f"the bounds of a slice are ints or None, not {type(value).__name__}: {value!r}")
    return number


def _step(value: object) -> int:
    number = _bound(value)
    if number is None or number <= 0:
        raise OptionError(f"the step of a slice is a positive int, not {value!r}. Tensors cannot step backwards.")
    return number


def get_item(self: Tensor, index: Index) -> Tensor:
    """``x[index]``: a view where ints, slices, ``None`` and ``...`` index, new elements where tensors do."""
    if type(index) is int:
        return select_at(self, 0, index)
    seen, indices = take_apart(self, index)
    if indices:
        return index_tensor(seen, indices)
    # A subscript is always a new tensor: x[...] is not x.
    return alias(seen) if seen is self else seen


def set_item(self: Tensor, index: Index, value: Tensor | Scalar) -> None:
    """``x[index] = value``: a number or a tensor that broadcasts."""
    written = _without_leading_ones(value) if isinstance(value, Tensor) else _zero_dim(value, self)
    if index is False:
        return
    seen, indices = take_apart(self, index)
    if indices:
        index_put_(seen, indices, written)
    else:
        copy_tensor_(seen, written)


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
