"""LLVM text that transposes matrices, by squares of vectors that are turned in registers."""

from __future__ import annotations

from opdsl.backends.cpu.loops import Loop
from opdsl.backends.cpu.vector_text import Function, Machine

_TURN = "ptr %from, i64 %pitch, i64 %step, i64 %rows, i64 %columns, ptr %to, i64 %to_pitch, i64 %written"


def turn_ir(machine: Machine) -> str:
    """``to[j * to_pitch + i] = from[i * pitch + j * step]``, for i below ``written``; zeros from ``rows`` on."""
    text = Function(machine, f"internal void @turn({_TURN}) noinline")
    text.line(f"  br i1 {text.is_('eq', '%step', 1)}, label %near, label %far\nnear:")
    with (
        Loop(text, "i", "0", "%written", machine.lanes) as i,
        Loop(text, "j", "0", "%columns", machine.lanes) as j,
    ):
        _turn_square(text, i.counter, j.counter)
    text.line("  ret void\nfar:")
    text.line(f"  br i1 {text.is_('eq', '%pitch', 1)}, label %aligned, label %apart\naligned:")
    with (
        Loop(text, "to_j", "0", "%columns") as j,
        Loop(text, "to_i", "0", "%written", machine.lanes) as i,
    ):
        lanes = text.lanes_from(i.counter)
        source = text.at("%from", text.add(i.counter, text.mul(j.counter, "%step")))
        values = text.masked_load(source, text.below(lanes, "%rows"))
        target = text.at("%to", text.add(i.counter, text.mul(j.counter, "%to_pitch")))
        text.masked_store(values, target, text.below(lanes, "%written"))
    text.line("  ret void\napart:")
    with Loop(text, "row", "0", "%written") as i, Loop(text, "column", "0", "%columns") as j:
        within = text.is_("ult", i.counter, "%rows")
        row = text.choose(within, text.mul(i.counter, "%pitch"), 0)
        read = text.value(
            f"load {machine.element}, ptr {text.at('%from', text.add(row, text.mul(j.counter, '%step')))}"
        )
        value = text.value(f"select i1 {within}, {machine.element} {read}, {machine.element} 0.0")
        target = text.at("%to", text.add(text.mul(j.counter, "%to_pitch"), i.counter))
        text.line(f"  store {machine.element} {value}, ptr {target}")
    return text.end()


def _turn_square(text: Function, i: str, j: str) -> None:
    """Transpose as many rows as a vector has lanes: lanes change places with rows, a bit of their number at a time."""
    lanes = text.machine.lanes
    columns, rows = text.below(text.lanes_from(j), "%columns"), text.below(text.lanes_from(i), "%written")
    square: list[str] = []
    for lane in range(lanes):
        line = text.add(i, lane)
        address = text.at("%from", text.add(text.mul(line, "%pitch"), j))
        square.append(text.masked_load(address, text.only(text.is_("ult", line, "%rows"), columns)))
    bit = 1
    while bit < lanes:
        for row in range(lanes):
            if not row & bit:
                first, second = square[row], square[row + bit]
                kept = [lane if not lane & bit else lanes + lane - bit for lane in range(lanes)]
                moved = [lane + bit if not lane & bit else lanes + lane for lane in range(lanes)]
                square[row], square[row + bit] = text.shuffle(first, second, kept), text.shuffle(first, second, moved)
        bit *= 2
    for lane, values in enumerate(square):
        column = text.add(j, lane)
        address = text.at("%to", text.add(text.mul(column, "%to_pitch"), i))
        text.masked_store(values, address, text.only(text.is_("ult", column, "%columns"), rows))
