"""Analysis of the points of a program's outermost loops, one per thread, and of the array offsets that depend
on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fold,
    For,
    Inside,
    Length,
    Load,
    Parts,
    Program,
    Range,
    Scalar,
    Scan,
    Size,
    Statement,
    Store,
    Update,
    statements_of,
)

__all__ = ["Points", "points_of", "used_by"]


@attrs.frozen(eq=False)
class Points:
    """Loop program prepared for GPU threads: a layout structure holds each point's array offsets, and the program
    indexes arrays relative to them.

    program: the split program. Strides along the points' indices are 0 in it, since offsets come from a layout; it has
        only the words that are still needed.
    ranges: ranges of the points that the layout counts; of neighbors that a thread takes together it counts the first.
    begins: the arrays whose offset depends on the point, and their strides along the ranges.
    follow: arrays with contiguous neighbors, see ``following``.
    indices: the indices of a point that the program still uses.
    steps: for each range the strides of the arrays in bytes, then those of the indices, each with a constant factor.
    """

    program: Program
    ranges: tuple[Range, ...]
    begins: tuple[tuple[str, tuple[tuple[Size, ...], ...]], ...]
    follow: frozenset[str]
    indices: tuple[str, ...]
    steps: tuple[tuple[tuple[int, tuple[Size, ...]], ...], ...] = attrs.field(init=False)

    @steps.default
    def _steps(self) -> tuple[tuple[tuple[int, tuple[Size, ...]], ...], ...]:
        arrays, vector = self.program.arrays, self.program.vector
        factors = [1] * (len(self.ranges) - 1) + [vector] * (len(self.ranges) > 0)
        lying = [(arrays[name].dtype.itemsize, strides) for name, strides in self.begins]
        counted = [(1, tuple((int(index == name),) for name, _ in self.ranges)) for index in self.indices]
        return tuple(
            tuple((size * factor, steps) for factor, steps in zip(factors, strides, strict=True))
            for size, strides in (*lying, *counted)
        )

    @property
    def is_anywhere(self) -> bool:
        """Return whether the kernel needs a layout: some array or index depends on the point."""
        return bool(self.begins or self.indices)

    def strides(self, number: Callable[[Size], int]) -> list[list[int]]:
        """Return the strides that the layout holds: for each array in bytes, for each index those of a counter."""
        return [[factor * sum(map(number, steps)) for factor, steps in step] for step in self.steps]


def points_of(program: Program) -> Points:
    """Split a program's array accesses into the offset of each point and a relative rest.

    The offset of an array that is accessed at other points too, or with several different indices, stays 0.
    """
    ranges, body = program.points
    names = [name for name, _ in ranges]
    statements = list(statements_of(body))
    laid: list[Array | Scalar] = []
    begins = []
    for parameter in (*program.parameters, *program.scratch):
        if isinstance(parameter, Array):
            keys = {
                tuple(index if index in names else None for index in other.index)
                for other in statements
                if isinstance(other, (Load, Store, Update)) and other.array == parameter.name
            }
            key = keys.pop() if len(keys) == 1 else ()
            if any(key):
                begins.append((parameter.name, tuple(_along(parameter, key, name) for name in names)))
                rest = zip(parameter.strides, key, strict=True)
                parameter = attrs.evolve(parameter, strides=tuple(0 if index else stride for stride, index in rest))
        laid.append(parameter)
    count = len(program.parameters)
    scratch = tuple(array for array in laid[count:] if isinstance(array, Array))
    left = attrs.evolve(program, parameters=tuple(laid[:count]), scratch=scratch)
    used = {name for statement in statements for name in used_by(statement, left.arrays)}
    words = tuple(word for word in program.words if word in used)
    indices = tuple(name for name in names if name in used)
    return Points(attrs.evolve(left, words=words), ranges, tuple(begins), following(program), indices)


def following(program: Program) -> frozenset[str]:
    """Return the arrays of which a thread's neighboring elements are contiguous, and each accessed once, for vector
    loads.
    """
    ranges, body = program.points
    if program.vector == 1:
        return frozenset()
    accesses = [statement for statement in statements_of(body) if isinstance(statement, (Load, Store, Update))]
    texts = set()
    for access in accesses:
        strides = _along(program.arrays[access.array], access.index, ranges[-1][0])
        is_plain = isinstance(access, Store) or (isinstance(access, Load) and access.inside is None)
        if strides == (1,) and is_plain and access in body:
            texts.add(access.array)
    names = [access.array for access in accesses]
    return frozenset(name for name in texts if names.count(name) == 1)


def _along(array: Array, key: tuple[object, ...], name: str) -> tuple[Size, ...]:
    """Return the strides of the dimensions of an array that the index ``name`` is used for."""
    return tuple(stride for stride, index in zip(array.strides, key, strict=True) if index == name)


def used_by(statement: Statement, arrays: dict[str, Array]) -> Iterator[object]:
    """Yield the values, indices and words that a statement itself uses, without those of its body."""
    if isinstance(statement, (Load, Store, Update)):
        for index, stride in zip(statement.index, arrays[statement.array].strides, strict=True):
            yield from (index, stride) if stride != 0 else ()
    if isinstance(statement, Load):
        yield statement.inside
    elif isinstance(statement, Store):
        yield statement.value
    if isinstance(statement, (Compute, Update)):
        yield from statement.arguments
    elif isinstance(statement, Inside):
        yield from (*statement.index, *statement.sizes)
    elif isinstance(statement, Bound):
        yield from (statement.place, statement.size)
    elif isinstance(statement, For):
        yield from statement.size if isinstance(statement.size, (Parts, Length)) else (statement.size,)
    elif isinstance(statement, (Fold, Scan)):
        yield from (size for _, size in (statement.ranges if isinstance(statement, Fold) else (statement.range,)))
    if isinstance(statement, (Fold, Scan)) and statement.part is not None:
        yield from statement.part
