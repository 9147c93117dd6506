"""Rules: which dimensions of a call's tensors may be cut together, and what becomes of the pieces' results.

A rule is a value, one class for each kind of definition, which it reads. Given the arguments of a call
it lists the ways to cut that call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from attrs import field, frozen

from opdsl.errors import OpdslError
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view
from opdsl.runtime.views import View
from opdsl.sharding.partial import Carried, Folded, Partial, Summed, follows_index
from opdsl.sharding.pending import REDUCTIONS, Pending, pending_through

Arguments = tuple[Any, ...]


@frozen
class Cut:
    """One way to cut a call.

    inputs: for each tensor among the arguments the dimension that is cut; None where every piece gets all of it.
    outputs: for each result the dimension along which those of the pieces are joined; None where they are combined.
    partial: how the results of pieces are combined, or go on from one piece to the next; None where they are joined.
    """

    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]
    partial: Partial | None = None

    def __str__(self) -> str:
        text = f"{_dims(self.inputs)} -> {_dims(self.outputs)}"
        return text if self.partial is None else f"{text}, {self.partial}"


def _dims(dims: Sequence[int | None]) -> str:
    return "(" + ", ".join("whole" if dim is None else str(dim) for dim in dims) + ")"


class Rule(Protocol):
    """What a definition says of cutting; ``str`` tells it in a sentence."""

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """The ways to cut a call; of its tensors only the geometry is looked at."""

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """Which tensors of a call need not be combined before, where pieces hold summands of them, say."""

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """What a piece gives, of cuts whose results are joined.

        Args:
            function: the operator.
            whole, piece: the arguments of the call, and those with their tensors cut, perhaps along several dimensions.
        """


class Called:
    """What most rules have in common: a piece is computed by calling the operator."""

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """See ``Rule``."""
        return function(*piece)

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``."""
        return iter(())


@frozen
class Whole(Called):
    """Nothing is known that may be cut.

    reason: why.
    """

    reason: str

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        return iter(())

    def __str__(self) -> str:
        return f"not cut: {self.reason}"


@frozen
class AnyDimension(Called):
    """Pointwise operators: all tensors are cut together along any dimension that they broadcast to.

    results: how many there are.
    definition: whose scalar functions tell what they are linear in; None where they are not known.
    """

    results: int
    definition: Any = field(default=None, repr=False)

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        places = None if self.definition is None else self.definition.shaping(arguments)
        if self.definition is not None and self.definition.kind != "pointwise":
            return  # these arguments have shown that it computes with sizes
        shapes = [
            tensor.shape if places is None or at in places else ()  # what nothing is computed of is not cut
            for at, value in enumerate(arguments)
            for tensor in tensors_in((value,))
        ]
        yield from _broadcast_cuts(shapes, (), self.results)

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``."""
        if self.definition is None:
            return
        state = self.definition.prepare(arguments, ()).state
        counter = itertools.count()
        order = [next(counter) if isinstance(argument, Tensor) else None for argument in arguments]
        places = [*(order[at] for at in state.formula.places), *[None] * len(state.numbers)]
        values = [*(arguments[at] for at in state.formula.places), *state.numbers]
        numbers = {at: value for at, value in enumerate(values) if isinstance(value, (bool, int, float))}
        yield from pending_through(self.definition.graph(state), places, next(counter), numbers)

    def __str__(self) -> str:
        return "pointwise: along any dimension; results are joined"


def _broadcast_cuts(shapes: Sequence[tuple[int, ...]], rows: Sequence[int], results: int) -> Iterator[Cut]:
    """Along every dimension that tensors of some shapes broadcast to, but those of rows."""
    shape = broadcast_all(shapes)
    for dim in range(len(shape)):
        if dim not in rows:
            inputs = tuple(_aligned(numbers, dim - len(shape), shape[dim]) for numbers in shapes)
            if any(input is not None for input in inputs):
                yield Cut(inputs, (dim,) * results)


def _along(arguments: Arguments, shape: Sequence[int], dim: int) -> tuple[int | None, ...]:
    """For each tensor its dimension that meets one of the shape that all broadcast to, see ``_aligned``."""
    return tuple(_aligned(tensor.shape, dim - len(shape), shape[dim]) for tensor in tensors_in(arguments))


def _aligned(shape: Sequence[int], from_the_end: int, size: int) -> int | None:
    """The dimension of a tensor that meets one that all broadcast to; None where the tensor is repeated along it."""
    dim = from_the_end + len(shape)
    return dim if dim >= 0 and shape[dim] == size else None


@frozen
class AllButRows(Called):
    """Row operators: along every dimension but those of a row.

    definition: what tells the dimensions of a row.
    """

    definition: Any

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        rows = self.definition.prepare(arguments, ()).state.dims
        shapes = [tensor.shape for tensor in tensors_in(arguments)]
        yield from _broadcast_cuts(shapes, rows, self.definition.results)

    def __str__(self) -> str:
        return "row: along any dimension but those of a row; results are joined"


@frozen
class Folding(Called):
    """Reductions: along what stays results are joined, along what is folded accumulators are combined, then finished.

    definition: of the reduction.
    """

    definition: Any

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        prepared = self.definition.prepare(arguments, ())
        state, count = prepared.state, self.definition.results
        keeps = len(prepared.specs[0].shape) == len(state.shape)
        kept = [dim for dim in range(len(state.shape)) if dim not in state.dims]
        for place, dim in enumerate(kept):
            yield Cut(_along(arguments, state.shape, dim), (dim if keeps else place,) * count)
        in_order = state.fold.in_order or state.fold.with_index
        if state.fold.with_index and not follows_index(state.functions.lift, len(state.places)):
            return
        for dim in state.dims[:1] if in_order else state.dims:
            inputs = _along(arguments, state.shape, dim)
            if any(input is not None for input in inputs):
                yield Cut(inputs, (None,) * count, Folded(self.definition))

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``."""
        combined = Folded(self.definition).reduction(arguments)
        state = self.definition.prepare(arguments, ()).state
        if combined is None:
            return
        places = list(range(len(state.places)))
        for pending in pending_through(state.functions.lift, places, len(places), {}):
            if pending.inputs == pending.outputs and (
                combined in pending.inputs or {combined, *pending.inputs} <= {"sum", "avg"}
            ):
                yield pending

    def __str__(self) -> str:
        functions = " or ".join(
            ", ".join(dict.fromkeys(function.__name__ for function in fold.functions)) for fold in self.definition.folds
        )
        return f"reduction: along what stays results are joined, along what is folded combined ({functions})"


@frozen
class Carrying(Called):
    """Scans: along their dimension accumulators are carried from piece to piece, along the others results are joined.

    definition: of the scan.
    """

    definition: Any

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        source: Tensor = arguments[0]
        state = self.definition.prepare(arguments, ()).state
        for dim in range(source.ndim):
            if dim not in state.dims:
                yield Cut((dim,), (dim,) * self.definition.results)
            elif follows_index(self.definition.scanning(state.details).lift):
                yield Cut((dim,), (dim,) * self.definition.results, Carried(self.definition))

    def __str__(self) -> str:
        return "scan: along its dimension accumulators are carried on, along the others results are joined"


@frozen
class Labelled(Called):
    """Products: dimensions with one label are cut together; what the result has not is summed.

    labels: as of ``einsum``: ``ik,kj->ij``. A capital letter is a label that pieces may not be summed over.
    """

    labels: str

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        before, _, output = self.labels.partition("->")
        tensors = list(tensors_in(arguments))
        terms = before.split(",")
        if [tensor.ndim for tensor in tensors] != [len(term) for term in terms]:
            return
        for label in dict.fromkeys(before.replace(",", "")):
            inputs = tuple(
                term.index(label) if label in term and tensor.shape[term.index(label)] != 1 else None
                for tensor, term in zip(tensors, terms, strict=True)
            )
            if all(input is None for input in inputs):
                continue
            if label in output:
                yield Cut(inputs, (output.index(label),))
            elif label.islower():
                yield Cut(inputs, (None,), Summed())

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``; what is summed in pieces is linear in each factor."""
        count = len(list(tensors_in(arguments)))
        if not self.labels.replace(",", "").replace("->", "").islower():
            return
        for place, reduction in itertools.product(range(count), ("sum", "avg")):
            yield Pending(tuple(reduction if at == place else None for at in range(count)), (reduction,))

    def __str__(self) -> str:
        return f"product {self.labels}: along labels of the result it is joined, along the others summed"


@frozen
class AllBut(Called):
    """Operators whose results at one place depend on the elements along one dimension.

    name: of the argument that says which; results have the dimensions of the tensors.
    names: of all arguments.
    results: how many there are.
    selects: the argument that says how many elements are selected, where results are elements and their places: those
        of a whole are among those of its pieces.
    """

    name: str
    names: tuple[str, ...]
    results: int
    selects: str = ""

    def dim(self, arguments: Arguments) -> int:
        """The dimension that is not cut, of the first tensor."""
        dim: int = arguments[self.names.index(self.name)]
        return dim % max(1, next(tensors_in(arguments)).ndim)

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        tensors = list(tensors_in(arguments))
        dim = arguments[self.names.index(self.name)]
        if not tensors or len({tensor.ndim for tensor in tensors}) > 1:
            return
        for index in range(tensors[0].ndim):
            if index != dim % tensors[0].ndim:
                yield Cut((index,) * len(tensors), (index,) * self.results)

    def __str__(self) -> str:
        return f"along any dimension but {self.name}; results are joined"


@frozen
class AllButLast(Called):
    """Operators of matrices, images and the like, which depend on the elements of so many last dimensions.

    rows: how many.
    results: how many there are; they have the dimensions before.
    """

    rows: int
    results: int

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        tensors = list(tensors_in(arguments))
        shapes = [tensor.shape for tensor in tensors]
        for dim in range(len(shapes[0]) - self.rows if shapes else 0):
            if all(len(shape) > dim and shape[: dim + 1] == shapes[0][: dim + 1] for shape in shapes):
                yield Cut((dim,) * len(tensors), (dim,) * self.results)

    def __str__(self) -> str:
        return f"along any dimension but the last {self.rows}; results are joined"


@frozen
class Moved:
    """Views: a dimension that is found again in the result is cut in both.

    place: from where a tensor's elements lie, and the other arguments, to where the view's do.
    """

    place: Callable[..., View]

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        source: Tensor = arguments[0]
        strides = contiguous_strides(source.shape)
        view = self.place(View(source.shape, strides), *arguments[1:])
        for dim, (size, stride) in enumerate(zip(source.shape, strides, strict=True)):
            dims = [at for at, number in enumerate(view.strides) if (number, view.shape[at]) == (stride, size)]
            if size > 1 and len(dims) == 1:
                yield Cut((dim,), (dims[0],))

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``; elements stay what they are."""
        return (Pending((reduction,), (reduction,)) for reduction in REDUCTIONS)

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """The view of a piece: sizes that are arguments of the call are those of the whole."""
        source, cut_tensor = whole[0], piece[0]
        view = self.place(View(source.shape, contiguous_strides(source.shape)), *whole[1:])
        kept = {
            cut.outputs[0]: cut_tensor.shape[cut.inputs[0]] for cut in self.cuts(whole) if cut.inputs[0] is not None
        }
        shape = tuple(kept.get(at, size) for at, size in enumerate(view.shape))
        strides = tuple(self._step(stride, source, cut_tensor) for stride in view.strides)
        offset = self._step(view.offset, source, cut_tensor)
        return make_view(cut_tensor, shape, strides, cut_tensor.storage_offset() + offset)

    def _step(self, steps: int, source: Tensor, piece: Tensor) -> int:
        """Steps in the memory of the whole, which is contiguous, as steps in that of a piece."""
        piece_steps = 0
        for dim, stride in enumerate(contiguous_strides(source.shape)):
            if source.shape[dim] > 1:
                piece_steps += steps // stride * piece.strides[dim]
                steps %= stride
        return piece_steps

    def __str__(self) -> str:
        return "view: along the dimensions that the result has, too"


def possible_cuts(rule: Rule, arguments: Arguments) -> list[Cut]:
    """The ways to cut a call; none where it is refused."""
    try:
        return list(rule.cuts(arguments))
    except (OpdslError, NotImplementedError):
        return []
