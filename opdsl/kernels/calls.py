"""What a backend's compiler is asked to run: plain values that say where the operands of one loop lie.

TensorIterator makes them, the compilers of ``opdsl.backends`` read them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from opdsl.runtime.dtype import DType


class OperandSpec(NamedTuple):
    """One operand of a loop.

    dtype: how the operand is stored; for a Python number, the dtype that it is computed in.
    strides: bytes to the next element for each of the call's sizes, innermost last; None for a Python number.
    """

    dtype: DType
    strides: tuple[int, ...] | None


class NewArray(NamedTuple):
    """An output that the kernel allocates: its shape and its strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


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


class ReductionCall(NamedTuple):
    """A reduction of one input into outputs.

    kept, reduced: coalesced sizes of the dimensions that stay and of those that are folded, innermost last.
    input: strides for ``kept`` then ``reduced``; outputs: strides for ``kept``.
    numbers: for each Python number that follows the input as an argument, the dtype that it is computed in.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    input: OperandSpec
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]
    numbers: tuple[DType, ...] = ()


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
