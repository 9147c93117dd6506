"""The nodes of the loop IR.

A program has arrays, numbers and words (whole numbers that are known when it starts: sizes, strides) and a body.
Statements name values once; every name is an element's value or a whole number of type int64. What is computed of
values is always a scalar graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import attrs

from opdsl.runtime.dtype import DType
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType


class Parts(NamedTuple):
    """How many parts of so many turns a size has; the last may be smaller, unless only whole ones count."""

    size: Size
    turns: Size
    are_whole: bool = False

    def __str__(self) -> str:
        return (
            f"({self.size} / {self.turns})" if self.are_whole else f"(({self.size} + {self.turns} - 1) / {self.turns})"
        )


class Length(NamedTuple):
    """How many turns a part of a size has, of which the last may have fewer."""

    size: Size
    number: Size
    turns: Size

    def __str__(self) -> str:
        return f"min({self.turns}, {self.size} - {self.number} * {self.turns})"


Size: TypeAlias = int | str | Parts | Length
"""A whole number that is known when a program starts: itself, the name of a word, or what is computed of sizes."""

Argument: TypeAlias = int | str
"""A whole number, or the name of a value."""


@attrs.frozen
class Steps:
    """A place that is reached from a first one, which is known to lead inside, in even steps along an index."""

    first: Argument
    along: str
    by: Argument

    def __str__(self) -> str:
        return f"{self.first} + {self.along} * {self.by}"


Index: TypeAlias = Argument | Steps
"""A place along a dimension."""

Range: TypeAlias = tuple[str, Size]
"""The name of an index, and how many values it has."""


class Part(NamedTuple):
    """Which part of the turns of a range is taken, and how many turns a part has; the last may have fewer."""

    number: Argument | Size
    turns: Size


class Bounds(NamedTuple):
    """From which turn on, and before which one, turns of a range are taken: whole numbers between 0 and its size."""

    begin: Argument
    end: Argument


@attrs.frozen
class Array:
    """Memory that is handed to a program.

    sizes, strides: of each dimension, the strides in elements from the first one.
    """

    name: str
    dtype: DType
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]


@attrs.frozen
class Scalar:
    """A Python number that is handed to a program, and the type in which it is computed."""

    name: str
    type: ScalarType


@attrs.frozen
class Load:
    """An element, converted to a type.

    inside: the condition under which it is read; ``outside`` is its value otherwise.
    offset: how far from its place it lies (``Offset``), for places that are 0 in ``index``; None for nowhere else.
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
    """Writes a value, converted to the array's dtype."""

    array: str
    index: tuple[Index, ...]
    value: str


@attrs.frozen
class Update:
    """Puts a value in the place of an element, at once, whoever else updates it.

    graph: of one result. arguments: names, and None for the element that is there.
    name: of that element, as the graph takes it; None where nobody asks what was there.
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
        """What the graph takes the element as that is there."""
        return next(kind for (_, kind), name in zip(self.graph.parameters, self.arguments, strict=True) if name is None)


@attrs.frozen
class Compute:
    """Values of a scalar graph. arguments: names of values, numbers, indices and words; whole numbers."""

    names: tuple[str, ...]
    graph: TypedGraph
    arguments: tuple[Argument, ...]


@attrs.frozen
class Local:
    """Memory of a point, for as long as the statements behind it last."""

    array: Array


@attrs.frozen
class Fetch:
    """Has elements of an array brought near which other points will read; it computes nothing.

    ahead: the index of the loop around it whose next turn reads them. index: where they lie, in this turn.
    along: the range that leads through them.
    """

    array: str
    index: tuple[Index, ...]
    ahead: str
    along: Range


@attrs.frozen
class Inside:
    """Whether places lie within sizes, or limits that are values: a bool, which guards what is read and written."""

    name: str
    index: tuple[Argument, ...]
    sizes: tuple[Size, ...]


@attrs.frozen
class Bound:
    """A place that is led inside.

    how: ``replicate``, ``reflect``, ``circular`` as margins of padding are; ``wrap`` counts negative places from the
        end, and trusts that what comes of it is inside; ``trusted`` trusts the place itself.
    part: which part of a range the place is counted from; None for the whole range.
    """

    name: str
    place: str
    size: Size
    how: str
    part: Part | None = None


@attrs.frozen
class Offset:
    """How far an element lies from another one in memory, by some of its places; the others are 0.

    inside: the condition under which it lies there; the offset is 0 otherwise, where what is read is of no account.
    type: of the offset, a whole number that holds it in bytes.
    """

    name: str
    array: str
    index: tuple[Argument, ...]
    inside: str | None = None
    type: ScalarType = ScalarType.INT64


@attrs.frozen
class When:
    """Statements under a condition; what they name is not known outside."""

    condition: str
    body: tuple[Statement, ...]


@attrs.frozen
class For:
    """A body for every value of an index, in any order, or all at once; what it names is not known outside.

    vector: how many neighbours are best taken together (``schedules.vectorised``).
    in_order: whether one turn follows the other; is_reverse: whether the last value is the first then.
    part: which part of the turns is taken; None for all of them. place: the name of the index within the part.
    bounds: which turns of these are taken; None for all of them.
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
    """One value for all turns of some ranges, the last of which runs fastest.

    names: of the accumulators. neutral: what they are of no turns, or names of values, with which it begins.
    combine: the accumulators of some turns, then those of others -> those of all; associative and, unless
        ``in_order``, commutative. of_some: the same where none of these are no turns; None for the same graph.
    body: gives ``values``, the accumulators of one turn.
    where: the condition under which a turn counts.
    part: which part of the turns is folded; None for all of them. bounds: which turns of the only range; None for all.
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
    """What is carried from turn to turn of a range.

    names: of what is carried, as ``after`` sees it. first: what it is before the first turn: numbers, or names of
        values.
    step: what is carried, then ``values`` of a turn -> what is carried on, then ``results``.
    body: gives ``values``. after: what is done with what is carried on.
    is_associative: whether ``step`` combines what is carried by some turns with that of later ones, and ``first`` is
        neutral, so that turns may be cut into parts.
    is_reverse: whether it begins with the last value of the index.
    part: which part of the turns is taken; None for all of them.
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
    Load | Store | Update | Compute | Local | Fetch | Inside | Bound | Offset | When | For | Fold | Scan
)


@attrs.frozen(cache_hash=True)
class Program:
    """A kernel.

    parameters: in the order of its arguments.
    words: names of whole numbers that come with a call.
    lanes: how many threads share what stands in the outermost loops (``schedules.shared``).
    is_serial: whether one thread does all (``schedules.serial``).
    threaded: how many of the outermost loops are shared out among threads; None for all of them.
    scratch: memory that programs of one call have in common, handed over after the parameters.
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
        """The arrays by name."""
        local = (local.array for local in locals_of(self.body))
        return {
            parameter.name: parameter
            for parameter in (*self.parameters, *self.scratch, *local)
            if isinstance(parameter, Array)
        }

    @property
    def points(self) -> tuple[tuple[Range, ...], tuple[Statement, ...]]:
        """The ranges of the loops that are shared out, each alone in the one before, and what is within these."""
        ranges: list[Range] = []
        body = self.body
        while len(ranges) != self.threaded and len(body) == 1 and isinstance(body[0], For):
            ranges.append((body[0].index, body[0].size))
            body = body[0].body
        return tuple(ranges), body

    @property
    def vector(self) -> int:
        """How many neighbours along the last of these loops are taken together."""
        vector, body = 1, self.body
        for _ in self.points[0]:
            assert isinstance(body[0], For), "what is shared out are loops"
            vector, body = body[0].vector, body[0].body
        return vector


def statements_of(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements, and those within them."""
    for statement in statements:
        yield statement
        for block in blocks_of(statement):
            yield from statements_of(block)


def graphs_of(statements: tuple[Statement, ...]) -> tuple[TypedGraph, ...]:
    """The scalar graphs of statements, each once, in the order in which they are met."""
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
    """The memory of points that statements ask for, also those within others."""
    return tuple(statement for statement in statements_of(statements) if isinstance(statement, Local))


def names_of(statement: Statement) -> set[str]:
    """The values that a statement gives."""
    if isinstance(statement, (Load, Inside, Bound, Offset)):
        return {statement.name}
    if isinstance(statement, Update):
        return set() if statement.name is None else {statement.name}
    return set(statement.names) if isinstance(statement, (Compute, Fold, Scan)) else set()


def blocks_of(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks of statements within one."""
    if isinstance(statement, Scan):
        return statement.body, statement.after
    return (statement.body,) if isinstance(statement, (When, For, Fold)) else ()
