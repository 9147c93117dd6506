"""LLVM text of loops over functions of which something is rare, or that have loops themselves.

Neither is vectorised as it stands, so a stretch of turns is looked at before it is computed. Both ways of computing an
element give the same bits, so it is of no account where stretches begin.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu.loops import ACCESS, ONE_BY_ONE, PARALLEL, Loop, call, smaller
from opdsl.backends.cpu.storage import REGISTER
from opdsl.kernels.loops.model import Compute, For

if TYPE_CHECKING:
    from opdsl.backends.cpu.statement_text import StatementText
    from opdsl.scalar.graph import TypedGraph

# Turns that are looked at together: few enough for their elements to be in the first cache still when they are
# computed.
_STRETCH = 1024


class Variants(NamedTuple):
    """Other ways to compute a graph.

    rare: whether there is ``.fast``, which vectorises, and ``.rare``, which tells for which elements it is wrong.
    lanes: more than 1 where there is ``.lanes``, which computes so many elements at once, ``.costly``, which tells for
        which elements a loop of the graph takes a turn, and ``.cheap``, which is right for the others.
    text: what defines them.
    """

    rare: bool
    lanes: int
    text: str


@functools.lru_cache(maxsize=64)
def variants_of(graph: TypedGraph, name: str) -> Variants | None:
    """The other ways to compute a graph that is printed under a name; None where it vectorises as it is."""
    from opdsl.backends.cpu.printer import lanes_for, lanes_ir, rare_ir

    rare, lanes = rare_ir(graph, name), lanes_for(graph)
    if rare is None and lanes == 1:
        return None
    return Variants(rare is not None, lanes, "\n".join([rare or "", lanes_ir(graph, name) if lanes > 1 else ""]))


class Stretches:
    """A loop whose turns are looked at first, while it is printed.

    Args:
        printer: of the kernel.
        loop: whose turns are independent of each other.
        compute: the statement of its body that has other ways.
        begin: the first value of the index.
    """

    def __init__(self, printer: StatementText, loop: For, compute: Compute, begin: str) -> None:
        self.printer, self.text, self.loop, self.compute, self.begin = printer, printer.text, loop, compute, begin
        at = loop.body.index(compute)
        self.before, self.rest = loop.body[:at], loop.body[at + 1 :]
        self.name = printer.functions[compute.graph]

    def print(self, turns: str, variants: Variants) -> None:
        """All stretches."""
        with Loop(self.text, self.printer.fresh(), "0", turns, _STRETCH) as stretch:
            far = self.text.value(f"add nuw nsw i64 {stretch.counter}, {_STRETCH}")
            extent = stretch.counter, smaller(self.text, far, turns)
            if not variants.rare:
                self.computed(self.name, variants.lanes, extent)
                return
            is_slow = self.any_rare(extent)
            with self.printer.when(is_slow), self.turns(extent, ONE_BY_ONE):
                self.printer.block(self.loop.body)
            with self.printer.when(self.text.value(f"xor i1 {is_slow}, true")):
                self.computed(f"{self.name}.fast", variants.lanes, extent)

    @contextmanager
    def turns(self, extent: tuple[str, str], kind: str) -> Iterator[Loop]:
        """A loop over the turns of a stretch."""
        with self.printer.turns_of(self.loop, self.begin, extent, kind) as loop:
            yield loop

    def arguments(self, lane: int = 0) -> list[tuple[str, str]]:
        """What the function takes."""
        return self.printer.known(self.compute.arguments, self.printer.lanes[lane])

    def told(self, name: str) -> str:
        """What a function says of an element, once it is known what it takes: an i8, 0 or 1."""
        self.printer.block(self.before)
        return call(self.text, name, self.arguments(), ["bool"])[0]

    def any_rare(self, extent: tuple[str, str]) -> str:
        """Whether a stretch has an element that is a rare one."""
        with self.turns(extent, PARALLEL) as loop:
            before = loop.carry("bool", "0")
            loop.hand_on([self.text.value(f"or i8 {before}, {self.told(f'{self.name}.rare')}")])
        return self.text.value(f"icmp ne i8 {loop.results[0]}, 0")

    def computed(self, name: str, lanes: int, extent: tuple[str, str]) -> None:
        """A stretch, by a function of that name.

        Of a function with loops, elements for which one takes a turn are found first and computed several at once,
        wherever they stand, into memory of their own: an output may be an input. Then all are written, the others as
        they are without loops.
        """
        if lanes > 1:
            flags = self.printer.room("i8", _STRETCH)
            places = self.printer.room("i64", _STRETCH + lanes)
            rooms = [self.printer.room(REGISTER[kind], _STRETCH) for kind in self.kinds]
            count = self.find_costly(name, lanes, extent, flags, places)
            self.compute_costly(name, lanes, extent[0], count, places, rooms)
            self.write_found(name, extent, flags, rooms)
            return
        with self.turns(extent, PARALLEL), self.printer.called(self.compute.graph, name):
            self.printer.block(self.loop.body)

    @property
    def kinds(self) -> list[str]:
        """The types of the results."""
        return [kind.value for kind in self.compute.graph.result_types]

    def own(self, array: str, kind: str, turn: str, first: str) -> str:
        """Where memory of a stretch has something of a turn."""
        offset = self.text.value(f"sub nuw nsw i64 {turn}, {first}")
        return self.text.value(f"getelementptr {kind}, ptr {array}, i64 {offset}")

    def find_costly(self, name: str, lanes: int, extent: tuple[str, str], flags: str, places: str) -> str:
        """Flags and places of the turns in which a loop of the function takes a turn; how many there are."""
        text, (first, _) = self.text, extent
        with self.turns(extent, PARALLEL) as loop:
            flag = self.told(f"{name}.costly")
            text.line(f"  store i8 {flag}, ptr {self.own(flags, 'i8', loop.counter, first)}{ACCESS}")
        with Loop(text, self.printer.fresh(), *extent, kind=ONE_BY_ONE) as loop:
            count = loop.carry("int64", "0")
            text.line(f"  store i64 {loop.counter}, ptr {text.value(f'getelementptr i64, ptr {places}, i64 {count}')}")
            flag = text.value(f"load i8, ptr {self.own(flags, 'i8', loop.counter, first)}")
            loop.hand_on([text.value(f"add i64 {count}, {text.value(f'zext i8 {flag} to i64')}")])
        for lane in range(lanes):  # the last ones may be too few
            place = text.value(f"add i64 {loop.results[0]}, {lane}")
            text.line(f"  store i64 {first}, ptr {text.value(f'getelementptr i64, ptr {places}, i64 {place}')}")
        return loop.results[0]

    def compute_costly(self, name: str, lanes: int, first: str, count: str, places: str, texts: Sequence[str]) -> None:
        """The results of the turns that were found, several at once."""
        text, printer = self.text, self.printer
        turns = Loop(text, printer.fresh(), "0", count, lanes)
        with printer.looped(turns, self.loop.body, self.loop.index, self.loop.place) as loop:
            at = [text.value(f"add nuw nsw i64 {loop.counter}, {lane}") for lane in range(lanes)]
            pointers = [text.value(f"getelementptr i64, ptr {places}, i64 {lane}") for lane in at]
            chosen = [text.value(f"load i64, ptr {pointer}") for pointer in pointers]
            printer.lanes = [dict(printer.lanes[0]) for _ in range(lanes)]
            printer.located(self.loop, self.begin, chosen)
            printer.block(self.before)
            word = ", ".join(self.vector([self.arguments(lane)[k] for lane in range(lanes)]) for k in self.taken)
            types = [f"<{lanes} x {REGISTER[kind]}>" for kind in self.kinds]
            returned = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
            result = text.value(f"call {returned} @{name}.lanes({word})")
            for o, (kind, array) in enumerate(zip(self.kinds, texts, strict=True)):
                values = result if len(types) == 1 else text.value(f"extractvalue {returned} {result}, {o}")
                for lane, turn in enumerate(chosen):
                    value = text.value(f"extractelement {types[o]} {values}, i32 {lane}")
                    place = self.own(array, REGISTER[kind], turn, first)
                    text.line(f"  store {REGISTER[kind]} {value}, ptr {place}")

    @property
    def taken(self) -> range:
        """The places of the function's arguments."""
        return range(len(self.compute.arguments))

    def vector(self, lanes: Sequence[tuple[str, str]]) -> str:
        """A value of several lanes, with its type."""
        register = REGISTER[lanes[0][0]]
        many, text = f"<{len(lanes)} x {register}>", "poison"
        for lane, (_, value) in enumerate(lanes):
            text = self.text.value(f"insertelement {many} {text}, {register} {value}, i32 {lane}")
        return f"{many} {text}"

    def write_found(self, name: str, extent: tuple[str, str], flags: str, texts: Sequence[str]) -> None:
        """All results: what was found, and where nothing was, what there is without loops."""
        text, printer, (first, _) = self.text, self.printer, extent
        with self.turns(extent, PARALLEL) as loop:
            printer.block(self.before)
            flag = text.value(f"load i8, ptr {self.own(flags, 'i8', loop.counter, first)}{ACCESS}")
            is_costly = text.value(f"icmp ne i8 {flag}, 0")
            cheap = call(text, f"{name}.cheap", self.arguments(), self.kinds)
            for array, result, value, kind in zip(
                texts, self.compute.names, cheap, self.compute.graph.result_types, strict=True
            ):
                register = REGISTER[kind.value]
                own = text.value(f"load {register}, ptr {self.own(array, register, loop.counter, first)}{ACCESS}")
                chosen = text.value(f"select i1 {is_costly}, {register} {own}, {register} {value}")
                printer.give(result, kind, [chosen])
            printer.block(self.rest)
