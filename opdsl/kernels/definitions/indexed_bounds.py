"""Bounds checks of an indexed definition, done before any element is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opdsl.kernels.checks import check
from opdsl.runtime.dtype import Category, int64
from opdsl.runtime.symbol import largest, smallest
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.scalar.indexed import Access, IndexedFunction

from opdsl.kernels.definitions.indexed_calls import Resolved


def require_inside(resolved: Resolved) -> None:
    """Check that tensors without padding are read in bounds, and that padding has elements to repeat.

    Raises:
        ShapeError: an index expression leads out of bounds. PositionError: an element of an index tensor does.
    """
    from opdsl.scalar.indexed import MARGINS
    from opdsl.scalar.intervals import Interval, intervals

    indexed, ranges = resolved.function, resolved.ranges
    sizes = (*resolved.leading, *ranges.values())
    if any(size == 0 for size in sizes):
        return
    known = {index: Interval(0, size - 1) for index, size in ranges.items()}
    known |= {name: Interval(number, number) for name, number in resolved.numbers.items()}
    bounds = intervals(indexed.function, known, smallest, largest)
    for read in indexed.reads:
        source = resolved.tensors[read.array]
        leading = source.ndim - len(read.positions)
        for dimension, node in enumerate(read.positions, leading):
            size = source.shape[dimension]
            if read.margin in MARGINS:
                check(size > 0, f"margin= repeats elements of {read.array}, which has none: {source.shape}")
            elif read.margin is None:
                _require_position(resolved, read, node, bounds, dimension, size)


def _require_position(
    resolved: Resolved, access: Access, node: int, bounds: Sequence[Any], dimension: int, size: int
) -> None:
    from opdsl.scalar.intervals import Interval, intervals

    low, high = bounds[node]
    if low is not None and high is not None and low >= 0 and high < size:
        return
    indexed = resolved.function
    reads = {read.name: read for read in indexed.reads}
    written = indexed.function.nodes[node]
    source, index = indexed.function.places[node]
    if written.op == "parameter" and written.value in reads:
        require_positions(resolved.tensors[reads[str(written.value)].array], size, access.array, dimension)
        return
    needed = _reads_of(indexed, node)
    if needed and (low is None or high is None):
        known = {name: Interval(0, end - 1) for name, end in resolved.ranges.items()}
        known |= {name: Interval(number, number) for name, number in resolved.numbers.items()}
        for name in needed:
            positions = resolved.tensors[reads[name].array]
            if positions.is_meta:
                return
            if positions.dtype.category < Category.FLOAT:
                known[name] = Interval(*range_of_positions(positions))
        low, high = intervals(indexed.function, known, smallest, largest)[node]
    if low is not None and high is not None and low >= 0 and high < size:
        return
    where = f"from {low} to {high}" if low is not None and high is not None else "at indices that nothing bounds"
    problem = f"{access.array} is read {where} along its dimension {dimension} of size {size}"
    advice = (
        f"Give a value for indices out of bounds: margin={{{access.array!r}: 0}}; or clamp the index by min and max."
    )
    check(False, str(source.error(index, problem, advice)))


def _reads_of(indexed: IndexedFunction, node: int) -> list[str]:
    """Return the names of the reads that a node depends on."""
    reads = {read.name for read in indexed.reads}
    numbers: set[int] = set()
    waiting = [node]
    while waiting:
        position = waiting.pop()
        if position not in numbers:
            numbers.add(position)
            waiting.extend(indexed.function.nodes[position].arguments)
    nodes = indexed.function.nodes
    return [
        str(nodes[number].value)
        for number in numbers
        if nodes[number].op == "parameter" and nodes[number].value in reads
    ]


def require_positions(index: Tensor, size: int, array: str, dimension: int) -> None:
    """Check that every element of an index tensor is in bounds.

    Args:
        index: the tensor.
        size: of the dimension that it indexes.
        array, dimension: the tensor that is read, and its dimension, for messages.

    Raises:
        PositionError: an element is out of bounds.
    """
    from opdsl.errors import PositionError
    from opdsl.kernels.primitives.indirect import known_inside, range_of

    if index.is_meta:
        return
    wide = _as_int64(index)
    numbers = None if known_inside(wide, 0, size) else range_of(wide)
    if numbers is not None and (numbers[0] < 0 or numbers[1] >= size):
        wrong = numbers[0] if numbers[0] < 0 else numbers[1]
        raise PositionError(
            f"index {wrong} is out of bounds for dimension {dimension} of {array}, which has size {size}"
        )


def range_of_positions(index: Tensor) -> tuple[int | None, int | None]:
    """Return the smallest and the largest element of a tensor of integers; None for both where it is empty."""
    from opdsl.kernels.primitives.indirect import range_of

    return range_of(_as_int64(index)) or (None, None)


def _as_int64(index: Tensor) -> Tensor:
    from opdsl.kernels.primitives.copying import cast

    return index if index.dtype is int64 else cast(index, int64)
