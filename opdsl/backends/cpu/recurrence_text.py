"""LLVM text of recurrences: as scans, but what is carried is made of itself and the elements by one function.

Nothing is known of that function, so a row is gone along step by step, several rows side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu.loops import ACCESS, Operand, load_operand
from opdsl.backends.cpu.nests import call
from opdsl.backends.cpu.scan_text import ACROSS, Abreast, Accumulators, Across, Scan, printed

LANES = {ACROSS: 64, "abreast": 8}
"""How many rows a form takes at once."""


class RecurrenceSignature(NamedTuple):
    """What a recurrence is compiled for, beside its function.

    inputs: arrays, then numbers.
    accumulators: types. init: their values before the first element, as constants of LLVM.
    outputs: the results.
    layout: a letter for each operand.
    form: ``ACROSS`` or ``ABREAST``.
    is_reverse: whether it begins with the last element.
    """

    inputs: tuple[Operand, ...]
    accumulators: tuple[str, ...]
    init: tuple[str, ...]
    outputs: tuple[Operand, ...]
    layout: str
    form: str
    is_reverse: bool

    def __str__(self) -> str:
        given, made = (
            " ".join(f"{each.dtype}:{each.value}" for each in operands) for operands in (self.inputs, self.outputs)
        )
        init = " ".join(self.init)
        return f"{given} {self.accumulators} {init} -> {made} | {self.layout} {self.form} {self.is_reverse}"


def module_ir(signature: RecurrenceSignature, functions: Sequence[str], declarations: Sequence[str]) -> str:
    """The module of a recurrence.

    Args:
        functions: LLVM text of ``@step``.
        declarations: what it needs declared.
    """
    kernel = (_Across if signature.form == ACROSS else _Abreast)(signature)
    return printed(kernel, functions, declarations)


class _Recurrence(Scan):
    """What recurrences do otherwise than scans."""

    def __init__(self, signature: RecurrenceSignature) -> None:
        super().__init__(signature)
        self.lanes = LANES[signature.form]
        self.last = self.text.value(f"sub i64 {self.operands.length}, 1") if signature.is_reverse else ""

    def step(self, counter: str) -> str:
        """See ``Scan.step``."""
        return self.text.value(f"sub i64 {self.last}, {counter}") if self.last else counter

    def advance(
        self, before: Accumulators, here: dict[int, str], index: str, *, writes: bool = True
    ) -> tuple[Accumulators, Accumulators]:
        """See ``Scan.advance``."""
        signature: RecurrenceSignature = self.signature
        given = list(zip(signature.accumulators, before, strict=True))
        for k, each in enumerate(signature.inputs):
            is_number = k in self.operands.numbers
            value = self.operands.numbers[k] if is_number else load_operand(self.text, each, here[k], ACCESS)
            given.append((each.value, value))
        types = [*signature.accumulators, *(each.value for each in signature.outputs)]
        found = call(self.text, "step", given, types)
        count = len(signature.accumulators)
        return found[:count], found[count:]


class _Across(_Recurrence, Across):
    """Rows that lie side by side."""


class _Abreast(_Recurrence, Abreast):
    """A few rows at once."""
