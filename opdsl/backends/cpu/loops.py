"""What loops are printed with: operands, how LLVM is told of loops, and elements as values."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.backends.cpu.storage import MEMORY, PART, REGISTER, Text, convert, load, store

ACCESS = ", !llvm.access.group !0"
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" }'

# !1: elements are independent of each other: an output may be an input, element for element, and nothing else overlaps.
# !3: a loop that calls the C library for every element; more than one at a time would be more code and no faster.
# !40, !41: as !1, vector after vector; with masks for the lanes of the last one that have no element.
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
!31 = !{!"llvm.loop.unroll.count", i32 4}"""
PARALLEL, ONE_BY_ONE, WHOLE, MASKED, UNROLLED = "!1", "!3", "!40", "!41", "!30"


class Operand(NamedTuple):
    """One input or output of a loop.

    dtype: how it is stored (``float32``); empty for a Python number.
    value: the scalar type of the function's parameter or result.
    """

    dtype: str
    value: str

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number, the same for all elements."""
        return not self.dtype


def number(text: Text, kind: str, slot: str) -> str:
    """A number of a frame, which holds doubles, pairs of them, and i64, as a value of a scalar type."""
    if kind in PART:
        return convert(text, load(text, "complex128", slot), "complex128", kind)
    wide = "float64" if kind in ("float32", "float64") else "int64"
    return convert(text, text.value(f"load {REGISTER[wide]}, ptr {slot}"), wide, kind)


def load_operand(text: Text, operand: Operand, address: str, suffix: str) -> str:
    """An element as the type in which the function takes it."""
    loaded = load(text, operand.dtype, address, suffix)
    return convert(text, loaded, MEMORY[operand.dtype].value, operand.value)


def store_operand(text: Text, operand: Operand, address: str, value: str) -> None:
    """Store a result of the function as an element."""
    stored = convert(text, value, operand.value, MEMORY[operand.dtype].value)
    store(text, operand.dtype, address, stored, ACCESS)
