"""Printer of loops over functions with rare cases or inner loops, which LLVM cannot vectorize directly.

Iterations are examined in blocks ("stretches") before they are computed in the fastest way. All ways of computing an
element give the same bits, so results do not depend on where a block begins.
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

# The iterations of a block: few enough for their elements to stay in the L1 cache until they are computed.
_STRETCH = 1024


class Variants(NamedTuple):
    """Alternative functions for a graph.

    rare: whether there is ``.fast``, which LLVM vectorizes, and ``.rare``, which returns for which elements it is
        wrong.
    lanes: more than 1 if there is ``.lanes``, which computes this many elements at once, ``.costly``, which returns for
        which elements a loop of the graph runs, and ``.cheap``, which computes the other elements.
    text: the LLVM IR that defines them.
    """

    rare: bool
    lanes: int
    text: str


@functools.lru_cache(maxsize=64)
def variants_of(graph: TypedGraph, name: str) -> Variants | None:
    """Return the alternative functions for a graph, or None if LLVM vectorizes its function."""
    from opdsl.backends.cpu.printer import lanes_for, lanes_ir, rare_ir

    rare, lanes = rare_ir(graph, name), lanes_for(graph)
    if rare is None and lanes == 1:
        return None
    return Variants(rare is not None, lanes, "\n".join([rare or "", lanes_ir(graph, name) if lanes > 1 else ""]))


class Stretches:
    """Printer of a loop that examines its iterations in blocks.

    Args:
        printer: of the kernel.
        loop: whose iterations are independent of each other.
        compute: the statement of its body that has alternative functions.
        begin: the first value of the index.
    """

    def __init__(self, printer: StatementText, loop: For, compute: Compute, begin: str) -> None:
        self.printer, self.text, self.loop, self.compute, self.begin = printer, printer.text, loop, compute, begin
        at = loop.body.index(compute)
        self.before, self.rest = loop.body[:at], loop.body[at + 1 :]
        self.name = printer.functions[compute.graph]

    def print(self, turns: str, variants: Variants) -> None:
        """Emit the loop over blocks, each computed in the fastest way that is right for its elements."""
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
        """Return a context manager that emits a loop over the iterations of a block."""
        with self.printer.turns_of(self.loop, self.begin, extent, kind) as loop:
            yield loop

    def arguments(self, lane: int = 0) -> list[tuple[str, str]]:
        """Return the types and LLVM values of the function's arguments in a lane."""
        return self.printer.known(self.compute.arguments, self.printer.lanes[lane])

    def told(self, name: str) -> str:
        """Emit the statements before the call, then a call of a predicate on an element, and return its result (i8, 0
        or 1).
        """
        self.printer.block(self.before)
        return call(self.text, name, self.arguments(), ["bool"])[0]

    def any_rare(self, extent: tuple[str, str]) -> str:
        """Emit a loop that finds whether a block has an element with a rare case."""
        with self.turns(extent, PARALLEL) as loop:
            before = loop.carry("bool", "0")
            loop.hand_on([self.text.value(f"or i8 {before}, {self.told(f'{self.name}.rare')}")])
        return self.text.value(f"icmp ne i8 {loop.results[0]}, 0")

    def computed(self, name: str, lanes: int, extent: tuple[str, str]) -> None:
        """Emit the computation of a block by a function and its alternatives.

        For a function with loops, the elements for which a loop runs are collected first, and computed several
        at once into separate memory, because an output may be an input. Then all results are written; those of the
        other elements are computed without loops.
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
        """Return the scalar types of the function's results."""
        return [kind.value for kind in self.compute.graph.result_types]

    def own(self, array: str, kind: str, turn: str, first: str) -> str:
        """Emit the computation of the address of an iteration's slot in an array with one slot for each iteration of a
        block.
        """
        offset = self.text.value(f"sub nuw nsw i64 {turn}, {first}")
        return self.text.value(f"getelementptr {kind}, ptr {array}, i64 {offset}")

    def find_costly(self, name: str, lanes: int, extent: tuple[str, str], flags: str, places: str) -> str:
        """Emit loops that mark and collect the iterations in which a loop of the function runs, and return their
        number.
        """
        text, (first, _) = self.text, extent
        with self.turns(extent, PARALLEL) as loop:
            flag = self.told(f"{name}.costly")
            text.line(f"  store i8 {flag}, ptr {self.own(flags, 'i8', loop.counter, first)}{ACCESS}")
        with Loop(text, self.printer.fresh(), *extent, kind=ONE_BY_ONE) as loop:
            count = loop.carry("int64", "0")
            text.line(f"  store i64 {loop.counter}, ptr {text.value(f'getelementptr i64, ptr {places}, i64 {count}')}")
            flag = text.value(f"load i8, ptr {self.own(flags, 'i8', loop.counter, first)}")
            loop.hand_on([text.value(f"add i64 {count}, {text.value(f'zext i8 {flag} to i64')}")])
        for lane in range(lanes):  # pad the last vector with the first iteration
            place = text.value(f"add i64 {loop.results[0]}, {lane}")
            text.line(f"  store i64 {first}, ptr {text.value(f'getelementptr i64, ptr {places}, i64 {place}')}")
        return loop.results[0]

    def compute_costly(self, name: str, lanes: int, first: str, count: str, places: str, texts: Sequence[str]) -> None:
        """Emit the loop that computes the collected iterations, several at once, into separate memory."""
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
        """Return the indices of the function's arguments."""
        return range(len(self.compute.arguments))

    def vector(self, lanes: Sequence[tuple[str, str]]) -> str:
        """Emit a vector of the values of several lanes, and return it with its type."""
        register = REGISTER[lanes[0][0]]
        many, text = f"<{len(lanes)} x {register}>", "poison"
        for lane, (_, value) in enumerate(lanes):
            text = self.text.value(f"insertelement {many} {text}, {register} {value}, i32 {lane}")
        return f"{many} {text}"

    def write_found(self, name: str, extent: tuple[str, str], flags: str, texts: Sequence[str]) -> None:
        """Emit the loop that writes all results: those computed for collected iterations, and those of ``.cheap`` for
        the others.
        """
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
