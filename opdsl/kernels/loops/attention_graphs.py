"""Scalar functions of the loops of attention."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.mathematics.expression import Expression
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

_INT64 = ScalarType.INT64


def _whole_graph(name: str, parameters: Sequence[str], compute: Callable[..., Sequence[Expression]]) -> TypedGraph:
    """Build a graph of whole numbers from a function of expressions."""
    builder = GraphBuilder()
    expressions = [Expression(builder, builder.parameter(parameter, _INT64)) for parameter in parameters]
    return builder.finish(name, [expression.position for expression in compute(*expressions)])


@functools.cache
def split(width: int) -> TypedGraph:
    """Build the graph: a place -> row and column, of rows of ``width`` elements, a power of two."""
    return _whole_graph("split", ("at",), lambda at: (at >> (width.bit_length() - 1), at & (width - 1)))


@functools.cache
def placed(width: int, step: int) -> TypedGraph:
    """Build the graph: a place -> row, column, and the place in rows that are ``step`` elements apart."""

    def compute(at: Expression) -> Sequence[Expression]:
        row, column = at >> (width.bit_length() - 1), at & (width - 1)
        return row, column, row * step + column

    return _whole_graph("placed", ("at",), compute)


@functools.cache
def located(width: int, rows: int, step: int) -> TypedGraph:
    """Build the graph: a place in a tile, the number of the tile -> row of the array, column, place in memory."""

    def compute(at: Expression, tile: Expression) -> Sequence[Expression]:
        row, column = at >> (width.bit_length() - 1), at & (width - 1)
        return tile * rows + row, column, row * step + column

    return _whole_graph("located", ("at", "tile"), compute)


@functools.cache
def affine(step: int) -> TypedGraph:
    """Build the graph: a number and a place -> ``number * step + place``."""
    return _whole_graph("affine", ("number", "place"), lambda number, place: (number * step + place,))


@functools.cache
def column(parts: int, step: int) -> TypedGraph:
    """Build the graph: a turn, a row and a part -> the column of the score, and its place in memory."""

    def compute(turn: Expression, row: Expression, part: Expression) -> Sequence[Expression]:
        column = turn * parts + part
        return column, row * step + column

    return _whole_graph("column", ("turn", "row", "part"), compute)


@functools.cache
def is_seen(rows: int, keys: int) -> TypedGraph:
    """Build the graph: the numbers of a tile of queries and one of keys -> whether a query comes after a key."""
    return _whole_graph("seen", ("tile", "keys"), lambda tile, other: (other * keys < tile * rows + rows,))


def _read(function: Callable[..., Any], types: dict[str, str], result_type: str) -> TypedGraph:
    from opdsl.scalar import read

    return read(function).specialise(types, results=[result_type])


@functools.cache
def is_open() -> TypedGraph:
    """Build the graph: whether a key is there, a query, a key -> whether the query attends to the key."""
    return _read(_attends, {"is_there": "bool", "query": "int64", "key": "int64"}, "bool")


def _attends(is_there: Any, query: Any, key: Any) -> Any:
    return is_there and key <= query


@functools.cache
def masked_score(kind: ScalarType, function: Callable[..., Any]) -> TypedGraph:
    """Build the graph of a masked score from one of the functions below."""
    types = {"score": kind.value, "scale": kind.value, "counts": "bool"}
    if function is not plain:
        types["bias"] = "bool" if function is chosen else kind.value
    return _read(function, types, kind.value)


def plain(score: Any, scale: Any, counts: Any) -> Any:
    return score * scale if counts else -math.inf


def chosen(score: Any, scale: Any, counts: Any, bias: Any) -> Any:
    return score * scale if counts and bias else -math.inf


def added(score: Any, scale: Any, counts: Any, bias: Any) -> Any:
    return score * scale + bias if counts else -math.inf


@functools.cache
def weight(kind: ScalarType) -> TypedGraph:
    """Build the graph: a score, the largest score -> the exponential of their difference; 0 for a score of -inf."""
    return _read(_weight_of, {"score": kind.value, "most": kind.value}, kind.value)


def _weight_of(score: Any, most: Any) -> Any:
    return 0.0 if score == -math.inf else math.exp(score - most)


@functools.cache
def mean(kind: ScalarType) -> TypedGraph:
    """Build the graph: a sum of weighted values, the sum of weights -> their mean; 0 if there are no weights."""
    return _read(_mean_of, {"values": kind.value, "weights": kind.value}, kind.value)


def _mean_of(values: Any, weights: Any) -> Any:
    return 0.0 if weights == 0.0 else values / weights
