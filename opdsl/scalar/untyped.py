"""Nodes before types, and where they were written."""

from __future__ import annotations

import ast
from typing import NamedTuple

from opdsl.scalar.graph import Number
from opdsl.scalar.source import FunctionSource

__all__ = ["Place", "UntypedLoop", "UntypedNode"]


class Place(NamedTuple):
    """Where an untyped node was written: for errors that only types bring to light."""

    source: FunctionSource
    node: ast.AST


class UntypedNode(NamedTuple):
    """One operation before types: like ``graph.Node``, with literals that have not decided on a type yet."""

    op: str
    arguments: tuple[int, ...]
    value: Number | str | UntypedLoop | None


class UntypedLoop(NamedTuple):
    """What a loop does in a turn, before types: like ``graph.Loop``.

    nodes, places, results: its graph; the results are whether there is another turn, then what is carried to it.
    parameters: names of the parameters: what is carried, then what stays the same.
    most: turns after which it ends in any case; None where the condition sees to that.
    """

    nodes: tuple[UntypedNode, ...]
    places: tuple[Place, ...]
    results: tuple[int, ...]
    parameters: tuple[str, ...]
    most: int | None
