"""LLVM text of convolutions of each channel for itself where channels lie side by side: they are the lanes of vectors.

A line of results meets the same elements of windows from one end to the other, but for some near its ends: tables have
where they lie, and several results that meet the same are computed at once. The plan is that of ``convolution_text``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opdsl.backends.cpu.convolution_text import Room, operand, sizes_in_bytes
from opdsl.backends.cpu.convolution_words import DIMENSIONS, Known, joined, known_words, split
from opdsl.backends.cpu.loops import Loop
from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, When, declarations

SYMBOLS = ("correlate", "weigh")

# Results that are computed at once, and elements of windows whose gradients are.
_PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"

_RESULTS, _TERMS = (8, 4, 2, 1), (9, 3, 1)


def module_ir(machine: Machine) -> str:
    """The module: ``correlate`` and ``weigh``, which are loops of plans over units of their results."""
    spans = [_span(machine, count, is_sum=True) for count in _RESULTS]
    spans += [_span(machine, count, is_sum=False) for count in _TERMS]
    printed = (_table, _met, _correlate, _weigh, declarations)
    return "\n".join([*spans, *(each(machine) for each in printed), _PREFETCH, ATTRIBUTES])


# --------------------------------------------------------------------------------------------------------------- spans

_SPAN = (
    "ptr %kx, ptr %kw, i64 %count, ptr %x, ptr %w, ptr %out, i64 %x_step, i64 %out_step, i64 %last, i64 %ahead, "
    "i64 %begin, i64 %end"
)


def _span(machine: Machine, count: int, *, is_sum: bool) -> str:
    """``sums_n``: n results of all channels, each the sum of ``count`` terms, and of what lies behind the last weight.
    ``terms_n``: adds to n weights, each the sum of ``count`` products of results and what they meet.
    """
    name = "sums" if is_sum else "terms"
    text = Function(machine, f"internal void @{name}_{count}({_SPAN}) noinline")
    body = _sums if is_sum else _terms
    for k in range(count):
        text.line(f"  %sum{k} = alloca {machine.vector}, align 64")
    whole = text.sub("%end", machine.lanes - 1)
    with Loop(text, "c", "%begin", whole, machine.lanes) as c:
        body(text, "whole", c.counter, "", count)
    left = text.value(f"and i64 {text.sub('%end', '%begin')}, {machine.lanes - 1}")
    with When(text, "left", text.is_("ne", left, 0)):
        body(text, "part", text.sub("%end", left), text.below(text.lanes_from("0"), left), count)
    return text.end()


def _sums(text: Function, name: str, c: str, mask: str, count: int) -> None:
    x, w, out = (text.at(each, c) for each in ("%x", "%w", "%out"))
    initial = _load(text, text.at(w, "%last"), "")
    for k in range(count):
        text.line(f"  store {text.machine.vector} {initial}, ptr %sum{k}")
    with Loop(text, name, "0", "%count") as term:
        factor = _load(text, text.at(w, text.word("%kw", term.counter)), "")
        base = text.at(x, text.word("%kx", term.counter))
        for k in range(count):
            _add(text, k, factor, _load(text, text.at(base, text.mul("%x_step", k)), mask))
    # What the next line meets first: channels of neighbours are too far apart for the processor to foresee.
    last = text.at(text.at(x, text.word("%kx", text.sub("%count", 1))), "%ahead")
    for k in range(count):
        text.line(f"  call void @llvm.prefetch.p0(ptr {text.at(last, text.mul('%x_step', k))}, i32 0, i32 3, i32 1)")
    for k in range(count):
        total = text.value(f"load {text.machine.vector}, ptr %sum{k}")
        _store(text, total, text.at(out, text.mul("%out_step", k)), mask)


def _terms(text: Function, name: str, c: str, mask: str, count: int) -> None:
    x, w, out = (text.at(each, c) for each in ("%x", "%w", "%out"))
    weights = [text.at(w, text.word("%kw", k)) for k in range(count)]
    bases = [text.at(x, text.word("%kx", k)) for k in range(count)]
    for k in range(count):
        text.line(f"  store {text.machine.vector} {_load(text, weights[k], mask)}, ptr %sum{k}")
    with Loop(text, name, "0", "%count") as result:
        factor = _load(text, text.at(out, text.mul(result.counter, "%out_step")), mask)
        moved = text.mul(result.counter, "%x_step")
        for k in range(count):
            _add(text, k, factor, _load(text, text.at(bases[k], moved), mask))
    for k in range(count):
        _store(text, text.value(f"load {text.machine.vector}, ptr %sum{k}"), weights[k], mask)


def _add(text: Function, k: int, factor: str, value: str) -> None:
    machine = text.machine
    before = text.value(f"load {machine.vector}, ptr %sum{k}")
    given = f"{machine.vector} {factor}, {machine.vector} {value}, {machine.vector} {before}"
    total = text.value(f"call {machine.vector} @llvm.fmuladd.{machine.suffix}({given})")
    text.line(f"  store {machine.vector} {total}, ptr %sum{k}")


def _load(text: Function, place: str, mask: str) -> str:
    if mask:
        return text.masked_load(place, mask)
    return text.value(f"load {text.machine.vector}, ptr {place}, align {text.machine.itemsize}")


def _store(text: Function, value: str, place: str, mask: str) -> None:
    if mask:
        text.masked_store(value, place, mask)
    else:
        text.line(f"  store {text.machine.vector} {value}, ptr {place}, align {text.machine.itemsize}")


# -------------------------------------------------------------------------------------------------------------- tables


class _Met(NamedTuple):
    """What the first result of a line meets along a dimension.

    element: of the window. position: in what is read. fits: whether there is such a position.
    """

    element: str
    position: str
    fits: str


_TABLES = ", ".join(f"ptr {table}" for table in ("%kx", "%kw", "%starts", "%begins", "%ends", "%found"))


def _table(machine: Machine) -> str:
    """What the results of a line meet: where the first one's lies in what is read (kx), and the element of the window
    (kw). Those of one column of windows stand side by side: from where on, and between which results they are inside.
    """
    head = f"ptr %known, i64 %o0, i64 %o1, i64 %o2, i64 %pitch, {_TABLES}"
    text = Function(machine, f"internal void @table({head}) noinline")
    _elements(text, Known(text), DIMENSIONS - 1, "0", [])
    return text.end()


def _elements(text: Function, known: Known, dim: int, found: str, met: Sequence[_Met]) -> str:
    """Put what is met along a dimension, and those before it, into the table."""
    spreads = text.is_("ne", known.spreads, 0)
    with Loop(text, f"t{dim}", "0", known.length[dim]) as t:
        at = t.carry("int64", found)
        reach = text.add(known.first[dim], text.mul(t.counter, known.dilation[dim]))
        ahead = text.add(reach, text.mul(f"%o{dim}", known.stride[dim]))
        distance = text.choose(spreads, text.sub(f"%o{dim}", reach), ahead)
        divisor = text.choose(spreads, known.stride[dim], 1)
        position = _quotient(text, f"position{dim}", distance, divisor)
        fits = text.is_("eq", text.mul(position, divisor), distance)
        if dim == DIMENSIONS - 1:
            step = text.choose(spreads, 1, known.stride[dim])
            for table, reached in (("%begins", text.sub(0, position)), ("%ends", text.sub(known.size[dim], position))):
                more = text.add(text.larger(reached, 0), text.sub(step, 1))
                text.put(table, t.counter, _quotient(text, table[1:], more, step))
            text.put("%starts", t.counter, at)
        else:
            fits = text.value(f"and i1 {fits}, {text.is_('ult', position, known.size[dim])}")
        here = [_Met(t.counter, position, fits), *met]
        t.hand_on([_elements(text, known, dim - 1, at, here) if dim else _entered(text, known, at, here)])
    if dim == DIMENSIONS - 1:
        text.put("%starts", known.length[dim], t.results[0])
    return t.results[0]


def _quotient(text: Function, name: str, first: str, second: str) -> str:
    """The quotient of two i64; most are divided by 1, and dividing takes as long as all else."""
    text.line(f"  br label %{name}_test\n{name}_test:")
    is_one = text.is_("eq", second, 1)
    text.line(f"  br i1 {is_one}, label %{name}_end, label %{name}_divide\n{name}_divide:")
    divided = text.value(f"sdiv i64 {first}, {second}")
    text.line(f"  br label %{name}_end\n{name}_end:")
    return text.value(f"phi i64 [ {first}, %{name}_test ], [ {divided}, %{name}_divide ]")


def _entered(text: Function, known: Known, at: str, met: Sequence[_Met]) -> str:
    """Put an element into the table, if it fits; how many there are then."""
    text.put("%kx", at, text.inner(*zip((each.position for each in met), known.x_stride, strict=True)))
    text.put("%kw", at, text.mul(joined(text, [each.element for each in met], known.length), "%pitch"))
    fits = met[0].fits
    for each in met[1:]:
        fits = text.value(f"and i1 {fits}, {each.fits}")
    return text.add(at, text.value(f"zext i1 {fits} to i64"))


def _met(machine: Machine) -> str:
    """What a result meets: the first of the table, and how many, and the next result that meets others."""
    text = Function(machine, f"internal void @met(i64 %result, i64 %results, i64 %columns, {_TABLES}) noinline")
    with Loop(text, "k", "0", "%columns") as k:
        first, end, change = (k.carry("int64", each) for each in (str(1 << 62), "0", "%results"))
        starts = [text.word("%starts", place) for place in (k.counter, text.add(k.counter, 1))]
        is_late = []
        for table in ("%begins", "%ends"):
            place = text.word(table, k.counter)
            is_late.append(text.is_("sgt", place, "%result"))
            change = text.choose(is_late[-1], text.smaller(change, place), change)
        inside = text.value(f"icmp ult i1 {is_late[0]}, {is_late[1]}")
        first = text.choose(inside, text.smaller(first, starts[0]), first)
        k.hand_on([first, text.choose(inside, starts[1], end), change])
    first, end, change = k.results
    for index, value in enumerate((first, text.larger(text.sub(end, first), 0), change)):
        text.put("%found", index, value)
    return text.end()


# --------------------------------------------------------------------------------------------------------------- lines


class _Lines:
    """A kernel that goes along lines of results.

    step, out_step: elements from what one result of a line meets to what the next one does, and to that one.
    ahead: from what one line meets to what the next one does.
    """

    def __init__(self, text: Function) -> None:
        self.text = text
        self.known = known = Known(text, known_words(text))
        self.spreads = text.is_("ne", known.spreads, 0)
        lanes = text.machine.lanes
        self.pitch = text.value(f"and i64 {text.add(known.groups, lanes - 1)}, {-lanes}")
        self.window = text.mul(*known.length)
        self.last = text.mul(self.window, self.pitch)
        self.room = Room(text)
        elements, columns = (text.mul(text.add(each, 1), 8) for each in (self.window, known.length[2]))
        rows = sizes_in_bytes(text, text.add(self.last, self.pitch))
        *self.tables, self.weights = self.room.take([elements, elements, columns, columns, columns, "24", rows])
        self.apart = text.choose(self.spreads, known.stride[2], 1)
        steps = [
            text.mul(text.choose(self.spreads, 1, stride), x_stride)
            for stride, x_stride in zip(known.stride, known.x_stride, strict=True)
        ]
        self.step, self.ahead = steps[2], text.choose(text.is_("sgt", known.out_size[1], 1), steps[1], steps[0])
        self.out_step = text.mul(self.apart, known.out_stride[2])

    def each(self, index: Sequence[str], x: str, out: str, compute: Callable[..., None]) -> None:
        """Compute a line: ``compute(kx, kw, count, x, out, results)`` for results that meet the same.

        index: of its first result. x, out: the addresses of a sample and of that result.
        """
        text, known = self.text, self.known
        results = text.ceiling(text.sub(known.out_size[2], index[2]), self.apart)
        tables = [f"ptr {each}" for each in self.tables]
        text.call("table", "ptr %known", *(f"i64 {each}" for each in (*index, self.pitch)), *tables)
        with Loop(text, "result", "0", results) as result:
            given = (result.counter, results, known.length[2])
            text.call("met", *(f"i64 {each}" for each in given), *tables)
            first, count, change = (text.word(self.tables[-1], k) for k in range(3))
            result.step = text.sub(change, result.counter)
            place = text.at(x, text.mul(result.counter, self.step))
            target = text.at(out, text.mul(result.counter, self.out_step))
            compute(*(text.at(table, first, "i64") for table in self.tables[:2]), count, place, target, result.step)

    def elements(self, name: str, place: str, begin: str, end: str, *, reads: bool) -> None:
        """Lay the weights of channels out side by side, or write them to where they belong."""
        text, known = self.text, self.known
        with Loop(text, f"{name}_t", "0", self.window) as t:
            steps = zip(split(text, t.counter, known.length), known.w_stride, strict=True)
            first, row = text.inner(*steps), text.at(self.weights, text.mul(t.counter, self.pitch))
            with Loop(text, f"{name}_c", begin, end) as c:
                theirs = text.at(place, text.add(first, text.mul(c.counter, known.w_group)))
                ours = text.at(row, c.counter)
                source, target = (theirs, ours) if reads else (ours, theirs)
                value = text.value(f"load {text.machine.element}, ptr {source}")
                text.line(f"  store {text.machine.element} {value}, ptr {target}")


def _after(text: Function, done: str, count: str, size: int) -> str:
    """How many are done after as many groups of a size as fit."""
    return text.sub(count, text.remainder(text.sub(count, done), size))


def _correlate(machine: Machine) -> str:
    """Lines [begin, end) of the results of all channels, counted through samples."""
    text = Function(machine, "void @correlate(ptr %frame, i64 %begin, i64 %end)")
    lines = _Lines(text)
    known, element = lines.known, machine.element
    x, w, out = operand(text, 16), operand(text, 32), operand(text, known.out_slot)
    lines.elements("weight", w, "0", known.groups, reads=True)
    is_biased = text.is_("ne", known.is_biased, 0)
    bias = operand(text, text.choose(is_biased, 48, 16))
    with Loop(text, "bias", "0", known.groups) as c:
        some = text.value(f"select i1 {is_biased}, ptr {text.at(bias, c.counter)}, ptr {x}")
        value = text.value(
            f"select i1 {is_biased}, {element} {text.value(f'load {element}, ptr {some}')}, {element} 0.0"
        )
        text.line(f"  store {element} {value}, ptr {text.at(lines.weights, text.add(lines.last, c.counter))}")

    def compute(kx: str, kw: str, count: str, x: str, out: str, results: str) -> None:
        done = "0"
        for size in _RESULTS:
            name = f"sums_{size}_of_{len(text.lines)}"
            with Loop(text, name, done, text.sub(results, size - 1), size) as first:
                places = [text.at(x, text.mul(first.counter, lines.step)), lines.weights]
                places.append(text.at(out, text.mul(first.counter, lines.out_step)))
                given = [f"ptr {kx}", f"ptr {kw}", f"i64 {count}", *(f"ptr {each}" for each in places)]
                given += [
                    f"i64 {each}" for each in (lines.step, lines.out_step, lines.last, lines.ahead, 0, known.groups)
                ]
                text.call(f"sums_{size}", *given)
            done = _after(text, done, results, size)

    with Loop(text, "line", "%begin", "%end") as line:
        o1, rest = text.remainder(line.counter, known.out_size[1]), text.divide(line.counter, known.out_size[1])
        o0, sample = text.remainder(rest, known.out_size[0]), text.divide(rest, known.out_size[0])
        with Loop(text, "phase", "0", text.smaller(lines.apart, known.out_size[2])) as phase:
            index = (o0, o1, phase.counter)
            place = text.inner((sample, known.out_sample), *zip(index, known.out_stride, strict=True))
            lines.each(index, text.at(x, text.mul(sample, known.x_sample)), text.at(out, place), compute)
    lines.room.free()
    return text.end()


def _weigh(machine: Machine) -> str:
    """The gradients of the weights of channels [begin, end): the operands are those of the results, and the input."""
    text = Function(machine, "void @weigh(ptr %frame, i64 %begin, i64 %end)")
    lines = _Lines(text)
    known = lines.known
    grad, x, out = operand(text, 16), operand(text, 32), operand(text, known.out_slot)
    with Loop(text, "zero", "0", lines.last) as zero:
        text.line(f"  store {machine.element} 0.0, ptr {text.at(lines.weights, zero.counter)}")

    def compute(kx: str, kw: str, count: str, x: str, grad: str, results: str) -> None:
        done = "0"
        for size in _TERMS:
            name = f"terms_{size}_of_{len(text.lines)}"
            with Loop(text, name, done, text.sub(count, size - 1), size) as term:
                tables = [text.at(each, term.counter, "i64") for each in (kx, kw)]
                given = [f"ptr {tables[0]}", f"ptr {tables[1]}", f"i64 {results}"]
                given += [f"ptr {each}" for each in (x, lines.weights, grad)]
                given += [
                    f"i64 {each}" for each in (lines.step, lines.out_step, lines.last, lines.ahead, "%begin", "%end")
                ]
                text.call(f"terms_{size}", *given)
            done = _after(text, done, count, size)

    loops = [Loop(text, "sample", "0", known.samples)]
    loops += [Loop(text, f"o{dim}", "0", known.out_size[dim]) for dim in range(DIMENSIONS - 1)]
    with loops[0] as sample, loops[1] as o0, loops[2] as o1:
        index = (o0.counter, o1.counter, "0")
        place = text.inner((sample.counter, known.out_sample), *zip(index, known.out_stride, strict=True))
        source = text.at(x, text.mul(sample.counter, known.x_sample))
        lines.each(index, source, text.at(grad, place), compute)
    lines.elements("gradient", out, "%begin", "%end", reads=False)
    lines.room.free()
    return text.end()
