"""Descriptions of kernel calls, the input of a backend's compiler: plain values that describe the operands of one loop
and their memory layouts.

TensorIterator makes them, the compilers of ``opdsl.backends`` read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.runtime.dtype import DType

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph


class OperandSpec(NamedTuple):
    """Operand of a loop: its dtype and strides.

    dtype: how the operand is stored; for a Python number, the dtype that it is computed in.
    strides: bytes to the next element for each of the call's sizes, innermost last; None for a Python number.
    counts: whether the operand is a range without memory (as ``arange`` makes). The kernel gets a Python number, the
        value of the first element; every other element is larger by its offset, in elements, from the first. Only
        compilers that declare it take such operands.
    """

    dtype: DType
    strides: tuple[int, ...] | None
    counts: bool = False


class NewArray(NamedTuple):
    """Output that the kernel allocates: its shape and its strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Output(NamedTuple):
    """Output of a kernel call: its dtype, and the array to allocate for it.

    dtype: of its elements.
    new: the array to make; None if it is given.
    """

    dtype: DType
    new: NewArray | None


def outputs_of(call: Any) -> list[Output]:
    """Return the outputs of a call of any kind."""
    specs = [call.output] if hasattr(call, "output") else call.outputs
    allocations = getattr(call, "allocate", (None,) * len(specs))
    return [Output(spec.dtype, new) for spec, new in zip(specs, allocations, strict=True)]


class PointwiseCall(NamedTuple):
    """Call of a pointwise kernel: a loop over coalesced dimensions, with dtypes and strides of all operands.

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
    """Call of a pointwise kernel in which one operand is read or written at computed positions (gather or scatter).

    sizes: coalesced sizes, innermost last.
    inputs: in the order of the scalar function's parameters.
    output: of the function's one result.
    positions: int64 operands. Each of them moves the address of an element along one dimension by the position's value;
        a negative one counts from the end.
    reads: which input is gathered at the positions; None for none.
    writes: whether the output is scattered to the positions. The loop runs in order then, since two iterations may
        write the same element.
    """

    sizes: tuple[int, ...]
    inputs: tuple[OperandSpec, ...]
    output: OperandSpec
    positions: tuple[OperandSpec, ...]
    reads: int | None
    writes: bool


class Folding(NamedTuple):
    """Scalar functions of a reduction: a monoid of accumulators, a function into it and one out of it.

    init: the accumulators of no elements, the identity of ``combine``; Python numbers.
    lift: an element of each input -> accumulators. Further parameters are the elements' index (int64), their row-major
        position among the reduced dimensions, if ``with_index``, and those numbers of the call whose positions
        ``lifted_numbers`` lists.
    combine: the accumulators of some elements, then those of others -> those of all. It is associative, so the
        compiler chooses the tree; sums of floating-point numbers want a balanced one. Unless ``in_order`` it is
        commutative too; otherwise the second accumulators are those of later elements.
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
    """Call of a reduction kernel: sizes of kept and reduced dimensions, with dtypes and strides of all operands.

    kept, reduced: coalesced sizes of the dimensions that stay and of those that are reduced, innermost last; ``()`` is
        a single element. Without elements to reduce, results come from ``init``.
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
    """Scalar functions of an associative scan: a monoid of accumulators as in ``Folding``, and results at each element.

    init: the accumulators of no elements.
    lift: an element -> accumulators. A second parameter, of type int64, is the element's index along the dimension.
    combine: the accumulators of some elements, then those of later ones -> those of all. It is associative.
    finish: the accumulators of all elements so far -> results.
    """

    init: tuple[bool | int | float | complex, ...]
    lift: TypedGraph
    combine: TypedGraph
    finish: TypedGraph


class Recurring(NamedTuple):
    """Scalar function of a recurrence, which carries values step by step along a dimension.

    init: the carried values before the first element.
    step: carried values, then the arrays' elements and the numbers -> new carried values, then results.
    is_reverse: whether it begins with the last element.
    """

    init: tuple[bool | int | float | complex, ...]
    step: TypedGraph
    is_reverse: bool


class RowCall(NamedTuple):
    """Call of a kernel that computes along one dimension (the row), for every element of the other dimensions.

    kept: coalesced sizes of the other dimensions, innermost last.
    length: of the row.
    inputs: strides for ``kept``, then along the row; None for a Python number.
    outputs: strides as of ``inputs``; results for the row as a whole have a stride of 0 along it.
    """

    kept: tuple[int, ...]
    length: int
    inputs: tuple[OperandSpec, ...]
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]


class IndexedAccess(NamedTuple):
    """Read or write of an array in an indexed loop, at indices that its scalar function computes.

    array: which input it reads; for a write, which result it writes.
    first, dims: the position of its first index among the results of the graph, and its number of indices.
    leads: whether the leading dimensions come before these indices.
    margin: the padding for indices out of bounds: a number, or a name of ``opdsl.scalar.indexed``; None if no index
        is out of bounds.
    """

    array: int
    first: int
    dims: int
    leads: bool
    margin: str | bool | int | float | complex | None


class IndexedLoop(NamedTuple):
    """Computation of an indexed loop at each output index, see ``opdsl.scalar.indexed.IndexedFunction``.

    graph: its parameters are the indices of the result, the reduced indices, integers, other numbers, and the elements
        that are read; its results are the indices of all reads, those of all writes, and values.
    at, over, words, numbers: how many parameters there are of each of the first four kinds.
    reads: in the order of their parameters. The indices of one read may depend on the reads before it.
    writes: one for each value that is added at computed indices; empty where the values are the results at their index.
    fold: how the values of all iterations become one: ``sum``, ``max``, ``min``, or empty.
    with_place: whether the position of a largest or smallest value is a result, the last: the number of the iteration
        that gave the value, or the nonnegative number that the iteration gives in addition to the value.
    finish: values, indices of the result, integers and other numbers -> results; None if the values are the results.
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
        """Return the name of the scalar function."""
        return self.graph.name

    @property
    def values(self) -> tuple[str, ...]:
        """Return the types of the values that each iteration computes."""
        count = sum(read.dims for read in (*self.reads, *self.writes))
        return tuple(str(kind) for kind in self.graph.result_types[count:])

    @property
    def folded(self) -> tuple[str, ...]:
        """Return the types of the reduced values of all iterations, without the position of a maximum or minimum."""
        return self.values[:1] if self.with_place else self.values

    @property
    def results(self) -> tuple[str, ...]:
        """Return the types of the results that are written."""
        folded = self.folded if self.finish is None else tuple(str(kind) for kind in self.finish.result_types)
        return (*folded, "int64") if self.with_place else folded


class IndexedCall(NamedTuple):
    """Operands and sizes of one call of an ``IndexedLoop``.

    leading: sizes of the dimensions before those that have indices.
    sizes: of the indices of the result, then of the reduced indices.
    words: integers that the function takes.
    inputs: arrays, with strides for the leading dimensions and for their own dimensions, then other numbers.
    dimensions: the own sizes of each array.
    outputs: strides for the leading dimensions and for the indices of the result; for an output that is added to,
        strides for its own dimensions.
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
    """Options of a sort along rows.

    descending: whether the largest element comes first.
    wanted: how many elements of the sorted row are kept, from the first one on.
    """

    descending: bool
    wanted: int


class ArraySpec(NamedTuple):
    """Type of an array argument of an author's kernel.

    dtype: of its elements.
    ndim: number of its dimensions.
    layout: ``"C"`` when it is contiguous in row-major order, ``"A"`` otherwise.
    """

    dtype: DType
    ndim: int
    layout: str


class AuthorCall(NamedTuple):
    """Argument types of one call of an author's kernel, for which it is compiled.

    inputs: an ``ArraySpec`` for an array, a type for a number or a string, None for None, a tuple for a list.
    outputs: the arrays that the kernel fills, its last arguments.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[ArraySpec, ...]


class MatrixLayout(NamedTuple):
    """Memory layout of a batch of matrices: strides, in elements, between matrices, rows and columns."""

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
    """Sliding windows along one dimension: element ``k`` of window ``i`` is at ``first + i * stride + k * dilation``.

    size: of the dimension; indices out of bounds read zeros (padding).
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
    """Call of a kernel for a convolution, its transpose, or the gradient of its weight.

    kind: ``correlate`` writes a result for each window; ``spread``, its transpose, writes images from results;
        ``weigh`` writes the gradient of the weight, from gradients of results and images.
    groups: the number of groups of channels and outputs, which are computed independently.
    channels, outputs: of one group, in the images and in the results.
    windows: one for each dimension.
    images, weight, results: strides in elements, of (batch, channels, ...), (outputs, channels of a group, ...) and
        (batch, outputs, ...).
    is_biased: whether a number is added for each channel of the output.
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
