"""Samples of aten's products, distances, differences and grids: einsum equations, triples, index grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy

from opdsl.runtime import from_numpy, int64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


def _equations(make: Maker) -> Iterator[Sample]:
    yield Sample("ij,jk->ik", [make(3, 4), make.transposed(4, 2)])
    yield Sample("...ii,i", [make(2, 3, 3), make(3)])
    yield Sample("ab,cb,a", [make(2, 3), make(4, 3), make(2)], path=[0, 2, 0, 1])


def _contracted(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), make.transposed(2, 4), [2, 1], [0, 1])
    yield Sample(make(3, 1), make(4, 2), [-1], [0])


def _triples(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(4, 3))
    yield Sample(make(3, 1), make.transposed(3, 2), dim=0)


def _forms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), make(2, 4, 2), make(5, 3, 2), make(5))
    yield Sample(make(3), make(2), make(1, 3, 2))


def _norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2, 0, 4.0)
    yield Sample(make.transposed(3, 4, 2), 1.5, -1, 1.0)


def _pairs(*more: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for p in (1.0, 2.0, 3.0):
            yield Sample(make(3, 4), make(2, 4), p, *more)
        yield Sample(make(2, 3, 4), make(1, 2, 4), 1.5, *more)

    return samples


def _pair_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 4), make(2, 4), 2.0, make(3, 2))


def _vectors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 4))


def _rows(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3))
    yield Sample(make(4, 3), 1.5)


def _row_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(6), make(4, 3), 2.0, make(6))


def _lists(**named: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample([make(3), make(2), make()], **named)

    return samples


def _pool(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3), make(2)])


def _combined(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4))
    yield Sample(make(3), 3, True)


def _vector(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4))
    yield Sample(make(3), N=5)


def _numbers(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=int64).abs())
    yield Sample(from_numpy(numpy.asarray([0, 2, 1])), 5)


def _observations(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5))
    yield Sample(make(5))


def _points(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make(3, 4), make(3, 4), dim=0)


def _pixels(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 8, 4, 6), 2)
    yield Sample(make.transposed(4, 2, 2), 2)


def _summed(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, 4))
    yield Sample(make(2, 3, 4), (4,))


TABLE: dict[str, Samples] = {
    "aten::einsum": _equations,
    "aten::tensordot": _contracted,
    "aten::linalg_cross": _triples,
    "aten::cross": _triples,
    "aten::bilinear": _forms,
    "aten::renorm": _norms,
    "aten::renorm_": _norms,
    "aten::cdist": _pairs(),
    "aten::_cdist_forward": _pairs(None),
    "aten::_cdist_backward": _pair_gradients,
    "aten::_euclidean_dist": _vectors,
    "aten::pdist": _rows,
    "aten::_pdist_forward": _rows,
    "aten::_pdist_backward": _row_gradients,
    "aten::meshgrid": _lists(),
    "aten::meshgrid.indexing": _lists(indexing="xy"),
    "aten::cartesian_prod": _pool,
    "aten::combinations": _combined,
    "aten::vander": _vector,
    "aten::linalg_vander": _vector,
    "aten::one_hot": _numbers,
    "aten::cov": _observations,
    "aten::corrcoef": _observations,
    "aten::trapezoid.x": _points,
    "aten::trapz.x": _points,
    "aten::cumulative_trapezoid.x": _points,
    "aten::pixel_shuffle": _pixels,
    "aten::pixel_unshuffle": _pixels,
    "aten::channel_shuffle": _pixels,
    "aten::sum_to_size": _summed,
}
