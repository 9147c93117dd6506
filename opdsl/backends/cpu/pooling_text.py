"""LLVM text of pooling: loops over windows that slide over images or divide them.

Sizes and strides come with the plan, three dimensions of them. Windows are gone through element by element, one at a
time, or as many as there are lanes: those of channels that lie side by side, or neighbours in a row.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import NamedTuple

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.loops import ACCESS, METADATA
from opdsl.backends.cpu.nests import Loop
from opdsl.backends.cpu.storage import DECLARATIONS, MEMORY, REGISTER, convert, load, store
from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, When, While
from opdsl.kernels.calls import PoolSpec
from opdsl.scalar.types import ScalarType

DIMENSIONS = 3

# Windows at once, of channels or of a row.
LANES = 64

# !6: independent lanes, of which there are few. !9: a branch that is seldom taken.
_VECTOR = 8
_HINTS = f"""!6 = distinct !{{!6, !2, !7, !8}}
!7 = !{{!"llvm.loop.vectorize.width", i32 {_VECTOR}}}
!8 = !{{!"llvm.loop.interleave.count", i32 1}}
!9 = !{{!"branch_weights", i32 1, i32 1000}}"""
_LANES = ", !llvm.loop !6"

_FLOATS = ("float32", "float64")


class Form(NamedTuple):
    """What a kernel is compiled for.

    kind, dtype: see ``PoolingCall``.
    across: what lanes are, ``channels`` or ``windows``; empty for one window at a time.
    step: elements of the images from one lane to the next; 0 where that comes with the plan.
    """

    kind: str
    dtype: str
    across: str
    step: int


class Words(NamedTuple):
    """What a kernel reads of its plan, before the three dimensions.

    channels, divisor: see ``PoolingCall``.
    chunks: of channels.
    x_sample, ...: elements between neighbours of the images, the results and the numbers.
    x_lane: elements of the images from one lane to the next.
    """

    channels: int
    chunks: int
    divisor: int
    x_sample: int
    x_channel: int
    out_sample: int
    out_channel: int
    place_sample: int
    place_channel: int
    x_lane: int


class Dimension(NamedTuple):
    """One of the three dimensions: its windows and the strides along it."""

    spec: PoolSpec
    x: int
    out: int
    place: int

    @property
    def words(self) -> list[int]:
        """As a kernel reads them."""
        return [*self.spec, self.x, self.out, self.place]


_OF_DIMENSION = (*PoolSpec._fields, "x", "out", "place")


def module_ir(form: Form) -> str:
    """The module of a kernel: ``void kind(frame, begin, end)``.

    Its units are rows of windows of a channel, or of as many as there are lanes; for ``share`` all windows of these.
    """
    made = _BY_KIND[form.kind](form)
    declared = {
        *DECLARATIONS,
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.smax.i64(i64, i64)",
    }
    return "\n".join([made.print(), *sorted(declared), ATTRIBUTES, METADATA, _HINTS])


class _Range(NamedTuple):
    """The elements of a window along a dimension, and how many of it count."""

    low: str
    high: str
    counted: str


class _Pooling:
    """A kernel under construction.

    count: how many operands there are.
    is_single: whether one window is gone through at a time at the place that is printed.
    several: how many lanes there are, otherwise.
    """

    count = 2

    def __init__(self, form: Form) -> None:
        self.dtype, self.across = form.dtype, form.across
        self.lanes, self.is_single = (LANES, False) if form.across else (1, True)
        self.value = MEMORY[self.dtype].value
        self.register = REGISTER[self.value]
        self.text = Function(
            Machine(self.dtype, self.lanes, ()), f"void @{form.kind}(ptr %frame, i64 %begin, i64 %end)"
        )
        self.step = str(form.step or "")
        self._names = 0

    def print(self) -> str:
        """The whole kernel."""
        text = self.text
        text.line("  %plan = load ptr, ptr %frame")
        self.known = {name: text.word("%plan", builtin.HEADER + k) for k, name in enumerate(Words._fields)}
        start = builtin.HEADER + len(Words._fields)
        self.dims = [
            {name: text.word("%plan", start + dim * len(_OF_DIMENSION) + k) for k, name in enumerate(_OF_DIMENSION)}
            for dim in range(DIMENSIONS)
        ]
        self.operands = [
            text.value(f"load ptr, ptr {text.value(f'getelementptr i8, ptr %frame, i64 {16 * (1 + index)}')}")
            for index in range(self.count)
        ]
        self.step = self.step or self.known["x_lane"]
        text.line(f"  %held = alloca [{self.lanes} x {self.register}], align 64\n  %held_one = alloca {self.register}")
        text.line(
            f"  %numbers = alloca [{self.lanes} x i64], align 64\n  %numbers_one = alloca i64\n  %next = alloca i64"
        )
        with Loop(text, "unit", "%begin", "%end") as unit:
            self.unit(unit.counter)
        return text.end()

    def unit(self, unit: str) -> None:
        """A row of windows."""
        rest, o1 = self._divided(unit, self.dims[1]["windows"])
        rest, o0 = self._divided(rest, self.dims[0]["windows"])
        self._find_operands(rest)
        ranges = [self.range(0, o0), self.range(1, o1)]
        self.row(ranges, *self.at_window(1, o1, *self.at_window(0, o0, "0", "0")))

    def row(self, ranges: list[_Range], out: str, place: str) -> None:
        """The windows of a row: several together where they are across it and have no margin."""
        text, given = self.text, self.dims[2]
        text.line("  store i64 0, ptr %next")
        with While(text, "o2", "%next", given["windows"]) as index:
            window = ([*ranges, self.range(2, index)], *self.at_window(2, index, out, place))
            if self.across == "windows":
                self._together_or_single(index, window)
            else:
                self.window(*window)
                text.line(f"  store i64 {text.add(index, 1)}, ptr %next")

    def _together_or_single(self, index: str, window: tuple[list[_Range], str, str]) -> None:
        """A window of a row, with its neighbours where there are enough of them."""
        text = self.text
        self.several = self._neighbours(index)
        text.line(f"  store i64 {text.add(index, text.larger(self.several, 1))}, ptr %next")
        several = text.is_("ne", self.several, 0)
        with When(text, "several", several):
            self.window(*window)
        self.is_single = True
        with When(text, "one", text.value(f"xor i1 {several}, true")):
            self.window(*window)
        self.is_single = False

    def _neighbours(self, index: str) -> str:
        """How many windows of a row, from one on, are gone through together: none, or whole vectors."""
        text, given = self.text, self.dims[2]
        first = text.add(given["first"], text.mul(index, given["step"]))
        room = text.sub(given["size"], text.add(first, given["reach"]))
        inside = text.value(f"and i1 {text.is_('sge', first, 0)}, {text.is_('sge', room, 0)}")
        fitting = text.add(text.value(f"sdiv i64 {room}, {given['step']}"), 1)
        left = text.sub(given["windows"], index)
        most = text.smaller(self.lanes, text.smaller(fitting, left))
        return text.choose(inside, text.value(f"and i64 {most}, {-_VECTOR}"), 0)

    def window(self, ranges: list[_Range], out: str, place: str) -> None:
        """One window: what lies in it, and where its result and the number of it lie."""
        raise NotImplementedError

    def _name(self, word: str) -> str:
        self._names += 1
        return f"{word}_{self._names}"

    def _divided(self, number: str, size: str) -> tuple[str, str]:
        return self.text.divide(number, size), self.text.remainder(number, size)

    def _find_operands(self, sample_and_chunk: str) -> None:
        """Where a sample's channels lie; with lanes across channels, how many of these there are in the chunk."""
        text, known = self.text, self.known
        sample, chunk = self._divided(sample_and_chunk, known["chunks"])
        channel = text.mul(chunk, self.lanes if self.across == "channels" else 1)
        self.several = text.smaller(self.lanes, text.sub(known["channels"], channel))
        self.places = {
            name: text.inner((sample, known[f"{name}_sample"]), (channel, known[f"{name}_channel"]))
            for name in ("x", "out", "place")
        }

    def at_window(self, dim: int, index: str, out: str, place: str) -> tuple[str, str]:
        """How far the result and the number of a window lie, moved along a dimension."""
        given = self.dims[dim]
        moved = [self.text.mul(index, given[name]) for name in ("out", "place")]
        return self.text.add(out, moved[0]), self.text.add(place, moved[1])

    def quotient(self, number: str, divisor: str) -> str:
        """Of two i64 that are not negative; most divisors are 1, and dividing takes long."""
        text, name = self.text, self._name("quotient")
        one = text.is_("eq", divisor, 1)
        text.line(f"  br label %{name}_head\n{name}_head:")
        text.line(f"  br i1 {one}, label %{name}_end, label %{name}_other\n{name}_other:")
        found = text.divide(number, divisor)
        text.line(f"  br label %{name}_end\n{name}_end:")
        return text.value(f"phi i64 [ {number}, %{name}_head ], [ {found}, %{name}_other ]")

    def range(self, dim: int, index: str) -> _Range:
        """The elements that a window has along a dimension."""
        text, given = self.text, self.dims[dim]
        moved = text.mul(index, given["step"])
        low = text.add(given["first"], self.quotient(moved, given["parts"]))
        last = text.sub(text.add(moved, given["reach"], given["parts"]), 1)
        high = text.add(given["first"], self.quotient(last, given["parts"]))
        bounds = [
            text.larger(low, text.sub(0, given["margin"])),
            text.smaller(high, text.add(given["size"], given["margin"])),
        ]
        missing = text.larger(0, text.sub(0, low))
        skipped = self.quotient(text.sub(text.add(missing, given["dilation"]), 1), given["dilation"])
        inside = text.add(low, text.mul(skipped, given["dilation"]))
        return _Range(inside, text.smaller(high, given["size"]), text.sub(bounds[1], bounds[0]))

    def each_lane(self, word: str) -> tuple[AbstractContextManager[object], str]:
        """A loop over the lanes, and the number of the lane in it."""
        if self.is_single:
            return nullcontext(), "0"
        loop = Loop(self.text, self._name(word), "0", self.several, kind=_LANES)
        return loop, loop.counter

    def each_element(self, ranges: list[_Range]) -> tuple[ExitStack, str, str]:
        """Loops over the elements of a window: where each lies among the images, and its number."""
        text, stack = self.text, ExitStack()
        steps = [
            stack.enter_context(Loop(text, self._name("k"), each.low, each.high, given["dilation"])).counter
            for each, given in zip(ranges, self.dims, strict=True)
        ]
        offset = text.add(self.places["x"], text.inner(*[(k, g["x"]) for k, g in zip(steps, self.dims, strict=True)]))
        return stack, offset, self.number(steps)

    def seen(self, images: str, offset: str, lane: str) -> str:
        """The address of the element of a lane; what wraps nowhere is loaded in whole vectors."""
        first = self.text.at(images, offset)
        moved = self.text.value(f"mul nuw nsw i64 {lane}, {self.step}")
        return self.text.value(f"getelementptr inbounds {self.text.machine.element}, ptr {first}, i64 {moved}")

    def number(self, index: list[str]) -> str:
        """The number of an element among those of the three dimensions."""
        text, sizes = self.text, [given["size"] for given in self.dims]
        return text.inner((text.inner((index[0], sizes[1]), (index[1], 1)), sizes[2]), (index[2], 1))

    def held(self, lane: str) -> str:
        """Where the value of a lane is held: that of a single one in a register."""
        return "%held_one" if self.is_single else self.text.at("%held", lane, self.register)

    def get(self, lane: str) -> str:
        """What is held for a lane."""
        return self.text.value(f"load {self.register}, ptr {self.held(lane)}{ACCESS}")

    def put(self, lane: str, value: str) -> None:
        """Hold a value for a lane."""
        self.text.line(f"  store {self.register} {value}, ptr {self.held(lane)}{ACCESS}")

    def combined(self, name: str, first: str, second: str) -> str:
        """An operation on two values: ``add``, or another that is named alike for integers and the others."""
        return self.text.value(f"{'f' if self.value in _FLOATS else ''}{name} {self.register} {first}, {second}")

    def zero(self) -> str:
        """The value 0."""
        return "0.0" if self.value in _FLOATS else "0"

    def divisor(self, ranges: list[_Range]) -> str:
        """What the sum of a window is divided by."""
        counted = self.text.mul(*[each.counted for each in ranges])
        chosen = self.text.choose(self.text.is_("eq", self.known["divisor"], 0), counted, self.known["divisor"])
        return convert(self.text, chosen, "int64", self.value)

    def over(self, value: str, divisor: str) -> str:
        """A quotient; that of integers without what is behind the point, and wrapping."""
        if self.value in _FLOATS:
            return self.text.value(f"fdiv {self.register} {value}, {divisor}")
        turns = self.text.value(f"icmp eq {self.register} {divisor}, -1")
        safe = self.text.value(f"select i1 {turns}, {self.register} 1, {self.register} {divisor}")
        found = self.text.value(f"sdiv {self.register} {value}, {safe}")
        turned = self.text.value(f"sub {self.register} 0, {found}")
        return self.text.value(f"select i1 {turns}, {self.register} {turned}, {self.register} {found}")

    def has_any(self, ranges: list[_Range]) -> str:
        """Whether a window has elements that are no margin."""
        found = [self.text.is_("slt", each.low, each.high) for each in ranges]
        return self.text.value(f"and i1 {found[0]}, {self.text.value(f'and i1 {found[1]}, {found[2]}')}")


class _Largest(_Pooling):
    """The largest elements and their numbers; of equal ones the first, of NaN the last."""

    count = 3

    def window(self, ranges: list[_Range], out: str, place: str) -> None:
        text = self.text
        first = self.number([each.low for each in ranges])
        loop, lane = self.each_lane("fill")
        with loop:
            self.put(lane, self._lowest())
            text.line(f"  store i64 {first}, ptr {self._number_of(lane)}{ACCESS}")
        stack, offset, number = self.each_element(ranges)
        with stack:
            loop, lane = self.each_lane("see")
            with loop:
                self._see(lane, offset, number)
        loop, lane = self.each_lane("give")
        with loop:
            target = text.at(self.operands[1], text.add(self.places["out"], out, lane))
            store(text, self.dtype, target, self.get(lane), ACCESS)
            found = text.value(f"load i64, ptr {self._number_of(lane)}{ACCESS}")
            target = text.at(self.operands[2], text.add(self.places["place"], place, lane), "i64")
            if self.across == "windows":
                found = text.add(found, text.mul(lane, self.dims[2]["step"]))
            text.line(f"  store i64 {found}, ptr {target}, align 1{ACCESS}")

    def _number_of(self, lane: str) -> str:
        """Where the number of a lane is held."""
        return "%numbers_one" if self.is_single else self.text.at("%numbers", lane, "i64")

    def _see(self, lane: str, offset: str, number: str) -> None:
        text = self.text
        value = load(text, self.dtype, self.seen(self.operands[0], offset, lane), ACCESS)
        best, held = self.get(lane), self._number_of(lane)
        takes = self._takes(value, best)
        if not self.is_single:
            self.put(lane, text.value(f"select i1 {takes}, {self.register} {value}, {self.register} {best}"))
            before = text.value(f"load i64, ptr {held}{ACCESS}")
            text.line(f"  store i64 {text.choose(takes, number, before)}, ptr {held}{ACCESS}")
            return
        # A branch that is seldom taken is faster than choices of which each waits for the one before.
        with When(text, self._name("takes"), takes, ", !prof !9"):
            self.put(lane, value)
            text.line(f"  store i64 {number}, ptr {held}{ACCESS}")

    def _takes(self, value: str, best: str) -> str:
        """Whether a value becomes the largest one."""
        if self.value in _FLOATS:
            above = self.text.value(f"fcmp ogt {self.register} {value}, {best}")
            return self.text.value(f"or i1 {above}, {self.text.value(f'fcmp uno {self.register} {value}, {value}')}")
        sign = "s" if ScalarType(self.value).is_signed else "u"
        return self.text.value(f"icmp {sign}gt {self.register} {value}, {best}")

    def _lowest(self) -> str:
        """What no element is smaller than."""
        if self.value in _FLOATS:
            return "0xFFF0000000000000"
        return str(ScalarType(self.value).bounds[0])


class _Mean(_Pooling):
    """The sums of windows, divided; 0 where a window has margin alone."""

    def window(self, ranges: list[_Range], out: str, place: str) -> None:
        text = self.text
        loop, lane = self.each_lane("fill")
        with loop:
            self.put(lane, self.zero())
        with When(text, self._name("some"), self.has_any(ranges)):
            divisor = self.divisor(ranges)
            stack, offset, _ = self.each_element(ranges)
            with stack:
                loop, lane = self.each_lane("see")
                with loop:
                    value = load(text, self.dtype, self.seen(self.operands[0], offset, lane), ACCESS)
                    self.put(lane, self.combined("add", self.get(lane), value))
            loop, lane = self.each_lane("divide")
            with loop:
                self.put(lane, self.over(self.get(lane), divisor))
        loop, lane = self.each_lane("give")
        with loop:
            target = text.at(self.operands[1], text.add(self.places["out"], out, lane))
            store(text, self.dtype, target, self.get(lane), ACCESS)


class _Share(_Pooling):
    """The transpose of means: to each element its part of the results of the windows that it is in."""

    def unit(self, unit: str) -> None:
        text = self.text
        self._find_operands(unit)
        with Loop(text, "o0", "0", self.dims[0]["windows"]) as o0:
            row, first = self.at_window(0, o0.counter, "0", "0"), self.range(0, o0.counter)
            with Loop(text, "o1", "0", self.dims[1]["windows"]) as o1:
                self.row([first, self.range(1, o1.counter)], *self.at_window(1, o1.counter, *row))

    def window(self, ranges: list[_Range], out: str, place: str) -> None:
        text = self.text
        with When(text, self._name("some"), self.has_any(ranges)):
            divisor = self.divisor(ranges)
            loop, lane = self.each_lane("fill")
            with loop:
                given = text.at(self.operands[0], text.add(self.places["out"], out, lane))
                self.put(lane, self.over(load(text, self.dtype, given, ACCESS), divisor))
            stack, offset, _ = self.each_element(ranges)
            with stack:
                loop, lane = self.each_lane("add")
                with loop:
                    target = self.seen(self.operands[1], offset, lane)
                    value = load(text, self.dtype, target, ACCESS)
                    store(text, self.dtype, target, self.combined("add", value, self.get(lane)), ACCESS)


_BY_KIND = {"largest": _Largest, "mean": _Mean, "share": _Share}
