"""Nodes of the loop IR.

A program has arrays, numbers, words (integer arguments that are known when it starts: sizes, strides) and a body.
Statements assign each name once; every name is the value of an element or an int64 integer. All computations on values
are scalar graphs. The iterations of the outermost loops are the program's points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import attrs

from opdsl.runtime.dtype import DType
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType


class Parts(NamedTuple):
    """Number of chunks of ``turns`` iterations in ``size`` iterations (ceiling division).

    are_whole: whether only full chunks count (floor division).
    """

    size: Size
    turns: Size
    are_whole: bool = False

    def __str__(self) -> str:
        return (
            f"({self.size} / {self.turns})" if self.are_whole else f"(({self.size} + {self.turns} - 1) / {self.turns})"
        )


class Length(NamedTuple):
    """Number of iterations in chunk ``number`` of ``size`` iterations; the last chunk may have fewer than ``turns``."""

    size: Size
    number: Size
    turns: Size

    def __str__(self) -> str:
        return f"min({self.turns}, {self.size} - {self.number} * {self.turns})"


Size: TypeAlias = int | str | Parts | Length
"""Integer that is known when a program starts: a number, the name of a word, or an expression of sizes."""

Argument: TypeAlias = int | str
"""Integer, or the name of a value."""


@attrs.frozen
class Steps:
    """Index that is affine in a loop index: ``first + along * by``, where ``first`` is known to be in bounds."""

    first: Argument
    along: str
    by: Argument

    def __str__(self) -> str:
        return f"{self.first} + {self.along} * {self.by}"


Index: TypeAlias = Argument | Steps
"""Index along a dimension."""

Range: TypeAlias = tuple[str, Size]
"""Loop index: its name, and its number of values."""


class Part(NamedTuple):
    """Chunk of a range: its number, and the number of iterations in a chunk; the last chunk may have fewer."""

    number: Argument | Size
    turns: Size


class Bounds(NamedTuple):
    """Half-open interval of the iterations of a range that run: integers between 0 and the range's size."""

    begin: Argument
    end: Argument


@attrs.frozen
class Array:
    """Memory that a program accesses: a parameter, scratch memory or local memory.

    sizes, strides: of each dimension; strides in elements, from the address of the first element.
    """

    name: str
    dtype: DType
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]


@attrs.frozen
class Scalar:
    """Python number that is a parameter of a program, and the type in which it is computed."""

    name: str
    type: ScalarType


@attrs.frozen
class Load:
    """Read of an array element, converted to a type.

    inside: the condition under which it is read; ``outside`` is its value otherwise.
    offset: the name of an ``Offset`` that is added to the address; the dimensions that it covers have index 0 in
        ``index``. None for no offset.
    """

    name: str
    array: str
    index: tuple[Index, ...]
    type: ScalarType
    inside: str | None = None
    outside: Number | None = None
    offset: str | None = None


@attrs.frozen
class Store:
    """Write of a value to an array element, converted to the array's dtype."""

    array: str
    index: tuple[Index, ...]
    value: str


@attrs.frozen
class Update:
    """Atomic read-modify-write of an array element.

    graph: computes the new element, its one result. arguments: names of values, and None for the old element.
    name: of the old element's value, in the type of the graph's parameter; None if nothing reads it.
    offset: see ``Load``.
    """

    array: str
    index: tuple[Index, ...]
    graph: TypedGraph
    arguments: tuple[str | None, ...]
    name: str | None = None
    offset: str | None = None

    @property
    def there(self) -> ScalarType:
        """Return the type in which the graph takes the old element."""
        return next(kind for (_, kind), name in zip(self.graph.parameters, self.arguments, strict=True) if name is None)


@attrs.frozen
class Compute:
    """Evaluation of a scalar graph, which assigns its results to names.

    arguments: names of values, numbers, indices and words; integers.
    """

    names: tuple[str, ...]
    graph: TypedGraph
    arguments: tuple[Argument, ...]


@attrs.frozen
class Local:
    """Local memory of one iteration of the outermost loops, which lives as long as the enclosing block."""

    array: Array


@attrs.frozen
class Fetch:
    """Prefetch of array elements that the next iteration of an outer loop will read; it computes nothing.

    ahead: the index of the outer loop whose next iteration reads them. index: the elements' index in this iteration.
    along: the range over the elements.
    """

    array: str
    index: tuple[Index, ...]
    ahead: str
    along: Range


@attrs.frozen
class TileProduct:
    """Matrix product of tiles in local memory: ``out[i, j] = sum(left[i, k] * right[k, j])``.

    out, left, right: names of local arrays of one dimension, other memory each. Sums are computed in the dtype of
        ``out``; a printer may round the elements of ``left`` to the dtype of ``right``.
    rows, inner, columns: the numbers of values of i, k and j.
    steps: elements from row to row, of ``out``, ``left`` and ``right``.
    is_transposed: whether ``right`` holds ``right[j, k]``.
    adds: whether the sums are added to the elements of ``out``.
    """

    out: str
    left: str
    right: str
    rows: int
    inner: int
    columns: int
    steps: tuple[int, int, int]
    is_transposed: bool = False
    adds: bool = False


@attrs.frozen
class Inside:
    """Bounds check: a bool that is true if all indices are within sizes (or within limits that are values)."""

    name: str
    index: tuple[Argument, ...]
    sizes: tuple[Size, ...]


@attrs.frozen
class Bound:
    """Mapping of an index into bounds, as padding does.

    how: ``replicate``, ``reflect``, ``circular`` as the modes of padding; ``wrap`` counts negative indices from the
        end, and trusts that the result is in bounds; ``trusted`` trusts that the index itself is in bounds.
    part: the chunk of a range whose first iteration the index counts from; None to count from the range's start.
    """

    name: str
    place: str
    size: Size
    how: str
    part: Part | None = None


@attrs.frozen
class Offset:
    """Offset of an element in memory from the array's first one, by some of its indices; the others are 0.

    inside: the condition under which the element is in bounds; otherwise the offset is 0, and the element that is read
        there is ignored.
    type: of the offset, an integer type that holds it in bytes.
    """

    name: str
    array: str
    index: tuple[Argument, ...]
    inside: str | None = None
    type: ScalarType = ScalarType.INT64


@attrs.frozen
class When:
    """Statements under a condition; names that they assign are not visible outside."""

    condition: str
    body: tuple[Statement, ...]


@attrs.frozen
class For:
    """Loop over an index, in any order or in parallel; names that its body assigns are not visible outside.

    vector: how many adjacent iterations are best computed together (``schedules.vectorised``).
    in_order: whether iterations run sequentially; is_reverse: whether they then begin with the last index.
    part: the chunk of the iterations that runs; None for all. place: the name of the index within the chunk.
    bounds: the interval of these iterations that runs; None for all.
    """

    index: str
    size: Size
    body: tuple[Statement, ...]
    vector: int = 1
    in_order: bool = False
    is_reverse: bool = False
    part: Part | None = None
    place: str | None = None
    bounds: Bounds | None = None


@attrs.frozen
class Fold:
    """Reduction over ranges, the last of which is innermost.

    names: of the accumulators. neutral: their values for no iterations (numbers), or names of their initial values.
    combine: the accumulators of some iterations, then those of others -> those of all; associative and, unless
        ``in_order``, commutative. of_some: a graph with the same result when neither side is empty; None for
        ``combine``.
    body: computes ``values``, the accumulators of one iteration.
    where: the condition under which an iteration counts.
    part: the chunk of the iterations that is reduced; None for all. bounds: the interval of the only range's
        iterations that is reduced; None for all.
    """

    names: tuple[str, ...]
    neutral: tuple[Number | str, ...]
    combine: TypedGraph
    ranges: tuple[Range, ...]
    body: tuple[Statement, ...]
    values: tuple[str, ...]
    where: str | None = None
    in_order: bool = False
    part: Part | None = None
    bounds: Bounds | None = None
    of_some: TypedGraph | None = None


@attrs.frozen
class Scan:
    """Scan or recurrence: values that are carried from iteration to iteration of a range.

    names: of the carried values after an iteration, as ``after`` reads them. first: their initial values: numbers, or
        names of values.
    step: carried values, then ``values`` of an iteration -> new carried values, then ``results``.
    body: computes ``values``. after: statements that use the new carried values and the results.
    is_associative: whether ``step`` combines carried values of some iterations with those of later ones, and ``first``
        is neutral, so that the range may be split into chunks.
    is_reverse: whether it begins with the last index.
    part: the chunk of the iterations that runs; None for all.
    """

    names: tuple[str, ...]
    first: tuple[Number | str, ...]
    step: TypedGraph
    range: Range
    body: tuple[Statement, ...]
    values: tuple[str, ...]
    results: tuple[str, ...]
    after: tuple[Statement, ...]
    is_associative: bool
    is_reverse: bool = False
    part: Part | None = None


Statement: TypeAlias = (
    Load | Store | Update | Compute | Local | Fetch | TileProduct | Inside | Bound | Offset | When | For | Fold | Scan
)


@attrs.frozen(cache_hash=True)
class Program:
    """Kernel in loop IR: parameters, a body of statements, and how threads share its loops.

    parameters: in the order of its arguments.
    words: names of integers that are passed with a call.
    lanes: how many threads cooperate on each point of the outermost loops (``schedules.shared``).
    is_serial: whether one thread runs everything (``schedules.serial``).
    threaded: how many of the outermost loops are distributed over threads; None for all of them.
    scratch: memory that the programs of one call share, passed after the parameters.
    """

    name: str
    parameters: tuple[Array | Scalar, ...]
    words: tuple[str, ...]
    body: tuple[Statement, ...]
    lanes: int = 1
    is_serial: bool = False
    threaded: int | None = None
    scratch: tuple[Array, ...] = ()

    @property
    def arrays(self) -> dict[str, Array]:
        """Return all arrays (parameters, scratch and local memory) by name."""
        local = (local.array for local in locals_of(self.body))
        return {
            parameter.name: parameter
            for parameter in (*self.parameters, *self.scratch, *local)
            if isinstance(parameter, Array)
        }

    @property
    def points(self) -> tuple[tuple[Range, ...], tuple[Statement, ...]]:
        """Return the ranges of the perfectly nested outermost loops that are distributed over threads, and the
        innermost body.
        """
        ranges: list[Range] = []
        body = self.body
        while len(ranges) != self.threaded and len(body) == 1 and isinstance(body[0], For):
            ranges.append((body[0].index, body[0].size))
            body = body[0].body
        return tuple(ranges), body

    @property
    def vector(self) -> int:
        """Return how many adjacent iterations of the last distributed loop are computed together."""
        vector, body = 1, self.body
        for _ in self.points[0]:
            assert isinstance(body[0], For), "what is shared out are loops"
            vector, body = body[0].vector, body[0].body
        return vector


def statements_of(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and, recursively, the statements nested in them."""
    for statement in statements:
        yield statement
        for block in blocks_of(statement):
            yield from statements_of(block)


def graphs_of(statements: tuple[Statement, ...]) -> tuple[TypedGraph, ...]:
    """Return the distinct scalar graphs of statements, in order of first use."""
    graphs: dict[TypedGraph, None] = {}
    for statement in statements_of(statements):
        if isinstance(statement, (Compute, Update)):
            graphs[statement.graph] = None
        elif isinstance(statement, Fold):
            graphs[statement.combine] = None
        elif isinstance(statement, Scan):
            graphs[statement.step] = None
    return tuple(graphs)


def locals_of(statements: tuple[Statement, ...]) -> tuple[Local, ...]:
    """Return the local memory that statements declare, also nested ones."""
    return tuple(statement for statement in statements_of(statements) if isinstance(statement, Local))


def names_of(statement: Statement) -> set[str]:
    """Return the names that a statement assigns."""
    if isinstance(statement, (Load, Inside, Bound, Offset)):
        return {statement.name}
    if isinstance(statement, Update):
        return set() if statement.name is None else {statement.name}
    return set(statement.names) if isinstance(statement, (Compute, Fold, Scan)) else set()


def blocks_of(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """Return the blocks nested directly in a statement."""
    if isinstance(statement, Scan):
        return statement.body, statement.after
    return (statement.body,) if isinstance(statement, (When, For, Fold)) else ()
