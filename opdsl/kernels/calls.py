"""What a backend's compiler is asked to run: plain values that say where the operands of one loop lie.

TensorIterator makes them, the compilers of ``opdsl.backends`` read them.
"""

from __future__ import annotations

import attrs

from opdsl.runtime.dtype import DType


@attrs.frozen
class OperandSpec:
    """One operand of a loop.

    dtype: how the operand is stored; for a Python number, the dtype that it is computed in.
    strides: bytes to the next element for each of the call's sizes, innermost last; None for a Python number.
    """

    dtype: DType
    strides: tuple[int, ...] | None


@attrs.frozen
class NewArray:
    """An output that the kernel allocates: its shape and its strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


@attrs.frozen
class PointwiseCall:
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


@attrs.frozen
class ReductionCall:
    """A reduction of one input into outputs.

    kept, reduced: coalesced sizes of the dimensions that stay and of those that are folded, innermost last.
    input: strides for ``kept`` then ``reduced``; outputs: strides for ``kept``.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    input: OperandSpec
    outputs: tuple[OperandSpec, ...]
    allocate: tuple[NewArray | None, ...]
