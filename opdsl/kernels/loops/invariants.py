"""Loop-invariant code motion for loops of one thread: what is the same in all iterations of a loop is computed once,
before it.

``hoisting.py`` does so for pairs of nested loops, where it moves offsets and bounds checks, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs

from opdsl.kernels.loops.making import part_of, places
from opdsl.kernels.loops.model import Argument, Compute, Fold, For, Program, Statement, names_of, statements_of
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.mathematics.coarse import compared
from opdsl.scalar.mathematics.expression import Expression, select
from opdsl.scalar.types import ScalarType

__all__ = ["with_invariants_first"]


def with_invariants_first(program: Program, *, reciprocals: bool = False) -> Program:
    """Compute what the loops and folds of a point do not change before them.

    The loops that are distributed over threads stay as they are: their iterations share nothing.

    Args:
        program: the program.
        reciprocals: whether float32 divisions by invariants become products with reciprocals, which are off by up to
            two units in the last place.
    """
    return attrs.evolve(
        program, body=_Motion(program, reciprocals=reciprocals).within(program.body, len(program.points[0]))
    )


class _Motion:
    """Motion of invariants out of the loops of a program; see ``with_invariants_first`` for its arguments."""

    def __init__(self, program: Program, *, reciprocals: bool) -> None:
        self.reciprocals = reciprocals
        taken = {name for statement in statements_of(program.body) for name in names_of(statement)}
        self.names = (name for name in map("invariant{}".format, itertools.count()) if name not in taken)

    def within(self, body: Sequence[Statement], depth: int) -> tuple[Statement, ...]:
        """Rewrite the statements inside ``depth`` nested loops."""
        if depth:
            (loop,) = body
            assert isinstance(loop, For), "points are those of loops"
            return (attrs.evolve(loop, body=self.within(loop.body, depth - 1)),)
        rewritten: list[Statement] = []
        for statement in body:
            if isinstance(statement, (For, Fold)):
                indices = [statement.index] if isinstance(statement, For) else places(statement.ranges)
                first, inner = self.split(self.within(statement.body, 0), {*indices})
                rewritten += first
                statement = attrs.evolve(statement, body=inner)
            rewritten.append(statement)
        return tuple(rewritten)

    def split(self, body: Sequence[Statement], varying: set[str]) -> tuple[list[Statement], tuple[Statement, ...]]:
        """Split the body of a loop into the invariants of its computations and the rest.

        Args:
            body: the statements.
            varying: the loop's indices; all that the rest of the body assigns is added.
        """
        first: list[Statement] = []
        rest: list[Statement] = []
        for statement in body:
            if isinstance(statement, Compute):
                early, statement = self.parted(statement, varying)
                first += early
            for own in statements_of((statement,)):
                varying |= names_of(own)
            rest.append(statement)
        return first, tuple(rest)

    def parted(self, compute: Compute, varying: set[str]) -> tuple[list[Statement], Compute]:
        """Split a computation at its largest invariant parts; return these, and a computation that takes their
        values.
        """
        graph, changes = compute.graph, _changing(compute.graph, compute.arguments, varying)
        if self.reciprocals:
            graph = _with_reciprocals(graph, changes)
            changes = _changing(graph, compute.arguments, varying)
        arguments = dict(zip(_parameters(graph), compute.arguments, strict=True))
        read = {operand for at in changes for operand in graph.nodes[at].arguments} | {*graph.results}
        kept = sorted(at for at in read - changes if graph.nodes[at].op not in ("parameter", "constant", "loop"))
        if not kept:
            return [], attrs.evolve(compute, graph=graph)
        early, used = part_of(graph, tuple(kept), name="invariants")
        values = {at: next(self.names) for at in kept}
        late, left = part_of(graph, graph.results, frozenset(kept), name=graph.name)
        whole = Compute(tuple(values.values()), early, tuple(arguments[at] for at in used))
        return [whole], Compute(
            compute.names, late, tuple(values[at] if at in values else arguments[at] for at in left)
        )


def _parameters(graph: TypedGraph) -> list[int]:
    return [at for at, node in enumerate(graph.nodes) if node.op == "parameter"]


def _changing(graph: TypedGraph, arguments: Sequence[Argument], varying: set[str]) -> set[int]:
    """Return the nodes of a graph that depend on varying arguments."""
    pairs = zip(_parameters(graph), arguments, strict=True)
    changes = {at for at, argument in pairs if argument in varying}
    for at, node in enumerate(graph.nodes):
        if not changes.isdisjoint(node.arguments):
            changes.add(at)
    return changes


def _with_reciprocals(graph: TypedGraph, changes: set[int]) -> TypedGraph:
    """Replace divisions by invariants by products with their reciprocals, unless their results are compared."""
    builder = GraphBuilder()
    nodes: list[int] = []
    invariant, changes = {*range(len(graph.nodes))} - changes, changes - compared(graph)
    for at, node in enumerate(graph.nodes):
        own = tuple(nodes[operand] for operand in node.arguments)
        is_quotient = node.op == "divide" and node.type is ScalarType.FLOAT32 and at in changes
        if is_quotient and node.arguments[1] in invariant:
            nodes.append(_times_reciprocal(*(Expression(builder, operand) for operand in own)).position)
        else:
            nodes.append(builder.copy(node, own))
    return builder.finish(graph.name, [nodes[at] for at in graph.results])


def _times_reciprocal(dividend: Expression, divisor: Expression) -> Expression:
    """Return a quotient as a product of three, in which neither the reciprocal nor a partial product overflows unless
    the quotient does.
    """
    size = abs(divisor)
    small, large = size < 2.0**-64, size > 2.0**64
    scale = select(small, divisor.constant(2.0**64), select(large, divisor.constant(2.0**-64), 1.0))
    return dividend * scale * (1.0 / (divisor * scale))
