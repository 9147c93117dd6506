"""Calls of operators on dask arrays: overload resolution, and splitting of composite bodies into calls that can be
split.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import dask.array as da
import numpy

from opdsl.dispatch import DispatchKey, DispatchMode, Operator, current
from opdsl.dispatch.binding.boxed import unbox
from opdsl.dispatch.plans.traceable import is_promised
from opdsl.errors import DeclarationError, ShardingError
from opdsl.interop.dask.graphs import UNKNOWN, Plan, Results
from opdsl.kernels import new_tensor
from opdsl.runtime import Device, Generator, Tensor, to_dtype
from opdsl.runtime.geometry import geometry
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import SchemaKind
from opdsl.sharding.composites import ByItsCalls, follows_sizes
from opdsl.sharding.operators import in_order, rule_of
from opdsl.sharding.rules import AllBut
from opdsl.sharding.windows import Sliding, Window, overlaps


class _FirstCall(DispatchMode):
    """Dispatch mode that records the first operator that a function calls, with its arguments."""

    before_decomposition = True

    def __init__(self) -> None:
        self.operator: Operator | None = None
        self.arguments: tuple[Any, ...] = ()

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        if self.operator is None:
            self.operator = operator.operator
            self.arguments = unbox(operator.operator, args, kwargs)
        return operator(*args, **kwargs)


def on_arrays(function: Callable[..., Any]) -> Callable[..., Results]:
    """See ``opdsl.interop.dask.lazy``."""
    if not isinstance(getattr(function, "operator", None), Operator):
        raise DeclarationError(
            f"lazy takes a declared operator, not {getattr(function, '__name__', function)!r}. Declare one with @op, "
            "or take one of opdsl.ops."
        )

    def call(*positional: Any, **named: Any) -> Results:
        return _called(function, positional, named)

    call.__name__ = call.__qualname__ = getattr(function, "__name__", "call")
    call.__doc__ = function.__doc__
    return call


def _called(function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]) -> Results:
    known = _Arrays()

    def stand_in(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(_is_array(element) for element in value):
            return [stand_in(element) for element in value]
        if isinstance(value, Generator):
            known.generator = value
            return Generator("meta")
        return known.stand_in(value) if _is_array(value) else value

    seen = _FirstCall()
    with seen:
        result = function(*map(stand_in, positional), **{name: stand_in(value) for name, value in named.items()})
    if seen.operator is None:
        raise ShardingError(f"{getattr(function, '__name__', function)} calls no operator")
    metas = list(tensors_in(result))
    if not metas:
        raise ShardingError(f"{seen.operator.name} returns no tensor that could become an array")
    return _planned(seen.operator, seen.arguments, known, metas)


def _is_array(value: object) -> bool:
    return isinstance(value, (da.Array, numpy.ndarray, Tensor))


class _Arrays:
    """Map from meta tensors to the dask arrays that they represent.

    generator: of random numbers, if the call passes one.
    """

    def __init__(self) -> None:
        self.generator: Generator | None = None
        self._by_tensor: dict[int, tuple[Tensor, da.Array]] = {}

    def stand_in(self, value: Any) -> Tensor:
        """Return a new meta tensor that represents an array."""
        array = value if isinstance(value, da.Array) else da.from_array(numpy.asarray(value), chunks=-1)
        prepare()
        shape = tuple(UNKNOWN if math.isnan(size) else size for size in array.shape)
        stand_in = new_tensor(geometry(to_dtype(array.dtype), Device("meta"), shape))
        self.keep(stand_in, array)
        return stand_in

    def keep(self, tensor: Tensor, array: da.Array) -> None:
        """Record that a meta tensor represents an array."""
        self._by_tensor[id(tensor)] = tensor, array

    def of(self, tensor: Tensor) -> da.Array | None:
        """Return the array that a meta tensor represents, or None."""
        return self._by_tensor.get(id(tensor), (tensor, None))[1]


def _planned(operator: Operator, arguments: tuple[Any, ...], known: _Arrays, metas: list[Tensor]) -> Results:
    """Return the result arrays of a call. A composite body that cannot be split as a whole is split at its inner
    calls.
    """
    wanted = [array for input in tensors_in(arguments) if (array := known.of(input)) is not None]
    plan = Plan(operator, arguments, wanted, metas, known.generator)
    rule = rule_of(operator)
    plan.label(rule)
    if isinstance(rule, ByItsCalls) and _only_calls(operator) and plan.uncut():
        try:
            return _taken_apart(operator, arguments, known)
        except _ElementsUnknownError:
            return plan.results(rule)
    if isinstance(rule, Sliding):
        source = wanted[0]
        for dim, window in rule.windows_of(arguments).items():
            if source.numblocks[dim] > 1 and not math.isnan(source.shape[dim]):
                return _overlapping(operator, arguments, known, metas[0], dim, window)
    if isinstance(rule, AllBut) and rule.selects and len(_bounds(wanted[0], rule.dim(arguments))) > 2:
        return _selected(operator, arguments, known, wanted[0], rule)
    return plan.results(rule)


def _only_calls(operator: Operator) -> bool:
    """Return whether a kernel only calls operators. Other kernels may read and write elements directly."""
    kernel = operator.entry(DispatchKey("CPU")).kernel
    is_implicit = "CompositeImplicitAutograd" in map(str, operator.registrations)
    return is_implicit or is_promised(getattr(kernel, "function", None))


def _bounds(array: da.Array, dim: int) -> list[int]:
    """Return the chunk boundaries of an array along a dimension, including both ends; an empty list if sizes are
    unknown.
    """
    sizes = array.chunks[dim] if array.ndim else ()
    return [] if any(map(math.isnan, sizes)) else [0, *itertools.accumulate(sizes)]


def _called_on(
    operator: Operator, arguments: tuple[Any, ...], known: _Arrays, array: da.Array, changed: Mapping[int, Any]
) -> Any:
    """Return the result arrays of a call whose first array is replaced, and further arguments changed by index."""
    first, piece = next(tensors_in(arguments)), known.stand_in(array)
    new_arguments = tuple(
        changed.get(at, piece if argument is first else argument) for at, argument in enumerate(arguments)
    )
    return _planned(operator, new_arguments, known, list(tensors_in(in_order(operator)(*new_arguments))))


def _part(array: da.Array, dim: int, begin: int, end: int) -> da.Array:
    """Slice an array along a dimension, and merge the slice into one chunk."""
    return array[(slice(None),) * dim + (slice(begin, end),)].rechunk({dim: -1})


def _selected(
    operator: Operator, arguments: tuple[Any, ...], known: _Arrays, source: da.Array, rule: AllBut
) -> Results:
    """Select in two steps, as top-k does: select within each chunk, then among the values and indices that the chunks
    gave.
    """
    dim, at = rule.dim(arguments), rule.names.index(rule.selects)
    values, places = [], []
    for begin, end in itertools.pairwise(_bounds(source, dim)):
        most = {at: min(arguments[at], end - begin)}
        value, place = _called_on(operator, arguments, known, _part(source, dim, begin, end), most)
        values.append(value)
        places.append(place + begin)
    joined = da.concatenate(values, axis=dim).rechunk({dim: -1})
    value, index = _called_on(operator, arguments, known, joined, {})
    numbered = da.concatenate(places, axis=dim).rechunk(joined.chunks)
    chosen = da.map_blocks(numpy.take_along_axis, numbered, index, axis=dim, chunks=index.chunks, dtype=index.dtype)
    return value, chosen


def _overlapping(
    operator: Operator, arguments: tuple[Any, ...], known: _Arrays, meta: Tensor, dim: int, window: Window
) -> Results:
    """Compute a sliding-window operator in pieces that also read elements of neighboring chunks, and concatenate
    them.
    """
    source = known.of(next(tensors_in(arguments)))
    assert source is not None, "windows slide over an array"
    parts = []
    for overlap in overlaps(window, source.shape[dim], meta.shape[dim], _bounds(source, dim)):
        result = _called_on(operator, arguments, known, _part(source, dim, overlap.begin, overlap.end), {})
        parts.append(_part(result, dim, overlap.skipped, overlap.skipped + overlap.wanted))
    return da.concatenate(parts, axis=dim)


class _ElementsUnknownError(Exception):
    """Raised when a body reads elements, or uses tensors that no traced operator returned; the body then runs on whole
    arrays.
    """


# Operators that return uninitialized tensors, which later calls write to.
_UNSET = frozenset(
    ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize", "resize_as")
)


class _Body(DispatchMode):
    """Dispatch mode that runs a body on meta tensors, and each call in it also on the arrays that these represent."""

    def __init__(self, known: _Arrays) -> None:
        self.known = known

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        result = operator(*args, **kwargs)
        arguments = unbox(called, args, kwargs)
        metas, tensors = list(tensors_in(result)), list(tensors_in(arguments))
        arrays_given = [self.known.of(tensor) is not None for tensor in tensors]
        if called.schema.name.base in _UNSET or not metas or (arrays_given and not all(arrays_given)):
            raise _ElementsUnknownError
        if arrays_given:
            if called.schema.kind is not SchemaKind.functional:
                raise ShardingError(f"{called.name} writes into a tensor, which dask arrays do not allow")
            planned = _planned(called, arguments, self.known, metas)
            arrays = planned if isinstance(planned, tuple) else (planned,)
        else:  # A factory is run, since its elements depend on no array.
            results = in_order(called)(
                *(Device("cpu") if isinstance(argument, Device) else argument for argument in arguments)
            )
            arrays = tuple(da.from_array(numpy.asarray(output), chunks=-1) for output in tensors_in(results))
        for meta, array in zip(metas, arrays, strict=True):
            self.known.keep(meta, array)
        return result


def _taken_apart(operator: Operator, arguments: tuple[Any, ...], known: _Arrays) -> Results:
    """Compute a composite by splitting each call of its body separately.

    Raises:
        ShardingError: sizes are unknown and the body computes with them, so that its results could be wrong.
    """
    for tensor in tensors_in(arguments):
        array = known.of(tensor)
        is_unknown = array is not None and any(map(math.isnan, array.shape))
        if is_unknown and not follows_sizes(operator, arguments, UNKNOWN, rule_of):
            raise ShardingError(
                f"{operator.name}: chunk sizes are unknown, and its body computes with sizes. Call "
                "compute_chunk_sizes() of the array first."
            )
    kernel = operator.find_in(operator.key_set(arguments, current.get()))
    with _Body(known):
        result = kernel(*arguments)
    known_arrays = tuple(known.of(output) for output in tensors_in(result))
    arrays = tuple(result_array for result_array in known_arrays if result_array is not None)
    if len(arrays) != len(known_arrays):
        raise ShardingError(f"{operator.name}: a result of its body was not returned by an operator")
    return arrays if len(arrays) > 1 else arrays[0]
