"""Sums that are added to one element: accumulated before they are added, with common factors moved out of the sum."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import attrs

from opdsl.kernels.loops.hoisting import Merged, cut
from opdsl.kernels.loops.model import Compute, Fold, Range, Statement, Update, statements_of
from opdsl.kernels.loops.rewriting import giving, read_by, renamed
from opdsl.kernels.loops.stepping import steps_along
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import BOOL, FLOAT, ScalarType

__all__ = ["factored", "is_one_place", "summed"]


def is_one_place(body: Sequence[Statement], index: str, lane: str) -> bool:
    """Return whether all updates in a loop go to one element, whose index is affine in a lane index."""
    depends, along = Merged(body, index, lane).depends, steps_along(body, lane)
    places = [place for statement in statements_of(body) if isinstance(statement, Update) for place in statement.index]
    return all(
        isinstance(place, int)
        or (isinstance(place, str) and index not in depends.get(place, ()) and along.get(place, 0) is not None)
        for place in places
    )


def summed(body: Sequence[Statement], along: Range) -> tuple[Fold, tuple[Statement, ...]]:
    """Convert the updates of one element in a loop to a fold, and statements that add its result."""
    updates = [statement for statement in statements_of(body) if isinstance(statement, Update)]
    values = tuple(str(name) for update in updates for name in update.arguments if name is not None)
    (kind,) = updates[0].graph.result_types
    sums = tuple(f"{name}_sum" for name in values)
    count = len(values)
    neutral = (False if kind.category == BOOL else 0,) * count
    fold = Fold(sums, neutral, _side_by_side(updates[0].graph, count), (along,), tuple(giving(body, values)), values)
    last = [renamed(statement, dict(zip(values, sums, strict=True))) for statement in body if _updates(statement)]
    places = {name for statement in last for name in read_by(statement)} - {*sums}
    return fold, (*giving(body, places), *last)


def _updates(statement: Statement) -> bool:
    return any(isinstance(inner, Update) for inner in statements_of([statement]))


def _side_by_side(graph: TypedGraph, count: int) -> TypedGraph:
    """Build the graph that combines two lists of accumulators elementwise by a binary graph."""
    builder = GraphBuilder()
    (_, kind), _ = graph.parameters
    first, later = ([builder.parameter(f"{side}{k}", kind) for k in range(count)] for side in ("a", "b"))
    numbers = [builder.inline(graph, pair)[graph.results[0]] for pair in zip(first, later, strict=True)]
    return builder.finish("sum", numbers)


def factored(fold: Fold, lane: str) -> tuple[Fold, tuple[Statement, ...]]:
    """Move the loop-invariant factors of a sum of products out of the sum, and multiply its result with them.

    Args:
        fold: a sum along one range.
        lane: an index; factors that do not depend on it are left in the sum.
    """
    ((index, _),) = fold.ranges
    merged = Merged(fold.body, index, lane)
    builder = merged.builder
    same = {at for at, depends in enumerate(merged.of_nodes) if index not in depends}
    kept = {at for at in same if lane in merged.of_nodes[at]}
    products = [_split(builder, merged.nodes[name], same, {}) for name in fold.values]
    is_taken = [bool(kept & builder.needed((product.factor,))) for product in products]
    if not any(is_taken):
        return fold, ()
    names = [f"{name}_term" if taken else name for name, taken in zip(fold.values, is_taken, strict=True)]
    sums = [f"{name}_of_terms" if taken else name for name, taken in zip(fold.names, is_taken, strict=True)]
    whole = TypedGraph("terms", tuple(builder.nodes), ())
    body, after = list(fold.body), []
    for k, product in enumerate(products):
        if is_taken[k]:
            graph, texts = cut(TypedGraph("term", whole.nodes, (product.term,)), {})
            body.append(Compute((names[k],), graph, texts))
            graph, texts = cut(TypedGraph("factor", whole.nodes, (product.factor,)), {})
            after += [
                Compute((f"{fold.names[k]}_factor",), graph, texts),
                Compute(
                    (fold.names[k],), _multiplied(fold.combine.result_types[k]), (sums[k], f"{fold.names[k]}_factor")
                ),
            ]
    terms = attrs.evolve(fold, names=tuple(sums), values=tuple(names), body=tuple(giving(body, names)))
    read = {name for compute in after for name in read_by(compute)}
    return terms, (*giving(fold.body, read), *after)


def _multiplied(kind: ScalarType) -> TypedGraph:
    """Build the graph: sum, factor -> their product; 0 where the factor is 0, whatever the sum."""
    builder = GraphBuilder()
    total, factor = builder.parameter("total", kind), builder.parameter("factor", kind)
    zero = builder.constant(0, kind)
    is_zero = builder.node("equal", (factor, zero), ScalarType.BOOL)
    node = builder.node("multiply", (total, factor), kind)
    return builder.finish("multiplied", [builder.node("select", (is_zero, zero, node), kind)])


class _Product(NamedTuple):
    """Nodes of a value as the product of a term and a factor."""

    term: int
    factor: int


def _split(builder: GraphBuilder, at: int, same: Collection[int], known: dict[int, _Product]) -> _Product:
    if at not in known:
        known[at] = _split_node(builder, at, same, known)
    return known[at]


def _split_node(builder: GraphBuilder, at: int, same: Collection[int], known: dict[int, _Product]) -> _Product:
    node, one = builder.nodes[at], builder.constant(1, builder.nodes[at].type)
    if node.type.category != FLOAT or at in same:
        return _Product(at, one)
    known_part, rest = (
        [operand for operand in node.arguments if (operand in same) == is_in] for is_in in (True, False)
    )
    if (
        node.op == "negative"
        or (node.op == "multiply" and len(rest) == 1)
        or (node.op == "divide" and rest == [node.arguments[0]])
    ):
        term, factor = _split(builder, rest[0], same, known)
        return _Product(term, builder.node(node.op, (factor, *known_part), node.type))
    if node.op == "select" and node.arguments[0] in same:
        zero = builder.constant(0, node.type)
        sides = [
            _Product(zero, zero) if operand == zero else _split(builder, operand, same, known)
            for operand in node.arguments[1:]
        ]
        terms = {side.term for side in sides} - {zero}
        if len(terms) == 1:
            factors = tuple(side.factor for side in sides)
            return _Product(terms.pop(), builder.node("select", (node.arguments[0], *factors), node.type))
    return _Product(at, one)
