"""Reductions over computed elements: a scalar function is fused into the reduction's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.definitions.reduction import Reducing, ReductionDefinition
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, PreparedCall
from opdsl.kernels.functions import reduction
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dimensions import reduced_shape, require_elements
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.iteration.reduction_iterator import reduction_layout
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding

__all__ = ["Lifted", "LiftedDefinition"]


class Lifted(NamedTuple):
    """Reduction of elements that a scalar function computes.

    label: the reduction's name, for messages.
    state: of a call of the reduction.
    folding: its typed functions; the lift takes an element of each tensor, the index if it needs it, and the numbers.
    dim: the dimensions that are reduced, as passed to the call.
    keepdim: whether they stay.
    numbers: the dtypes in which the numbers are computed.
    """

    label: str
    state: Reducing
    folding: Folding
    dim: int | tuple[int, ...] | None
    keepdim: bool
    numbers: tuple[DType, ...]


class LiftedDefinition(ReductionDefinition):
    """Definition of a reduction over elements computed from tensors, which broadcast, and from numbers.

    Args:
        schema: of the operator: tensors, then numbers.
        name: its name, for messages.
        lifted: the computation and the reduction.
    """

    __slots__ = ("lifted",)

    def __init__(self, schema: FunctionSchema, name: str, lifted: Lifted) -> None:
        super().__init__(schema, name)
        self.label = lifted.label
        self.folds = [lifted.state.fold]
        self.lifted = lifted

    @property
    def derived_by(self) -> str:
        """See ``Definition.derived_by``: empty, as no gradient is derived from typed functions."""
        return ""

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        state = self.lifted.state
        count = len(arguments) - len(self.lifted.numbers)
        shape = broadcast_all(argument.shape for argument in arguments[:count])
        if state.fold.needs_elements:
            require_elements(self.label, self.lifted.dim, shape)
        kept = reduced_shape(shape, state.dims, keepdim=self.lifted.keepdim)
        device, strides = arguments[0].device, contiguous_strides(kept)
        specs = tuple(OutputSpec(dtype, device, kept, strides) for dtype in state.results)
        replace = state._replace(numbers=tuple(arguments[count:]), places=tuple(range(count)), shape=shape)
        return PreparedCall(specs, replace)

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        state: Reducing = prepared.state
        sources = [arguments[at] for at in state.places]
        compute = self._compile(state, [source.geometry for source in sources], outputs, allocate=allocate)
        numbers = [convert(number, dtype) for number, dtype in zip(state.numbers, self.lifted.numbers, strict=True)]
        return CompiledCall(compute, (*map(array_of, sources), *numbers))

    def _compile(
        self, state: Reducing, sources: Sequence[TensorMeta], outputs: Sequence[TensorMeta], *, allocate: bool
    ) -> Compiled:
        folding = self.lifted.folding
        layout = reduction_layout(
            sources,
            state.dims,
            outputs,
            allocate=allocate,
            in_order=folding.with_index or folding.in_order,
            numbers=self.lifted.numbers,
        )
        return compiler_for(outputs[0].device.type).compile(reduction(folding), layout)
