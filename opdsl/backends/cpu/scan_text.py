"""LLVM text of scan kernels: accumulators that run along a dimension, in several lanes side by side.

A lane that waits for one addition after the other leaves the processor idle, so there are always several. Across: many
rows whose elements lie next to each other, in vectors. Abreast: a few rows in registers. In parts: a row alone is cut
into parts, each of which begins with the accumulators of all parts before it, so the row is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.backends.cpu.loops import ACCESS, ATTRIBUTES, METADATA, Operand, load_operand, store_operand
from opdsl.backends.cpu.nests import PARALLEL, SMALLER, Loop, Operands, call, load_lane, smaller, store_lane
from opdsl.backends.cpu.storage import DECLARATIONS, REGISTER, Text

SYMBOL = "scan"

ACROSS, ABREAST, PARTS = "across", "abreast", "parts"

LANES = {ACROSS: 64, ABREAST: 4, PARTS: 8}
"""How many lanes a form has."""

Accumulators = list[str]


class ScanSignature(NamedTuple):
    """What a scan kernel is compiled for, beside its functions.

    input: the array. with_index: whether lift takes the index too.
    accumulators: types. init: their values for no elements, as constants of LLVM, which tell -0.0 from 0.0.
    outputs: the results.
    layout: a letter for each operand.
    form: ``ACROSS``, ``ABREAST`` or ``PARTS``.
    """

    input: Operand
    with_index: bool
    accumulators: tuple[str, ...]
    init: tuple[str, ...]
    outputs: tuple[Operand, ...]
    layout: str
    form: str

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """What the kernel reads."""
        return (self.input,)

    def __str__(self) -> str:
        init = " ".join(self.init)
        outputs = " ".join(f"{each.dtype}:{each.value}" for each in self.outputs)
        return (
            f"{self.input.dtype}:{self.input.value} {self.with_index} {self.accumulators} {init} -> {outputs} | "
            f"{self.layout} {self.form}"
        )


def module_ir(signature: ScanSignature, functions: Sequence[str], declarations: Sequence[str]) -> str:
    """The module of a scan.

    Args:
        functions: LLVM text of ``@lift``, ``@combine`` and ``@finish``.
        declarations: what they need declared.
    """
    return printed(_FORMS[signature.form](signature), functions, declarations)


def printed(kernel: Scan, functions: Sequence[str], declarations: Sequence[str]) -> str:
    """The module of a kernel."""
    kernel.body()
    kernel.text.line("  ret void\n}")
    declared = sorted({*declarations, *DECLARATIONS, SMALLER})
    return "\n".join([*functions, str(kernel.text), *declared, ATTRIBUTES, METADATA])


class Scan:
    """A scan kernel under construction."""

    def __init__(self, signature: Any) -> None:
        self.signature = signature
        self.text = text = Text()
        text.line(f"define void @{SYMBOL}(ptr %operands, i64 %count, ptr %strides) #0 {{\nentry:")
        self.operands = Operands(text, [*signature.inputs, *signature.outputs], signature.layout)
        self.lanes = LANES[signature.form]

    def body(self) -> None:
        """What stands in the kernel."""
        raise NotImplementedError

    def initial(self) -> Accumulators:
        """The accumulators of no elements."""
        return list(self.signature.init)

    def combined(self, first: Accumulators, later: Accumulators) -> Accumulators:
        """The accumulators of some elements and of later ones, as those of all."""
        kinds = self.signature.accumulators
        return call(self.text, "combine", list(zip((*kinds, *kinds), (*first, *later), strict=True)), kinds)

    def lifted(self, place: str, index: str) -> Accumulators:
        """The accumulators of an element."""
        signature = self.signature
        element = load_operand(self.text, signature.input, place, ACCESS)
        arguments = [(signature.input.value, element), ("int64", index)][: 1 + signature.with_index]
        return call(self.text, "lift", arguments, signature.accumulators)

    def step(self, counter: str) -> str:
        """The index of the element that is taken at a step."""
        return counter

    def advance(
        self, before: Accumulators, here: dict[int, str], index: str, *, writes: bool = True
    ) -> tuple[Accumulators, Accumulators]:
        """The accumulators with one more element, and what comes of them, where it is written.

        Args:
            before: the accumulators.
            here: where the operands lie.
            index: of the element.
            writes: whether results are wanted.
        """
        signature = self.signature
        values = self.combined(before, self.lifted(here[0], index))
        if not writes:
            return values, []
        types = [each.value for each in signature.outputs]
        return values, call(self.text, "finish", list(zip(signature.accumulators, values, strict=True)), types)

    def write(self, here: dict[int, str], results: Accumulators) -> None:
        """Store results."""
        first = len(self.signature.inputs)
        for at, (output, result) in enumerate(zip(self.signature.outputs, results, strict=True)):
            store_operand(self.text, output, here[first + at], result)


class Across(Scan):
    """As many rows as there are lanes at once, their accumulators in memory."""

    def body(self) -> None:
        """See ``Scan.body``."""
        text, operands = self.text, self.operands
        kinds = self.signature.accumulators
        arrays = [text.value(f"alloca {REGISTER[kind]}, i64 {self.lanes}, align 64") for kind in kinds]
        with Loop(text, "t", "0", "%count", self.lanes) as tile:
            lanes = smaller(text, text.value(f"sub i64 %count, {tile.counter}"), str(self.lanes))
            places = operands.moved(operands.bases, operands.kept, tile.counter)
            with Loop(text, "reset", "0", lanes, kind=PARALLEL) as lane:
                for kind, array, value in zip(kinds, arrays, self.initial(), strict=True):
                    store_lane(text, kind, array, lane.counter, value)
            with Loop(text, "i", "0", operands.length) as step:
                index = self.step(step.counter)
                here = operands.moved(places, operands.along, index)
                with Loop(text, "w", "0", lanes, kind=PARALLEL) as lane:
                    w = lane.counter
                    elements = {k: operands.element(k, here, operands.kept, w) for k in here}
                    before = [load_lane(text, kind, array, w) for kind, array in zip(kinds, arrays, strict=True)]
                    values, results = self.advance(before, elements, index)
                    for kind, array, value in zip(kinds, arrays, values, strict=True):
                        store_lane(text, kind, array, w, value)
                    self.write(elements, results)


class _InRegisters(Scan):
    """A few lanes, their accumulators in registers."""

    def run(
        self,
        name: str,
        places: Sequence[dict[int, str]],
        extent: tuple[str, str],
        begin: Sequence[Accumulators],
        first: Sequence[str],
        *,
        writes: bool,
    ) -> list[Accumulators]:
        """Take all lanes along some steps.

        Args:
            places: for each lane where its operands lie.
            extent: the first step and the one after the last.
            begin: the accumulators of each lane.
            first: the index of each lane's element at step 0.
            writes: whether results are written.

        Returns:
            The accumulators of each lane.
        """
        text, operands, kinds = self.text, self.operands, self.signature.accumulators
        with Loop(text, name, *extent) as step:
            pairs = [list(zip(kinds, values, strict=True)) for values in begin]
            carried = [[step.carry(kind, value) for kind, value in each] for each in pairs]
            after: list[str] = []
            taken = self.step(step.counter)
            for lane, before in enumerate(carried):
                here = operands.moved(places[lane], operands.along, taken)
                index = text.value(f"add i64 {first[lane]}, {taken}")
                values, results = self.advance(before, here, index, writes=writes)
                if writes:
                    self.write(here, results)
                after += values
            step.hand_on(after)
        size = len(kinds)
        return [step.results[lane * size : (lane + 1) * size] for lane in range(len(begin))]


class Abreast(_InRegisters):
    """A few rows at once, what is left one by one."""

    def body(self) -> None:
        """See ``Scan.body``."""
        text = self.text
        together = text.value(f"and i64 %count, {-self.lanes}")
        with Loop(text, "t", "0", together, self.lanes) as tile:
            self.rows("together", tile.counter, self.lanes)
        with Loop(text, "s", together, "%count") as single:
            self.rows("alone", single.counter, 1)

    def rows(self, name: str, row: str, count: int) -> None:
        """Scan some rows."""
        rows = [self.text.value(f"add i64 {row}, {lane}") for lane in range(count)]
        places = [self.operands.moved(self.operands.bases, self.operands.kept, each) for each in rows]
        extent = ("0", self.operands.length)
        self.run(name, places, extent, [self.initial()] * count, ["0"] * count, writes=True)


class _Parts(_InRegisters):
    """One row after another, its parts at once; what is left of it is scanned by itself."""

    def body(self) -> None:
        """See ``Scan.body``."""
        text, operands, lanes = self.text, self.operands, self.lanes
        word = text.value(f"getelementptr i64, ptr %strides, i64 {2 * len(operands.operands) + 1}")
        part = text.value(f"load i64, ptr {word}")
        first = [text.value(f"mul i64 {part}, {lane}") for lane in range(lanes)]
        done = text.value(f"mul i64 {part}, {lanes}")
        with Loop(text, "r", "0", "%count") as row:
            places = operands.moved(operands.bases, operands.kept, row.counter)
            apart = [operands.moved(places, operands.along, each) for each in first]
            nothing = [self.initial()] * lanes
            totals = self.run("fold", apart, ("0", part), nothing, first, writes=False)
            before = [self.initial()]
            for own in totals[:-1]:
                before.append(self.combined(before[-1], own))
            after = self.run("scan", apart, ("0", part), before, first, writes=True)
            self.run("rest", [places], (done, operands.length), after[-1:], ["0"], writes=True)


_FORMS: dict[str, type[Scan]] = {ACROSS: Across, ABREAST: Abreast, PARTS: _Parts}
