"""Subscripts ``x[...]``, read and written, with ints, slices, ``None``, ``...``, masks, index tensors and lists.

The rules are those of torch/csrc/autograd/python_variable_indexing.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy

from opdsl.aten.create.construction import tensor
from opdsl.aten.create.copying import copy_tensor_
from opdsl.aten.create.factories import empty, full, zeros
from opdsl.aten.create.filling import fill_number_
from opdsl.aten.index.indexing import index_put_, index_tensor
from opdsl.aten.index.masking import masked_fill_
from opdsl.aten.shape.slicing import select, slice_tensor
from opdsl.aten.shape.splitting import unbind
from opdsl.aten.shape.views import alias, unsqueeze
from opdsl.dispatch.binding.arguments import to_int, to_scalar, value_form
from opdsl.dispatch.binding.function_override import overriding_argument
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.function_plans import FunctionPlans
from opdsl.dispatch.state import current
from opdsl.errors import ArgumentError, DimensionError, OptionError
from opdsl.runtime import (
    Category,
    Tensor,
    bfloat16,
    bool_,
    float16,
    from_numpy,
    install_method,
    int64,
    uint8,
    wrap_dimension,
)
from opdsl.runtime.promotion import number_kind
from opdsl.runtime.symbol import Symbol, is_symbol
from opdsl.runtime.tensor import Index
from opdsl.schema.vocabulary import Scalar

_MASKS = (bool_, uint8)

# Lists of this length or longer are always index tensors.
_LONGEST_TUPLE = 32

_NUMBERS = (bool, int, float, complex)

# Bounds of slices are clamped to this, the largest int64, as Python allows larger ones.
_FARTHEST = 2**63 - 1


class Subscript(NamedTuple):
    """Subscript of a tensor, split into a view and indices of the view.

    seen: a view of the tensor after its ints, slices, ``None`` and ``...``.
    indices: the index tensors and masks for the dimensions of the view; empty if there are none.
    """

    seen: Tensor
    indices: list[Tensor | None]


def take_apart(self: Tensor, index: object) -> Subscript:
    """Split a subscript into the view that its ints, slices, ``None`` and ``...`` make, and the index tensors for that
    view.

    Raises:
        DimensionError: there are more indices than dimensions, an index is out of bounds, or a part is no index.
        OptionError, ArgumentError: the step or a bound of a slice is invalid.
    """
    parts = parts_of(index)
    taken = sum(map(dimensions_of, parts))
    if taken > self.ndim:
        raise DimensionError(f"too many indices for tensor of dimension {self.ndim}")
    seen, dim, indexed = self, 0, 0
    own = 0  # dimension of the tensor itself, for messages
    indices: list[Tensor | None] = []  # for the dimensions before ``indexed``; a mask indexes several
    for part in parts:
        if part is ...:
            dim += self.ndim - taken
            own += self.ndim - taken
            continue
        own += dimensions_of(part)
        if isinstance(part, int) and not isinstance(part, bool):
            seen = select_at(seen, dim, part, own - 1)
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
    """Return the parts of a subscript: ints, bools, slices, None, ``...`` and tensors of at least one dimension.

    Raises:
        DimensionError, ArgumentError: a part is no index.
    """
    parts = index if isinstance(index, (tuple, list)) and is_tuple(index) else (index,)
    return [part_of(part) for part in parts]


def is_tuple(index: Sequence[object]) -> bool:
    """Return whether a sequence counts as a tuple of indices: tuples, and short lists of more than numbers, as in older
    NumPy.
    """
    if isinstance(index, tuple):
        return True
    if len(index) >= _LONGEST_TUPLE:
        return False
    return any(part is None or part is ... or isinstance(part, (Tensor, slice, Sequence)) for part in index)


def part_of(value: object) -> Any:
    """Convert one part of a subscript; a zero-dim tensor of integers becomes an int, one of bools a bool.

    Raises:
        DimensionError, ArgumentError: ``value`` is no index.
    """
    if value is None or value is ... or isinstance(value, (bool, slice)):
        return value
    if isinstance(value, Tensor):
        if value.ndim or value.dtype.category > Category.INT:
            return value
        return bool(value.item()) if value.dtype in _MASKS else value.item()
    if isinstance(value, (str, bytes)):
        raise ArgumentError(f"tensors are not indexed by {type(value).__name__}: {value!r}")
    if isinstance(value, (Sequence, numpy.ndarray)) and _rank_of(value):
        return index_of(value)
    number = position_of(value)
    if number is None:
        raise DimensionError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(value).__name__})"
        )
    return number


def _rank_of(index: object) -> int:
    """Return the number of dimensions of nested sequences.

    Raises:
        ArgumentError: they have different lengths, or are nested deeper than arrays have dimensions.
    """
    try:
        return numpy.ndim(cast("Any", index))
    except ValueError as error:
        raise ArgumentError(f"a list is no index, unless it has the form of a tensor ({error})") from error


def position_of(value: object) -> int | None:
    """Return a value with ``__index__`` as an int (a Symbol itself); None for bools and anything else."""
    if type(value) is Symbol:
        return value  # type: ignore[return-value]
    if isinstance(value, (bool, numpy.bool_)) or not hasattr(value, "__index__"):
        return None
    return int(value.__index__())


def index_of(data: Any) -> Tensor:
    """Convert a list or array to an index tensor: a bool mask, or int64 for any other dtype, including uint8 of
    NumPy.
    """
    output = tensor(data if numpy.size(data) else numpy.empty(numpy.shape(data), numpy.int64))
    return output if output.dtype is bool_ else output.to(int64)


def dimensions_of(part: object) -> int:
    """Return how many dimensions of the tensor a part of a subscript indexes."""
    if part is None or part is ... or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, Tensor) and part.dtype in _MASKS else 1


def select_at(seen: Tensor, dim: int, position: int, own: int = 0) -> Tensor:
    """Return the slice of a view at an index of a dimension; ``own`` is that dimension in the tensor, for messages.

    Raises:
        DimensionError: the index is out of bounds, or the tensor has no dimensions.
    """
    if seen.ndim == 0:
        raise DimensionError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
    size = seen.shape[wrap_dimension(dim, seen.ndim)]
    if not -size <= position < size:
        raise DimensionError(f"index {position} is out of bounds for dimension {own} with size {size}")
    selected: Tensor = select(seen, dim, position)
    return selected


def slice_at(seen: Tensor, dim: int, part: slice) -> Tensor:
    """Return a slice of a dimension.

    Raises:
        OptionError: the step is not positive.
        ArgumentError: a bound is no int.
        DimensionError: the tensor has no dimensions.
    """
    start, end, step = _bound(part.start), _bound(part.stop), 1 if part.step is None else _step(part.step)
    if not start and end is None and step == 1:
        return seen  # does not read the size, as after `...` the dimension may not exist
    sliced: Tensor = slice_tensor(seen, dim, start, end, step)
    return sliced


def _bound(value: object) -> int | None:
    if value is None or type(value) is Symbol:
        return value  # type: ignore[return-value]
    number = to_int(value) if isinstance(value, Tensor) else position_of(value)
    if not isinstance(number, int):
        raise ArgumentError(f"the bounds of a slice are ints or None, not {type(value).__name__}: {value!r}")
    return max(min(number, _FARTHEST), -_FARTHEST)


def _step(value: object) -> int:
    number = _bound(value)
    if number is None or number <= 0:
        raise OptionError(f"the step of a slice is a positive int, not {value!r}. Tensors cannot step backwards.")
    return number


def key_of(index: object, tensors: list[Tensor]) -> object:
    """Return a cache key for the plan of a subscript, and add the subscript's tensors to ``tensors``.

    Raises:
        TypeError: a plan would depend on more than a key has, such as the element of a zero-dim tensor.
    """
    kind = type(index)
    if kind is int or index is None or index is ...:
        return index
    if kind is slice:
        bounds = index.start, index.stop, index.step  # type: ignore[attr-defined]
        if any(bound is not None and type(bound) is not int for bound in bounds):
            raise TypeError("not an int")
        return (slice, *bounds)
    if kind is Tensor:
        tensors.append(index)  # type: ignore[arg-type]
        form = index.geometry  # type: ignore[attr-defined]
        if not form.shape or form.dtype is uint8:
            raise TypeError("an element is looked at")
        return form
    if kind is tuple:
        return tuple([key_of(part, tensors) for part in index])  # type: ignore[attr-defined]
    raise TypeError("anything else")


def form_of(index: Any) -> object:
    """Return a cache key for the plan of a subscript that does not depend on sizes."""
    kind = type(index)
    if kind is slice:
        return (slice, value_form(index.start), value_form(index.stop), value_form(index.step))
    if kind is Tensor:
        return index.geometry.form
    if kind is tuple:
        return tuple([form_of(part) for part in index])
    return value_form(index) if kind is int else index


_INTS = {int}
# Cache of index tensors for lists; private, so that no caller can write to them.
_index_tensors: dict[tuple[int, ...], Tensor] = {}
_LONGEST_KNOWN, _MOST_KNOWN = 16, 256


def without_lists(index: Any) -> Any:
    """Replace the lists of ints in a subscript by index tensors, so that subscripts with different lists share a
    plan.
    """
    if type(index) is tuple:
        if list not in map(type, index) or any(hasattr(type(part), "__opdsl_subscript__") for part in index):
            return index  # first-class dims handle lists next to them
        return tuple([without_lists(part) for part in index])
    if type(index) is list and set(map(type, index)) == _INTS:
        return _index_tensor(index)
    return index


def _index_tensor(index: list[int]) -> Tensor | list[int]:
    """Return the index tensor of a list of ints, cached for short lists; the list itself if 64 bits cannot hold an
    int.
    """
    key = tuple(index[:_LONGEST_KNOWN])
    known = _index_tensors.get(key) if len(index) <= _LONGEST_KNOWN else None
    if known is None:
        try:
            known = from_numpy(numpy.array(index, numpy.int64))
        except OverflowError:
            return index
        if len(index) <= _LONGEST_KNOWN:
            if len(_index_tensors) >= _MOST_KNOWN:
                _index_tensors.clear()
            _index_tensors[key] = known
    return known


def planned_at(plans: FunctionPlans, self: Tensor, index: Any, *values: Tensor | Scalar) -> Any:
    """Call a function of a tensor, a subscript and values by its plan; the function must do nothing but call
    operators.
    """
    tensors = [self]
    state = current.get()
    served = None
    original, index = index, without_lists(index)
    try:
        written = [key_of_value(element, tensors) for element in values]
        key = (self.geometry, key_of(index, tensors), *written)
        plan = plans.plans.get((state, key))
        if plan is not None:
            return plan(self, index, *values)
        form = self.geometry.form, form_of(index), *(form_of_value(element) for element in values)
        served = plans.forms.plans.get(state, {}).get(form)
    except (TypeError, AttributeError):
        key = None
    if key is None:  # outside of the handler, so that errors are not chained to the TypeError of the key
        return plans.function(self, original, *values)
    if served is not None:
        result = served(self, index, *values)
        if result is not GUARD_FAILED:
            return result
    if plans.lowered(state, form, (self, index, *values), tensors):
        return plans.function(self, index, *values)
    return plans.learn(state, key, form, (self, index, *values))


def key_of_value(value: Tensor | Scalar, tensors: list[Tensor]) -> object:
    """Return a cache key for a value that is written: the geometry of a tensor or the type of a number.

    Raises:
        TypeError: it is neither a tensor nor a Python number.
    """
    if type(value) is Tensor:
        tensors.append(value)
        return value.geometry
    if type(value) in _NUMBERS:
        return type(value)
    raise TypeError("anything else")


def form_of_value(value: Tensor | Scalar) -> object:
    """Return a cache key for a value that is written which does not depend on sizes."""
    return value.geometry.form if isinstance(value, Tensor) else type(value)


def get_item(self: Tensor, index: Index) -> Tensor:
    """Return ``x[index]``: a view if ints, slices, ``None`` and ``...`` index, a copy if tensors do."""
    if type(index) is int:
        return select_at(self, 0, index)
    planned: Tensor = planned_at(_READING, self, index)
    return planned


def read_at(self: Tensor, index: Any) -> Tensor:
    """Return ``x[index]`` for any index; an index whose class has ``__opdsl_function__`` computes the result itself."""
    hooked: Any = overriding_argument((index,))
    if hooked is not None:
        answer: Tensor = hooked.__opdsl_subscript__(self, index)
        return answer
    seen, indices = take_apart(self, index)
    if indices:
        return index_tensor(seen, indices)
    # A subscript always returns a new tensor: x[...] is not x.
    return alias(seen) if seen is self else seen


def set_item(self: Tensor, index: Index, value: Tensor | Scalar) -> None:
    """Execute ``x[index] = value``: a number, a tensor or a NumPy array that broadcasts."""
    if isinstance(value, numpy.ndarray):
        value = tensor(value, dtype=self.dtype, device=self.device)
    if self.geometry.requires_grad or (isinstance(value, Tensor) and value.geometry.requires_grad):
        write_at(self, index, value)  # changes the autograd history of the target, which plans do not support
    else:
        planned_at(_WRITING, self, index, value)


def write_at(self: Tensor, index: Any, value: Tensor | Scalar) -> None:
    """Execute ``x[index] = value`` for any index.

    Raises:
        DimError: an index or the value has first-class dimensions.
    """
    hooked: Any = overriding_argument((index, value))
    if hooked is not None:
        hooked.__opdsl_subscript_write__(self, index, value)
        return
    kind = number_kind(value) if is_symbol(value) else type(value)
    # Filling refuses a number that overflows in 16 bits.
    fills = kind in _NUMBERS and self.dtype not in (float16, bfloat16) and index is not False
    written = _without_leading_ones(value) if isinstance(value, Tensor) else None if fills else _zero_dim(value, self)
    if index is False:
        return
    seen, indices = planned_at(_TAKING_APART, self, index)
    mask = indices[0] if len(indices) == 1 else None
    if (
        fills
        and not isinstance(value, Tensor)
        and mask is not None
        and mask.dtype is bool_
        and mask.shape == seen.shape
    ):
        masked_fill_(seen, mask, value)
    elif indices:
        index_put_(seen, indices, _zero_dim(value, self) if written is None else written)
    elif written is None and seen.geometry.is_non_overlapping_and_dense():
        fill_number_(seen, cast("Scalar", value))
    else:
        # Copying refuses elements that share memory; filling does not.
        copy_tensor_(seen, _zero_dim(value, self) if written is None else written)


def _without_leading_ones(value: Tensor) -> Tensor:
    """Remove leading dimensions of size 1 from a value, which may have more dimensions than the elements it is written
    to.

    See ``slicePrefix1sSize`` in ATen/TensorIndexing.h.
    """
    while value.ndim and value.shape[0] == 1:
        value = select(value, 0, 0)
    return value


def _zero_dim(value: object, beside: Tensor) -> Tensor:
    """Return a number as a zero-dim tensor of the dtype and device of another tensor."""
    number = to_scalar(value)
    if not isinstance(number, (int, float, complex)):
        raise ArgumentError(f"x[...] = value takes a tensor or a number, not {type(value).__name__}")
    return full([], number, dtype=beside.dtype, device=beside.device)


# Plans for ``x[index]``, for the elements that ``x[index] = value`` writes to, and for that assignment.
_READING, _TAKING_APART = (FunctionPlans(function, ("self", "index")) for function in (read_at, take_apart))
_WRITING = FunctionPlans(write_at, ("self", "index", "value"), ("value",))


def iterate(self: Tensor) -> Iterator[Tensor]:
    """Return an iterator over the slices along the first dimension: ``for row in x``.

    Raises:
        ArgumentError: the tensor has no dimensions.
    """
    if self.ndim == 0:
        raise ArgumentError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


install_method("__getitem__", get_item, replace=True)
install_method("__setitem__", set_item, replace=True)
install_method("__iter__", iterate, replace=True)
