"""Law 12: an operator run on pieces of its arguments, combined by its sharding rule, gives the result of the whole."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import opdsl.testing.laws.uncombined as uncombined
from opdsl._attributes import aten
from opdsl.dispatch.binding.boxed import unbox
from opdsl.errors import LawError, OpdslError
from opdsl.runtime import Tensor, make_view
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import SchemaKind
from opdsl.sharding.composites import with_tensors
from opdsl.sharding.operators import in_order, rule_of
from opdsl.sharding.partial import Carried, Partial
from opdsl.sharding.rules import Cut, Rule, possible_cuts
from opdsl.testing.closeness import assert_close
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject

# Number of samples, and of cuts of each, to try.
_SAMPLES, _CUTS = 3, 3
# Number of pieces; their boundaries are random, so that some are empty.
_PIECES = 3


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    operator = subject.operator
    if operator.schema.kind is not SchemaKind.functional or "nondeterministic_seeded" in operator.tags:
        return
    rule = rule_of(operator)
    draw = random.Random(operator.name)
    for sample in subject.samples[:_SAMPLES]:
        arguments = unbox(operator, sample.copy().positional, sample.copy().named)
        cuts = possible_cuts(rule, arguments)
        for cut in draw.sample(cuts, min(_CUTS, len(cuts))):
            yield from (
                f"{sample}: cut {cut}: {difference}" for difference in _differences(subject, sample, rule, cut, draw)
            )
        yield from (f"{sample}: {difference}" for difference in uncombined.differences(operator, rule, arguments, draw))


def _differences(subject: Subject, sample: Sample, rule: Rule, cut: Cut, draw: random.Random) -> Iterator[str]:
    own = sample.copy()
    whole = unbox(subject.operator, own.positional, own.named)
    try:
        wanted = list(tensors_in(subject.function(*sample.copy().positional, **sample.copy().named)))
    except OpdslError:
        return
    size = _size(whole, cut)
    places = sorted(draw.choices(range(size + 1), k=_PIECES - 1))
    bounds = list(itertools.pairwise([0, *places, size]))
    function = in_order(subject.operator)
    try:
        try:
            tensors = run_in_pieces(function, rule, whole, cut, bounds)
        except OpdslError:  # some operators refuse tensors without elements
            bounds = [(begin, end) for begin, end in bounds if end > begin]
            tensors = run_in_pieces(function, rule, whole, cut, bounds)
    except OpdslError as error:
        yield f"pieces {bounds} raise {type(error).__name__}: {error}"
        return
    if len(tensors) != len(wanted):
        yield f"pieces give {len(tensors)} tensors, the whole {len(wanted)}"
        return
    for one, other in zip(tensors, wanted, strict=True):
        try:
            assert_close(one.detach(), other.detach(), equal_nan=True)
        except AssertionError as error:
            yield f"pieces {bounds}: {str(error).splitlines()[0]}"


def _size(whole: Sequence[Any], cut: Cut) -> int:
    pairs = zip(tensors_in(tuple(whole)), cut.inputs, strict=True)
    return next(tensor.shape[dim] for tensor, dim in pairs if dim is not None)


def piece_of(whole: tuple[Any, ...], cut: Cut, begin: int, end: int) -> tuple[Any, ...]:
    """Return the arguments of a piece: tensors narrowed along the dimensions of a cut."""
    dims = iter(cut.inputs)

    def narrowed(tensor: Tensor) -> Tensor:
        dim = next(dims)
        if dim is None:
            return tensor
        shape = (*tensor.shape[:dim], end - begin, *tensor.shape[dim + 1 :])
        offset = begin * tensor.strides[dim] if end > begin else 0
        return make_view(tensor.detach(), shape, tensor.strides, tensor.storage_offset() + offset)

    return tuple(with_tensors(argument, narrowed) for argument in whole)


def run_in_pieces(
    function: Callable[..., Any],
    rule: Rule,
    whole: tuple[Any, ...],
    cut: Cut,
    bounds: Sequence[tuple[int, int]],
) -> list[Tensor]:
    """Compute the results of a call in pieces.

    Args:
        function: the operator, called with the arguments in the order of its schema.
        rule: the sharding rule of the operator.
        cut: the dimensions along which this call is split.
        whole: the arguments.
        bounds: the begin and end of each piece.
    """
    pieces = [(begin, piece_of(whole, cut, begin, end)) for begin, end in bounds]
    if cut.partial is None:
        parts = [list(tensors_in(rule.piece(function, whole, piece))) for _, piece in pieces]
        return [_joined(tensors, dim) for tensors, dim in zip(zip(*parts, strict=True), cut.outputs, strict=True)]
    filled = [piece for piece, (begin, end) in zip(pieces, bounds, strict=True) if end > begin] or pieces[:1]
    states = [cut.partial.start(function, piece, begin) for begin, piece in filled]
    return list(_combined(cut.partial, whole, states, cut))


def _combined(partial: Partial, whole: tuple[Any, ...], states: list[Any], cut: Cut) -> Sequence[Tensor]:
    if not isinstance(partial, Carried):
        state = states[0]
        for piece_state in states[1:]:
            state = partial.merge(whole, state, piece_state)
        return partial.finish(whole, state, partial.count(whole))
    done: list[Any] = []
    for piece_state in states:
        done.append(piece_state if not done else partial.merge(whole, partial.last(whole, done[-1]), piece_state))
    parts = [partial.finish(whole, total, 1) for total in done]
    return [_joined(tensors, dim) for tensors, dim in zip(zip(*parts, strict=True), cut.outputs, strict=True)]


def _joined(parts: Sequence[Tensor], dim: int | None) -> Tensor:
    if dim is None:
        raise LawError("a rule that leaves nothing to combine says where results are joined")
    return aten.cat([part.detach() for part in parts], dim)
