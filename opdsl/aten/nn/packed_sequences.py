"""Sequences of different lengths: packed step by step, padded to one length, or jagged (one after another)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from opdsl.aten.create.ranges import arange
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.stacking import stack
from opdsl.declare import op
from opdsl.errors import DeviceError, DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, cpu, int32, int64
from opdsl.schema.vocabulary import Scalar, SymInt


def require_lengths(name: str, lengths: Tensor) -> None:
    """Check that a tensor of lengths is an int64 vector on the CPU.

    Raises:
        ShapeError, DTypeError, DeviceError: the tensor is not.
    """
    check(lengths.ndim == 1, f"'{name}' argument should be a 1D CPU int64 tensor", got=lengths.shape)
    if lengths.dtype is not int64:
        raise DTypeError(f"'{name}' argument should be a 1D CPU int64 tensor, but got one of {lengths.dtype}")
    if lengths.device is not cpu:
        raise DeviceError(f"'{name}' argument should be a 1D CPU int64 tensor, but got one on {lengths.device}")


def sizes_of(batch_sizes: Tensor, rows: int) -> list[int]:
    """Return, for each step of packed sequences, the number of sequences that have the step.

    Raises:
        ShapeError: a step has fewer sequences than the next one, or the numbers do not add up to ``rows``.
    """
    require_lengths("batch_sizes", batch_sizes)
    sizes: list[int] = batch_sizes.tolist()
    falling = all(one >= other for one, other in itertools.pairwise(sizes))
    check(len(sizes) > 0 and falling and sizes[-1] > 0, "batch_sizes should fall, and be greater than 0")
    check(sum(sizes) == rows, f"batch_sizes should add up to the {rows} rows of data", got=sum(sizes))
    return sizes


@op("aten::_pack_padded_sequence", kernel="CompositeExplicitAutograd")
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Pack padded sequences: return the rows of all steps one after another, and the number of rows of each step.

    Args:
        input: (time, batch, ...), or (batch, time, ...).
        lengths: int64, the number of steps of each sequence, in descending order.
        batch_first: whether ``input`` is (batch, time, ...).
    """
    check(input.ndim >= 2, "_pack_padded_sequence: expected at least 2 dimensions", got=input.shape)
    sequences = input.transpose(0, 1) if batch_first else input
    require_lengths("lengths", lengths)
    check(sequences.numel() > 0, "Cannot pack empty tensors.")
    check(
        lengths.shape[0] == sequences.shape[1],
        f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.shape[0]} "
        f"(batch_size={sequences.shape[1]})",
    )
    numbers: list[int] = lengths.tolist()
    check(min(numbers) > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' <= 0")
    check(
        all(one >= other for one, other in itertools.pairwise(numbers)),
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
        "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement.",
    )
    check(
        numbers[0] <= sequences.shape[0],
        f"a sequence of {numbers[0]} steps is longer than the {sequences.shape[0]} given",
    )
    sizes = (lengths.unsqueeze(0) > arange(numbers[0]).unsqueeze(1)).sum(1)
    rows = [sequences.select(0, step).narrow(0, 0, size) for step, size in enumerate(sizes.tolist())]
    return cat(rows), sizes


@op("aten::_pack_padded_sequence_backward")
def _pack_padded_sequence_backward(
    grad: Tensor, input_size: list[SymInt], batch_sizes: Tensor, batch_first: bool
) -> Tensor:
    """Return the gradient of the input of ``_pack_padded_sequence``, with zeros for the padding."""
    check(len(input_size) >= 2, "_pack_padded_sequence_backward: expected at least 2 sizes", got=input_size)
    first, second, *rest = input_size
    time, batch = (second, first) if batch_first else (first, second)
    check(grad.ndim > 0 and list(grad.shape[1:]) == rest, f"expected rows of shape {rest}", got=grad.shape)
    sequences = padded(grad, sizes_of(batch_sizes, grad.shape[0]), 0, time, batch)
    return sequences.transpose(0, 1) if batch_first else sequences


_pack_padded_sequence.derivative(
    input=lambda grad, input, result1, batch_first: _pack_padded_sequence_backward(
        grad, input.shape, result1, batch_first
    )
)


def padded(data: Tensor, sizes: list[int], value: Any, time: int, batch: int) -> Tensor:
    """Return packed sequences as (time, batch, ...), with ``value`` after the end of each sequence.

    Raises:
        ShapeError: there are more steps than ``time``, or more sequences than ``batch``.
    """
    check(len(sizes) <= time and sizes[0] <= batch, f"{len(sizes)} steps of {sizes[0]} rows, not ({time}, {batch})")
    rest = data.shape[1:]
    steps = [cat([rows, rows.new_full((batch - len(rows), *rest), value)]) for rows in data.split_with_sizes(sizes)]
    return cat([stack(steps), data.new_full((time - len(sizes), batch, *rest), value)])


@op("aten::_pad_packed_sequence")
def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Scalar, total_length: int
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences to one length; return the padded tensor, and the length of each sequence.

    Args:
        data, batch_sizes: results of ``_pack_padded_sequence``.
        batch_first: whether the result has the batch before the time.
        padding_value: the value after the end of a sequence.
        total_length: the length to pad to; that of the longest sequence if it is not greater than 0.
    """
    check(data.ndim > 0, "_pad_packed_sequence: expected rows", got=data.shape)
    sizes = sizes_of(batch_sizes, data.shape[0])
    check(
        total_length <= 0 or total_length >= len(sizes),
        "Expected total_length to be at least the length of the longest sequence in input, but got "
        f"total_length={total_length} and max sequence length being {len(sizes)}",
    )
    sequences = padded(data, sizes, padding_value, max(total_length, len(sizes)), sizes[0])
    lengths = (batch_sizes.unsqueeze(0) > arange(sizes[0]).unsqueeze(1)).sum(1)
    return sequences.transpose(0, 1) if batch_first else sequences, lengths


# -------------------------------------------------------------------------------------------------------------- jagged


def require_jagged(name: str, offsets: Sequence[Tensor]) -> Tensor:
    """Check the offsets of sequences whose rows are stored one after another, and return them as int64.

    Raises:
        ShapeError, DTypeError: the offsets are not one vector of integers.
    """
    check(len(offsets) == 1, f"{name}: only a single jagged dim is supported", got=len(offsets))
    offset = offsets[0]
    check(offset.ndim == 1 and offset.shape[0] > 0, f"{name}: expected a vector of offsets", got=offset.shape)
    if offset.dtype not in (int32, int64):
        raise DTypeError(f"{name}: expected offsets of int32 or int64, not {offset.dtype}")
    return offset.to(int64)


@op("aten::_jagged_to_padded_dense_forward")
def _jagged_to_padded_dense_forward(
    values: Tensor, offsets: list[Tensor], max_lengths: list[SymInt], padding_value: float = 0.0
) -> Tensor:
    """Pad or cut sequences that are stored one after another to one length.

    Args:
        values: the rows of all sequences.
        offsets: the row at which each sequence begins, and the end of the last one.
        max_lengths: the length to pad or cut to.
        padding_value: the value after the end of a sequence.
    """
    places = require_jagged("_jagged_to_padded_dense_forward", offsets)
    check(len(max_lengths) == 1 and max_lengths[0] >= 0, "expected one length", got=max_lengths)
    check(values.ndim > 0, "expected rows", got=values.shape)
    count, length = places.shape[0] - 1, max_lengths[0]
    shape = (count, length, *values.shape[1:])
    if not values.shape[0]:
        return values.new_full(shape, padding_value)
    steps = arange(length, device=places.device)
    rows = places.narrow(0, 0, count).unsqueeze(1) + steps
    is_there = rows < places.narrow(0, 1, count).unsqueeze(1)
    result = values.index_select(0, where(is_there, rows, 0).flatten()).reshape(shape)
    return where(is_there.view((count, length, *(1,) * (values.ndim - 1))), result, padding_value).to(values.dtype)


@op("aten::_padded_dense_to_jagged_forward")
def _padded_dense_to_jagged_forward(dense: Tensor, offsets: list[Tensor], total_L: SymInt | None = None) -> Tensor:
    """Return the rows of padded sequences one after another, without the padding.

    Args:
        dense: (batch, length, ...).
        offsets: the row of the result at which each sequence begins, and the end of the last one.
        total_L: the number of rows of the result.
    """
    places = require_jagged("_padded_dense_to_jagged_forward", offsets)
    check(dense.ndim >= 2, "expected at least 2 dimensions", got=dense.shape)
    count, length = dense.shape[:2]
    check(places.shape[0] == count + 1, f"expected {count + 1} offsets", got=places.shape)
    total: Any = places.select(0, count).item() if total_L is None else total_L
    check(
        places.is_meta or places.select(0, count).item() == total,
        "_padded_dense_to_jagged_forward(): final offset should match total_L value",
    )
    ends = places.narrow(0, 1, count)
    lengths: Any = (ends - places.narrow(0, 0, count)).tolist() if not places.is_meta else [0]
    check(
        all(0 <= own_length <= length for own_length in lengths),
        "_padded_dense_to_jagged_forward(): found offsets that fall, or a sequence that is longer than the padded "
        f"length {length}",
    )
    rows = arange(total, device=places.device)
    sequences = (ends.unsqueeze(0) <= rows.unsqueeze(1)).sum(1)
    steps = rows - places.index_select(0, sequences)
    return dense.flatten(0, 1).index_select(0, sequences * length + steps)
