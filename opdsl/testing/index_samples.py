"""Samples of aten operators that take index tensors and masks, and their table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.aten.create.construction import tensor
from opdsl.runtime import Tensor, bool_, int32, int64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

ALONG = [[0, 2, 1, 0], [1, 1, 0, 2]]
VECTOR = [2, 0]


def _index(data: object) -> Tensor:
    return tensor(data)


def _gathered(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(ALONG))
    yield Sample(make.transposed(3, 4), -1, _index([[3], [0]]))
    yield Sample(make(), 0, _index(0))


def _selected(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(VECTOR))
    yield Sample(make.transposed(3, 4), 1, tensor([1, 1, 3], dtype=int32))


def _taken(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _index([[0, -1], [5, 11]]))
    yield Sample(make.transposed(3, 4), _index([1, 4]))


def _taken_along(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _index([0, -1]))
    yield Sample(make(3, 4), _index([[0], [2]]), 0)


def _scattered(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index([[0, 2, 1, 0]]), make(2, 4))
    yield Sample(make.transposed(3, 4), 1, _index([[3, 1], [0, 2]]), make(2, 2))


def _scattered_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(ALONG), 1)


def _combined(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(ALONG), make(2, 4), reduce="add")
    yield Sample(make(3, 4), 0, _index(ALONG), make(2, 4), reduce="multiply")


def _combined_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(ALONG), 1, reduce="add")


def _masked_positions(*, adds: bool) -> Callable[[Maker], Iterator[Sample]]:
    def samples(make: Maker) -> Iterator[Sample]:
        mask, places = tensor([[True], [False]]), [tensor([[0], [7]]), tensor([1, 3, 2])]
        yield Sample(make(3, 4), mask, places, make(2, 3) if adds else 1)

    return samples


def _reduced_slices(make: Maker) -> Iterator[Sample]:
    for reduce in ("prod", "mean", "amax", "amin"):
        yield Sample(make(4, 3), 0, tensor([1, 3, 1]), make(3, 3), reduce, include_self=reduce != "amax")


def _reduced(make: Maker) -> Iterator[Sample]:
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        yield Sample(make(3, 4), 0, _index(ALONG), make(2, 4), reduce)
        yield Sample(make(3, 4), 0, _index(ALONG), make(2, 4), reduce, include_self=False)


def _written(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(VECTOR), make(2, 4))
    yield Sample(make.transposed(3, 4), -1, _index([1]), make(3, 1))


def _filled(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(VECTOR), 1)


def _filled_with_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, _index(VECTOR), make())


def _put(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _index([1, -1]), make(2))
    yield Sample(make(3, 4), _index([1, -1]), make(2), True)


def _masked(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype=bool_))
    yield Sample(make.transposed(3, 4), make(4, dtype=bool_))


def _masked_with_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype=bool_), 1)
    yield Sample(make(3, 4), make(4, dtype=bool_), 1)


def _masked_with_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype=bool_), make())


def _masked_with_source(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype=bool_), make(12))


def _indexed(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), [_index(VECTOR)])
    yield Sample(make.transposed(3, 4), [None, _index([[1], [-1]])])
    yield Sample(make(3, 4), [_index([0, 1]), _index([3, 2])])


def _indexed_and_written(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), [_index(VECTOR)], make(2, 4))
    yield Sample(make(3, 4), [None, _index([1])], make(), True)


def _found(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), out=make(0, dtype=int64))


def _chosen(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype=bool_), out=make(0))


def _bags(make: Maker) -> Iterator[Sample]:
    indices, offsets = _index([0, 2, 4, 1, 1, 3]), _index([0, 2, 2, 5])
    for mode in range(3):
        yield Sample(make.distinct(5, 3), indices, offsets, False, mode)
    yield Sample(make(5, 3), indices, offsets, False, 0, False, make(6), False)
    yield Sample(make(5, 3), indices, _index([0, 2, 6]), False, 1, False, None, True)


def _padded_bags(make: Maker) -> Iterator[Sample]:
    for sample in _bags(make):
        arguments = (*sample.positional, *(False, 0, False, None, False)[len(sample.positional) - 3 :])
        yield Sample(*arguments, 1)


def _bag_gradients(is_sparse: tuple[bool, ...], *before: Tensor) -> Callable[[Maker], Iterator[Sample]]:
    def samples(make: Maker) -> Iterator[Sample]:
        indices, bags, sizes = _index([0, 2, 4, 1, 1, 3]), _index([0, 0, 2, 2, 2, 3]), _index([2, 0, 3, 1])
        largest = _index([[2, 0, 0], [0, 0, 0], [1, 1, 4], [3, 3, 3]])
        for mode in range(3):
            most = largest if mode == 2 else sizes
            yield Sample(make(4, 3), indices, *before, bags, sizes, most, 5, False, mode, *is_sparse, None)
        yield Sample(make(4, 3), indices, *before, bags, sizes, sizes, 5, True, 0, *is_sparse, make(6), 1)

    return samples


def _weight_gradients(make: Maker) -> Iterator[Sample]:
    indices, offsets, bags = _index([0, 2, 4, 1, 1, 3]), _index([0, 2, 2, 5]), _index([0, 0, 2, 2, 2, 3])
    yield Sample(make(4, 3), make(5, 3), indices, offsets, bags, 0)
    yield Sample(make(4, 3), make(5, 3), indices, offsets, bags, 0, 1)


def _once(*arguments: Callable[[Maker], object] | object) -> Callable[[Maker], Iterator[Sample]]:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(*(function(make) if callable(function) else function for function in arguments))

    return samples


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::item": _once(lambda make: make()),
    "aten::_local_scalar_dense": _once(lambda make: make(1, 1)),
    "aten::_embedding_bag": _bags,
    "aten::_embedding_bag_forward_only": _bags,
    "aten::embedding_bag": _bags,
    "aten::embedding_bag.padding_idx": _padded_bags,
    "aten::_embedding_bag_backward": _bag_gradients((False,), tensor([0, 2, 2, 5])),
    "aten::_embedding_bag_dense_backward": _bag_gradients(()),
    "aten::_embedding_bag_per_sample_weights_backward": _weight_gradients,
    "aten::select_backward": _once(lambda make: make(3), (3, 4), 1, 2),
    "aten::slice_backward": _once(lambda make: make(2, 4), (5, 4), 0, 1, 5, 2),
    "aten::diagonal_backward": _once(lambda make: make(3), (3, 4), 1, 0, 1),
    "aten::unfold_backward": _once(lambda make: make(3, 2, 3), (5, 2), 0, 3, 1),
    "aten::masked_scatter_backward": _once(lambda make: make(3), lambda make: tensor([True, False, True]), (2, 2)),
    "aten::trace_backward": _once(lambda make: make(), (3, 4)),
    "aten::index_select_backward": _once(lambda make: make(2, 4), (3, 4), 0, tensor(VECTOR)),
    "aten::gather_backward": _once(lambda make: make(2, 4), lambda make: make(3, 4), 0, tensor(ALONG), False),
    "aten::value_selecting_reduction_backward": _once(lambda make: make(3), 1, tensor([1, 0, 1]), (3, 2), False),
    "aten::masked_select_backward": _once(
        lambda make: make(2), lambda make: make(3), lambda make: tensor([True, False, True])
    ),
    "aten::embedding_backward": _once(lambda make: make(2, 3), tensor(VECTOR), 4, -1, False, False),
    "aten::cummaxmin_backward": _once(lambda make: make(3), lambda make: make(3), tensor([0, 0, 2]), 0),
    "aten::gather": _gathered,
    "aten::index_select": _selected,
    "aten::take": _taken,
    "aten::take_along_dim": _taken_along,
    "aten::scatter.src": _scattered,
    "aten::scatter.value": _scattered_number,
    "aten::scatter.reduce": _combined,
    "aten::scatter.value_reduce": _combined_number,
    "aten::scatter_add": _scattered,
    "aten::scatter_reduce.two": _reduced,
    "aten::index_reduce": _reduced_slices,
    "aten::_unsafe_masked_index": _masked_positions(adds=False),
    "aten::_unsafe_masked_index_put_accumulate": _masked_positions(adds=True),
    "aten::index_add": _written,
    "aten::index_copy": _written,
    "aten::index_fill.int_Scalar": _filled,
    "aten::index_fill_.int_Scalar": _filled,
    "aten::index_fill.int_Tensor": _filled_with_tensor,
    "aten::index_fill_.int_Tensor": _filled_with_tensor,
    "aten::put": _put,
    "aten::put_": _put,
    "aten::nonzero.out": _found,
    "aten::masked_select": _masked,
    "aten::masked_select.out": _chosen,
    "aten::masked_fill.Scalar": _masked_with_number,
    "aten::masked_fill_.Scalar": _masked_with_number,
    "aten::masked_fill.Tensor": _masked_with_tensor,
    "aten::masked_fill_.Tensor": _masked_with_tensor,
    "aten::masked_scatter": _masked_with_source,
    "aten::masked_scatter_": _masked_with_source,
    "aten::index.Tensor": _indexed,
    "aten::_unsafe_index.Tensor": _indexed,
    "aten::index_put": _indexed_and_written,
    "aten::index_put_": _indexed_and_written,
    "aten::_unsafe_index_put": _indexed_and_written,
    "aten::_index_put_impl_": _indexed_and_written,
    "aten::_index_put_impl": _indexed_and_written,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
