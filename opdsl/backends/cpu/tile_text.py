"""LLVM text of products: tiles of sums that stay in registers, of factors that tables of offsets lead to."""

from __future__ import annotations

from opdsl.backends.cpu.nests import Loop
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
