"""Random loop programs, and their results by loops in Python."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from opdsl.kernels.loops.making import around, pairwise
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Bounds,
    Compute,
    Fold,
    For,
    Inside,
    Length,
    Load,
    Local,
    Offset,
    Part,
    Parts,
    Program,
    Range,
    Scalar,
    Scan,
    Statement,
    Steps,
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
    """Random program of integers, with arguments to run it on."""

    program: Program
    arrays: list[Any]
    numbers: list[int]
    words: list[int]


class _Maker:
    """Random generator of statements. They read arrays ``a0``, ``a1``, ...; each statement that writes has its own
    array ``out0``, ``out1``, ...

    for_places: whether to generate the statements that only schedules of functions of indices use.
    """

    def __init__(self, draw: Any, *, for_places: bool) -> None:
        self.draw, self.for_places = draw, for_places
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
        """Declare an array with a dimension for each range and random strides, and return its name."""
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
        ones = {dim for dim, stride in enumerate(strides) if stride == 1 and self.for_places}
        steps = tuple(0 if dim == drop else 1 if dim in ones else f"{name}_s{dim}" for dim in range(len(sizes)))
        self.parameters.append(Array(name, int64, tuple(size for _, size in ranges), steps))
        random = np.random.default_rng(self.count)
        self.arrays.append(random.integers(-9, 9, step + 1))
        return name

    def value(self, ranges: list[Range], known: list[str]) -> tuple[str, list[Statement]]:
        """Return the name of a value and the statements that compute it: a read, perhaps at a computed index, combined
        with other values.
        """
        body: list[Statement] = []
        array = self.array(ranges, spread=True)
        name = self.name("x")
        index: list[Any] = [loop_index for loop_index, _ in ranges]
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
        output = self.name("y")
        op = self.draw(st.sampled_from(sorted(_OPERATIONS)))
        body.append(Compute((output,), pairwise((op,), (INT64,)), (name, self.draw(st.sampled_from([*known, name])))))
        return output, body

    def statements(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        nested = ["fold", "scan", "for", "when", "local", "slots"] if depth else []
        kinds = ["store", "update", *nested]
        if self.for_places:
            kinds += 2 * ["stepped", "far", *(["bounded", "bounded", "tiled"] if depth else [])]
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
        # The previous value is independent of the order only if no other point changes it.
        was = self.name("w") if kept == ranges else None
        changed = Update(target, index, pairwise(("add",), (INT64,)), (None, value), was)
        return [*body, changed] if was is None else [*body, changed, Store(self.array(ranges), index, was)]

    def fold(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        over = [self.range() for _ in range(1 if self.for_places else self.draw(st.integers(1, 2)))]
        value, body = self.value([*ranges, *over], known)
        op, name = self.draw(st.sampled_from(sorted(_OPERATIONS))), self.name("f")
        where = None
        if self.draw(st.booleans()):
            where = self.name("c")
            body.append(Inside(where, (value,), (over[0][1],)))
        fold = Fold(
            (name,), (_NEUTRAL[op],), pairwise((op,), (INT64,)), tuple(over), tuple(body), (value,), where,
            self.draw(st.booleans()),
        )  # fmt: skip
        return [fold, Store(self.array(ranges), tuple(index for index, _ in ranges), name)]

    def scan(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        along = self.range()
        value, body = self.value([*ranges, along], known)
        op, name = self.draw(st.sampled_from(sorted(_OPERATIONS))), self.name("c")
        is_associative = self.draw(st.booleans())
        after = Store(self.array([*ranges, along]), (*(index for index, _ in ranges), along[0]), name)
        return [
            Scan((name,), (_NEUTRAL[op],), pairwise((op,), (INT64,)), along, tuple(body), (value,), (), (after,),
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
        """Return statements that fill local memory, change it in order, and copy it."""
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
        """Return statements that append to local memory by a counter of used slots, then read and copy both."""
        name, held, at, out = (self.name(name) for name in ("m", "h", "i", "i"))
        size, value, add = self.draw(st.integers(1, 9)), self.draw(st.sampled_from(known)), pairwise(("add",), (INT64,))
        self.words |= {f"{held}_one": 1, f"{held}_none": 0}
        claimed, slot, taken, moved, output = (self.name(name) for name in ("w", "q", "x", "x", "y"))
        claim = (
            Update(held, (0,), add, (None, f"{held}_one"), claimed),
            Bound(slot, claimed, size, "trusted"),
            Store(name, (slot,), value),
        )
        copy = (
            Load(moved, name, (out,), INT64),
            Compute((output,), add, (moved, taken)),
            Store(self.array([*ranges, (out, size)]), (*(index for index, _ in ranges), out), output),
        )
        return [
            *(Local(Array(buffer, int64, (count,), (1,))) for buffer, count in ((name, size), (held, 1))),
            Store(held, (0,), f"{held}_none"),
            For(at, size, claim),
            Load(taken, held, (0,), INT64),
            For(out, size, copy),
        ]

    # -------------------------------------------------------------------------- only in schedules of loops over indices

    def led(self, known: list[str], size: int) -> tuple[str, list[Statement]]:
        """Return an index below ``size`` that some value determines, and the statements that compute it."""
        place = self.name("q")
        return place, [Bound(place, self.draw(st.sampled_from(known)), size, "replicate")]

    def bounded(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        """Return a loop or a fold over a part of its range."""
        index, size = self.name("i"), self.draw(st.integers(0, 4))
        (begin, first), (end, last) = self.led(known, size + 1), (self.draw(st.integers(0, size)), ())
        if self.draw(st.booleans()):
            (begin, first), (end, last) = (end, last), (begin, first)
        bounds = Bounds(begin, end)
        if self.draw(st.booleans()):
            body = self.statements([*ranges, (index, size)], [*known, index], depth - 1)
            return [*first, *last, For(index, size, tuple(body), bounds=bounds, in_order=self.draw(st.booleans()))]
        value, inner = self.value([*ranges, (index, size)], known)
        op, name = self.draw(st.sampled_from(sorted(_OPERATIONS))), self.name("f")
        fold = Fold(
            (name,),
            (_NEUTRAL[op],),
            pairwise((op,), (INT64,)),
            ((index, size),),
            tuple(inner),
            (value,),
            bounds=bounds,
        )
        return [*first, *last, fold, Store(self.array(ranges), tuple(loop_index for loop_index, _ in ranges), name)]

    def tiled(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        """Return a loop in tiles, and a fold over one tile, which may be the shorter last one."""
        along, tile, lane, own = self.range(), self.name("t"), self.name("l"), self.name("j")
        turns = self.draw(st.integers(1, 3))
        body = self.statements([*ranges, along], [*known, along[0], lane], depth - 1)
        loop = For(*along, tuple(body), part=Part(tile, turns), place=lane)
        number = self.draw(st.integers(0, self.words[str(along[1])] // turns))
        length = Length(along[1], number, turns)
        place, name, value = self.name("q"), self.name("f"), self.name("x")
        at = Bound(place, own, along[1], "trusted", Part(number, turns))
        load = Load(value, self.array([*ranges, along]), (*(loop_index for loop_index, _ in ranges), place), INT64)
        fold = Fold((name,), (0,), pairwise(("add",), (INT64,)), ((own, length),), (at, load), (value,))
        store = Store(self.array(ranges), tuple(loop_index for loop_index, _ in ranges), name)
        return [For(tile, Parts(along[1], turns), (loop,)), fold, store]

    def stepped(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        """Return a loop that reads elements at a constant step, forward or backward."""
        along, by = (self.name("i"), self.draw(st.integers(1, 4))), self.draw(st.sampled_from((-2, -1, 0, 1, 2)))
        size, spare = (along[1] - 1) * abs(by) + 1, self.draw(st.integers(0, 2))
        near, body = self.led(known, spare + 1)
        moved, first, value = self.name("p"), self.name("q"), self.name("x")
        body.append(Compute((moved,), pairwise(("add",), (INT64,)), (near, size - 1 if by < 0 else 0)))
        body.append(Bound(first, moved, size + spare, "trusted"))
        if self.draw(st.booleans()):
            self.words[f"{first}_by"] = by
        step = Steps(first, along[0], f"{first}_by" if f"{first}_by" in self.words else by)
        around_it = tuple(loop_index for loop_index, _ in ranges)
        load = Load(value, self.array([*ranges, (first, size + spare)]), (*around_it, step), INT64)
        return [*body, For(*along, (load, Store(self.array([*ranges, along]), (*around_it, along[0]), value)))]

    def far(self, ranges: list[Range], known: list[str], depth: int) -> list[Statement]:
        """Return statements that read and update an element at an offset from another one, if it is in bounds."""
        place, size, inside = self.draw(st.sampled_from(known)), self.draw(st.integers(1, 4)), self.name("g")
        offset, value, kind = self.name("o"), self.name("x"), self.draw(st.sampled_from((INT64, ScalarType.INT32)))
        dims = [*ranges, (place, size)]
        read, around_it, begin = self.array(dims), tuple(loop_index for loop_index, _ in ranges), (0,) * len(ranges)
        written, other = self.array(dims), self.name("o")
        add = Update(written, (*around_it, 0), pairwise(("add",), (INT64,)), (None, value), offset=other)
        rest, limit = (self.name("g"), self.draw(st.integers(0, 2))) if self.draw(st.booleans()) else (None, 0)
        return [
            Inside(inside, (place,), (size,)),
            *([] if rest is None else [Inside(rest, (self.draw(st.sampled_from(known)),), (limit,))]),
            Offset(offset, read, (*begin, place), inside, kind),
            Load(value, read, (*around_it, 0), INT64, rest, None if rest is None else 7, offset),
            Store(self.array(ranges), around_it, value),
            Offset(other, written, (*begin, place), inside, kind),
            When(inside, (add,)),
        ]


setattr(_Maker, "for", _Maker.loop)


@st.composite
def drawn_programs(draw: Any, *, for_places: bool = False) -> Drawn:
    maker = _Maker(draw, for_places=for_places)
    ranges = [maker.range() for _ in range(draw(st.integers(0, 2)))]
    maker.words["w"] = draw(st.integers(-3, 3))
    known = ["x", "w", *(index for index, _ in ranges)]
    body = around(ranges, maker.statements(ranges, known, 2))
    threaded = len(ranges) if for_places else None
    program = Program("drawn", (*maker.parameters, Scalar("x", INT64)), tuple(maker.words), body, threaded=threaded)
    return Drawn(program, maker.arrays, [draw(st.integers(-5, 5))], list(maker.words.values()))


# -------------------------------------------------------------------------------------------------- loops in Python


def expected(drawn: Drawn) -> list[Any]:
    """Run a program by loops in Python, and return its arrays."""
    arrays = [array.copy() for array in drawn.arrays]
    words = dict(zip(drawn.program.words, drawn.words, strict=True))
    forms = [parameter for parameter in drawn.program.parameters if isinstance(parameter, Array)]
    memory = {form.name: (form, array) for form, array in zip(forms, arrays, strict=True)}
    _run(drawn.program.body, {"x": drawn.numbers[0], **words}, memory, words)
    return arrays


def _size(extent: Any, words: Values) -> int:
    if isinstance(extent, Parts):
        size, turns = _size(extent.size, words), _size(extent.turns, words)
        return size // turns if extent.are_whole else (size + turns - 1) // turns
    if isinstance(extent, Length):
        size, number, turns = (_size(part, words) for part in extent)
        return min(turns, size - number * turns)
    return words[extent] if isinstance(extent, str) else int(extent)


def _place(
    array: str, index: Any, values: Values, memory: Any, words: Values, offset: str | None = None
) -> tuple[Any, int]:
    form, elements = memory[array]
    steps = [_size(stride, words) for stride in form.strides]
    places = [_value(place, values) for place in index]
    far = 0 if offset is None else values[offset]
    return elements, far + sum(place * step for place, step in zip(places, steps, strict=True))


def _value(place: Any, values: Values) -> int:
    if isinstance(place, Steps):
        return _value(place.first, values) + values[place.along] * _value(place.by, values)
    return values[place] if isinstance(place, str) else int(place)


def _turns(statement: Any, size: Any, known: Values, words: Values) -> list[int]:
    """Return the iterations of a range that a loop or a fold executes."""
    turns = range(_size(size, words))
    if statement.part is not None:
        count, number = _size(statement.part.turns, words), _value(statement.part.number, known)
        turns = turns[number * count : (number + 1) * count]
    begin, end = (0, len(turns)) if statement.bounds is None else (_value(bound, known) for bound in statement.bounds)
    return [turn for turn in turns if statement.bounds is None or begin <= turn < end]


def _call(graph: Any, inputs: list[int]) -> int:
    op = next(node.op for node in graph.nodes if node.op != "parameter")
    number = int(_OPERATIONS[op](*inputs))
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _run(body: Any, values: Values, memory: Any, words: Values) -> Values:
    """Run statements one after another, and return the values known afterwards."""
    known = dict(values)
    for statement in body:
        _statement(statement, known, memory, words)
    return known


def _statement(node: Any, known: Values, memory: Any, words: Values) -> None:
    if isinstance(node, Load):
        if node.inside is not None and not known[node.inside]:
            known[node.name] = int(node.outside)  # type: ignore[arg-type]
            return
        elements, place = _place(node.array, node.index, known, memory, words, node.offset)
        known[node.name] = int(elements[place])
    elif isinstance(node, Offset):
        there = node.inside is None or known[node.inside]
        known[node.name] = _place(node.array, node.index, known, memory, words)[1] if there else 0
    elif isinstance(node, Store):
        elements, place = _place(node.array, node.index, known, memory, words)
        elements[place] = known[node.value]
    elif isinstance(node, Local):
        memory[node.array.name] = (node.array, np.zeros(_size(node.array.sizes[0], words), np.int64))
    elif isinstance(node, Update):
        elements, place = _place(node.array, node.index, known, memory, words, node.offset)
        there = int(elements[place])
        if node.name is not None:
            known[node.name] = there
        inputs = [there if name is None else known[name] for name in node.arguments]
        elements[place] = _call(node.graph, inputs)
    elif isinstance(node, Compute):
        known[node.names[0]] = _call(node.graph, [_value(name, known) for name in node.arguments])
    elif isinstance(node, Inside):
        pairs = zip(node.index, node.sizes, strict=True)
        known[node.name] = all(0 <= known[place] < _size(size, words) for place, size in pairs)  # type: ignore[index]
    elif isinstance(node, Bound):
        begin = 0 if node.part is None else _value(node.part.number, known) * _size(node.part.turns, words)
        known[node.name] = _bound(node.how, begin + known[node.place], _size(node.size, words))
    elif isinstance(node, When):
        if known[node.condition]:
            _run(node.body, known, memory, words)
    elif isinstance(node, For):
        begin = 0 if node.part is None else _value(node.part.number, known) * _size(node.part.turns, words)
        for value in _turns(node, node.size, known, words):
            own = {node.index: value} | ({} if node.place is None else {node.place: value - begin})
            _run(node.body, {**known, **own}, memory, words)
    elif isinstance(node, Fold):
        whole = int(node.neutral[0].real)
        for turn in itertools.product(*(_turns(node, size, known, words) for _, size in node.ranges)):
            indices = {name: value for (name, _), value in zip(node.ranges, turn, strict=True)}
            inner = _run(node.body, {**known, **indices}, memory, words)
            if node.where is None or inner[node.where]:
                whole = _call(node.combine, [whole, inner[node.values[0]]])
        known[node.names[0]] = whole
    else:
        _scan(node, known, memory, words)


def _scan(scan: Scan, known: Values, memory: Any, words: Values) -> None:
    carried = int(scan.first[0].real)
    index, size = scan.range
    turns = range(_size(size, words))
    for turn in reversed(turns) if scan.is_reverse else turns:
        inner = _run(scan.body, {**known, index: turn}, memory, words)
        carried = _call(scan.step, [carried, inner[scan.values[0]]])
        _run(scan.after, {**inner, scan.names[0]: carried}, memory, words)


def _bound(how: str, place: int, size: int) -> int:
    if how == "trusted":
        return place
    if how == "replicate":
        return min(max(place, 0), size - 1)
    if how == "circular":
        return place % size
    period = max(1, 2 * (size - 1))
    place = abs(place) % period
    return place if place < size else period - place
