"""LLVM text on vectors: functions under construction, for kernels that are written for a processor's registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu.storage import MEMORY, Text

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'


class Shape(NamedTuple):
    """How much is computed at once: rows, each with so many vectors side by side: as many as fit, from the most on."""

    rows: int
    vectors: tuple[int, ...]


class Machine(NamedTuple):
    """What is printed for.

    dtype: of the elements.
    lanes: of a vector.
    shapes: of tiles, from the most rows to a single one, down to a single vector.
    """

    dtype: str
    lanes: int
    shapes: tuple[Shape, ...]

    @property
    def element(self) -> str:
        """LLVM's type of an element."""
        return MEMORY[self.dtype].llvm

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return MEMORY[self.dtype].itemsize

    @property
    def vector(self) -> str:
        """LLVM's type of a vector."""
        return f"<{self.lanes} x {self.element}>"

    @property
    def suffix(self) -> str:
        """Of the names of intrinsics on vectors."""
        return f"v{self.lanes}f{8 * MEMORY[self.dtype].itemsize}"

    @property
    def widest(self) -> int:
        """The most elements that a tile is wide."""
        return self.lanes * max(each.vectors[0] for each in self.shapes)


class Function(Text):
    """A function under construction, with short names for what it does with integers and addresses.

    Args:
        head: what stands between ``define`` and the body.
    """

    def __init__(self, machine: Machine, head: str) -> None:
        super().__init__()
        self.machine = machine
        self.line(f"define {head} #0 {{\nentry:")

    def end(self) -> str:
        """The whole function."""
        self.line("  ret void\n}")
        return str(self)

    def _folded(self, instruction: str, values: Sequence[object]) -> str:
        result = str(values[0])
        for value in values[1:]:
            result = self.value(f"{instruction} i64 {result}, {value}")
        return result

    def add(self, *values: object) -> str:
        """The sum of i64."""
        return self._folded("add", values)

    def sub(self, first: object, second: object) -> str:
        """The difference of two i64."""
        return self.value(f"sub i64 {first}, {second}")

    def mul(self, *values: object) -> str:
        """The product of i64."""
        return self._folded("mul", values)

    def divide(self, first: object, second: object) -> str:
        """The quotient of two i64 that are not negative."""
        return self.value(f"udiv i64 {first}, {second}")

    def remainder(self, first: object, second: object) -> str:
        """What ``divide`` leaves."""
        return self.value(f"urem i64 {first}, {second}")

    def smaller(self, first: object, second: object) -> str:
        """The smaller of two i64."""
        return self.value(f"call i64 @llvm.smin.i64(i64 {first}, i64 {second})")

    def larger(self, first: object, second: object) -> str:
        """The larger of two i64."""
        return self.value(f"call i64 @llvm.smax.i64(i64 {first}, i64 {second})")

    def is_(self, relation: str, first: object, second: object) -> str:
        """Whether two i64 stand in a relation: ``eq``, ``slt``, ``ult`` ..."""
        return self.value(f"icmp {relation} i64 {first}, {second}")

    def choose(self, condition: str, first: object, second: object) -> str:
        """One of two i64."""
        return self.value(f"select i1 {condition}, i64 {first}, i64 {second}")

    def call(self, name: str, *arguments: str) -> None:
        """Call a function that returns nothing; arguments with their types."""
        self.line(f"  call void @{name}({', '.join(arguments)})")

    def inner(self, *pairs: tuple[object, object]) -> str:
        """The sum of the products of pairs of i64."""
        return self.add(*[self.mul(*pair) for pair in pairs])

    def at(self, pointer: str, place: object, kind: str | None = None) -> str:
        """The address of an element."""
        return self.value(f"getelementptr {kind or self.machine.element}, ptr {pointer}, i64 {place}")

    def word(self, pointer: str, place: object) -> str:
        """An i64 of a table."""
        return self.value(f"load i64, ptr {self.at(pointer, place, 'i64')}")

    def put(self, pointer: str, place: object, value: object) -> None:
        """Store an i64 into a table."""
        self.line(f"  store i64 {value}, ptr {self.at(pointer, place, 'i64')}")

    def pointer(self, pointer: str, place: object) -> str:
        """An address of a table."""
        return self.value(f"load ptr, ptr {self.at(pointer, place, 'ptr')}")

    def splat(self, value: str, kind: str | None = None) -> str:
        """A scalar in all lanes."""
        kind, lanes = kind or self.machine.element, self.machine.lanes
        one = self.value(f"insertelement <{lanes} x {kind}> poison, {kind} {value}, i64 0")
        return self.value(
            f"shufflevector <{lanes} x {kind}> {one}, <{lanes} x {kind}> poison, <{lanes} x i32> zeroinitializer"
        )

    def lanes_from(self, first: str, step: str = "1") -> str:
        """The i64 of all lanes: ``first``, ``first + step``, ..."""
        lanes = self.machine.lanes
        numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
        moved = self.value(f"mul <{lanes} x i64> <{numbers}>, {self.splat(step, 'i64')}")
        return self.value(f"add <{lanes} x i64> {moved}, {self.splat(first, 'i64')}")

    def below(self, numbers: str, limit: str) -> str:
        """Which lanes hold an i64 that is not negative and below a limit."""
        return self.value(f"icmp ult <{self.machine.lanes} x i64> {numbers}, {self.splat(limit, 'i64')}")

    def both(self, first: str, second: str) -> str:
        """The lanes that are in two masks."""
        return self.value(f"and <{self.machine.lanes} x i1> {first}, {second}")

    def masked_load(self, pointer: str, mask: str) -> str:
        """The elements of the lanes in a mask, and zeros."""
        machine = self.machine
        given = (
            f"ptr {pointer}, i32 {machine.itemsize}, <{machine.lanes} x i1> {mask}, {machine.vector} zeroinitializer"
        )
        return self.value(f"call {machine.vector} @llvm.masked.load.{machine.suffix}.p0({given})")

    def masked_store(self, values: str, pointer: str, mask: str) -> None:
        """Store the lanes in a mask."""
        machine = self.machine
        given = [f"{machine.vector} {values}", f"ptr {pointer}", f"i32 {machine.itemsize}"]
        self.call(f"llvm.masked.store.{machine.suffix}.p0", *given, f"<{machine.lanes} x i1> {mask}")

    def shuffle(self, first: str, second: str, lanes: Sequence[int]) -> str:
        """Lanes of two vectors, those of the second counted behind those of the first."""
        vector, places = self.machine.vector, ", ".join(f"i32 {lane}" for lane in lanes)
        return self.value(f"shufflevector {vector} {first}, {vector} {second}, <{len(lanes)} x i32> <{places}>")

    def ceiling(self, first: object, second: object) -> str:
        """The quotient of two i64 that are not negative, rounded up."""
        return self.divide(self.add(first, self.sub(second, 1)), second)

    def only(self, condition: str, mask: str) -> str:
        """A mask where a condition holds, no lanes elsewhere."""
        kind = f"<{self.machine.lanes} x i1>"
        return self.value(f"select i1 {condition}, {kind} {mask}, {kind} zeroinitializer")

    def addresses(self, base: str, numbers: str, stride: str) -> str:
        """The addresses of elements a stride apart, for all lanes."""
        lanes = self.machine.lanes
        moved = self.value(f"mul <{lanes} x i64> {numbers}, {self.splat(stride, 'i64')}")
        return self.value(f"getelementptr {self.machine.element}, ptr {base}, <{lanes} x i64> {moved}")


class When:
    """What stands within happens where a condition holds; ``kind`` follows the branch."""

    def __init__(self, text: Function, name: str, condition: str, kind: str = "") -> None:
        self.text, self.name, self.condition, self.kind = text, name, condition, kind

    def __enter__(self) -> None:
        ends = f"label %{self.name}_then, label %{self.name}_end"
        self.text.line(f"  br i1 {self.condition}, {ends}{self.kind}\n{self.name}_then:")

    def __exit__(self, *_: object) -> None:
        self.text.line(f"  br label %{self.name}_end\n{self.name}_end:")


class While:
    """What stands within happens again as long as the i64 in a place is below a limit; ``with`` gives its value."""

    def __init__(self, text: Text, name: str, place: str, limit: str) -> None:
        self.text, self.name, self.place, self.limit = text, name, place, limit

    def __enter__(self) -> str:
        self.text.line(f"  br label %{self.name}_head\n{self.name}_head:")
        value = self.text.value(f"load i64, ptr {self.place}")
        more = self.text.value(f"icmp slt i64 {value}, {self.limit}")
        self.text.line(f"  br i1 {more}, label %{self.name}_body, label %{self.name}_end\n{self.name}_body:")
        return value

    def __exit__(self, *_: object) -> None:
        self.text.line(f"  br label %{self.name}_head\n{self.name}_end:")


def declarations(machine: Machine) -> str:
    vector, mask = machine.vector, f"<{machine.lanes} x i1>"
    pointers = f"<{machine.lanes} x ptr>"
    gathered = f"{machine.suffix}.v{machine.lanes}p0"
    return "\n".join(
        [
            f"declare {vector} @llvm.fmuladd.{machine.suffix}({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.masked.load.{machine.suffix}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{machine.suffix}.p0({vector}, ptr, i32, {mask})",
            f"declare {vector} @llvm.masked.gather.{gathered}({pointers}, i32, {mask}, {vector})",
            f"declare void @llvm.masked.scatter.{gathered}({vector}, {pointers}, i32, {mask})",
            f"declare {machine.element} @llvm.vector.reduce.fadd.{machine.suffix}({machine.element}, {vector})",
            "declare i64 @llvm.smin.i64(i64, i64)",
            "declare i64 @llvm.smax.i64(i64, i64)",
            "declare ptr @malloc(i64)",
            "declare void @free(ptr)",
            "declare void @llvm.trap()",
        ]
    )
