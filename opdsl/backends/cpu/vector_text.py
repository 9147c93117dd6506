"""LLVM text of functions under construction, with short names for what is done with integers and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu.storage import MEMORY, Text

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'


class Machine(NamedTuple):
    """What is printed for: a dtype, lanes of vectors, and tiles."""

    dtype: str
    lanes: int
    shapes: tuple[()]

    @property
    def element(self) -> str:
        """LLVM's type of an element."""
        return MEMORY[self.dtype].llvm


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

    def at(self, pointer: str, place: object, kind: str | None = None) -> str:
        """The address of an element."""
        return self.value(f"getelementptr {kind or self.machine.element}, ptr {pointer}, i64 {place}")

    def word(self, pointer: str, place: object) -> str:
        """An i64 of a table."""
        return self.value(f"load i64, ptr {self.at(pointer, place, 'i64')}")

    def ceiling(self, first: object, second: object) -> str:
        """The quotient of two i64 that are not negative, rounded up."""
        return self.divide(self.add(first, self.sub(second, 1)), second)


class When:
    """What stands within happens where a condition holds; ``kind`` follows the branch."""

    def __init__(self, text: Function, name: str, condition: str, kind: str = "") -> None:
        self.text, self.name, self.condition, self.kind = text, name, condition, kind

    def __enter__(self) -> None:
        ends = f"label %{self.name}_then, label %{self.name}_end"
        self.text.line(f"  br i1 {self.condition}, {ends}{self.kind}\n{self.name}_then:")

    def __exit__(self, *_: object) -> None:
        self.text.line(f"  br label %{self.name}_end\n{self.name}_end:")
