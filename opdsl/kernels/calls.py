"""What a backend's compiler is asked to run: plain values that say where the operands of one loop lie.

TensorIterator makes them, the compilers of ``opdsl.backends`` read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.runtime.dtype import DType

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph


class OperandSpec(NamedTuple):
    """One operand of a loop.

    dtype: how the operand is stored; for a Python number, the dtype that it is computed in.
    strides: bytes to the next element for each of the call's sizes, innermost last; None for a Python number.
    counts: whether it lies in no memory. The kernel gets a Python number, the value of the first element; every other
        one is larger by how many elements it lies behind the first. Only compilers that say so take such operands.
    """

    dtype: DType
    strides: tuple[int, ...] | None
    counts: bool = False


class NewArray(NamedTuple):
    """An output that the kernel allocates: its shape and its strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Output(NamedTuple):
    """An output of a call.

    dtype: of its elements.
    new: the array to make; None where it is given.
    """

    dtype: DType
    new: NewArray | None


def outputs_of(call: Any) -> list[Output]:
    """The outputs of a call of any kind."""
    specs = [call.output] if hasattr(call, "output") else call.outputs
    allocations = getattr(call, "allocate", (None,) * len(specs))
    return [Output(spec.dtype, new) for spec, new in zip(specs, allocations, strict=True)]


class PointwiseCall(NamedTuple):
    """A pointwise loop over coalesced dimensions.

    sizes: coalesced sizes, innermost last; ``()`` is a single element, any 0 an empty loop.
    inputs: in the order of the scalar function's parameters.
    outputs: in the order of its results.
    allocate: for each output the array to make, or None when it is given as a trailing argument.
    """

    sizes: tuple[int, ...]
    inputs: tuple[OperandSpec, ...]
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]


class IndirectCall(NamedTuple):
    """A pointwise loop in which one element of each step lies where positions lead.

    sizes: coalesced sizes, innermost last.
    inputs: in the order of the scalar function's parameters.
    output: of the function's one result.
    positions: int64 operands. Each step's place is moved along one dimension for each, as far as the position says; a
        negative one counts from the end.
    reads: which input is read there; None for none.
    writes: whether the output is written there. The loop runs in order then, since two steps may lead to one place.
    """

    sizes: tuple[int, ...]
    inputs: tuple[OperandSpec, ...]
    output: OperandSpec
    positions: tuple[OperandSpec, ...]
    reads: int | None
    writes: bool


class Folding(NamedTuple):
    """What a reduction computes: a monoid of accumulators, and the way into it and out of it.

    init: the accumulators of no elements, the identity of ``combine``; Python numbers.
    lift: an element of each input -> accumulators. Further parameters are the elements' index (int64), their row-major
        position among the reduced dimensions, if ``with_index``, and the numbers of the call that ``lifted_numbers``
        tells.
    combine: the accumulators of some elements, then those of others -> those of all. It is associative, so the
        compiler chooses the tree; sums of floating-point numbers want a balanced one. Unless ``in_order`` it is
        commutative too; otherwise the others are later ones.
    finish: accumulators, the number of elements (int64), then the numbers of the call -> results.
    """

    init: tuple[bool | int | float | complex, ...]
    lift: TypedGraph
    combine: TypedGraph
    finish: TypedGraph
    with_index: bool = False
    in_order: bool = False
    lifted_numbers: tuple[int, ...] = ()


class ReductionCall(NamedTuple):
    """A reduction of inputs into outputs.

    kept, reduced: coalesced sizes of the dimensions that stay and of those that are folded, innermost last; ``()`` is
        a single one. With no elements to fold, results come from ``init``.
    inputs: strides for ``kept`` then ``reduced``; outputs: strides for ``kept``.
    numbers: for each Python number that follows the inputs as an argument, the dtype that it is computed in.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    inputs: tuple[OperandSpec, ...]
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]
    numbers: tuple[DType, ...] = ()


class Scanning(NamedTuple):
    """What a scan computes: a monoid of accumulators as in ``Folding``, and results of those of all elements so far.

    init: the accumulators of no elements.
    lift: an element -> accumulators. A second parameter, of type int64, is the element's index along the dimension.
    combine: the accumulators of some elements, then those of later ones -> those of all. It is associative.
    finish: accumulators -> results.
    """

    init: tuple[bool | int | float | complex, ...]
    lift: TypedGraph
    combine: TypedGraph
    finish: TypedGraph


class Recurring(NamedTuple):
    """What a recurrence computes, step by step along a dimension.

    init: what is carried to the first element.
    step: what is carried, then the arrays' elements and the numbers -> what is carried on, then results.
    is_reverse: whether it begins with the last element.
    """

    init: tuple[bool | int | float | complex, ...]
    step: TypedGraph
    is_reverse: bool


class RowCall(NamedTuple):
    """What is computed along one dimension, for every element of the others.

    kept: coalesced sizes of the other dimensions, innermost last.
    length: of the dimension.
    inputs: strides for ``kept``, then along the dimension; None for a Python number.
    outputs: the same; results for the row as a whole have a stride of 0 along it.
    """

    kept: tuple[int, ...]
    length: int
    inputs: tuple[OperandSpec, ...]
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]


class IndexedAccess(NamedTuple):
    """An element that is read or written at positions.

    array: which input it is of; of one that is written, which result.
    first, dims: which results of the graph its positions are, and how many.
    leads: whether the leading dimensions come before these.
    margin: what lies outside: a number, or a name of ``opdsl.scalar.indexed``; None where nothing does.
    """

    array: int
    first: int
    dims: int
    leads: bool
    margin: str | bool | int | float | complex | None


class IndexedLoop(NamedTuple):
    """What is computed at each place, see ``opdsl.scalar.indexed.IndexedFunction``.

    graph: its parameters are the indices of the result, those that are folded, whole numbers, other numbers, and what
        is read; its results the positions of all reads, those of all writes, and values.
    at, over, words, numbers: how many parameters of each there are.
    reads: in the order of their parameters. The positions of one may depend on those before it.
    writes: where values are added, one for each; none where they are the results of their place.
    fold: how the values of all turns become one: ``sum``, ``max``, ``min``, or empty.
    with_place: whether the place of a largest or smallest value is a result, the last: the number of the turn in which
        it was found, or what the turn gives beside the value, which is not negative.
    finish: values, indices of the result, whole and other numbers -> results; None where these are the values.
    """

    graph: TypedGraph
    at: int
    over: int
    words: int
    numbers: int
    reads: tuple[IndexedAccess, ...]
    writes: tuple[IndexedAccess, ...]
    fold: str
    with_place: bool
    finish: TypedGraph | None

    @property
    def name(self) -> str:
        """Of the function."""
        return self.graph.name

    @property
    def values(self) -> tuple[str, ...]:
        """The types of what each turn gives."""
        count = sum(read.dims for read in (*self.reads, *self.writes))
        return tuple(str(kind) for kind in self.graph.result_types[count:])

    @property
    def folded(self) -> tuple[str, ...]:
        """The types of what is made of all turns, but for a place."""
        return self.values[:1] if self.with_place else self.values

    @property
    def results(self) -> tuple[str, ...]:
        """The types of what is written."""
        folded = self.folded if self.finish is None else tuple(str(kind) for kind in self.finish.result_types)
        return (*folded, "int64") if self.with_place else folded


class IndexedCall(NamedTuple):
    """A loop over places.

    leading: sizes of the dimensions before those that have indices.
    sizes: of the indices of the result, then of those that are folded.
    words: whole numbers that the function takes.
    inputs: arrays, with strides for the leading dimensions and for their own, then other numbers.
    dimensions: the own sizes of each array.
    outputs: strides for the leading dimensions and for the indices of the result; of one that is added to, for its own.
    written: the own sizes of an output that is added to; () otherwise.
    """

    leading: tuple[int, ...]
    sizes: tuple[int, ...]
    words: tuple[int, ...]
    inputs: tuple[OperandSpec, ...]
    dimensions: tuple[tuple[int, ...], ...]
    outputs: tuple[OperandSpec, ...]
    written: tuple[int, ...]
    allocate: tuple[NewArray | None, ...]


class Ordering(NamedTuple):
    """What is wanted of the order of a row.

    descending: whether the largest element comes first.
    wanted: how many elements, from the first one on.
    """

    descending: bool
    wanted: int


class ArraySpec(NamedTuple):
    """An array as an author's kernel gets it.

    dtype: of its elements.
    ndim: number of its dimensions.
    layout: ``"C"`` when it is contiguous in row-major order, ``"A"`` otherwise.
    """

    dtype: DType
    ndim: int
    layout: str


class AuthorCall(NamedTuple):
    """The types of one call of an author's kernel.

    inputs: an ``ArraySpec`` for an array, a type for a number or a string, None for None, a tuple for a list.
    outputs: what it fills, its last arguments.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[ArraySpec, ...]


class MatrixLayout(NamedTuple):
    """How a batch of matrices lies: elements between neighbouring matrices, rows and columns."""

    batch: int
    row: int
    column: int


class ProductCall(NamedTuple):
    """Matrix products of a batch: ``alpha * first @ second + beta * out``, with two Python numbers.

    batch, rows, inner, columns: the sizes.
    """

    dtype: DType
    batch: int
    rows: int
    inner: int
    columns: int
    first: MatrixLayout
    second: MatrixLayout
    out: MatrixLayout


class WindowSpec(NamedTuple):
    """Windows along one dimension: element ``k`` of window ``i`` lies at ``first + i * stride + k * dilation``.

    size: of the dimension; what lies outside of it is a margin of zeros.
    windows: how many there are.
    length: how many elements each has.
    """

    size: int
    windows: int
    length: int
    first: int
    stride: int
    dilation: int


class ConvolutionCall(NamedTuple):
    """The products of a weight with windows that slide over images, or what is linear in the same way.

    kind: ``correlate`` writes a result for each window; ``spread``, its transpose, writes images from results;
        ``weigh`` writes the gradient of the weight, from gradients of results and images.
    groups: of channels and outputs, each by itself.
    channels, outputs: of a group, in the images and in the results.
    windows: one for each dimension.
    images, weight, results: strides in elements, of (batch, channels, ...), (outputs, channels of a group, ...) and
        (batch, outputs, ...).
    is_biased: whether a number is added for each channel of what is written.
    """

    kind: str
    dtype: DType
    samples: int
    groups: int
    channels: int
    outputs: int
    windows: tuple[WindowSpec, ...]
    images: tuple[int, ...]
    weight: tuple[int, ...]
    results: tuple[int, ...]
    is_biased: bool
