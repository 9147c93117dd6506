"""Building blocks of loop programs: names, words and their values, arrays of operands, and common scalar graphs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from opdsl.kernels.loops.model import (
    Array,
    Compute,
    For,
    Length,
    Parts,
    Program,
    Range,
    Scalar,
    Size,
    Statement,
)
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import BOOL, FLOAT, INTEGER, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec
    from opdsl.scalar.graph import Number

__all__ = [
    "Given",
    "Loops",
    "Maker",
    "around",
    "before",
    "evaluated",
    "identity",
    "is_pairwise",
    "number_of",
    "numbers",
    "pairwise",
    "part_of",
    "places",
    "product",
    "used_parameters",
    "zero",
]


class Given(NamedTuple):
    """Word (integer input of a program) whose value is an argument of the call, divided by a number."""

    argument: int
    divisor: int


@attrs.frozen
class Loops:
    """Loop program with the arguments of one call of it.

    words: their values, or the positions of their values among the arguments.
    arguments: for each argument of the call the position of its parameter; None for an argument that is a word.
    """

    program: Program
    words: tuple[int | Given, ...]
    arguments: tuple[int | None, ...]

    def scheduled(self, program: Program) -> Loops:
        """Return the same call of another program, which computes the same."""
        return attrs.evolve(self, program=program)


def number_of(loops: Loops) -> Callable[[Size], int]:
    """Return a function that evaluates sizes of a program with the words of a call."""
    words = dict(zip(loops.program.words, loops.words, strict=True))

    def word(name: str) -> int:
        word = words[name]
        assert isinstance(word, int), "how many points there are, and where, does not depend on arguments"
        return word

    return functools.partial(evaluated, word=word)


def evaluated(size: Size, word: Callable[[str], int]) -> int:
    """Evaluate a size.

    Args:
        size: of a program.
        word: returns the value of a word by name.
    """
    if isinstance(size, str):
        return word(size)
    if isinstance(size, Parts):
        whole, turns = evaluated(size.size, word), evaluated(size.turns, word)
        return whole // turns if size.are_whole else -(-whole // turns)
    if isinstance(size, Length):
        whole, number, turns = (evaluated(part, word) for part in size)
        return min(turns, whole - number * turns)
    return size


class Maker:
    """Builder of a program, whose parameters are added in the order of a call's arguments.

    Args:
        name: of the program.
    """

    def __init__(self, name: str) -> None:
        self.name = name if name.isidentifier() else "scalar"
        self.parameters: list[Array | Scalar] = []
        self.arguments: list[int | None] = []
        self.words: dict[str, int | Given] = {}

    def number(self, name: str, kind: ScalarType) -> str:
        """Declare the next argument to be a number, and return its name."""
        self._parameter(Scalar(name, kind))
        return name

    def array(
        self, name: str, spec: OperandSpec, ranges: Sequence[Range], further: Sequence[tuple[Size, Size]] = ()
    ) -> str:
        """Declare the next argument to be an array, and return its name.

        Args:
            name: of the array.
            spec: its dtype and, for each range, its stride in bytes.
            ranges: the loops over its dimensions, whose sizes are the array's.
            further: sizes and strides of dimensions after these.
        """
        size = spec.dtype.itemsize
        steps = [self.word(f"{name}_s{k}", step // size) for k, step in enumerate(spec.strides or ())]
        sizes = tuple(size for _, size in ranges)
        self._parameter(
            Array(
                name,
                spec.dtype,
                (*sizes, *(number for number, _ in further)),
                (*steps, *(number for _, number in further)),
            )
        )
        return name

    def skip(self) -> None:
        """Declare the next argument to be a word."""
        self.arguments.append(None)

    def _parameter(self, parameter: Array | Scalar) -> None:
        self.arguments.append(len(self.parameters))
        self.parameters.append(parameter)

    def word(self, name: str, value: int) -> Size:
        """Declare a stride: 0, 1 and -1 become constants of the program, other values a word."""
        if value in (0, 1, -1):
            return value
        self.words[name] = value
        return name

    def size(self, name: str, value: int) -> str:
        """Declare a word, whatever its value, and return its name."""
        self.words[name] = value
        return name

    def given(self, name: str, value: Given) -> str:
        """Declare a word whose value is an argument of the call, and return its name."""
        self.words[name] = value
        return name

    def ranges(self, prefix: str, sizes: Sequence[int]) -> tuple[tuple[str, str], ...]:
        """Return a range, with index name and size word, for each size."""
        return tuple((f"{prefix}{k}", self.size(f"{prefix}{k}_n", size)) for k, size in enumerate(sizes))

    def linear(
        self,
        name: str,
        ranges: Sequence[Range],
        steps: Sequence[int],
        start: str | None,
        kind: ScalarType,
        body: list[Statement],
    ) -> str:
        """Append the computation of a linear function of indices to the body: a start, plus a step for each index;
        return its name.
        """
        if start is None and list(steps) == [1] and kind is ScalarType.INT64:
            return ranges[0][0]
        factors = [self.size(f"{name}_f{k}", step) for k, step in enumerate(steps)]
        graph = _linear(len(steps), start is not None, kind)
        indices = [index for index, _ in ranges]
        body.append(Compute((name,), graph, (*([start] if start else []), *indices, *factors)))
        return name

    def finish(self, body: Sequence[Statement]) -> Loops:
        """Return the finished loops: the program with the given body, and the arguments of its call."""
        program = Program(self.name, tuple(self.parameters), tuple(self.words), tuple(body))
        return Loops(program, tuple(self.words.values()), tuple(self.arguments))


def around(ranges: Sequence[Range], body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Nest a body in loops, the first range outermost."""
    statements = tuple(body)
    for index, size in reversed(ranges):
        statements = (For(index, size, statements),)
    return statements


def places(ranges: Sequence[Range]) -> tuple[str, ...]:
    """Return the indices of ranges."""
    return tuple(index for index, _ in ranges)


@functools.cache
def _linear(count: int, starts: bool, kind: ScalarType) -> TypedGraph:
    """Build the graph: start, indices, factors -> start plus the sum of products, cast to a type."""
    builder = GraphBuilder()
    first = [builder.parameter("start", ScalarType.INT64)] if starts else []
    indices = [builder.parameter(f"i{k}", ScalarType.INT64) for k in range(count)]
    factors = [builder.parameter(f"f{k}", ScalarType.INT64) for k in range(count)]
    terms = [builder.node("multiply", pair, ScalarType.INT64) for pair in zip(indices, factors, strict=True)]
    parts = [*first, *terms] or [builder.constant(0, ScalarType.INT64)]
    total = functools.reduce(lambda one, other: builder.node("add", (one, other), ScalarType.INT64), parts)
    return builder.finish("place", [builder.cast(total, kind)])


@functools.cache
def identity(kinds: tuple[ScalarType, ...]) -> TypedGraph:
    """Build the graph that returns its arguments."""
    builder = GraphBuilder()
    return builder.finish("identity", [builder.parameter(f"a{k}", kind) for k, kind in enumerate(kinds)])


@functools.cache
def pairwise(operations: tuple[str, ...], kinds: tuple[ScalarType, ...]) -> TypedGraph:
    """Build the graph that combines two lists of accumulators elementwise, each pair by its operation."""
    builder = GraphBuilder()
    first, later = ([builder.parameter(f"{side}{k}", kind) for k, kind in enumerate(kinds)] for side in ("a", "b"))
    nodes = [builder.node(*fields) for fields in zip(operations, zip(first, later, strict=True), kinds, strict=True)]
    return builder.finish("combine", nodes)


def is_pairwise(graph: TypedGraph) -> bool:
    """Return whether a graph combines each pair of accumulators separately, by one commutative operation."""
    count = len(graph.results)
    return all(
        graph.nodes[at].arguments == (k, count + k)
        and graph.nodes[at].op in _OPERATIONS.get(graph.nodes[at].type.category, ())
        for k, at in enumerate(graph.results)
    )


_OPERATIONS = {
    FLOAT: ("add", "multiply", "maximum", "minimum"),
    INTEGER: ("add", "maximum", "minimum"),
    BOOL: ("bitwise_or", "bitwise_and"),
}


def product(sizes: Sequence[int]) -> int:
    """Return the product of sizes."""
    return functools.reduce(operator.mul, sizes, 1)


@functools.cache
def zero(kind: ScalarType) -> TypedGraph:
    """Build the graph without parameters that returns 0."""
    return numbers((0,), (kind,))


def numbers(values: Sequence[Number], kinds: Sequence[ScalarType]) -> TypedGraph:
    """Build the graph without parameters that returns constants of types."""
    builder = GraphBuilder()
    return builder.finish("numbers", [builder.constant(*constant) for constant in zip(values, kinds, strict=True)])


@functools.cache
def before(combine: TypedGraph) -> TypedGraph:
    """Build the graph that combines accumulators with others, and also returns the first accumulators unchanged."""
    builder = GraphBuilder()
    inline = builder.inline(combine)
    own = [at for at, node in enumerate(combine.nodes) if node.op == "parameter"][: len(combine.results)]
    return builder.finish("before", [inline[at] for at in (*combine.results, *own)])


def used_parameters(graph: TypedGraph) -> set[int]:
    """Return the positions of the parameter nodes that a graph's results depend on."""
    return {position for position in _needed(graph, graph.results) if graph.nodes[position].op == "parameter"}


def _needed(graph: TypedGraph, results: Sequence[int], boundary: frozenset[int] = frozenset()) -> set[int]:
    """Return the nodes that results depend on, with the results, without what is behind a boundary."""
    reached = set(results)
    for position in range(len(graph.nodes) - 1, -1, -1):
        if position in reached and position not in boundary:
            reached.update(graph.nodes[position].arguments)
    return reached


@functools.lru_cache(maxsize=4096)
def part_of(
    graph: TypedGraph, results: tuple[int, ...], boundary: frozenset[int] = frozenset(), name: str = "part"
) -> tuple[TypedGraph, tuple[int, ...]]:
    """Slice a graph to the given results and the parameters that they depend on.

    Args:
        graph: the graph.
        results: nodes of it.
        boundary: nodes that become parameters, so that what they depend on is left out.
        name: of the slice.

    Returns:
        The slice, and the nodes that are its parameters, in order.
    """
    needed = _needed(graph, results, boundary)
    builder = GraphBuilder()
    copies: dict[int, int] = {}
    used = tuple(at for at in sorted(needed) if at in boundary or graph.nodes[at].op == "parameter")
    for at in used:
        node = graph.nodes[at]
        copies[at] = builder.parameter(str(node.value) if node.op == "parameter" else f"t{at}", node.type)
    for at in sorted(needed):
        if at not in copies:
            node = graph.nodes[at]
            copies[at] = builder.copy(node, tuple(copies[operand] for operand in node.arguments))
    return builder.finish(name, [copies[at] for at in results]), used
