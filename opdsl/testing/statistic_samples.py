"""Samples of aten's statistical operators: histograms, numeric gradients, segments, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opdsl.aten.create.construction import tensor
from opdsl.aten.create.ranges import arange
from opdsl.aten.index.segments import segment_reduce
from opdsl.runtime import Tensor
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


# ------------------------------------------------------------------------------------------------------------ gradient


def _differences(**named: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(4, 3), **named)
        yield Sample(make.transposed(4, 3), **named, edge_order=2)

    return samples


def _places(make: Maker, count: int) -> Tensor:
    """Return ascending numbers at different distances."""
    places: Tensor = arange(count).square().to(make.dtype)
    return places


def _differences_of_places(**named: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(4, 3), spacing=[_places(make, 4), _places(make, 3)], **named)

    return samples


# ---------------------------------------------------------------------------------------------------------- histograms


def _points(bins: object, *, named: bool) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        more = {"range": [-3.0, 3.0, -2.0, 2.0], "weight": make(4)}
        yield Sample(make(5, 2), bins)
        yield Sample(make.transposed(4, 2), bins, **more) if named else Sample(make(4, 2), bins, *more.values(), True)

    return samples


def _points_between_edges(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2), [_places(make, 4), _places(make, 3)])
    yield Sample(make(5, 2), [_places(make, 4), _places(make, 3)], weight=make(5), density=True)


# ------------------------------------------------------------------------------------------------------------ segments


def _segments(*, backward: bool) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for reduce in ("sum", "mean", "prod", "max", "min"):
            data, lengths = make(5, 2), tensor([2, 0, 3])
            result = segment_reduce(data, reduce, lengths=lengths) if make.dtype.is_floating_point else make(3, 2)
            tensors = (make(3, 2), result) if backward else ()
            yield Sample(*tensors, data, reduce, lengths=lengths)
        offsets = tensor([[0, 1, 3], [1, 2, 2]])
        tensors = (make(2, 2), make(2, 2)) if backward else ()
        yield Sample(*tensors, make(2, 3), "sum", offsets=offsets, axis=1, initial=1.5)

    return samples


# ------------------------------------------------------------------------------------------------------ Sobol sequences


def _state(make: Maker) -> Tensor:
    """Return a state matrix of Sobol sequences: column ``i`` of 30 holds an odd number shifted left by ``29 - i``
    bits.
    """
    places: Any = arange(29, -1, -1)
    state: Tensor = (tensor([1, 3, 5]).unsqueeze(1) << places) & (2**30 - 1)
    return state


def _draws(make: Maker) -> Iterator[Sample]:
    dtype = make.dtype if make.dtype.is_floating_point else None
    yield Sample(tensor([1, 2, 3]), 4, _state(make), 3, 2, dtype)


def _matrices(make: Maker) -> Iterator[Sample]:
    matrices: Any = arange(3 * 900)
    yield Sample(_state(make), (matrices % 2).view((3, 30, 30)), 3)


# ------------------------------------------------------------------------------------------------------ random numbers


def _positive(make: Maker, *shape: int) -> Tensor:
    result = make(*shape)
    return result * result + 1 if make.dtype.is_floating_point else result


def _parameters(count: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(*(_positive(make, 3, 4) for _ in range(count)))

    return samples


def _trials(make: Maker) -> Iterator[Sample]:
    count = _positive(make, 3, 4).floor() if make.dtype.is_floating_point else make(3, 4)
    yield Sample(count, 1 / _positive(make, 4) if make.dtype.is_floating_point else make(4))


def _parts(make: Maker) -> Iterator[Sample]:
    alpha, beta = _positive(make, 3, 4), _positive(make, 3, 4)
    total: Any = alpha + beta if make.dtype.is_floating_point else alpha
    yield Sample(alpha / total if make.dtype.is_floating_point else alpha, alpha, total)


TABLE: dict[str, Samples] = {
    "aten::gradient.scalarint": _differences(),
    "aten::gradient.scalararray": _differences(spacing=2.0, dim=[1, 0]),
    "aten::gradient.array": _differences(dim=[0]),
    "aten::gradient.scalarrayint": _differences(spacing=[2.0, 0.5]),
    "aten::gradient.scalarrayarray": _differences(spacing=[0.5, 2.0], dim=[1, 0]),
    "aten::gradient.tensorarrayint": _differences_of_places(edge_order=2),
    "aten::gradient.tensorarray": _differences_of_places(dim=[0, 1]),
    **{f"aten::_histogramdd_{name}": _points([2, 3], named=True) for name in ("bin_edges", "from_bin_cts")},
    "aten::_histogramdd_from_bin_tensors": _points_between_edges,
    "aten::histogramdd": _points([2, 3], named=False),
    "aten::histogramdd.int_bins": _points(3, named=False),
    "aten::histogramdd.TensorList_bins": _points_between_edges,
    "aten::segment_reduce": _segments(backward=False),
    "aten::_segment_reduce_backward": _segments(backward=True),
    **{f"aten::{base}": _parameters(1) for base in ("poisson", "_standard_gamma", "_sample_dirichlet")},
    "aten::_standard_gamma_grad": _parameters(2),
    "aten::_dirichlet_grad": _parts,
    "aten::binomial": _trials,
    "aten::hash_tensor": lambda make: iter([Sample(make(3, 4)), Sample(make.transposed(3, 4), 1, keepdim=True)]),
    "opdsl::exclusive_or": lambda make: iter([Sample(make(3, 4)), Sample(make.transposed(3, 4), 1, True)]),
    "aten::nonzero_static": lambda make: iter([Sample(make(3, 4), size=5), Sample(make.transposed(3, 4), size=20)]),
    "aten::_sobol_engine_draw": _draws,
    "aten::_sobol_engine_ff_": lambda make: iter([Sample(tensor([1, 2, 3]), 4, _state(make), 3, 2)]),
    "aten::_sobol_engine_scramble_": _matrices,
    **{f"aten::range{end}": lambda make: iter([Sample(1, 5, dtype=make.dtype)]) for end in ("", ".step")},
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
