"""Indexed definitions derived from others: gradients, and folds without their finish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.kernels.definitions.indexed import IndexedDefinition, number_of
from opdsl.kernels.definitions.indexed_calls import Resolved
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.structured import Arguments
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.parameters import Role

if TYPE_CHECKING:
    from opdsl.scalar.indexed import IndexedFunction


class DerivedIndexed(IndexedDefinition):
    """Indexed definition whose function is derived from that of another one: its gradient, or its unfinished fold.

    Args:
        schema: its first arguments are tensors that the function reads besides those of the other, which follow.
        name: for messages.
        original: the other definition.
        make: derives the function, from that of the other and whether its result covers each element of ``like``.
        like: the tensor whose dtype the results have; empty where they have the computation dtypes.
        fold: how results that are largest or smallest values are reduced.
    """

    __slots__ = ("_made", "like", "make", "original")

    is_checked = False

    def __init__(
        self,
        schema: FunctionSchema,
        name: str,
        original: IndexedDefinition,
        make: Callable[[IndexedFunction, bool], IndexedFunction],
        like: str,
        fold: str = "",
    ) -> None:
        super().__init__(schema, name)
        self.fold, self.values = fold, original.values
        self.with_place = self.gives_turns = fold in ("max", "min") and self.results > self.values
        self.original, self.make, self.like = original, make, like
        self._made: dict[tuple[int, bool], tuple[IndexedFunction, IndexedFunction]] = {}

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return self.original.functions(key)

    def _derived(self, function: IndexedFunction, *, is_whole: bool = True) -> IndexedFunction:
        """Return the function that this definition derives from a function of the original definition, such as its
        gradient; cached.
        """
        key = id(function), is_whole
        if key not in self._made:
            self._made[key] = function, self.make(function, is_whole)
        return self._made[key][1]

    def resolved(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> Resolved:
        """See ``IndexedDefinition.resolved``."""
        count = len(arguments) - len(self.original.parameters)
        base = self.original.resolved(arguments[count:], ())
        indexed = self._derived(base.function)
        if self.like and not indexed.writes:
            target, own = base.tensors[self.like], tuple([base.ranges[index] for index in indexed.at])
            if target.shape[target.ndim - len(own) :] != own:
                indexed = self._derived(base.function, is_whole=False)
        read = {
            **base.tensors,
            **{parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=False)},
        }
        tensors = {array: read[array] for array in indexed.arrays}
        ranges = {index: base.ranges[index] for index in indexed.indices}
        if self.like:
            indexed = self.original.accumulated(indexed, ranges, read[self.like].dtype)
        numbers = {number: number_of(number, base.numbers, base.tensors, base.ranges) for number in indexed.numbers}
        shape = (*base.leading, *(ranges[index] for index in indexed.at))
        if indexed.writes:
            target, written = base.tensors[self.like], indexed.writes[0]
            leading = base.leading if written.leads else ()
            shape = (*leading, *target.shape[target.ndim - len(written.positions) :])
        specs: tuple[OutputSpec, ...]
        if self.like:
            first = read[self.like]
            specs = (OutputSpec(first.dtype, first.device, shape, contiguous_strides(shape), False, None),)
        else:
            specs = self._specs(indexed, tensors, shape, numbers)
        return Resolved(indexed, tensors, numbers, ranges, base.leading, specs)


class AdjointIndexed(IndexedDefinition):
    """Indexed definition of the gradient of a tensor that another definition reads, as a separate operator.

    Args:
        schema: its first tensors are the gradients of the other operator's results. It has the other arguments that the
            function takes, but need not have the tensor.
        name: for messages.
        original: the other definition; it folds sums, or nothing.
        wanted: the tensor.
        meta: the shape function: it sets the output, and returns the same values as the other operator's.
    """

    __slots__ = ("_grads", "original", "wanted")

    is_checked = False

    def __init__(
        self,
        schema: FunctionSchema,
        name: str,
        original: IndexedDefinition,
        wanted: str,
        meta: Callable[..., object],
    ) -> None:
        super().__init__(schema, name)
        self.original, self.wanted, self.meta = original, wanted, meta
        self.at, self.over, self.names = original.at, original.over, original.names
        grads = [parameter.name for parameter in self.parameters if parameter.role is Role.TENSOR]
        self._grads = grads[: original.results]

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return self.original.functions(key)

    def read(self, signature: tuple[tuple[str, str, Any], ...]) -> IndexedFunction:
        """See ``IndexedDefinition.read``."""
        from opdsl.scalar.indexed_adjoint import adjoint

        function = self._read.get(signature)
        if function is None:
            function = self._read[signature] = adjoint(self.original.read(signature), self.wanted, self._grads)
        return function

    def resolved(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> Resolved:
        """See ``IndexedDefinition.resolved``."""
        tensors = [tensor for tensor in tensors_in(arguments) if isinstance(tensor, Tensor)]
        context = MetaContext(self.name, self.results, outs, tensors[0].device)
        values = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        values |= self._stated(context, arguments)
        specs = context.specs("meta" if self.meta is None else self.meta.__name__)
        indexed = self.read(self._signature({**values, self.wanted: tensors[0]}))
        read = {array: values[array] for array in indexed.arrays}
        shape = values[self._grads[0]].shape
        count = len(shape) - len(indexed.at)
        ranges = dict(zip(indexed.at, shape[count:], strict=True)) | {index: values[index] for index in indexed.over}
        sized = {**values, self.wanted: specs[0]}
        numbers = {number: number_of(number, values, sized, ranges) for number in indexed.numbers}
        return Resolved(indexed, read, numbers, ranges, shape[:count], specs)
