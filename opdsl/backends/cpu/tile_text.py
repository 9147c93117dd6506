"""LLVM text of products: tiles of sums that stay in registers, of factors that tables of offsets lead to."""

from __future__ import annotations

from opdsl.backends.cpu.loops import Loop
from opdsl.backends.cpu.storage import MEMORY
from opdsl.backends.cpu.vector_text import Function, Machine

_TILE = "ptr %rows, ptr %ka, ptr %kb, i64 %count, ptr %b, ptr %c, i64 %pitch, i1 %adds"


def _tile(machine: Machine, height: int, width: int) -> str:
    """Sum ``rows[r][ka[k]] * b[kb[k] + lane]`` over k: a row of results for each r, a pitch apart."""
    text = Function(machine, f"internal void @tile_{height}_{width}({_TILE}) noinline")
    vector, element, lanes = machine.vector, machine.element, machine.lanes
    rows = [text.pointer("%rows", r) for r in range(height)]
    cells = [(r, v) for r in range(height) for v in range(width)]
    text.line("  %any = icmp sgt i64 %count, 0\n  br i1 %any, label %loop, label %done\nloop:")
    text.line("  %k = phi i64 [ 0, %entry ], [ %k_next, %loop ]")
    for r, v in cells:
        text.line(f"  %sum_{r}_{v} = phi {vector} [ zeroinitializer, %entry ], [ %next_{r}_{v}, %loop ]")
    first, second = text.word("%ka", "%k"), text.word("%kb", "%k")
    base = text.at("%b", second)
    columns = [
        text.value(f"load {vector}, ptr {text.at(base, v * lanes)}, align {MEMORY[machine.dtype].itemsize}")
        for v in range(width)
    ]
    for r in range(height):
        factor = text.splat(text.value(f"load {element}, ptr {text.at(rows[r], first)}"))
        for v in range(width):
            text.line(
                f"  %next_{r}_{v} = call {vector} @llvm.fmuladd.{machine.suffix}"
                f"({vector} {factor}, {vector} {columns[v]}, {vector} %sum_{r}_{v})"
            )
    text.line("  %k_next = add nuw nsw i64 %k, 1\n  %more = icmp slt i64 %k_next, %count")
    text.line("  br i1 %more, label %loop, label %done\ndone:")
    for r, v in cells:
        text.line(f"  %end_{r}_{v} = phi {vector} [ zeroinitializer, %entry ], [ %next_{r}_{v}, %loop ]")
    text.line("  br i1 %adds, label %adding, label %storing\nadding:")
    places = {}
    for r in range(height):
        row = text.at("%c", text.mul("%pitch", r))
        for v in range(width):
            places[r, v] = text.at(row, v * lanes)
    align = f"align {MEMORY[machine.dtype].itemsize}"
    for cell in cells:
        before = text.value(f"load {vector}, ptr {places[cell]}, {align}")
        total = text.value(f"fadd {vector} {before}, %end_{cell[0]}_{cell[1]}")
        text.line(f"  store {vector} {total}, ptr {places[cell]}, {align}")
    text.line("  ret void\nstoring:")
    for r in range(height):
        row = text.at("%c", text.mul("%pitch", r))
        for v in range(width):
            text.line(f"  store {vector} %end_{r}_{v}, ptr {text.at(row, v * lanes)}, {align}")
    return text.end()


_TILES = (
    "ptr %firsts, i64 %first, i64 %height, ptr %ka, ptr %kb, i64 %count, ptr %b, i64 %width, ptr %c, i64 %pitch, "
    "i1 %adds, i1 %spare"
)


def tiles_ir(machine: Machine) -> str:
    """``@tiles``, and a function for each tile."""
    tiles = [_tile(machine, shape.rows, vectors) for shape in machine.shapes for vectors in shape.vectors]
    return "\n".join([*tiles, _tiles(machine)])


def _tiles(machine: Machine) -> str:
    """Products of rows, of which ``firsts`` has the addresses, with as many columns as are asked for, by tiles.

    What is written behind the last column is of no use: up to a vector, or, where there is room to spare, up to a tile.
    """
    text = Function(machine, f"internal void @tiles({_TILES}) noinline")
    text.line("  %done = alloca i64\n  store i64 0, ptr %done")
    for shape in machine.shapes:
        name = f"r{shape.rows}"
        begin = text.value("load i64, ptr %done")
        with Loop(text, name, begin, text.sub("%height", shape.rows - 1), shape.rows) as row:
            rows = text.at("%firsts", text.add("%first", row.counter), "ptr")
            target = text.at("%c", text.mul(row.counter, "%pitch"))
            covered = "0"
            for vectors in shape.vectors:
                wide = vectors * machine.lanes
                # With room to spare a tile is begun for more than half of it.
                least = text.choose(
                    "%spare" if vectors == shape.vectors[0] else "false", wide // 2, wide - machine.lanes
                )
                end = text.larger(text.sub("%width", least), 0)
                with Loop(text, f"{name}_{vectors}", covered, end, wide) as column:
                    places = [f"ptr {text.at('%b', column.counter)}", f"ptr {text.at(target, column.counter)}"]
                    factors = [f"ptr {rows}", "ptr %ka", "ptr %kb", "i64 %count"]
                    text.call(f"tile_{shape.rows}_{vectors}", *factors, *places, "i64 %pitch", "i1 %adds")
                rounds = text.divide(text.add(text.larger(text.sub(end, covered), 0), wide - 1), wide)
                covered = text.add(covered, text.mul(rounds, wide))
            text.line(f"  store i64 {text.add(row.counter, shape.rows)}, ptr %done")
    return text.end()


# Rows that are folded at once.
_HEIGHTS = (9, 4, 2, 1)

_DOTS = (
    "ptr %rows, i64 %height, ptr %b, i64 %n0, i64 %n1, i64 %n2, i64 %s0, i64 %s1, i64 %e1, i64 %e2, ptr %c, "
    "i64 %pitch, i1 %adds"
)


def dots_ir(machine: Machine) -> str:
    """``@dots``: the sums of the products of ``b`` with each of some rows, over n0 lines of n1 lines of n2 elements.

    s: elements between neighbouring lines of b; e: sizes of those of the rows, which are longer. The sums lie a pitch
    apart.
    """
    text = Function(machine, f"internal void @dots({_DOTS}) noinline")
    text.line("  %done = alloca i64\n  store i64 0, ptr %done")
    for height in _HEIGHTS:
        begin = text.value("load i64, ptr %done")
        with Loop(text, f"r{height}", begin, text.sub("%height", height - 1), height) as row:
            given = [f"ptr {text.at('%rows', row.counter, 'ptr')}", *_DOTS.split(", ")[1:]]
            given[-3] = f"ptr {text.at('%c', text.mul(row.counter, '%pitch'))}"
            text.call(f"dots_{height}", *given)
            text.line(f"  store i64 {text.add(row.counter, height)}, ptr %done")
    return "\n".join([*(_some_dots(machine, height) for height in _HEIGHTS), text.end()])


def _some_dots(machine: Machine, height: int) -> str:
    """``@dots`` of so many rows."""
    text = Function(machine, f"internal void @dots_{height}({_DOTS}) noinline")
    vector, element = machine.vector, machine.element
    rows = [text.pointer("%rows", r) for r in range(height)]
    for r in range(height):
        text.line(f"  %sum{r} = alloca {vector}, align 64\n  store {vector} zeroinitializer, ptr %sum{r}")
    with Loop(text, "i0", "0", "%n0") as i0, Loop(text, "i1", "0", "%n1") as i1:
        line = text.at("%b", text.inner((i0.counter, "%s0"), (i1.counter, "%s1")))
        place = text.mul(text.inner((i0.counter, "%e1"), (i1.counter, 1)), "%e2")
        with Loop(text, "j", "0", "%n2", machine.lanes) as j:
            mask = text.below(text.lanes_from(j.counter), "%n2")
            factor = text.masked_load(text.at(line, j.counter), mask)
            at = text.add(place, j.counter)
            for r in range(height):
                shown = text.masked_load(text.at(rows[r], at), mask)
                before = text.value(f"load {vector}, ptr %sum{r}")
                given = f"{vector} {factor}, {vector} {shown}, {vector} {before}"
                total = text.value(f"call {vector} @llvm.fmuladd.{machine.suffix}({given})")
                text.line(f"  store {vector} {total}, ptr %sum{r}")
    for r in range(height):
        lanes = text.value(f"load {vector}, ptr %sum{r}")
        reduce = f"@llvm.vector.reduce.fadd.{machine.suffix}({element} -0.0, {vector} {lanes})"
        total = text.value(f"call reassoc {element} {reduce}")
        place = text.at("%c", text.mul("%pitch", r))
        before = text.value(f"load {element}, ptr {place}")
        known = text.value(f"select i1 %adds, {element} {before}, {element} -0.0")
        text.line(f"  store {element} {text.value(f'fadd {element} {known}, {total}')}, ptr {place}")
    return text.end()
