"""Samples of aten operators on rows, products and embedding tables, whose shapes have to fit each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from opdsl.aten.shape.transpositions import transpose
from opdsl.runtime import float64, int64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def _layer_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (4,), make(4), make(4), 1e-5)
    yield Sample(make.transposed(2, 3, 4), (3, 4), None, make(3, 4), 1e-5)


def _layer_norm_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), (4,), make(3, 1), make(3, 1), make(4), make(4), (True, True, True))


def _input_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 1), make(3, 1), make(4), 1)
    yield Sample(make(2, 3, 4), make.transposed(2, 3, 4), make(2, 1, 1), make(2, 1, 1), None, 2)


def _rms_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (4,), make(4), 1e-5)
    yield Sample(make.transposed(2, 3, 4), (3, 4), None, None)


def _added_products(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5), make(3, 4), make(4, 5))
    yield Sample(make(3, 5), make.transposed(3, 4), make.strided(4, 5), beta=2, alpha=3)


def _added_batches(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5), make(2, 3, 4), make(2, 4, 5))
    yield Sample(make(2, 3, 5), make.transposed(2, 3, 4), make(2, 4, 5), beta=0, alpha=2)


def _sums_of_batches(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5), make(2, 3, 4), make(2, 4, 5))


def _added_vectors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3), make(3, 4), make(4))
    yield Sample(make(3), make.transposed(3, 4), make(4), beta=2, alpha=3)


def _tables(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 3), _numbers(make, 2, 4))
    yield Sample(make.transposed(5, 3), _numbers(make, 2))


def _table_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), _numbers(make, 2, 4), 5, -1, False)
    yield Sample(make(2, 3), _numbers(make, 2), 5, 1, True)


def _numbers(make: Maker, *shape: int) -> object:
    """Return an int64 tensor of row indices."""
    return make(*shape, dtype=int64) * 0 + 2


def _selections(make: Maker) -> Iterator[Sample]:
    # Elements are distinct, since the index of one of several equal elements is unspecified.
    yield Sample(make.distinct(3, 4), 2)
    yield Sample(transpose(make.distinct(4, 3), 0, 1), 1, 0, True)
    yield Sample(make.distinct(), 1)


def _selections_into(make: Maker) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 2, out=(make(3), make(3, dtype=int64)))


def _largest(make: Maker) -> Iterator[Sample]:
    yield from _selections(make)
    yield Sample(make.distinct(2, 3, 4), 2, 1, False)
    yield Sample(make.distinct(3, 0), 0)


def _stable_orders(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), stable=True)
    yield Sample(make.transposed(3, 4), stable=True, dim=0, descending=True)


def _normalised_rows(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, False)
    yield Sample(make.transposed(2, 3, 4), 0, False)


def _running_extrema(make: Maker) -> Iterator[Sample]:
    yield Sample(make.transposed(3, 4), make(3, 4), make(3, 4, dtype=int64), 1)


def _first_keys(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 40, dtype=int64), 4, True)
    yield Sample(make(3, 400, dtype=int64), 2, False)


def _nth_keys(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 40, dtype=int64), 4)


def _keys(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 40, dtype=int64))


def _bounds(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 40, dtype=int64).sort(1)[0], make(3, 7, dtype=int64))
    yield Sample(make(1, 5, dtype=float64).sort(1)[0], make(1, 2, dtype=float64))
    yield Sample(make(3, 40, dtype=int64).sort(1)[0], make(3, 7, dtype=int64), False)


def _scattered(make: Maker) -> Iterator[Sample]:
    yield Sample(make(40), 5, -1.0, 1.0)
    yield Sample(make(7), 3, 0.25, 8.0)


def _columns(make: Maker) -> Iterator[Sample]:
    for p in (2.0, 0.0, 1.0, 3.0, math.inf):
        yield Sample(make(3, 4), p)


def _elements(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 5), 1, False)
    yield Sample(make(4), 0, True)


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::native_layer_norm": _layer_norms,
    "aten::layer_norm": _layer_norms,
    "aten::rms_norm": _rms_norms,
    "aten::native_layer_norm_backward": _layer_norm_gradients,
    "opdsl::layer_norm_input_gradient": _input_gradients,
    "aten::_fused_rms_norm": _rms_norms,
    "aten::addmm": _added_products,
    "aten::baddbmm": _added_batches,
    "aten::addbmm": _sums_of_batches,
    "aten::addbmm_": _sums_of_batches,
    "aten::addmv": _added_vectors,
    "aten::embedding": _tables,
    "aten::embedding_dense_backward": _table_gradients,
    "aten::kthvalue": _selections,
    "aten::kthvalue.values": _selections_into,
    "aten::topk": _largest,
    "aten::sort.stable": _stable_orders,
    "aten::argsort.stable": _stable_orders,
    "aten::_softmax": _normalised_rows,
    "aten::_log_softmax": _normalised_rows,
    "aten::_cummax_helper": _running_extrema,
    "aten::_cummin_helper": _running_extrema,
    "opdsl::cosines": lambda make: iter(
        [Sample(make(2, 3), make(2, 3), 1, 0.5), Sample(make(2, 3), make(2, 3), -2, 0.5)]
    ),
    "opdsl::cosine_slopes": lambda make: iter([Sample(make(2, 1), make(2, 3), make(2, 3), 1, 0.5)]),
    "opdsl::first_places": _first_keys,
    "opdsl::nth_place": _nth_keys,
    "opdsl::places_above": _bounds,
    "opdsl::sorted_places": _keys,
    "opdsl::stable_places": _keys,
    "opdsl::even_counts": _scattered,
    "opdsl::pair_distances": _columns,
    "opdsl::order_keys": _elements,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
