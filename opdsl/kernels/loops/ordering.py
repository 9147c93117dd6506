"""Loops that sort rows: a bitonic network over keys and places, which ties leave in order.

K. Batcher, Sorting networks and their applications (1968).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.loops.making import Loops, Maker, around, places
from opdsl.kernels.loops.model import Bound, Compute, Inside, Load, Statement, Store, When
from opdsl.kernels.primitives.ordering import key_graph
from opdsl.runtime.dtype import int64
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.mathematics.expression import Expression, select
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Ordering, RowCall
    from opdsl.scalar.graph import TypedGraph

__all__ = ["Sorting", "sorting"]

_INT64 = ScalarType.INT64


@attrs.frozen
class Sorting:
    """The loops of ``Compiler.order``, which are run one after another.

    scratch: the shape of the keys, and of the places, which are int64.
    fill: the input, then keys and places. network: keys and places, which each of them exchanges. finish: the input and
    the places, then the outputs.
    """

    scratch: tuple[int, ...]
    fill: Loops
    network: tuple[Loops, ...]
    finish: Loops


def sorting(ordering: Ordering, call: RowCall, kind: ScalarType) -> Sorting:
    """The loops of a stable sort.

    Args:
        ordering: what is wanted.
        call: where the operands lie.
        kind: what elements are compared as.
    """
    padded = 1 << max(0, call.length - 1).bit_length()
    scratch = (*call.kept, padded)
    spec = OperandSpec(int64, tuple(8 * stride for stride in contiguous_strides(scratch)))
    exchange = _exchange(call, spec, padded)
    *rest, _, _ = exchange.words
    network = tuple(attrs.evolve(exchange, words=(*rest, *words)) for words in _network(padded))
    return Sorting(scratch, _fill(ordering, call, spec, padded, kind), network, _finish(ordering, call, spec, kind))


def _network(length: int) -> Iterator[tuple[int, int]]:
    """How far apart those lie that are exchanged, and in blocks of how many the order is turned around."""
    block = 2
    while block <= length:
        step = block // 2
        while step:
            yield step, block
            step //= 2
        block *= 2


def _fill(ordering: Ordering, call: RowCall, spec: OperandSpec, padded: int, kind: ScalarType) -> Loops:
    """Keys and places; what is beyond the end of a row comes last."""
    maker = Maker("fill_keys")
    kept, (along,) = maker.ranges("i", call.kept), maker.ranges("j", (padded,))
    length = maker.size("length", call.length)
    source = maker.array("a", call.inputs[0], (*kept, (along[0], length)))
    index = places((*kept, along))
    body: list[Statement] = [
        Inside("inside", (along[0],), (length,)),
        Load("element", source, index, kind, "inside", 0),
        Compute(("key",), key_graph(kind, ordering.descending), ("element",)),
        Compute(("padded",), _padded(), ("inside", "key")),
        Store(maker.array("keys", spec, (*kept, along)), index, "padded"),
        Store(maker.array("places", spec, (*kept, along)), index, along[0]),
    ]
    return maker.finish(around((*kept, along), body))


def _exchange(call: RowCall, spec: OperandSpec, padded: int) -> Loops:
    """Pairs of elements, each in order."""
    maker = Maker("exchange")
    kept, (pair,) = maker.ranges("i", call.kept), maker.ranges("p", (padded // 2,))
    length = maker.size("length", padded)
    own = places(kept)
    arrays = {name: maker.array(name, spec, (*kept, ("", length))) for name in ("keys", "places")}
    maker.size("step", 0)
    maker.size("block", 0)
    loads = [
        Load(f"{name}{side}", name, (*own, side), _INT64, "inside", 0) for side in ("one", "other") for name in arrays
    ]
    names = tuple(each.name for each in loads)
    made = tuple(f"new_{name}" for name in names)
    stores = [Store(load.array, load.index, name) for load, name in zip(loads, made, strict=True)]
    body: list[Statement] = [
        Compute(("one", "other", "turned"), _pair(), (pair[0], "step", "block")),
        Inside("inside", ("one", "other"), (length, length)),
        *loads,
        Compute(made, _in_order(), (*names, "turned")),
        When("inside", tuple(stores)),
    ]
    return maker.finish(around((*kept, pair), body))


def _finish(ordering: Ordering, call: RowCall, spec: OperandSpec, kind: ScalarType) -> Loops:
    """The elements that are wanted, and where they stood."""
    maker = Maker("take_in_order")
    kept, (along,) = maker.ranges("i", call.kept), maker.ranges("j", (ordering.wanted,))
    length = maker.size("length", call.length)
    ranges = (*kept, along)
    source = maker.array("a", call.inputs[0], (*kept, ("", length)))
    index = places(ranges)
    body: list[Statement] = [
        Load("place", maker.array("places", spec, ranges), index, _INT64),
        Bound("from", "place", length, "replicate"),
        Load("element", source, (*places(kept), "from"), kind),
        Store(maker.array("values", call.outputs[0], ranges), index, "element"),
        Store(maker.array("indices", call.outputs[1], ranges), index, "place"),
    ]
    return maker.finish(around(ranges, body))


@functools.cache
def _padded() -> TypedGraph:
    """Whether there is an element, and its key -> the key, or the largest."""
    builder = GraphBuilder()
    inside = Expression(builder, builder.parameter("inside", ScalarType.BOOL))
    key = Expression(builder, builder.parameter("key", _INT64))
    return builder.finish("padded", [select(inside, key, (1 << 63) - 1).position])


@functools.cache
def _pair() -> TypedGraph:
    """The number of a pair, how far apart its elements lie, the length of a block -> both, and whether to turn them."""
    builder = GraphBuilder()
    pair, step, block = (Expression(builder, builder.parameter(name, _INT64)) for name in ("pair", "step", "block"))
    one = pair + pair - (pair & (step - 1))
    turned = (one & block).differs(0)
    return builder.finish("pair", [each.position for each in (one, one + step, turned)])


@functools.cache
def _in_order() -> TypedGraph:
    """Key and place of one and of another, and whether to turn them -> the same in order."""
    builder = GraphBuilder()
    names = ("key", "place", "other_key", "other_place")
    key, place, other_key, other_place = (Expression(builder, builder.parameter(name, _INT64)) for name in names)
    turned = Expression(builder, builder.parameter("turned", ScalarType.BOOL))
    follows = (other_key < key) | (other_key.equals(key) & (other_place < place))
    swaps = follows ^ turned
    chosen = [
        select(swaps, *each)
        for each in ((other_key, key), (other_place, place), (key, other_key), (place, other_place))
    ]
    return builder.finish("in_order", [each.position for each in chosen])
