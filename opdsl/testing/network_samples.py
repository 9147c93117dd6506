"""Samples of aten's operators on batches of signals and images: padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


def _padded(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, *(4,) * dims), (1, 2) * dims)
        yield Sample(make.transposed(3, 2, *(4,) * dims), (0, -1, *(3, 1) * (dims - 1)))

    return samples


def _padded_gradients(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, *(7,) * dims), make(2, *(4,) * dims), (1, 2) * dims)

    return samples


def _margins(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4), (1, 2))
    yield Sample(make(2, 3, 4), (-1, 2, 0, 1))


def _numbered_margins(make: Maker) -> Iterator[Sample]:
    for mode in range(4):
        yield Sample(make(2, 4), (1, 2), mode)


TABLE: dict[str, Samples] = {
    **{f"aten::{mode}_pad{dims}d": _padded(dims) for mode in ("reflection", "replication") for dims in (1, 2, 3)},
    **{
        f"aten::{mode}_pad{dims}d_backward": _padded_gradients(dims)
        for mode in ("reflection", "replication")
        for dims in (1, 2, 3)
    },
    "aten::pad": _margins,
    "aten::_pad_circular": _margins,
    "aten::_pad_enum": _numbered_margins,
}
"""By an operator's name; one without an overload stands for the empty overload alone."""
