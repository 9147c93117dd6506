"""Loops as LLVM text: what LLVM is told of them, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opdsl.backends.cpu.storage import REGISTER, Text

ACCESS = ", !llvm.access.group !0"
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" }'

# !1: elements are independent of each other: an output may be an input, element for element, and nothing else overlaps.
# !3: a loop that calls the C library for every element; more than one at a time would be more code and no faster.
# !40, !41: as !1, vector after vector; with masks for the lanes of the last one that have no element.
# !50, !53, !55: as !1, of as many turns as a vector has lanes, which LLVM would unroll first, and see no loop then.
# !52: as !50, where what is left of a loop is told from lanes that have no element.
METADATA = """!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
!3 = distinct !{!3, !4, !5}
!4 = !{!"llvm.loop.vectorize.enable", i1 false}
!5 = !{!"llvm.loop.unroll.disable"}
!40 = distinct !{!40, !2, !42}
!41 = distinct !{!41, !2, !42, !43}
!42 = !{!"llvm.loop.interleave.count", i32 1}
!43 = !{!"llvm.loop.vectorize.predicate.enable", i1 true}
!30 = distinct !{!30, !4, !31}
!31 = !{!"llvm.loop.unroll.count", i32 4}
!32 = distinct !{!32, !4}
!33 = !{!"branch_weights", i32 1, i32 1000}
!50 = distinct !{!50, !2, !5, !42, !51}
!51 = !{!"llvm.loop.vectorize.width", i32 16}
!52 = distinct !{!52, !2, !5, !42, !51}
!53 = distinct !{!53, !2, !5, !42, !54}
!54 = !{!"llvm.loop.vectorize.width", i32 8}
!55 = distinct !{!55, !2, !5, !42, !56}
!56 = !{!"llvm.loop.vectorize.width", i32 4}"""
PARALLEL, ONE_BY_ONE, WHOLE, MASKED, UNROLLED, GUARDED, SCALAR = (
    f", !llvm.loop !{number}" for number in (1, 3, 40, 41, 30, 52, 32)
)
FILLED = {turns: f", !llvm.loop !{number}" for turns, number in ((16, 50), (8, 53), (4, 55))}
SELDOM = ", !prof !33"
"""What follows a loop's branch back."""

LANES = 16
"""Turns that fill vectors, whatever they are computed in. Of cheap functions LLVM takes four side by side."""


class _Count(NamedTuple):
    """The type in which turns are counted, the first one, and the end."""

    kind: str
    begin: str
    end: str


class Loop:
    """A loop over a range that may be empty; ``with`` it, print the body.

    Args:
        name: of the counter, unique in its function.
        begin, end, step: of the counter.
        kind: what follows the branch back, such as ``PARALLEL``.

    results: after the loop, what ``carry`` carried through it.
    ahead: prints what all turns need, without branches; it runs where there is a turn at least.
    count: how many turns count, of a loop whose turns behind them do nothing; empty where all do.
    """

    def __init__(self, text: Text, name: str, begin: str, end: str, step: int | str = 1, kind: str = "") -> None:
        self.text, self.name, self.begin, self.end, self.step, self.kind = text, name, begin, end, step, kind
        self.results: list[str] = []
        self.ahead: Callable[[], None] | None = None
        self.count = ""
        self._carried: list[tuple[str, str]] = []
        self._next: list[str] = []

    def __enter__(self) -> Loop:
        n, line = self.name, self.text.line
        least, most = ("0", self.count) if self.count else (self.begin, self.end)
        line(f"  br label %{n}_head\n{n}_head:\n  %{n}_any = icmp slt i64 {least}, {most}")
        if self.is_short:
            line(f"  %{n}_size = sub i64 {self.end}, {self.begin}\n  %{n}_turns = trunc i64 %{n}_size to i32")
        if self.ahead is not None:
            line(f"  br i1 %{n}_any, label %{n}_ahead, label %{n}_end\n{n}_ahead:")
            self.ahead()
            line(f"  br label %{n}_loop\n{n}_loop:")
        else:
            line(f"  br i1 %{n}_any, label %{n}_loop, label %{n}_end\n{n}_loop:")
        count = self._count
        line(f"  {self.turn} = phi {count.kind} [ {count.begin}, %{self._before} ], [ %{n}_next, %{n}_latch ]")
        self._top = len(self.text.lines)
        line("")  # where what is carried will stand
        if self.is_short:
            line(f"  %{n}_far = zext i32 {self.turn} to i64\n  {self.counter} = add i64 {self.begin}, %{n}_far")
        return self

    @property
    def is_short(self) -> bool:
        """Whether turns are counted in 32 bits, as lanes are that masks are made of: 64 bits take twice the vectors."""
        return self.kind in (MASKED, GUARDED)

    @property
    def turn(self) -> str:
        """The counter's value, counted from the first turn where loops are short."""
        return f"%{self.name}_turn" if self.is_short else self.counter

    @property
    def _before(self) -> str:
        """The block from which the first turn is entered."""
        return f"{self.name}_head" if self.ahead is None else f"{self.name}_ahead"

    @property
    def _count(self) -> _Count:
        return _Count("i32", "0", f"%{self.name}_turns") if self.is_short else _Count("i64", self.begin, self.end)

    @property
    def counter(self) -> str:
        """The counter's value."""
        return f"%{self.name}"

    def carry(self, kind: str, first: str) -> str:
        """A value of a scalar type that each round hands to the next."""
        self._carried.append((REGISTER[kind], first))
        return f"%{self.name}_carried{len(self._carried) - 1}"

    def hand_on(self, values: Sequence[str]) -> None:
        """What the next round gets for the values that are carried."""
        self._next = list(values)

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            return
        n, line = self.name, self.text.line
        count = self._count
        line(f"  br label %{n}_latch\n{n}_latch:\n  %{n}_next = add nuw nsw {count.kind} {self.turn}, {self.step}")
        line(f"  %{n}_more = icmp slt {count.kind} %{n}_next, {count.end}")
        line(f"  br i1 %{n}_more, label %{n}_loop, label %{n}_end{self.kind}\n{n}_end:")
        carried = []
        for index, ((register, first), value) in enumerate(zip(self._carried, self._next, strict=True)):
            again = f"[ {value}, %{n}_latch ]"
            carried.append(f"  %{n}_carried{index} = phi {register} [ {first}, %{self._before} ], {again}")
            self.results.append(f"%{n}_result{index}")
            line(f"  %{n}_result{index} = phi {register} [ {first}, %{n}_head ], {again}")
        self.text.lines[self._top] = "\n".join(carried)


def call(text: Text, name: str, arguments: Sequence[tuple[str, str]], results: Sequence[str]) -> list[str]:
    """Call a printed function.

    Args:
        arguments: scalar types and values.
        results: scalar types.
    """
    word = ", ".join(f"{REGISTER[kind]} {value}" for kind, value in arguments)
    types = [REGISTER[kind] for kind in results]
    if len(types) == 1:
        return [text.value(f"call {types[0]} @{name}({word})")]
    returned = f"{{ {', '.join(types)} }}"
    together = text.value(f"call {returned} @{name}({word})")
    return [text.value(f"extractvalue {returned} {together}, {k}") for k in range(len(types))]


def smaller(text: Text, first: str, second: str) -> str:
    """The smaller of two i64."""
    return text.value(f"call i64 @llvm.smin.i64(i64 {first}, i64 {second})")


SMALLER = "declare i64 @llvm.smin.i64(i64, i64)"
