"""Loops that read or write elements where positions lead: ``gather``, ``scatter``, ``x[indices]``."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.loops import (
    ATTRIBUTES,
    METADATA,
    NUMBER,
    PARALLEL,
    SINGLE,
    STRIDED,
    UNROLLED,
    Operand,
    Row,
    Signature,
    symbol,
)
from opdsl.backends.cpu.pointwise import (
    PARALLEL_FROM,
    SHARE_OF_A_THREAD,
    graph_cost,
    graph_name,
    letter,
    number_input,
    operand,
    walk_details,
)
from opdsl.backends.cpu.storage import DECLARATIONS
from opdsl.kernels.calls import OperandSpec
from opdsl.runtime.dtype import int64
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndirectCall
    from opdsl.scalar.graph import TypedGraph

# What a place that cannot be foreseen costs, in additions.
_COST_OF_A_PLACE = 8

# Layouts get a kernel of their own only from so many elements on.
_OWN_LAYOUT_FROM = 1024
_PIECE_UNIT = 1024
_NUMBER = OperandSpec(int64, None)
_POSITION, _INTEGER = Operand("int64", "int64"), Operand("", "int64")


def indirect(graph: TypedGraph, call: IndirectCall) -> Kernel:
    """Compile (or find) the loop of a scalar graph for a call's dtypes and layout, and plan its geometry.

    Args:
        graph: the function.
        call: where the operands lie, and which of them positions move.

    Returns:
        A built-in function, see ``Compiler.indirect``.
    """
    count = len(call.positions)
    called = Signature(
        tuple(operand(spec, kind) for spec, (_, kind) in zip(call.inputs, graph.parameters, strict=True)),
        (operand(call.output, graph.result_types[0]),),
    )
    signature = Signature((*called.inputs, *(_POSITION,) * count, *(_INTEGER,) * (2 * count)), called.outputs)
    layout = _layout(call)
    code = _row_code(graph, signature, layout, count, call.reads, call.writes)
    sizes = call.sizes or (1,)
    elements = math.prod(sizes)
    is_near = all(layout[len(call.inputs) + k] == SINGLE for k in range(count))
    cost = elements * (graph_cost(graph) + (0 if is_near else _COST_OF_A_PLACE))
    grain = largest(_PIECE_UNIT, SHARE_OF_A_THREAD * elements // cost) if cost >= PARALLEL_FROM else 0
    # Two steps may write one place, so a loop that writes is one piece.
    whole = bool(grain) and call.writes
    operands = [*call.inputs, *call.positions, *[_NUMBER] * (2 * count), call.output]
    work = Work(
        loop=native.code().address("walk"),
        elements=elements,
        grain=elements if whole else grain,
        unit=elements if whole else _PIECE_UNIT,
        details=walk_details(code.address(symbol(layout)), sizes, operands),
    )
    inputs = [
        builtin.ARRAY if spec.strides is not None else number_input(each.value)
        for spec, each in zip(operands, signature.inputs, strict=False)
    ]
    return builtin.builtin(graph_name(graph), work, inputs, [builtin.Given()], [code])


def _layout(call: IndirectCall) -> str:
    """A letter for each operand, as for pointwise loops; one that is written or moved is never a single element."""
    own = math.prod(call.sizes) >= _OWN_LAYOUT_FROM and call.sizes[-1] > 1

    def choose(spec: OperandSpec, is_moved: bool) -> str:
        if not own:
            return NUMBER if spec.strides is None else STRIDED
        found = letter(spec)
        return STRIDED if found == SINGLE and is_moved else found

    data = "".join(choose(spec, index == call.reads) for index, spec in enumerate(call.inputs))
    positions = "".join(choose(spec, False) for spec in call.positions)
    return data + positions + NUMBER * (2 * len(positions)) + choose(call.output, True)


@functools.lru_cache(maxsize=4096)
def _row_code(
    graph: TypedGraph, signature: Signature, layout: str, count: int, reads: int | None, writes: bool
) -> engine.Code:
    def text() -> str:
        from opdsl.backends.cpu.printer import declarations, function_ir

        row = _Row(signature, layout, count, reads, writes)
        texts = [function_ir(graph, "function"), *sorted({*declarations(graph), *DECLARATIONS})]
        return "\n".join([*texts, row.loop(), ATTRIBUTES, METADATA])

    fingerprint = f"indirect {graph.fingerprint} {signature} {layout} {count} {reads} {writes}"
    return engine.compile_ir(fingerprint, text, [symbol(layout)])


class _Row(Row):
    """A row kernel in which some operands are moved by positions.

    count: how many positions there are. They follow the function's arguments among the inputs, then for each the bytes
        between neighbours of its dimension, then for each how many there are.
    """

    def __init__(self, signature: Signature, layout: str, count: int, reads: int | None, writes: bool) -> None:
        data = len(signature.inputs) - 3 * count
        super().__init__(signature, layout, Signature(signature.inputs[:data], signature.outputs))
        self.moved = {reads, len(signature.inputs) if writes else None}
        self.positions = range(data, data + count)
        # With the same positions for all of a row, its places differ as its operands' do.
        independent = not writes or all(layout[k] == SINGLE for k in self.positions)
        self.kind = PARALLEL if independent else UNROLLED

    def loop(self) -> str:
        """The text of the kernel."""
        self.compute("all", "0", "%count", "function", self.kind)
        self.text.line("  ret void\n}")
        return str(self.text)

    def place(self, k: int, i: str) -> str:
        """Where element i of an operand lies."""
        place = super().place(k, i)
        return self.text.value(f"getelementptr i8, ptr {place}, i64 {self._offset(i)}") if k in self.moved else place

    def _offset(self, i: str) -> str:
        """How far the positions move a place, in bytes."""
        text, count = self.text, len(self.positions)
        total = "0"
        for k in self.positions:
            position = self.value(k, i)
            step, size = self.fixed[k + count], self.fixed[k + 2 * count]
            turned = text.value(f"add i64 {position}, {size}")
            wrapped = text.value(f"select i1 {text.value(f'icmp slt i64 {position}, 0')}, i64 {turned}, i64 {position}")
            total = text.value(f"add i64 {total}, {text.value(f'mul i64 {wrapped}, {step}')}")
        return total
