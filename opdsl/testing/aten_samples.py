"""Samples of aten operators whose arguments have to fit each other: a function for each, and a table by operator
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.runtime import Device, bool_, channels_last, contiguous_format, float64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def _products(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4, 5))
    yield Sample(make.transposed(3, 4), make.strided(4, 2))
    yield Sample(make(2, 0), make(0, 3))


def _batches(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(2, 4, 5))
    yield Sample(make.transposed(2, 3, 4), make(2, 4, 1))


def _matmul(make: Maker) -> Iterator[Sample]:
    for one, other in (((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2))):
        yield Sample(make(*one), make(*other))


def _where(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=bool_), make(3, 4), make(3, 4))
    yield Sample(make(3, 1, dtype=bool_), make.transposed(3, 4), make(4))


def _where_number_first(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=bool_), 1, make(3, 4))


def _where_number_last(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=bool_), make(3, 4), 1)


def _where_numbers(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=bool_), 1, 2)


def _one_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make.transposed(3, 4))


def _divisions(make: Maker) -> Iterator[Sample]:
    for mode in ("floor", "trunc", None):
        yield Sample(make(3, 4), 2, rounding_mode=mode)
        yield Sample(make.transposed(3, 4), make(4) * 0 + 2, rounding_mode=mode)


def _number_divisions(make: Maker) -> Iterator[Sample]:
    for mode in ("floor", "trunc", None):
        yield Sample(make(3, 4), 2, rounding_mode=mode)


def _remainders(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.nonzero(3, 4))
    yield Sample(make.transposed(3, 4), make.nonzero(4))
    yield Sample(make(0, 4), make(4))


def _number_remainders(make: Maker) -> Iterator[Sample]:
    yield Sample(7, make.nonzero(3, 4))
    yield Sample(-2, make.nonzero())


def _joined(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(4, 3)])
    yield Sample([make.transposed(2, 3), make(2, 1), make(0)], 1)
    yield Sample((make.strided(2, 3),), dim=-2)


def _reductions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0)
    yield Sample(make.transposed(2, 3, 4), (0, 2), True)
    yield Sample(make.strided(3, 4), -1)


def _folds_to_dtype(make: Maker) -> Iterator[Sample]:
    yield from _reductions(make)
    yield Sample(make(3, 4), None)
    yield Sample(make(3, 4), 1, dtype=float64)


def _transposes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), 0, -1)
    yield Sample(make(3, 4), 1, 1)


def _permutations(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (2, 0, 1))


def _views(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 6))
    yield Sample(make(3, 4), (-1,))


def _reshapes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 6))
    yield Sample(make.transposed(3, 4), (-1,))


def _dtype_views(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.dtype)


def _expansions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1), (2, 3, 4))


def _narrowings(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 1, 2)


def _selections(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, -1)


def _slices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 1, None, 2)
    yield Sample(make(3, 4))


def _squeezes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1), 1)
    yield Sample(make(3, 1), -2)


def _many_squeezes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), (0, 2))


def _sizes(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3), dtype=make.dtype)
    yield Sample((0,), dtype=make.dtype)
    yield Sample(())


def _filled(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3), 1, dtype=make.dtype)
    yield Sample((), True)


def _copies(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make.transposed(3, 4), make(3, 4))


def _clones(make: Maker) -> Iterator[Sample]:
    yield Sample(make.transposed(3, 4))
    yield Sample(make(2, 3, 4, 5), memory_format=channels_last)


def _contiguous_in_format(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4, 5), channels_last)
    yield Sample(make.transposed(3, 4), contiguous_format)


def _conversions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.dtype)
    yield Sample(make.transposed(3, 4), float64)


def _moves(make: Maker) -> Iterator[Sample]:
    yield Sample(make.transposed(3, 4), Device("cpu"), float64)
    yield Sample(make(3, 4), Device("cpu"), make.dtype)


def _polar(make: Maker) -> Iterator[Sample]:
    """Yield samples with nonnegative lengths, since the gradient (as in PyTorch) is valid only for these."""
    lengths = make(3, 4)
    yield Sample(lengths.abs() if make.dtype.is_floating_point else lengths, make(3, 4))


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::polar": _polar,
    "aten::mm": _products,
    "aten::bmm": _batches,
    "aten::matmul": _matmul,
    "aten::where.self": _where,
    "aten::where.ScalarSelf": _where_number_first,
    "aten::where.ScalarOther": _where_number_last,
    "aten::where.Scalar": _where_numbers,
    "aten::where": _one_tensor,
    "aten::div.Tensor_mode": _divisions,
    "aten::div.Scalar_mode": _number_divisions,
    "aten::floor_divide": _remainders,
    "aten::fmod.Tensor": _remainders,
    "aten::remainder.Tensor": _remainders,
    "aten::remainder.Scalar_Tensor": _number_remainders,
    "aten::cat": _joined,
    "aten::sum.dim_IntList": _folds_to_dtype,
    "aten::mean.dim": _folds_to_dtype,
    "aten::amax": _reductions,
    "aten::transpose.int": _transposes,
    "aten::transpose_": _transposes,
    "aten::permute": _permutations,
    "aten::view": _views,
    "aten::view.dtype": _dtype_views,
    "aten::reshape": _reshapes,
    "aten::expand": _expansions,
    "aten::narrow": _narrowings,
    "aten::select.int": _selections,
    "aten::slice.Tensor": _slices,
    "aten::squeeze.dim": _squeezes,
    "aten::squeeze.dims": _many_squeezes,
    "aten::empty.memory_format": _sizes,
    "aten::zeros": _sizes,
    "aten::ones": _sizes,
    "aten::full": _filled,
    "aten::copy_": _copies,
    "aten::clone": _clones,
    "aten::is_contiguous.memory_format": _contiguous_in_format,
    "aten::to.dtype": _conversions,
    "aten::to.device": _moves,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
