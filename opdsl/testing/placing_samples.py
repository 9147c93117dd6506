"""Samples of aten operators that copy elements to other positions, and their table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.aten.create.construction import tensor
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def _dimensions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (0, -1))
    yield Sample(make.transposed(3, 4), (1,))


def _shifts(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 5)
    yield Sample(make.transposed(3, 4), (1, -2), (0, 1))


def _turns(make: Maker) -> Iterator[Sample]:
    for turns in range(4):
        yield Sample(make(3, 4), turns)


def _repeats(make: Maker) -> Iterator[Sample]:
    yield Sample(make.transposed(3, 4), (2, 1, 3))
    yield Sample(make(3, 4), (0, 2))


def _counts(make: Maker) -> Iterator[Sample]:
    yield Sample(tensor([1, 0, 3]))


def _each_repeated(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), tensor([1, 0, 3]), 0)
    yield Sample(make(3, 4), tensor([2]))


def _all_repeated(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2, 1)
    yield Sample(make.transposed(3, 4), 0)


def _matrices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make.transposed(2, 3, 4), 1)


def _rows_and_columns(make: Maker) -> Iterator[Sample]:
    yield Sample(3, 4, 1)
    yield Sample(0, 2)


def _matrix(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))


def _lists(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 4), make.transposed(3, 4)])
    yield Sample([make(2, 3, 4)])


def _blocks(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 4), make(2), make()])


def _sliced(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 4), 0, 1)
    yield Sample(make.strided(3, 4), make(3, 2), 1, 0, None, 2)


def _selected(make: Maker) -> Iterator[Sample]:
    yield Sample(make.transposed(3, 4), make(4), 0, 1)


def _diagonals(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3))


def _strided(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 2), (2, 2), (1, 2), 3)


def _padded(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, 2, 0, 1), 1)
    yield Sample(make.transposed(3, 4), (-1, 1))


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::flip": _dimensions,
    "aten::roll": _shifts,
    "aten::rot90": _turns,
    "aten::repeat": _repeats,
    "aten::tile": _repeats,
    "aten::repeat_interleave.Tensor": _counts,
    "aten::repeat_interleave.self_Tensor": _each_repeated,
    "aten::repeat_interleave.self_int": _all_repeated,
    "aten::tril": _matrices,
    "aten::triu": _matrices,
    "aten::tril_indices": _rows_and_columns,
    "aten::triu_indices": _rows_and_columns,
    "aten::trace": _matrix,
    **{f"aten::{base}": _lists for base in ("stack", "hstack", "vstack", "row_stack", "dstack", "column_stack")},
    "aten::block_diag": _blocks,
    "aten::slice_scatter": _sliced,
    "aten::select_scatter": _selected,
    "aten::diagonal_scatter": _diagonals,
    "aten::as_strided_scatter": _strided,
    "aten::constant_pad_nd": _padded,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
