"""Part of law 12: where a rule passes pending reductions through, combining before or after the operator is
equivalent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from opdsl.dispatch import Operator
from opdsl.errors import OpdslError
from opdsl.runtime import Tensor, from_numpy
from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.composites import with_tensors
from opdsl.sharding.operators import in_order
from opdsl.sharding.pending import Pending
from opdsl.sharding.rules import Rule
from opdsl.testing.closeness import assert_close

Array = numpy.ndarray[Any, Any]

# Maximum number of combinations of pending reductions to try.
_WAYS = 3

_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "sum": numpy.add,
    "avg": lambda one, other: (one + other) / 2,
    "max": numpy.maximum,
    "min": numpy.minimum,
}


def differences(operator: Operator, rule: Rule, whole: tuple[Any, ...], draw: random.Random) -> Iterator[str]:
    """Yield where results computed of pieces, and then combined, differ from the result of the combined pieces."""
    tensors = list(tensors_in(whole))
    if not tensors or any(tensor.dtype.name not in ("float32", "float64") for tensor in tensors):
        return
    try:
        ways = list(rule.pending(whole))
    except (OpdslError, NotImplementedError):
        return
    for way in draw.sample(ways, min(_WAYS, len(ways))):
        with numpy.errstate(all="ignore"):
            yield from _differences(in_order(operator), whole, way, numpy.random.default_rng(draw.randrange(1 << 30)))


def _differences(
    function: Callable[..., Any], whole: tuple[Any, ...], way: Pending, draw: numpy.random.Generator
) -> Iterator[str]:
    parts = [
        _parts(numpy.asarray(tensor.detach()), kind, draw)
        for tensor, kind in zip(tensors_in(whole), way.inputs, strict=True)
    ]
    combined = [
        one if kind is None else _COMBINE[kind](one, other)
        for (one, other), kind in zip(parts, way.inputs, strict=True)
    ]
    try:
        wanted = list(tensors_in(function(*_filled(whole, combined))))
        tensors = [list(tensors_in(function(*_filled(whole, arrays)))) for arrays in zip(*parts, strict=True)]
    except OpdslError:
        return
    for one, other, result, kind in zip(*tensors, wanted, way.outputs, strict=True):
        if kind is not None:
            both = _COMBINE[kind](numpy.asarray(one.detach()), numpy.asarray(other.detach()))
            try:
                assert_close(
                    from_numpy(numpy.asarray(both, numpy.asarray(result.detach()).dtype)), result, equal_nan=True
                )
            except AssertionError as error:
                yield f"pending {way.inputs} -> {way.outputs}: {str(error).splitlines()[0]}"


def _parts(array: Array, kind: str | None, draw: numpy.random.Generator) -> tuple[Array, Array]:
    """Split an array into two pieces whose combination (sum, average, maximum or minimum) is the array."""
    share = numpy.asarray(draw.uniform(0.25, 0.75, array.shape), array.dtype)
    if kind is None:
        return array, array
    if kind in ("sum", "avg"):
        scale = array.dtype.type(1 if kind == "sum" else 2)
        return array * share * scale, array * (1 - share) * scale
    step = numpy.where(numpy.isfinite(array), share * (1 + abs(array)), 0).astype(array.dtype)
    other = array - step if kind == "max" else array + step
    first = draw.random(array.shape) < 0.5
    return numpy.where(first, array, other), numpy.where(first, other, array)


def _filled(whole: tuple[Any, ...], arrays: Any) -> tuple[Any, ...]:
    rest = iter(arrays)

    def next_tensor(_: Tensor) -> Tensor:
        return from_numpy(numpy.array(next(rest)))

    return tuple(with_tensors(argument, next_tensor) for argument in whole)
