"""Base class of row definitions and scans, which compute each row of a tensor from rows of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.errors import DTypeError
from opdsl.kernels.calls import Layout
from opdsl.kernels.compiler import Compiled, apart
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, Definition, PreparedCall
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.iteration.row_iterator import row_layout
from opdsl.kernels.iteration.strides import steps
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.runtime.device import MemoryFormat
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view


class Rowwise(NamedTuple):
    """Call of a row operator or a scan: its shape, row dimensions and operands.

    shape: the shape that all operands broadcast to.
    dims: of a row.
    places: positions of the arguments that are operands, tensors before numbers.
    precision: the dtype of the numbers.
    cast: the dtype that tensors are cast to before, None for their own.
    details: data of the definition's own.
    owner: the definition that computes the call.
    """

    shape: tuple[int, ...]
    dims: tuple[int, ...]
    places: tuple[int, ...]
    precision: DType
    cast: DType | None
    details: Any
    owner: RowwiseDefinition


class RowwiseDefinition(Definition):
    """Base class of definitions that compute rows of outputs from rows of operands; subclasses prepare and compile."""

    __slots__ = ()

    # Whether a kernel reads each element before it writes it, so that an output may be an input's memory.
    reads_before_writing = False

    def compile(self, state: Rowwise, inputs: Sequence[TensorMeta | DType], layout: Layout, device: str) -> Compiled:
        """Compile the kernel of a call.

        Args:
            state: of the call.
            inputs: the geometry of each array, the dtype of each number.
            layout: sizes and strides of the operands.
            device: the type of the device.
        """
        raise NotImplementedError

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``."""
        if output.dtype is spec.dtype:
            return
        if inplace:
            raise DTypeError(
                f"Bad in-place call: input tensor dtype {c_name(output.dtype)} and output tensor dtype "
                f"{c_name(spec.dtype)} should match"
            )
        raise DTypeError(
            f"Expected out tensor to have dtype {c_name(spec.dtype)}, but got {c_name(output.dtype)} instead"
        )

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``."""
        state: Rowwise = prepared.state
        if aliased and (not self.reads_before_writing or state.cast is not None):
            return True
        fits = output.shape == spec.shape
        return fits and row_layout(state.shape, state.dims, [], [output.geometry]) is None

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        from opdsl.kernels.primitives.copying import clone

        state: Rowwise = prepared.state
        values = [self.laid_out(state, arguments[index]) for index in state.places]
        device = outputs[0].device.type
        layout = self._layout(state, values, outputs, allocate=allocate)
        for place in apart(layout, device):
            values[place] = clone(values[place], MemoryFormat.contiguous_format)
            layout = self._layout(state, values, outputs, allocate=allocate)
        compute = self.compile(state, self._geometries(state, values), layout, device)
        return CompiledCall(compute, tuple(array_of(value) if isinstance(value, Tensor) else value for value in values))

    def laid_out(self, state: Rowwise, value: Any) -> Any:
        """Convert an operand for the kernel: a number to its dtype, a tensor to one with a single stride along rows."""
        from opdsl.kernels.primitives.copying import cast, clone

        if not isinstance(value, Tensor):
            return convert(value, state.precision)
        if state.cast is not None and value.dtype is not state.cast:
            value = cast(value, state.cast)
        if row_layout(state.shape, state.dims, [value.geometry], []) is None:
            return clone(_with_rows(value, state), MemoryFormat.contiguous_format)
        return value

    def _layout(
        self, state: Rowwise, values: Sequence[Any], outputs: Sequence[TensorMeta], *, allocate: bool
    ) -> Layout:
        layout = row_layout(state.shape, state.dims, self._geometries(state, values), outputs, allocate=allocate)
        assert layout is not None, "operands have been laid out"
        return layout

    def _geometries(self, state: Rowwise, values: Sequence[Any]) -> list[TensorMeta | DType]:
        """Return the geometry of each array and the dtype of each number."""
        return [value.geometry if isinstance(value, Tensor) else state.precision for value in values]


def _with_rows(value: Tensor, state: Rowwise) -> Tensor:
    """Expand a tensor along the dimensions of a row, so that a contiguous copy of it has a single stride along rows."""
    missing = len(state.shape) - value.ndim
    own = (1,) * missing + value.shape
    shape = tuple(state.shape[dim] if dim in state.dims else size for dim, size in enumerate(own))
    itemsize = value.dtype.itemsize
    return make_view(value, shape, tuple(step // itemsize for step in steps(value.geometry, shape)))


def shifted(dim: Any, ndim: int) -> Any:
    """Return the numbers of dimensions of a tensor after a dimension is added in front; all dimensions for None."""
    if dim is None:
        return list(range(1, ndim + 1))
    if isinstance(dim, int):
        return dim % ndim + 1 if ndim and -ndim <= dim < ndim else dim
    return [shifted(axis, ndim) for axis in dim]
