"""Loops as LLVM IR: their control flow, and the metadata that guides LLVM's optimizations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opdsl.backends.cpu.storage import REGISTER, Text

ACCESS = ", !llvm.access.group !0"
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" }'

# !1: iterations are independent. An output may be the same array as an input, element for element; nothing else
# overlaps.
# !3: a loop that calls the C library for every element. Vectorizing or unrolling it adds code and no speed.
# !40, !41: as !1 without interleaving; !41 masks the lanes of the last vector that have no element.
# !50, !53, !55: as !1 for as many iterations as a vector has lanes. Unrolling is disabled, or no loop would be left to
# vectorize.
# !52: as !50 for loops whose lanes without an element are masked explicitly (GUARDED).
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
"""Branch weight metadata of a branch that is rarely taken."""

LANES = 16
"""Number of iterations that fill vectors of every element type. For cheap functions LLVM interleaves four vectors."""


class _Count(NamedTuple):
    """Type of a loop counter, its first value, and its end."""

    kind: str
    begin: str
    end: str


class Loop:
    """Context manager that emits a loop over a range that may be empty; the body is emitted inside ``with``.

    Args:
        text: the lines of the function.
        name: of the counter, unique in its function.
        begin, end, step: of the counter.
        kind: the metadata of the branch back, such as ``PARALLEL``.

    results: after the loop, the final values of those that ``carry`` added.
    ahead: emits branch-free code that all iterations need; it runs once if the loop has an iteration.
    count: if not empty, the number of iterations that do something; the iterations after them do nothing.
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
        line("")  # placeholder for the phi nodes of carried values
        if self.is_short:
            line(f"  %{n}_far = zext i32 {self.turn} to i64\n  {self.counter} = add i64 {self.begin}, %{n}_far")
        return self

    @property
    def is_short(self) -> bool:
        """Return whether iterations are counted in 32 bits, as masked lanes are; with 64 bits they would take twice as
        many vectors.
        """
        return self.kind in (MASKED, GUARDED)

    @property
    def turn(self) -> str:
        """Return the counter; in short loops it is counted from the first iteration."""
        return f"%{self.name}_turn" if self.is_short else self.counter

    @property
    def _before(self) -> str:
        """Return the label of the block from which the first iteration is entered."""
        return f"{self.name}_head" if self.ahead is None else f"{self.name}_ahead"

    @property
    def _count(self) -> _Count:
        return _Count("i32", "0", f"%{self.name}_turns") if self.is_short else _Count("i64", self.begin, self.end)

    @property
    def counter(self) -> str:
        """Return the counter, in 64 bits."""
        return f"%{self.name}"

    def carry(self, kind: str, first: str) -> str:
        """Add a loop-carried value of a scalar type with its initial value, and return its name in the body."""
        self._carried.append((REGISTER[kind], first))
        return f"%{self.name}_carried{len(self._carried) - 1}"

    def hand_on(self, values: Sequence[str]) -> None:
        """Set the values that the loop-carried values get for the next iteration."""
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
    """Emit a call of a scalar function by its name, and return the names of its results.

    Args:
        text: the lines of the function.
        name: of the function.
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
    """Emit the minimum of two i64."""
    return text.value(f"call i64 @llvm.smin.i64(i64 {first}, i64 {second})")


SMALLER = "declare i64 @llvm.smin.i64(i64, i64)"
