"""Samples of aten's factories, random operators and copying views whose arguments have to fit each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.runtime import bool_, int64
from opdsl.testing.aten_samples import TABLE as GENERAL
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample
from opdsl.testing.view_samples import TABLE as VIEWS

Samples = Callable[[Maker], Iterator[Sample]]


def _permuted(make: Maker) -> Iterator[Sample]:
    yield Sample((2, 3, 4), (2, 0, 1), dtype=make.dtype)


def _ranges(make: Maker) -> Iterator[Sample]:
    yield Sample(1, 7, 2, out=make(0))
    yield Sample(3, -3, -1, out=make(6))


def _between(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 2 if make.dtype is bool_ else 5)
    yield Sample(make.transposed(3, 4), 0, 2 if make.dtype is bool_ else 100)


def _between_sizes(make: Maker) -> Iterator[Sample]:
    yield Sample(1, 2 if make.dtype is bool_ else 5, (3, 4))


def _deviations(make: Maker) -> Iterator[Sample]:
    yield Sample(2.0, make(3, 4) * 0 + 2)


def _around(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2.0, out=make(3, 4))


def _probabilities(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4) * 0 + 0.5)


def _weights(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4) * 0 + 1, 2)
    yield Sample(make(4) * 0 + 2, 6, True)


def _weights_into(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4) * 0 + 1, 2, out=make(0, dtype=int64))


def _parts_into(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), 2, out=[make(0), make(0)])


def _sized_parts_into(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), [1, 3], out=[make(0), make(0)])


def _slices_into(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 2), 1, out=[make(0), make(0)])


# Views whose samples are also used for their copying operators.
_VIEWED = frozenset(
    ("permute", "view", "view.dtype", "expand", "select.int", "slice.Tensor", "squeeze.dim", "squeeze.dims")
) | frozenset(
    ("transpose.int", "as_strided", "unfold", "view_as_real", "view_as_complex", "split_with_sizes", "narrow")
)


def _copies() -> Iterator[tuple[str, Samples]]:
    known = {**GENERAL, **VIEWS}
    for name in _VIEWED:
        samples = known.get(f"aten::{name}")
        if samples is not None:
            base, _, overload = name.partition(".")
            yield f"aten::{base}_copy.{overload}".rstrip("."), samples


TABLE: dict[str, Samples] = {
    **dict(_copies()),
    "aten::empty_permuted": _permuted,
    "aten::arange.start_out": _ranges,
    "aten::random_.from": _between,
    "aten::randint.low": _between_sizes,
    "aten::randint_like.low_dtype": _between,
    "aten::normal.float_Tensor": _deviations,
    "aten::normal.Tensor_float_out": _around,
    "aten::bernoulli_.Tensor": _probabilities,
    "aten::multinomial": _weights,
    "aten::multinomial.out": _weights_into,
    "aten::split_copy.Tensor_out": _parts_into,
    "aten::unsafe_split.Tensor_out": _parts_into,
    "aten::split_with_sizes_copy.out": _sized_parts_into,
    "aten::unsafe_split_with_sizes.out": _sized_parts_into,
    "aten::unbind_copy.int_out": _slices_into,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""


def _with_generator(samples: Samples) -> Samples:
    def samples_with_generator(make: Maker) -> Iterator[Sample]:
        for sample in samples(make):
            yield Sample(*sample.positional, **sample.named, generator=None)

    return samples_with_generator


TABLE["aten::randint_like.low_generator_dtype"] = _with_generator(_between)
TABLE["aten::randint.low_generator"] = _with_generator(_between_sizes)
