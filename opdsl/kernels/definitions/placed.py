"""Indexed definitions of functions that fusion has composed of other kernels, without an author's source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.kernels.definitions.indexed import IndexedDefinition
from opdsl.kernels.definitions.indexed_bounds import require_positions
from opdsl.kernels.definitions.indexed_calls import Resolved
from opdsl.kernels.definitions.structured import Arguments, PreparedCall
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime import float32
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema

if TYPE_CHECKING:
    from opdsl.runtime.dtype import DType
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.indexed import IndexedFunction

__all__ = ["PlacedDefinition"]

# The length up to which a sequential float32 sum is as accurate as PyTorch's staged sums.
_FEW = 64


class PlacedDefinition(IndexedDefinition):
    """Definition of a composed function of indices, whose indices are known to be in bounds.

    Args:
        schema: its tensors are those that the function reads, its numbers the function's and those of ranges, by name.
        name: for messages.
        indexed: the function, which folds sums or nothing.
        ranges: of each index, a number or the name of an argument.
        dtype: of the result.
        looked_at: tensors of indices to check, which are not negative, the sizes that they index (see ``ranges``), and
            the dimension, for messages.
        written: the sizes of a result that the function adds to at computed indices; empty if the result is indexed by
            the function's own indices.
    """

    __slots__ = ("_in_double", "dtype", "indexed", "looked_at", "ranges", "written")

    is_checked = False

    def __init__(
        self,
        schema: FunctionSchema,
        name: str,
        indexed: IndexedFunction,
        ranges: Mapping[str, int | str],
        dtype: DType,
        looked_at: Sequence[tuple[str, int | str, int]] = (),
        written: Sequence[int | str] = (),
    ) -> None:
        super().__init__(schema, name)
        self.looked_at, self.written = tuple(looked_at), tuple(written)
        self.indexed, self.ranges, self.dtype = indexed, dict(ranges), dtype
        self.fold, self.values = indexed.fold, 1
        self._in_double: dict[IndexedFunction, IndexedFunction] = {}

    @property
    def decorator(self) -> str:
        """See ``Definition.decorator``."""
        return "indexed"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``: no author's function exists."""
        return ()

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        return (self.indexed.values_only(self.indexed.function.parameters),)

    def accumulated(self, indexed: IndexedFunction, ranges: Mapping[str, Any], dtype: DType) -> IndexedFunction:
        """See ``IndexedDefinition.accumulated``: long float32 sums are as exact as those that accumulate in stages."""
        if indexed.fold != "sum" or dtype is not float32 or math.prod(ranges[index] for index in indexed.over) <= _FEW:
            return indexed
        if indexed not in self._in_double:
            self._in_double[indexed] = _summed_in_double(indexed)
        return self._in_double[indexed]

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``.

        Raises:
            PositionError: an index is out of bounds.
        """
        values = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        for array, size, dim in self.looked_at:
            extent = values[size] if isinstance(size, str) else size
            require_positions(values[array], extent, "the tensor that is read", dim)
        return super().prepare(arguments, tensors)

    def resolved(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> Resolved:
        """See ``IndexedDefinition.resolved``."""
        values: dict[str, Any] = {
            parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)
        }
        indexed = self.indexed
        tensors = {array: values[array] for array in indexed.arrays}
        ranges = {name: values[size] if isinstance(size, str) else size for name, size in self.ranges.items()}
        indexed = self.accumulated(indexed, ranges, self.dtype)
        numbers = {number: values[number] for number in indexed.numbers}
        sizes = [values[size] if isinstance(size, str) else size for size in self.written]
        shape = tuple(sizes if indexed.writes else [ranges[index] for index in indexed.at])
        device = next(iter(tensors.values())).device
        spec = OutputSpec(self.dtype, device, shape, contiguous_strides(shape))
        return Resolved(indexed, tensors, numbers, ranges, (), (spec,))


def _summed_in_double(indexed: IndexedFunction) -> IndexedFunction:
    """Return the function with its sums accumulated in float64 and rounded once.

    Args:
        indexed: folds sums, without a finish.
    """
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.untyped import UntypedNode

    function, place = indexed.function, indexed.function.places[0]
    count = len(function.results)
    nodes, places = list(function.nodes), [*function.places, *[place] * count]
    results = tuple(range(len(nodes), len(nodes) + count))
    nodes += [UntypedNode("convert", (at,), "float64") for at in function.results]
    definition = (function.name, function.parameters, function.defaults, tuple(nodes), tuple(places))
    names = tuple(f"sum{at}" for at in range(count))
    handed = tuple(UntypedNode("parameter", (), name) for name in names)
    finish = ScalarFunction(function.name, names, {}, handed, (place,) * count, tuple(range(count)), function.source)
    return indexed._replace(function=ScalarFunction(*definition, results, function.source), finish=finish)
