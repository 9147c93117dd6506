"""Nodes before types, and where they were written."""

from __future__ import annotations

import ast
from typing import NamedTuple

from opdsl.scalar.graph import Number
from opdsl.scalar.source import FunctionSource

__all__ = ["Place", "UntypedNode"]


class Place(NamedTuple):
    """Where an untyped node was written: for errors that only types bring to light."""

    source: FunctionSource
    node: ast.AST


class UntypedNode(NamedTuple):
    """One operation before types: like ``graph.Node``, with literals that have not decided on a type yet."""

    op: str
    arguments: tuple[int, ...]
    value: Number | str | None
