"""Schedules of loop programs: functions that return a program with the same results, run in another way."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import attrs

from opdsl.kernels.loops.making import Given, Loops, around, identity, number_of, numbers, places, product
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fold,
    For,
    Length,
    Load,
    Local,
    Part,
    Parts,
    Program,
    Scan,
    Statement,
    Store,
    names_of,
    statements_of,
)
from opdsl.kernels.loops.rewriting import renamed
from opdsl.runtime.dtype import to_dtype
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

__all__ = [
    "CHUNK",
    "CHUNK_LENGTH",
    "chunked",
    "folded",
    "has_common_memory",
    "in_parts",
    "nested",
    "ordered",
    "serial",
    "shared",
    "staged",
    "threaded",
    "unrolled",
    "vectorised",
]


def shared(program: Program, lanes: int) -> Program:
    """Let several threads cooperate on each iteration of the outermost loops: they share its folds, scans, inner loops
    and local memory.

    The program stays unchanged if there is nothing to share.
    """
    _, body = program.points
    is_shared = any(
        isinstance(statement, Fold) or (isinstance(statement, Scan) and statement.is_associative) for statement in body
    )
    is_shared |= has_common_memory(program)
    is_ordered = any(isinstance(statement, Scan) and not statement.is_associative for statement in body)
    return attrs.evolve(program, lanes=lanes) if is_shared and not is_ordered else program


def has_common_memory(program: Program) -> bool:
    """Return whether the outermost loops' body has local memory and parallel inner loops, which several threads can
    share.
    """
    _, body = program.points
    loops = [statement for statement in body if isinstance(statement, For) and not statement.in_order]
    return bool(loops) and any(isinstance(statement, Local) for statement in body)


def threaded(program: Program, count: int) -> Program:
    """Distribute only the ``count`` outermost loops over threads; a thread runs the inner loops sequentially."""
    return attrs.evolve(program, threaded=count)


def in_parts(loops: Loops, count: int, size: int) -> tuple[Loops, Loops]:
    """Split a program whose outer iterations begin with a fold, or are an associative scan, into two programs
    (split-K).

    The first folds chunks of the iterations into scratch memory. The second combines the results of all chunks and goes
    on; for a scan, it combines the results of the earlier chunks, and scans each chunk from there.

    Args:
        loops: of the program.
        count: chunks of each fold or scan.
        size: iterations of a chunk.
    """
    program, number = loops.program, number_of(loops)
    words = dict(zip(program.words, loops.words, strict=True))
    ranges, (whole, *rest) = program.points
    kept, part, own = places(ranges), ("part", "parts"), Part("part", "part_size")
    fold = attrs.evolve(folded(whole), part=own)
    kinds = fold.combine.result_types
    sizes = [number(size) for _, size in ranges]
    steps = {f"part_s{k}": product([*sizes[k + 1 :], count]) for k in range(len(sizes))}
    scratch = tuple(
        Array(f"partial{k}", to_dtype(kind.value), (*(number for _, number in ranges), part[1]), (*steps, 1))
        for k, kind in enumerate(kinds)
    )
    stores = (Store(buffer.name, (*kept, part[0]), name) for buffer, name in zip(scratch, fold.names, strict=True))
    names = tuple(f"found{k}" for k in range(len(kinds)))
    other = part if isinstance(whole, Fold) else ("other", "parts")
    loads: list[Statement] = [
        Load(name, buffer.name, (*kept, other[0]), kind)
        for name, buffer, kind in zip(names, scratch, kinds, strict=True)
    ]
    if not isinstance(whole, Scan):
        again = Fold(fold.names, fold.neutral, fold.combine, (part,), tuple(loads), names, in_order=True)
        last = around(ranges, (again, *rest))
    else:
        loads.append(Compute(("comes_before",), _less(), (other[0], part[0])))
        before = tuple(f"before{k}" for k in range(len(kinds)))
        prefix = Fold(before, fold.neutral, fold.combine, (other,), tuple(loads), names, "comes_before", in_order=True)
        last = around((*ranges, part), (prefix, attrs.evolve(whole, first=before, part=own)))
    words |= {"parts": count, "part_size": size, **steps}
    first, second = (
        attrs.evolve(
            loops,
            program=attrs.evolve(program, words=tuple(words), body=body, scratch=scratch),
            words=tuple(words.values()),
        )
        for body in (around((*ranges, part), (fold, *stores)), last)
    )
    return first, second


CHUNK, CHUNK_LENGTH = "chunk", "chunk_n"
"""The words that ``chunked`` adds."""


def chunked(loops: Loops, at: int, length: int) -> Loops:
    """Restrict the fold of a program to one chunk of a range, whose number is an additional last argument.

    Args:
        loops: of a program whose points are those of one loop, and begin with a fold.
        at: the position of the range in the fold.
        length: of a chunk; the last one may be shorter.
    """
    program = loops.program
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    fold, *rest = loop.body
    assert isinstance(fold, Fold), "points begin with a fold"
    index, size = fold.ranges[at]
    own = f"{index}_own"
    ranges = (*fold.ranges[:at], (own, Length(size, CHUNK, CHUNK_LENGTH)), *fold.ranges[at + 1 :])
    body = (Bound(index, own, size, "trusted", Part(CHUNK, CHUNK_LENGTH)), *fold.body)
    loop = attrs.evolve(loop, body=(attrs.evolve(fold, ranges=ranges, body=body), *rest))
    return Loops(
        attrs.evolve(program, body=(loop,), words=(*program.words, CHUNK, CHUNK_LENGTH)),
        (*loops.words, Given(len(loops.arguments), 1), length),
        (*loops.arguments, None),
    )


def folded(whole: Statement) -> Fold:
    """Return a fold, or convert an associative scan to the fold that computes its final carried values."""
    if isinstance(whole, Fold):
        return whole
    assert isinstance(whole, Scan) and whole.is_associative, "a fold, or an associative scan, is what has parts"
    first = tuple(flag for flag in whole.first if not isinstance(flag, str))
    return Fold(whole.names, first, whole.step, (whole.range,), whole.body, whole.values, in_order=True)


@functools.cache
def _less() -> TypedGraph:
    """Build the graph: two integers -> whether the first is less."""
    builder = GraphBuilder()
    both = tuple(builder.parameter(name, ScalarType.INT64) for name in ("one", "other"))
    return builder.finish("less", [builder.node("less", both, ScalarType.BOOL)])


def unrolled(fold: Fold) -> tuple[Statement, ...]:
    """Unroll a fold whose ranges are constants."""
    assert fold.where is None and fold.part is None and fold.bounds is None, "every turn counts"
    statements: list[Statement] = []
    own = {name for statement in statements_of(fold.body) for name in names_of(statement)}
    before: tuple[str, ...] = ()
    turns = list(itertools.product(*(range(size) for _, size in fold.ranges if isinstance(size, int))))
    for number, turn in enumerate(turns):
        names = {name: f"{name}_{number}" for name in own}
        indices = dict(zip(places(fold.ranges), turn, strict=True))
        statements += [renamed(statement, {**names, **indices}) for statement in fold.body]
        values = tuple(names.get(name, name) for name in fold.values)
        texts = fold.names if number == len(turns) - 1 else tuple(f"{name}_{number}" for name in fold.names)
        graph = (fold.of_some or fold.combine) if before else identity(fold.combine.result_types)
        statements.append(Compute(texts, graph, (*before, *values)))
        before = texts
    return tuple(statements)


def nested(fold: Fold, innermost: Callable[[Fold], tuple[Statement, ...]]) -> tuple[Statement, ...]:
    """Convert a fold along several ranges to nested loops, each iteration of which folds along the last range.

    Args:
        fold: along one range or more.
        innermost: rewrites the fold along the last one.
    """
    *outer, last = fold.ranges
    kinds = fold.combine.result_types
    arrays, befores, afters = (tuple(f"{name}_{of}" for name in fold.names) for of in ("whole", "before", "after"))

    def loads(names: tuple[str, ...]) -> tuple[Load, ...]:
        return tuple(Load(name, array, (0,), kind) for name, array, kind in zip(names, arrays, kinds, strict=True))

    def stores(names: tuple[str, ...]) -> tuple[Store, ...]:
        return tuple(Store(array, (0,), name) for array, name in zip(arrays, names, strict=True))

    if not outer:
        return innermost(fold)
    firsts = tuple(f"{name}_first" for name in fold.names)
    neutral = [flag for flag in fold.neutral if not isinstance(flag, str)]
    row = innermost(attrs.evolve(fold, names=afters, neutral=befores, ranges=(last,)))
    body: tuple[Statement, ...] = (*loads(befores), *row, *stores(afters))
    for index, size in reversed(outer):
        body = (For(index, size, body, in_order=True),)
    return (
        *(Local(Array(name, to_dtype(kind.value), (1,), (1,))) for name, kind in zip(arrays, kinds, strict=True)),
        Compute(firsts, numbers(neutral, kinds), ()),
        *stores(firsts),
        *body,
        *loads(fold.names),
    )


def ordered(program: Program) -> Program:
    """Run the outermost loop sequentially: an iteration may read an element that the previous one wrote."""
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    return attrs.evolve(program, body=(attrs.evolve(loop, in_order=True),))


def staged(program: Program, arrays: Collection[str], size: int) -> Program:
    """Copy strided elements to contiguous memory, and results back, for ``size`` outer iterations at a time.

    Args:
        program: it has one outermost loop, each of whose iterations has its own elements.
        arrays: whose elements are strided.
        size: iterations of a block.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    computes = [statement for statement in loop.body if isinstance(statement, Compute)]
    types = {
        name: kind for compute in computes for name, kind in zip(compute.names, compute.graph.result_types, strict=True)
    }
    near: list[Local] = []
    before: list[Statement] = []
    after: list[Statement] = []
    body: list[Statement] = []

    def part(*statements: Statement) -> For:
        return attrs.evolve(loop, body=statements, part=Part("stretch", size), place="slot")

    def memory(array: str, kind: ScalarType) -> str:
        near.append(Local(Array(f"{array}_near", to_dtype(kind.value), (size,), (1,))))
        return near[-1].array.name

    for statement in loop.body:
        if isinstance(statement, Load) and statement.array in arrays:
            name = memory(statement.array, statement.type)
            before.append(part(statement, Store(name, ("slot",), statement.name)))
            body.append(attrs.evolve(statement, array=name, index=("slot",)))
        elif isinstance(statement, Store) and statement.array in arrays:
            name = memory(statement.array, types[statement.value])
            body.append(attrs.evolve(statement, array=name, index=("slot",)))
            after.append(part(Load(statement.value, name, ("slot",), types[statement.value]), statement))
        else:
            body.append(statement)
    assert not isinstance(loop.size, Parts), "a range of points is whole"
    stretch = For("stretch", Parts(loop.size, size), (*near, *before, part(*body), *after))
    return attrs.evolve(program, body=(stretch,))


def serial(program: Program) -> Program:
    """Run everything in one thread, so that updates need no atomics."""
    return attrs.evolve(program, is_serial=True, lanes=1)


def vectorised(program: Program, count: int) -> Program:
    """Let a thread compute ``count`` adjacent iterations of the last of the outermost loops, with vector loads and
    stores.
    """
    depth = len(program.points[0])

    def within(body: tuple[Statement, ...], left: int) -> tuple[Statement, ...]:
        (loop,) = body
        assert isinstance(loop, For), "what is shared out are loops"
        if left > 1:
            return (attrs.evolve(loop, body=within(loop.body, left - 1)),)
        return (attrs.evolve(loop, vector=count),)

    return attrs.evolve(program, body=within(program.body, depth)) if depth and count > 1 else program
