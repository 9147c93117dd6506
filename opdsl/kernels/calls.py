"""Descriptions of kernel calls, the input of a backend's compiler beside the kernel: plain values for the operands of
one call and their memory layouts.

The definitions of operators make them, by TensorIterator for elementwise ones, and the compilers of ``opdsl.backends``
read them.
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


def outputs_of(layout: Layout) -> list[Output]:
    """Return the outputs of a kernel call."""
    return [Output(spec.dtype, new) for spec, new in zip(layout.outputs, layout.allocate, strict=True)]


class Layout(NamedTuple):
    """Sizes of a kernel's ranges, and memory layout of its operands; see ``opdsl.kernels.kernel.Kernel``.

    sizes: for each range its sizes, innermost last: one, or those of a pack's coalesced dimensions. A pack without
        dimensions has one iteration, a range with a size of 0 none.
    inputs: in the order of the kernel's operands that are not written. Strides are those for the dimensions of the
        operand's ranges, then for its further dimensions; None for a Python number.
    outputs: as ``inputs``, for those that are written.
    allocate: for each output the array to make, or None when it is given as a trailing argument.
    dims: for each input, then each output, the sizes of its further dimensions; () if none of them has any.
    words: the kernel's words.
    """

    sizes: tuple[tuple[int, ...], ...]
    inputs: tuple[OperandSpec, ...]
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]
    dims: tuple[tuple[int, ...], ...] = ()
    words: tuple[int, ...] = ()


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

    dtype: of the factors, and of the result unless ``result`` is another.
    batch, rows, inner, columns: the sizes.
    result: float32 for sums of products of 16-bit numbers that are not rounded to 16 bits; None for ``dtype``. Only
        backends that multiply 16-bit matrices compute them.
    """

    dtype: DType
    batch: int
    rows: int
    inner: int
    columns: int
    first: MatrixLayout
    second: MatrixLayout
    out: MatrixLayout
    result: DType | None = None


class AttentionCall(NamedTuple):
    """Attention without a stored matrix of scores: means of values, weighted by the softmax of scaled, masked scores.

    dtype: of queries, keys, values and the output.
    batch, groups, members: the sizes; keys and values have ``groups`` heads, each for ``members`` heads of queries.
    queries, keys: how many there are of each head. size, value_size: elements of a query and a key, of a value.
    query, out: strides in elements, of (batch, groups, members, queries, elements).
    key, value: of (batch, groups, keys, elements).
    mask_dtype: bool for a mask that selects the scores that count; another one for numbers that are added to scores;
        None for no mask. mask: its strides, of (batch, groups, members, queries, keys).
    is_causal: whether queries attend only to keys up to their own index.
    sums: strides of the log-sum-exps of scores, of (batch, groups, members, queries); () if they are not wanted. Only
        the CPU computes them.
    selects: whether a mask of the numbers inf and -inf selects the scores that count, on the CPU: they then count even
        where others are NaN.
    """

    dtype: DType
    batch: int
    groups: int
    members: int
    queries: int
    keys: int
    size: int
    value_size: int
    query: tuple[int, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    out: tuple[int, ...]
    mask_dtype: DType | None
    mask: tuple[int, ...]
    is_causal: bool
    sums: tuple[int, ...] = ()
    selects: bool = False


class AttentionGradientCall(NamedTuple):
    """Gradients of attention for queries, keys and values, from that of the output.

    attention: the call whose output has the gradient, with log-sum-exps.
    grad, grad_query: strides in elements, of (batch, groups, members, queries, elements).
    grad_key, grad_value: of (batch, groups, keys, elements).
    """

    attention: AttentionCall
    grad: tuple[int, ...]
    grad_query: tuple[int, ...]
    grad_key: tuple[int, ...]
    grad_value: tuple[int, ...]


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
