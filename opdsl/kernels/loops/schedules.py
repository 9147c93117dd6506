"""Schedules: functions from loops to loops that do the same, in another way."""

from __future__ import annotations

import attrs

from opdsl.kernels.loops.making import Loops, around, number_of, places, product
from opdsl.kernels.loops.model import Array, Fold, For, Load, Part, Program, Scan, Statement, Store, Update, blocks_of
from opdsl.runtime.dtype import to_dtype

__all__ = ["in_parts", "serial", "shared", "threaded", "updates", "vectorised"]


def shared(program: Program, lanes: int) -> Program:
    """Several threads for each point of the outermost loops: they share its folds, scans and inner loops.

    Where there is nothing to share the program stays as it is.
    """
    _, body = program.points
    is_shared = any(isinstance(each, Fold) or (isinstance(each, Scan) and each.is_associative) for each in body)
    is_ordered = any(isinstance(each, Scan) and not each.is_associative for each in body)
    return attrs.evolve(program, lanes=lanes) if is_shared and not is_ordered else program


def threaded(program: Program, count: int) -> Program:
    """A thread for each point of so many of the outermost loops; it goes through those within one after another."""
    return attrs.evolve(program, threaded=count)


def in_parts(loops: Loops, count: int, size: int) -> tuple[Loops, Loops]:
    """Two programs in the place of one that folds the turns of each point first.

    The first folds parts of them, into scratch memory, the second what all parts have made, and goes on.

    Args:
        loops: of the program.
        count: parts of a point.
        size: turns of a part.
    """
    program, number = loops.program, number_of(loops)
    words = dict(zip(program.words, loops.words, strict=True))
    ranges, (fold, *rest) = program.points
    assert isinstance(fold, Fold), "a fold is what points begin with"
    kinds = fold.combine.result_types
    kept, part = places(ranges), ("part", "parts")
    sizes = [number(size) for _, size in ranges]
    steps = {f"part_s{k}": product([*sizes[k + 1 :], count]) for k in range(len(sizes))}
    scratch = tuple(
        Array(f"partial{k}", to_dtype(kind.value), (*(each for _, each in ranges), part[1]), (*steps, 1))
        for k, kind in enumerate(kinds)
    )
    stores = (Store(each.name, (*kept, part[0]), name) for each, name in zip(scratch, fold.names, strict=True))
    names = tuple(f"found{k}" for k in range(len(kinds)))
    loads = tuple(
        Load(name, each.name, (*kept, part[0]), kind) for name, each, kind in zip(names, scratch, kinds, strict=True)
    )
    again = Fold(fold.names, fold.neutral, fold.combine, (part,), loads, names, in_order=True)
    words |= {"parts": count, "part_size": size, **steps}
    first, second = (
        attrs.evolve(
            loops,
            program=attrs.evolve(program, words=tuple(words), body=body, scratch=scratch),
            words=tuple(words.values()),
        )
        for body in (
            around((*ranges, part), (attrs.evolve(fold, part=Part(part[0], "part_size")), *stores)),
            around(ranges, (again, *rest)),
        )
    )
    return first, second


def serial(program: Program) -> Program:
    """One thread for everything, so that what is updated needs no atomics."""
    return attrs.evolve(program, is_serial=True, lanes=1)


def vectorised(program: Program, count: int) -> Program:
    """A thread for so many neighbours along the last of the outermost loops: it loads and stores them together."""
    depth = len(program.points[0])

    def within(body: tuple[Statement, ...], left: int) -> tuple[Statement, ...]:
        (loop,) = body
        assert isinstance(loop, For), "what is shared out are loops"
        if left > 1:
            return (attrs.evolve(loop, body=within(loop.body, left - 1)),)
        return (attrs.evolve(loop, vector=count),)

    return attrs.evolve(program, body=within(program.body, depth)) if depth and count > 1 else program


def updates(statements: tuple[Statement, ...]) -> tuple[Update, ...]:
    """The updates of statements, also those within others."""
    found: tuple[Update, ...] = ()
    for each in statements:
        found += (each,) if isinstance(each, Update) else ()
        for block in blocks_of(each):
            found += updates(block)
    return found
