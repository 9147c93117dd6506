"""Samples of aten's quantile, sorted-search and counting operators: fractions, boundaries, bins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy

from opdsl.aten.create.conversions import in_dtype
from opdsl.runtime import Tensor, from_numpy, int64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


def _numbers(make: Maker, *values: float) -> Tensor:
    """Return a vector of given numbers, in the dtype of the samples."""
    return in_dtype(from_numpy(numpy.asarray(values)), make.dtype, copy=True)


def _shares(make: Maker) -> Iterator[Sample]:
    for interpolation in ("linear", "nearest"):
        yield Sample(make(3, 4), _numbers(make, 0.1, 0.6), 1, interpolation=interpolation)
    yield Sample(make.transposed(3, 4), _numbers(make, 0.3)[0], keepdim=True)


def _share(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.3)
    yield Sample(make.transposed(3, 4), 0.6, 0, True, interpolation="midpoint")


def _inserted(make: Maker) -> Iterator[Sample]:
    edges = _numbers(make, -2, 0, 1, 3)
    yield Sample(edges, make(3, 4))
    yield Sample(edges, make.transposed(2, 3), right=True, out_int32=True)
    yield Sample(edges.reshape((2, 2)), make(2, 5), side="right", sorter=from_numpy(numpy.asarray([[0, 1], [1, 0]])))


def _inserted_number(make: Maker) -> Iterator[Sample]:
    yield Sample(_numbers(make, -2, 0, 1, 3), 1)
    yield Sample(_numbers(make, -2, 0, 1, 3), 1.5, right=True)


def _in_buckets(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _numbers(make, -2, 0, 1, 3))
    yield Sample(make.transposed(3, 4), _numbers(make, -2, 0, 1, 3), right=True, out_int32=True)


def _number_in_buckets(make: Maker) -> Iterator[Sample]:
    yield Sample(1, _numbers(make, -2, 0, 1, 3), right=True)


def _counted(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, dtype=int64).abs())
    yield Sample(make(5, dtype=int64).abs(), make(5), 12)


def _between(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _numbers(make, -2, 0, 1, 3))
    yield Sample(make(3, 4), _numbers(make, -2, 0, 1, 3), weight=make(3, 4), density=True)


def _in_even_bins(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 5)
    yield Sample(make.transposed(3, 4), 4, range=(-1.0, 2.0))


TABLE: dict[str, Samples] = {
    "aten::quantile": _shares,
    "aten::nanquantile": _shares,
    "aten::quantile.scalar": _share,
    "aten::nanquantile.scalar": _share,
    "aten::searchsorted.Tensor": _inserted,
    "aten::searchsorted.Scalar": _inserted_number,
    "aten::bucketize.Tensor": _in_buckets,
    "aten::bucketize.Scalar": _number_in_buckets,
    "aten::bincount": _counted,
    "aten::histogram.bins_tensor": _between,
    "aten::histogram.bin_ct": _in_even_bins,
}
