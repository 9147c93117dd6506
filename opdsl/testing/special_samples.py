"""Samples of special functions, and of activation functions that take more than one element."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.runtime import complex64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


def _polygamma_in_place(make: Maker) -> Iterator[Sample]:
    """Yield a sample away from the poles, near which finite differences are inaccurate."""
    for order in range(3):
        x = make(3, 4)
        yield Sample(x.abs() + 0.5 if make.dtype.is_floating_point else x, order)


def _complex_in_place(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=complex64))
    yield Sample(make.transposed(3, 4))


def _in_place_pairs(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make.transposed(3, 4), make(4))


def _halved(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make.transposed(2, 3, 4), 0)


def _halved_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 4), -1)
    yield Sample(make(1, 3), make.transposed(2, 3), 0)


def _halved_changes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 4), make(3, 4), -1)


def _changes_of_halved_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 2), make(3, 4), make(3, 2), make(3, 4), -1)


def _channels(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(3))
    yield Sample(make.transposed(3, 4), make(1))
    yield Sample(make(4), make())


def _slopes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.125, 0.25)
    yield Sample(make.transposed(3, 4), 0.25, 0.5, False)


def _noisy_slopes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), 0.125, 0.25, True)
    yield Sample(make(3, 4), make(3, 4), 0.125, 0.25, False)


TABLE: dict[str, Samples] = {
    "aten::polygamma_": _polygamma_in_place,
    "aten::conj_physical_": _complex_in_place,
    "aten::ldexp_": _in_place_pairs,
    "aten::glu": _halved,
    "aten::glu_backward": _halved_gradients,
    "aten::glu_jvp": _halved_changes,
    "aten::glu_backward_jvp": _changes_of_halved_gradients,
    "aten::prelu": _channels,
    "aten::rrelu": _slopes,
    "aten::rrelu_": _slopes,
    "aten::rrelu_with_noise": _noisy_slopes,
    "aten::rrelu_with_noise_": _noisy_slopes,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
