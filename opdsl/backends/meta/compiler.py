"""Kernels of the meta backend: they do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from opdsl.kernels.compiler import Compiled

if TYPE_CHECKING:
    from opdsl.kernels.calls import AuthorCall, Folding, PointwiseCall, ReductionCall, RowCall, Scanning
    from opdsl.scalar.graph import TypedGraph


def pointwise(graph: TypedGraph, call: PointwiseCall) -> Compiled:
    """A kernel that does nothing."""
    return _nothing


def reduction(folding: Folding, call: ReductionCall) -> Compiled:
    """A kernel that does nothing."""
    return _nothing


def row(graph: TypedGraph, call: RowCall) -> Compiled:
    """A kernel that does nothing."""
    return _nothing


def scan(scanning: Scanning, call: RowCall) -> Compiled:
    """A kernel that does nothing."""
    return _nothing


def author(function: Callable[..., object], call: AuthorCall) -> Compiled:
    """A kernel that does nothing."""
    return _nothing


def _nothing(*arguments: object) -> None:
    return None
