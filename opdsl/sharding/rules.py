"""Sharding rules: which dimensions of a call's tensors may be split together, and how the results of pieces are joined.

A rule is a value, of one class for each kind of definition. Given the arguments of a call it lists the ways to
split that call.
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
    """Way to split a call into pieces: the split dimension of each tensor, and how results are put together.

    inputs: for each tensor among the arguments the dimension that is split; None if every piece gets all of it.
    outputs: for each result the dimension along which pieces' results are concatenated; None if they are combined.
    partial: how the results of pieces are combined, or carried from one piece to the next; None if they are
        concatenated.
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
    """Protocol of sharding rules; ``str`` describes a rule in a sentence."""

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """Yield the ways to split a call; only the geometries of its tensors are read."""

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """Yield the sets of tensors of a call that may have a pending reduction, and those of the results."""

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """Compute the result of a piece, for cuts whose results are concatenated.

        Args:
            function: the operator.
            whole, piece: the arguments of the call, and those with their tensors split, perhaps along several
                dimensions.
        """


class Called:
    """Base class of sharding rules for which a piece is computed by calling the operator."""

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """See ``Rule``."""
        return function(*piece)

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``."""
        return iter(())


@frozen
class Whole(Called):
    """Sharding rule of operators that cannot be split.

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
    """Sharding rule of pointwise operators: all tensors are split together along any dimension that they broadcast to.

    results: how many there are.
    definition: whose scalar functions decide pending reductions; None if they are not known.
    """

    results: int
    definition: Any = field(default=None, repr=False)

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        places = None if self.definition is None else self.definition.shaping(arguments)
        if self.definition is not None and self.definition.kind != "pointwise":
            return  # for these arguments it depends on sizes
        shapes = [
            tensor.shape if places is None or at in places else ()  # unused tensors stay whole
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
        return "pointwise: along any dimension; results are concatenated"


def _broadcast_cuts(shapes: Sequence[tuple[int, ...]], rows: Sequence[int], results: int) -> Iterator[Cut]:
    """Yield the cuts along every dimension that shapes broadcast to, except the dimensions ``rows``."""
    shape = broadcast_all(shapes)
    for dim in range(len(shape)):
        if dim not in rows:
            inputs = tuple(_aligned(numbers, dim - len(shape), shape[dim]) for numbers in shapes)
            if any(input is not None for input in inputs):
                yield Cut(inputs, (dim,) * results)


def _along(arguments: Arguments, shape: Sequence[int], dim: int) -> tuple[int | None, ...]:
    """Return for each tensor its dimension that aligns with a dimension of the broadcast shape, see ``_aligned``."""
    return tuple(_aligned(input.shape, dim - len(shape), shape[dim]) for input in tensors_in(arguments))


def _aligned(shape: Sequence[int], from_the_end: int, size: int) -> int | None:
    """Return the dimension of a tensor that aligns with a broadcast dimension; None if the tensor is repeated along
    it.
    """
    dim = from_the_end + len(shape)
    return dim if dim >= 0 and shape[dim] == size else None


@frozen
class AllButRows(Called):
    """Sharding rule of row operators: they may be split along every dimension except those of a row.

    definition: of the operator; its prepared calls have the dimensions of a row.
    """

    definition: Any

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        rows = self.definition.prepare(arguments, ()).state.dims
        shapes = [input.shape for input in tensors_in(arguments)]
        yield from _broadcast_cuts(shapes, rows, self.definition.results)

    def __str__(self) -> str:
        return "row: along any dimension but those of a row; results are concatenated"


@frozen
class Folding(Called):
    """Sharding rule of reductions: along kept dimensions results are concatenated, along reduced ones accumulators are
    combined, then finished.

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
        return (
            f"reduction: along remaining dimensions results are concatenated, along reduced ones combined ({functions})"
        )


@frozen
class Carrying(Called):
    """Sharding rule of scans: along their dimension accumulators are carried from piece to piece, along others results
    are concatenated.

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
        return "scan: along its dimension accumulators are passed on, along the others results are concatenated"


@frozen
class Labelled(Called):
    """Sharding rule of products: dimensions with one label are split together; labels that the result lacks are summed.

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
        """See ``Rule``; a product that is summed in pieces is linear in each factor."""
        count = len(list(tensors_in(arguments)))
        if not self.labels.replace(",", "").replace("->", "").islower():
            return
        for place, reduction in itertools.product(range(count), ("sum", "avg")):
            yield Pending(tuple(reduction if at == place else None for at in range(count)), (reduction,))

    def __str__(self) -> str:
        return f"product {self.labels}: along labels of the result pieces are concatenated, along the others summed"


@frozen
class AllBut(Called):
    """Sharding rule of operators whose results depend on all elements along one dimension (as sorting).

    name: of the argument that is the dimension; results have the dimensions of the tensors.
    names: of all arguments.
    results: how many there are.
    selects: the argument that is the number of selected elements, if results are elements and their indices (as
        ``topk``): the selected elements of the whole are among those of its pieces.
    """

    name: str
    names: tuple[str, ...]
    results: int
    selects: str = ""

    def dim(self, arguments: Arguments) -> int:
        """Return the dimension of the first tensor that is not split."""
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
        return f"along any dimension but {self.name}; results are concatenated"


@frozen
class AllButLast(Called):
    """Sharding rule of operators on matrices, images and the like, which depend on all elements along the last
    dimensions.

    rows: how many last dimensions.
    results: how many there are; they have the dimensions before these.
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
        return f"along any dimension but the last {self.rows}; results are concatenated"


@frozen
class Moved:
    """Sharding rule of views: a dimension that the result has too is split in both.

    place: the view function: from shape, strides and offset of a tensor, and the other arguments, to those of the view.
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
        """See ``Rule``; every reduction may be pending, as elements do not change."""
        return (Pending((reduction,), (reduction,)) for reduction in REDUCTIONS)

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """Return the view of a piece; arguments that are sizes are those of the whole, and are adapted."""
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
        """Convert an offset in the contiguous memory of the whole to an offset in that of a piece."""
        piece_steps = 0
        for dim, stride in enumerate(contiguous_strides(source.shape)):
            if source.shape[dim] > 1:
                piece_steps += steps // stride * piece.strides[dim]
                steps %= stride
        return piece_steps

    def __str__(self) -> str:
        return "view: along the dimensions that the result has, too"


def possible_cuts(rule: Rule, arguments: Arguments) -> list[Cut]:
    """Return the ways to split a call; an empty list where the call raises."""
    try:
        return list(rule.cuts(arguments))
    except (OpdslError, NotImplementedError):
        return []
