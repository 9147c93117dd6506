"""Samples of aten's views whose arguments have to fit each other: a function for each, and a table by operator name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.aten.shape.slicing import slice_tensor
from opdsl.runtime import complex64, float64, int64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def _swapped(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), 0, -1)
    yield Sample(make(3, 4), 1, 1)


def _moved(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (0, 1), (-1, 0))


def _parts_of_matrices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make.transposed(5, 4), 2, 1)


def _sized_parts(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), [1, 2])
    yield Sample(make.transposed(3, 4), [1, 0, 3], -1)


def _sections(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 4, 4), 2)


def _positions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 4, 4), [1, 3])


def _sections_of_tensors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 4), make(2, dtype=int64))
    yield Sample(make(4, 4), make(2, dtype=int64), -1)


def _narrowed(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, (make(dtype=int64) * 0), 2)


def _windows(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5), 1, 2, 2)
    yield Sample(make.transposed(3, 4), -2, 3, 1)


def _strided(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 2), (1, 2), 3)
    yield Sample(make(3, 4), (2, 3), (4, 1))


def _unflattened(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, (2, -1))


def _alike(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 6))


def _expanded(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1), make(2, 3, 4))


def _sizes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1), (2, 3, 4))


def _resized(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 6))


def _singles(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1), 1)


def _many_singles(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), (0, 2))


def _complex(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=complex64))
    yield Sample(slice_tensor(make(6, 4, dtype=complex64), 0, 0, None, 2))


def _pairs(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2, dtype=float64))


def _laid_out(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 6), (6, 1))
    yield Sample(make.transposed(3, 4), (3, 4), (1, 3))


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    **{f"aten::_reshape_alias{end}": _laid_out for end in ("", "_copy")},
    "aten::swapaxes": _swapped,
    "aten::swapaxes_": _swapped,
    "aten::swapdims": _swapped,
    "aten::swapdims_": _swapped,
    "aten::movedim.intlist": _moved,
    "aten::moveaxis.intlist": _moved,
    "aten::split.Tensor": _parts_of_matrices,
    "aten::unsafe_split.Tensor": _parts_of_matrices,
    "aten::chunk": _parts_of_matrices,
    "aten::unsafe_chunk": _parts_of_matrices,
    "aten::split.sizes": _sized_parts,
    "aten::split_with_sizes": _sized_parts,
    "aten::unsafe_split_with_sizes": _sized_parts,
    "aten::tensor_split.tensor_indices_or_sections": _sections_of_tensors,
    **{f"aten::{base}.int": _sections for base in ("hsplit", "vsplit", "dsplit")},
    **{f"aten::{base}.array": _positions for base in ("hsplit", "vsplit", "dsplit")},
    "aten::narrow.Tensor": _narrowed,
    "aten::unfold": _windows,
    "aten::as_strided": _strided,
    "aten::as_strided_": _strided,
    "aten::unflatten.int": _unflattened,
    "aten::view_as": _alike,
    "aten::reshape_as": _alike,
    "aten::_unsafe_view": _resized,
    "aten::expand_as": _expanded,
    "aten::broadcast_to": _sizes,
    "aten::squeeze_.dim": _singles,
    "aten::squeeze_.dims": _many_singles,
    **dict.fromkeys(("aten::view_as_real", "aten::_conj", "aten::_conj_copy"), _complex),
    "aten::imag": _complex,
    "aten::view_as_complex": _pairs,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
