"""Where the threads of a grid stand: the points of a program's outermost loops, and what of its arrays lies there."""

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
    Load,
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
    """A program whose arrays begin at the element of a point, where they do.

    program: the strides along which points lie are 0 in it, since a point's place comes from a layout; its words are
        those that are left.
    ranges: of the points that the layout counts; of neighbours that are taken together it counts the first.
    begins: the arrays that begin at a point, and their strides along the ranges.
    follow: see ``following``.
    indices: what else the program asks for of a point.
    steps: of the arrays in bytes, then of the indices, how large they are along each range, by a factor.
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
        """Whether a layout is asked for."""
        return bool(self.begins or self.indices)

    def strides(self, number: Callable[[Size], int]) -> list[list[int]]:
        """What the layout has: for each array its strides in bytes, for each index those of a counter."""
        return [[factor * sum(map(number, steps)) for factor, steps in each] for each in self.steps]


def points_of(program: Program) -> Points:
    """What of a program comes with a point, and the rest.

    An array that is read or written at other points too, or at one in two ways, begins at its first element.
    """
    ranges, body = program.points
    names = [name for name, _ in ranges]
    statements = list(statements_of(body))
    laid: list[Array | Scalar] = []
    begins = []
    for each in (*program.parameters, *program.scratch):
        if isinstance(each, Array):
            keys = {
                tuple(index if index in names else None for index in other.index)
                for other in statements
                if isinstance(other, (Load, Store, Update)) and other.array == each.name
            }
            key = keys.pop() if len(keys) == 1 else ()
            if any(key):
                begins.append((each.name, tuple(_along(each, key, name) for name in names)))
                rest = zip(each.strides, key, strict=True)
                each = attrs.evolve(each, strides=tuple(0 if index else stride for stride, index in rest))
        laid.append(each)
    count = len(program.parameters)
    scratch = tuple(each for each in laid[count:] if isinstance(each, Array))
    left = attrs.evolve(program, parameters=tuple(laid[:count]), scratch=scratch)
    used = {name for each in statements for name in used_by(each, left.arrays)}
    words = tuple(word for word in program.words if word in used)
    indices = tuple(name for name in names if name in used)
    return Points(attrs.evolve(left, words=words), ranges, tuple(begins), following(program), indices)


def following(program: Program) -> frozenset[str]:
    """The arrays of which neighbours that are taken together lie side by side, each read or written once."""
    ranges, body = program.points
    if program.vector == 1:
        return frozenset()
    accesses = [each for each in statements_of(body) if isinstance(each, (Load, Store, Update))]
    found = set()
    for each in accesses:
        strides = _along(program.arrays[each.array], each.index, ranges[-1][0])
        is_plain = isinstance(each, Store) or (isinstance(each, Load) and each.inside is None)
        if strides == (1,) and is_plain and each in body:
            found.add(each.array)
    names = [each.array for each in accesses]
    return frozenset(name for name in found if names.count(name) == 1)


def _along(array: Array, key: tuple[object, ...], name: str) -> tuple[Size, ...]:
    """The strides of the dimensions that an index leads through."""
    return tuple(stride for stride, index in zip(array.strides, key, strict=True) if index == name)


def used_by(each: Statement, arrays: dict[str, Array]) -> Iterator[object]:
    """The values, indices and words that a statement itself asks for."""
    if isinstance(each, (Load, Store, Update)):
        for index, stride in zip(each.index, arrays[each.array].strides, strict=True):
            yield from (index, stride) if stride != 0 else ()
    if isinstance(each, Load):
        yield each.inside
    elif isinstance(each, Store):
        yield each.value
    if isinstance(each, (Compute, Update)):
        yield from each.arguments
    elif isinstance(each, Inside):
        yield from (*each.index, *each.sizes)
    elif isinstance(each, Bound):
        yield from (each.place, each.size)
    elif isinstance(each, For):
        yield each.size
    elif isinstance(each, (Fold, Scan)):
        yield from (size for _, size in (each.ranges if isinstance(each, Fold) else (each.range,)))
    if isinstance(each, (Fold, Scan)) and each.part is not None:
        yield from each.part
