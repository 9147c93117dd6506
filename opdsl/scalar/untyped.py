"""Nodes of untyped graphs, and their positions in the source text."""

from __future__ import annotations

import ast
from typing import NamedTuple

from opdsl.scalar.graph import Number
from opdsl.scalar.source import FunctionSource

__all__ = ["Place", "UntypedLoop", "UntypedNode"]


class Place(NamedTuple):
    """Position of an untyped node in the source text, for errors that are found only when types are known."""

    source: FunctionSource
    node: ast.AST


class UntypedNode(NamedTuple):
    """Operation of an untyped graph: like ``graph.Node``, with literals that have no type yet."""

    op: str
    arguments: tuple[int, ...]
    value: Number | str | UntypedLoop | None


class UntypedLoop(NamedTuple):
    """Loop of an untyped graph: like ``graph.Loop``.

    nodes, places, results: the graph of one iteration; its results are whether there is another iteration, then the
        carried values for it.
    parameters: names of the parameters: carried values, then loop invariants.
    most: the largest number of iterations; None if the condition ends the loop.
    """

    nodes: tuple[UntypedNode, ...]
    places: tuple[Place, ...]
    results: tuple[int, ...]
    parameters: tuple[str, ...]
    most: int | None
