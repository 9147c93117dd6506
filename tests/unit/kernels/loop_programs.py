"""Random loop programs, and what loops in Python make of them."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from opdsl.kernels.loops.making import around, pairwise
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fold,
    For,
    Inside,
    Load,
    Local,
    Program,
    Range,
    Scalar,
    Scan,
    Statement,
    Store,
    Update,
    When,
)
from opdsl.runtime.dtype import int64
from opdsl.scalar.types import ScalarType

INT64, FLOAT64 = ScalarType.INT64, ScalarType.FLOAT64
_OPERATIONS = {"add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "maximum": max, "minimum": min}
_NEUTRAL = {"add": 0, "multiply": 1, "maximum": -(1 << 63), "minimum": (1 << 63) - 1}

Values = dict[str, int]


class Drawn(NamedTuple):
    """A program of whole numbers with what it is run on."""

    program: Program
    arrays: list[Any]
    numbers: list[int]
    words: list[int]


class _Maker:
    """Draws statements. The arrays ``a0``, ``a1`` are read, ``out0`` ... written, one by each statement that writes."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.words: dict[str, int] = {}
        self.parameters: list[Array] = []
        self.arrays: list[Any] = []
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def range(self) -> Range:
        name = self.name("i")
        self.words[f"{name}_n"] = self.draw(st.integers(0, 4))
        return name, f"{name}_n"

    def array(self, ranges: list[Range], *, spread: bool = False) -> str:
        """An array with a dimension for each range, in memory of any strides."""
        name = self.name("a")
        sizes = [self.words[size] if isinstance(size, str) else size for _, size in ranges]
        order = self.draw(st.permutations(range(len(sizes))))
        step, strides = 1, [0] * len(sizes)
        for dim in order:
            strides[dim] = step
            step *= max(1, sizes[dim]) + self.draw(st.integers(0, 1))
        for dim, stride in enumerate(strides):
            self.words[f"{name}_s{dim}"] = stride
        drop = self.draw(st.integers(0, len(sizes))) if spread else len(sizes)
        steps = tuple(f"{name}_s{dim}" if dim != drop else 0 for dim in range(len(sizes)))
        self.parameters.append(Array(name, int64, tuple(size for _, size in ranges), steps))
        random = np.random.default_rng(self.count)
        self.arrays.append(random.integers(-9, 9, step + 1))
        return name

    def value(self, ranges: list[Range], known: list[str]) -> tuple[str, list[Statement]]:
        """A value of a point: read, perhaps where another value leads, and computed with others."""
        body: list[Statement] = []
        array = self.array(ranges, spread=True)
        name = self.name("x")
        index: list[Any] = [each for each, _ in ranges]
        kind = self.draw(st.sampled_from(("plain", "guarded", "bound"))) if ranges else "plain"
        if kind == "plain":
            body.append(Load(name, array, tuple(index), INT64))
        else:
            place, size = self.name("p"), ranges[-1][1]
            body.append(Compute((place,), pairwise((self.draw(st.sampled_from(("add", "multiply"))),), (INT64,)),
                                (index[-1], self.draw(st.sampled_from([*known, index[-1]])))))  # fmt: skip
            led = self.name("q")
            if kind == "guarded":
                body.append(Inside(led, (place,), (size,)))
                body.append(Load(name, array, (*index[:-1], place), INT64, led, 7))
            else:
                how = self.draw(st.sampled_from(("replicate", "reflect", "circular")))
                body.append(Bound(led, place, size, how))
                body.append(Load(name, array, (*index[:-1], led), INT64))
        made = self.name("y")
        op = self.draw(st.sampled_from(sorted(_OPERATIONS)))
        body.append(Compute((made,), pairwise((op,), (INT64,)), (name, self.draw(st.sampled_from([*known, name])))))
        return made, body

    def statements(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        nested = ["fold", "scan", "for", "when", "local", "slots"] if depth else []
        kinds = ["store", "update", *nested]
        body: list[Statement] = []
        for _ in range(self.draw(st.integers(1, 2))):
            body += getattr(self, self.draw(st.sampled_from(kinds)))(ranges, known, depth)
        return body

    def store(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        value, body = self.value(ranges, known)
        return [*body, Store(self.array(ranges), tuple(index for index, _ in ranges), value)]

    def update(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        value, body = self.value(ranges, known)
        kept = ranges[: self.draw(st.integers(0, len(ranges)))]
        target = self.array(kept)
        index = tuple(index for index, _ in kept)
        # What was there is the same in any order where no other point changes it.
        was = self.name("w") if kept == ranges else None
        changed = Update(target, index, pairwise(("add",), (INT64,)), (None, value), was)
        return [*body, changed] if was is None else [*body, changed, Store(self.array(ranges), index, was)]

    def fold(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        over = [self.range() for _ in range(self.draw(st.integers(1, 2)))]
        value, body = self.value([*ranges, *over], known)
        op, found = self.draw(st.sampled_from(sorted(_OPERATIONS))), self.name("f")
        where = None
        if self.draw(st.booleans()):
            where = self.name("c")
            body.append(Inside(where, (value,), (over[0][1],)))
        fold = Fold(
            (found,), (_NEUTRAL[op],), pairwise((op,), (INT64,)), tuple(over), tuple(body), (value,), where,
            self.draw(st.booleans()),
        )  # fmt: skip
        return [fold, Store(self.array(ranges), tuple(index for index, _ in ranges), found)]

    def scan(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        along = self.range()
        value, body = self.value([*ranges, along], known)
        op, found = self.draw(st.sampled_from(sorted(_OPERATIONS))), self.name("c")
        is_associative = self.draw(st.booleans())
        after = Store(self.array([*ranges, along]), (*(index for index, _ in ranges), along[0]), found)
        return [
            Scan((found,), (_NEUTRAL[op],), pairwise((op,), (INT64,)), along, tuple(body), (value,), (), (after,),
                 is_associative, not is_associative and self.draw(st.booleans()))
        ]  # fmt: skip

    def loop(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        along = self.range()
        return [For(*along, tuple(self.statements([*ranges, along], [*known, along[0]], depth - 1)))]

    def when(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        condition, value = self.name("g"), self.draw(st.sampled_from(known))
        test = Inside(condition, (value,), (self.draw(st.integers(0, 3)),))
        return [test, When(condition, tuple(self.statements(ranges, known, depth - 1)))]

    def local(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        """Memory that is filled, changed in order as neighbours are, and copied."""
        name, size, out = self.name("m"), self.draw(st.integers(1, 4)), self.name("i")
        at, level, other = (self.name("i") for _ in range(3))
        value, body = self.value([*ranges], [*known, at])
        changed, mirrored, own = self.name("y"), self.name("q"), self.name("x")
        op = self.draw(st.sampled_from(sorted(_OPERATIONS)))
        self.words[f"{out}_n"] = size
        change = (
            Load(own, name, (other,), INT64),
            Compute((changed,), pairwise((op,), (INT64,)), (own, level)),
            Store(name, (other,), changed),
        )
        shifted, moved = self.name("p"), self.name("x")
        copy = (
            Compute((shifted,), pairwise(("add",), (INT64,)), (out, self.draw(st.sampled_from(known)))),
            Bound(mirrored, shifted, size, "circular"),
            Load(moved, name, (mirrored,), INT64),
            Store(self.array([*ranges, (out, f"{out}_n")]), (*(index for index, _ in ranges), out), moved),
        )
        return [
            Local(Array(name, int64, (size,), (1,))),
            For(at, size, (*body, Store(name, (at,), value))),
            For(level, self.draw(st.integers(0, 3)), (For(other, size, change),), in_order=True),
            For(out, f"{out}_n", copy),
        ]

    def slots(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        """Memory of which each turn takes the next slot, and how many are taken; then it is read, and copied."""
        name, held, at, out = (self.name(each) for each in ("m", "h", "i", "i"))
        size, value, add = self.draw(st.integers(1, 9)), self.draw(st.sampled_from(known)), pairwise(("add",), (INT64,))
        self.words |= {f"{held}_one": 1, f"{held}_none": 0}
        claimed, slot, taken, moved, made = (self.name(each) for each in ("w", "q", "x", "x", "y"))
        claim = (
            Update(held, (0,), add, (None, f"{held}_one"), claimed),
            Bound(slot, claimed, size, "trusted"),
            Store(name, (slot,), value),
        )
        copy = (
            Load(moved, name, (out,), INT64),
            Compute((made,), add, (moved, taken)),
            Store(self.array([*ranges, (out, size)]), (*(index for index, _ in ranges), out), made),
        )
        return [
            *(Local(Array(each, int64, (count,), (1,))) for each, count in ((name, size), (held, 1))),
            Store(held, (0,), f"{held}_none"),
            For(at, size, claim),
            Load(taken, held, (0,), INT64),
            For(out, size, copy),
        ]


setattr(_Maker, "for", _Maker.loop)


@st.composite
def drawn_programs(draw: Any) -> Drawn:
    maker = _Maker(draw)
    ranges = [maker.range() for _ in range(draw(st.integers(0, 2)))]
    maker.words["w"] = draw(st.integers(-3, 3))
    known = ["x", "w", *(index for index, _ in ranges)]
    body = around(ranges, maker.statements(ranges, known, 2))
    program = Program("drawn", (*maker.parameters, Scalar("x", INT64)), tuple(maker.words), body)
    return Drawn(program, maker.arrays, [draw(st.integers(-5, 5))], list(maker.words.values()))


# -------------------------------------------------------------------------------------------------- loops in Python


def expected(drawn: Drawn) -> list[Any]:
    """What the arrays hold afterwards."""
    arrays = [each.copy() for each in drawn.arrays]
    words = dict(zip(drawn.program.words, drawn.words, strict=True))
    forms = [each for each in drawn.program.parameters if isinstance(each, Array)]
    memory = {form.name: (form, array) for form, array in zip(forms, arrays, strict=True)}
    _run(drawn.program.body, {"x": drawn.numbers[0], **words}, memory, words)
    return arrays


def _size(each: Any, words: Values) -> int:
    return words[each] if isinstance(each, str) else int(each)


def _place(array: str, index: Any, values: Values, memory: Any, words: Values) -> tuple[Any, int]:
    form, elements = memory[array]
    steps = [_size(each, words) for each in form.strides]
    places = [values[each] if isinstance(each, str) else each for each in index]
    return elements, sum(place * step for place, step in zip(places, steps, strict=True))


def _call(graph: Any, given: list[int]) -> int:
    op = next(node.op for node in graph.nodes if node.op != "parameter")
    made = int(_OPERATIONS[op](*given))
    return (made + (1 << 63)) % (1 << 64) - (1 << 63)


def _run(body: Any, values: Values, memory: Any, words: Values) -> Values:
    """Run statements, one after another; what is known then."""
    known = dict(values)
    for each in body:
        _statement(each, known, memory, words)
    return known


def _statement(each: Any, known: Values, memory: Any, words: Values) -> None:
    if isinstance(each, Load):
        if each.inside is not None and not known[each.inside]:
            known[each.name] = int(each.outside)  # type: ignore[arg-type]
            return
        elements, place = _place(each.array, each.index, known, memory, words)
        known[each.name] = int(elements[place])
    elif isinstance(each, Store):
        elements, place = _place(each.array, each.index, known, memory, words)
        elements[place] = known[each.value]
    elif isinstance(each, Local):
        memory[each.array.name] = (each.array, np.zeros(_size(each.array.sizes[0], words), np.int64))
    elif isinstance(each, Update):
        elements, place = _place(each.array, each.index, known, memory, words)
        there = int(elements[place])
        if each.name is not None:
            known[each.name] = there
        given = [there if name is None else known[name] for name in each.arguments]
        elements[place] = _call(each.graph, given)
    elif isinstance(each, Compute):
        known[each.names[0]] = _call(each.graph, [known[name] for name in each.arguments])
    elif isinstance(each, Inside):
        pairs = zip(each.index, each.sizes, strict=True)
        known[each.name] = all(0 <= known[place] < _size(size, words) for place, size in pairs)  # type: ignore[index]
    elif isinstance(each, Bound):
        known[each.name] = _bound(each.how, known[each.place], _size(each.size, words))
    elif isinstance(each, When):
        if known[each.condition]:
            _run(each.body, known, memory, words)
    elif isinstance(each, For):
        for value in range(_size(each.size, words)):
            _run(each.body, {**known, each.index: value}, memory, words)
    elif isinstance(each, Fold):
        whole = int(each.neutral[0].real)
        for turn in itertools.product(*(range(_size(size, words)) for _, size in each.ranges)):
            indices = {name: value for (name, _), value in zip(each.ranges, turn, strict=True)}
            inner = _run(each.body, {**known, **indices}, memory, words)
            if each.where is None or inner[each.where]:
                whole = _call(each.combine, [whole, inner[each.values[0]]])
        known[each.names[0]] = whole
    else:
        _scan(each, known, memory, words)


def _scan(each: Scan, known: Values, memory: Any, words: Values) -> None:
    carried = int(each.first[0].real)
    index, size = each.range
    turns = range(_size(size, words))
    for turn in reversed(turns) if each.is_reverse else turns:
        inner = _run(each.body, {**known, index: turn}, memory, words)
        carried = _call(each.step, [carried, inner[each.values[0]]])
        _run(each.after, {**inner, each.names[0]: carried}, memory, words)


def _bound(how: str, place: int, size: int) -> int:
    if how == "replicate":
        return min(max(place, 0), size - 1)
    if how == "circular":
        return place % size
    period = max(1, 2 * (size - 1))
    place = abs(place) % period
    return place if place < size else period - place
