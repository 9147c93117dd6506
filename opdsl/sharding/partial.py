"""Partial results of pieces when a reduced or scanned dimension is split: accumulators, merged and finished as
declared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from opdsl.kernels.compiler import compile_elements, compiler_for
from opdsl.kernels.definitions.monoid import typed
from opdsl.kernels.functions import reduction, scan
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.reduction_iterator import reduction_layout
from opdsl.kernels.iteration.row_iterator import row_layout
from opdsl.kernels.iteration.tensor_iterator import pointwise_layout
from opdsl.kernels.outputs import array_of, new_tensor
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view
from opdsl.sharding.pending import reduction_of

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

Arguments = tuple[Any, ...]
State = tuple[Tensor, ...]


class Partial(Protocol):
    """Protocol of combining the results of pieces to those of the whole call; ``str`` describes it in a few words."""

    def start(self, function: Callable[..., Any], piece: Arguments, offset: int) -> State:
        """Compute the partial result (accumulators) of a piece.

        Args:
            function: the operator.
            piece: the arguments, with tensors split.
            offset: elements along the dimension before the piece; of several reduced dimensions, along the first.
        """

    def counts_places(self, whole: Arguments) -> bool:
        """Return whether ``start`` needs the number of elements before the piece."""

    def merge(self, whole: Arguments, first: State, second: State) -> State:
        """Merge the partial results of two pieces, the second after the first; ``whole``: the arguments of the call."""

    def finish(self, whole: Arguments, state: State, count: int) -> State:
        """Compute the results from the merged partial result; ``count``: how many elements were reduced for each."""

    def count(self, arguments: Arguments) -> int:
        """Return how many elements are reduced for each result of a call."""

    def reduction(self, whole: Arguments) -> str | None:
        """Return the name of the reduction over pieces if it applies to results of the operator (``sum``, ``avg``...);
        else None.
        """


def elementwise(graph: TypedGraph, tensors: Sequence[Tensor], dtypes: Sequence[DType], *numbers: Any) -> State:
    """Compute new tensors by a typed scalar graph from tensors, which broadcast, and numbers, which come last."""
    from opdsl.kernels.iteration.broadcasting import broadcast_all

    shape, device = broadcast_all(tensor.shape for tensor in tensors), tensors[0].device
    outputs = tuple(new_tensor(geometry(dtype, device, shape, contiguous_strides(shape))) for dtype in dtypes)
    kinds = [to_dtype(str(kind)) for _, kind in graph.parameters[len(tensors) :]]
    forms = [output.geometry for output in outputs]
    layout = pointwise_layout(shape, [*(tensor.geometry for tensor in tensors), *kinds], forms)
    compute = compile_elements(device.type, graph, layout)
    compute(*map(array_of, tensors), *numbers, *map(array_of, outputs))
    return outputs


def follows_index(lift: TypedGraph, elements: int = 1) -> bool:
    """Return whether a lift at most returns its index parameter unchanged, so that pieces may count from 0."""
    places = _of_index(lift, elements)
    return not any(place in node.arguments for place in places for node in lift.nodes)


def shifted(lift: TypedGraph, state: State, offset: int, elements: int = 1) -> State:
    """Add ``offset`` to those accumulators of a piece that are indices, as the piece counted its elements from 0."""
    moved = _moved(lift, elements)
    if not moved or not offset:
        return state
    return tuple(
        elementwise(_sum("int64", "int64"), [part], [part.dtype], offset)[0] if index in moved else part
        for index, part in enumerate(state)
    )


def _moved(lift: TypedGraph, elements: int = 1) -> list[int]:
    """Return the positions of the accumulators that are the index."""
    places = _of_index(lift, elements)
    return [index for index, at in enumerate(lift.results) if at in places]


def _of_index(lift: TypedGraph, elements: int) -> list[int]:
    """Return the node of the index parameter, which follows the elements; an empty list if the function has no such
    parameter.
    """
    return [at for at, node in enumerate(lift.nodes) if node.op == "parameter"][elements : elements + 1]


# Operations on bools, by the arithmetic operations that they replace.
_OF_TRUTH = {"add": "bitwise_or", "maximum": "bitwise_or", "multiply": "bitwise_and", "minimum": "bitwise_and"}


def _sum(*kinds: str) -> TypedGraph:
    return _pairwise("add", *kinds)


def _pairwise(op: str, *kinds: str) -> TypedGraph:
    from opdsl.scalar.builder import GraphBuilder
    from opdsl.scalar.types import ScalarType

    builder = GraphBuilder()
    places = [builder.parameter(f"a{index}", ScalarType(kind)) for index, kind in enumerate(kinds)]
    own = _OF_TRUTH[op] if kinds[0] == "bool" else op
    return builder.finish(op, [builder.node(own, tuple(places), ScalarType(kinds[0]))])


@frozen
class Summed:
    """Partial results that are added."""

    def start(self, function: Callable[..., Any], piece: Arguments, offset: int) -> State:
        """See ``Partial``."""
        return (function(*piece),)

    def counts_places(self, whole: Arguments) -> bool:
        """See ``Partial``."""
        return False

    def merge(self, whole: Arguments, first: State, second: State) -> State:
        """See ``Partial``."""
        return (_of_two("add", first[0], second[0]),)

    def finish(self, whole: Arguments, state: State, count: int) -> State:
        """See ``Partial``."""
        return state

    def count(self, arguments: Arguments) -> int:
        """See ``Partial``."""
        return 1

    def reduction(self, whole: Arguments) -> str | None:
        """See ``Partial``."""
        return "sum"

    def __str__(self) -> str:
        return "summed"


# Operations that combine pending results; averages are weighted by their number of elements, and added.
_COMBINING = {"sum": "add", "avg": "add", "max": "maximum", "min": "minimum", "product": "multiply"}


@frozen
class Combined:
    """Partial results that are combined by named reductions.

    reductions: the name of each result's reduction.
    place: position of a split tensor among those of a call: an average is weighted by the number of its elements.
    """

    reductions: tuple[str, ...]
    place: int

    def start(self, function: Callable[..., Any], piece: Arguments, offset: int) -> State:
        """See ``Partial``."""
        return self._scaled("multiply", tuple(tensors_in(function(*piece))), self.count(piece))

    def counts_places(self, whole: Arguments) -> bool:
        """See ``Partial``."""
        return False

    def merge(self, whole: Arguments, first: State, second: State) -> State:
        """See ``Partial``."""
        pairs = zip(first, second, self.reductions, strict=True)
        return tuple(_of_two(_COMBINING[name], one, other) for one, other, name in pairs)

    def finish(self, whole: Arguments, state: State, count: int) -> State:
        """See ``Partial``."""
        return self._scaled("divide", state, count)

    def count(self, arguments: Arguments) -> int:
        """See ``Partial``."""
        return next(itertools.islice(tensors_in(arguments), self.place, None)).numel()

    def reduction(self, whole: Arguments) -> str | None:
        """See ``Partial``."""
        return self.reductions[0] if len(set(self.reductions)) == 1 else None

    def _scaled(self, op: str, state: State, count: int) -> State:
        """Multiply averages by a number, or divide them by it; other results stay unchanged."""
        pairs = zip(state, self.reductions, strict=True)
        return tuple(_of_number(op, part, count) if name == "avg" else part for part, name in pairs)

    def __str__(self) -> str:
        return "combined"


def _of_two(op: str, first: Tensor, second: Tensor) -> Tensor:
    kind = precision_of(first.dtype).name
    return elementwise(_pairwise(op, kind, kind), [first, second], [first.dtype])[0]


def _of_number(op: str, part: Tensor, number: int) -> Tensor:
    kind = precision_of(part.dtype).name
    return elementwise(_pairwise(op, kind, kind), [part], [part.dtype], float(number))[0]


@frozen
class Folded:
    """Partial results of a reduction: its accumulators.

    definition: of the reduction.
    """

    definition: Any

    def start(self, function: Callable[..., Any], piece: Arguments, offset: int) -> State:
        """See ``Partial``."""
        prepared = self.definition.prepare(piece, ())
        state = prepared.state
        functions = state.functions
        kinds = [str(kind) for kind in functions.combine.result_types]
        sources = [self.definition.readable(state, piece[at]) for at in state.places]
        parameter_types = [*kinds, "int64", *(number_dtype.name for number_dtype in state.number_dtypes)]
        folding = functions._replace(finish=typed(None, parameter_types, kinds))
        shape, device = prepared.specs[0].shape, sources[0].device
        forms = [geometry(to_dtype(kind), device, shape, contiguous_strides(shape)) for kind in kinds]
        outputs = tuple(map(new_tensor, forms))
        in_order = state.fold.with_index or state.fold.in_order
        read = [source.geometry for source in sources]
        layout = reduction_layout(read, state.dims, forms, in_order=in_order, numbers=state.number_dtypes)
        compute = compiler_for(device.type).compile(reduction(folding), layout)
        compute(*map(array_of, sources), *state.constants, *map(array_of, outputs))
        inner = math.prod(state.shape[dim] for dim in state.dims[1:])
        if not state.fold.with_index:
            return outputs
        return shifted(functions.lift, outputs, offset * inner, len(state.places))

    def counts_places(self, whole: Arguments) -> bool:
        """See ``Partial``."""
        return bool(self.definition.prepare(whole, ()).state.fold.with_index)

    def merge(self, whole: Arguments, first: State, second: State) -> State:
        """See ``Partial``."""
        combine = self.definition.prepare(whole, ()).state.functions.combine
        return elementwise(combine, [*first, *second], [part.dtype for part in first])

    def finish(self, whole: Arguments, state: State, count: int) -> State:
        """See ``Partial``."""
        prepared = self.definition.prepare(whole, ())
        dtypes = [spec.dtype for spec in prepared.specs]
        return elementwise(prepared.state.functions.finish, state, dtypes, count, *prepared.state.constants)

    def count(self, arguments: Arguments) -> int:
        """See ``Partial``."""
        state = self.definition.prepare(arguments, ()).state
        return math.prod(state.shape[dim] for dim in state.dims)

    def reduction(self, whole: Arguments) -> str | None:
        """See ``Partial``."""
        state = self.definition.prepare(whole, ()).state
        fold = state.fold
        if fold.with_index or fold.in_order:
            return None
        return reduction_of(state.functions.combine, state.functions.finish)

    def __str__(self) -> str:
        return "combined"


@frozen
class Carried:
    """Partial results of a scan: the accumulators of all earlier pieces are combined with those at each element.

    definition: of the scan.
    """

    definition: Any

    def start(self, function: Callable[..., Any], piece: Arguments, offset: int) -> State:
        """See ``Partial``: returns the accumulators at each element of the piece."""
        state = self.definition.prepare(piece, ()).state
        scanning = self.definition.scanning(state.details)
        kinds = [str(kind) for kind in scanning.combine.result_types]
        source = self.definition.laid_out(state, piece[0])
        forms = [geometry(to_dtype(kind), source.device, source.shape) for kind in kinds]
        outputs = tuple(map(new_tensor, forms))
        layout = row_layout(state.shape, state.dims, [source.geometry], forms)
        assert layout is not None, "the source is laid out"
        compute = compiler_for(source.device.type).compile(
            scan(scanning._replace(finish=typed(None, kinds, kinds))), layout
        )
        compute(array_of(source), *map(array_of, outputs))
        return shifted(scanning.lift, outputs, offset)

    def counts_places(self, whole: Arguments) -> bool:
        """See ``Partial``."""
        return len(self._scanning(whole).lift.parameters) > 1 and bool(_moved(self._scanning(whole).lift))

    def last(self, whole: Arguments, state: State) -> State:
        """Return the accumulators of all elements of a nonempty piece: those at its last element."""
        (dim,) = self.definition.prepare(whole, ()).state.dims
        return tuple(_last(part, dim) for part in state)

    def merge(self, whole: Arguments, first: State, second: State) -> State:
        """Combine the accumulators of an earlier piece with those at each element of a later one."""
        combine = self._scanning(whole).combine
        return elementwise(combine, [*first, *second], [part.dtype for part in second])

    def count(self, arguments: Arguments) -> int:
        """See ``Partial``."""
        return 1

    def finish(self, whole: Arguments, state: State, count: int) -> State:
        """See ``Partial``; for one piece."""
        prepared = self.definition.prepare(whole, ())
        return elementwise(self._scanning(whole).finish, state, [spec.dtype for spec in prepared.specs])

    def _scanning(self, whole: Arguments) -> Any:
        return self.definition.scanning(self.definition.prepare(whole, ()).state.details)

    def reduction(self, whole: Arguments) -> str | None:
        """See ``Partial``."""
        return None

    def __str__(self) -> str:
        return "carried on"


def _last(part: Tensor, dim: int) -> Tensor:
    shape = (*part.shape[:dim], 1, *part.shape[dim + 1 :])
    offset = (part.shape[dim] - 1) * part.strides[dim]
    return make_view(part, shape, part.strides, part.storage_offset() + offset)
