"""Products of bfloat16 matrices, by the processor's own instruction: pairs of products, summed in float32.

Columns of the right factor are packed, a panel of as many as registers hold sums for at a time: of two neighbouring
rows the elements of a column next to each other, as the instruction reads them. Rows of the left factor are read as
they lie. Sums stay in registers, over all of a row, and are rounded once.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.loops import Loop
from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, Shape, When
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import MatrixLayout, ProductCall

# Fewer rows do not pay for packing; of up to so many the other factor's columns are taken as rows, where they can be.
_FEWEST_ROWS = 8
_FEW_ROWS = 64
# Multiplications that are worth a thread of their own.
_SHARE = 1 << 19
# Rows, and vectors of columns, of a tile.
_HEIGHTS = (6, 3, 1)
_WIDTHS = (4, 2, 1)
_LANES = 16
_PANEL = _WIDTHS[0] * _LANES

_MACHINE = Machine("float32", _LANES, (Shape(_HEIGHTS[0], _WIDTHS),))
_WORDS = (
    "rows", "inner", "columns", "first_row", "second_row", "second_column", "out_row", "out_column", "first_matrix",
    "second_matrix", "out_matrix",
)  # fmt: skip


def multiplies(call: ProductCall) -> bool:
    """Whether there is a kernel for a product, as it lies, on this processor."""
    return call.dtype.name == "bfloat16" and engine.has_feature("avx512bf16") and _oriented(call) is not None


def _oriented(call: ProductCall) -> tuple[ProductCall, tuple[int, int]] | None:
    """A product whose left factor's rows lie as they are read, and the places of its factors among the operands.

    It is this one, or the transposed one; None where neither is.
    """
    if 0 in (call.batch, call.inner, call.rows, call.columns):
        return None
    turned = call._replace(
        rows=call.columns,
        columns=call.rows,
        first=_turned(call.second),
        second=_turned(call.first),
        out=_turned(call.out),
    )
    both = [(call, (1, 2)), (turned, (2, 1))]
    for each, places in reversed(both) if call.rows < _FEW_ROWS else both:
        if (each.first.column == 1 or each.inner == 1) and each.rows >= _FEWEST_ROWS:
            return each, places
    return None


def _turned(matrix: MatrixLayout) -> MatrixLayout:
    return matrix._replace(row=matrix.column, column=matrix.row)


def narrow_product(call: ProductCall) -> Kernel:
    """Plan a product that ``multiplies`` holds for, see ``Compiler.product``."""
    found = _oriented(call)
    assert found is not None, "there is a kernel"
    call, slots = found
    first, second, out = call.first, call.second, call.out
    elements, cost = call.batch * call.rows, call.inner * call.columns
    words = (call.rows, call.inner, call.columns, first.row, second.row, second.column, out.row, out.column)
    share = largest(_FEWEST_ROWS, -(-elements // native.usable_processors()), _SHARE // cost)
    loop = _code(slots)
    return builtin.builtin(
        "narrow_product_cpu",
        Work(
            loop.address("narrow_product"),
            elements,
            share if elements * cost > _SHARE else 0,
            _HEIGHTS[0],
            details=(*words, first.batch, second.batch, out.batch),
        ),
        [builtin.ARRAY, builtin.ARRAY, builtin.FLOAT, builtin.FLOAT],
        [builtin.Given()],
        [loop],
    )


@functools.cache
def _code(slots: tuple[int, int]) -> engine.Code:
    """The code, for where the factors stand among the operands."""
    return engine.compile_ir(f"narrow product {slots}", lambda: _text(slots), ["narrow_product"])


def _text(slots: tuple[int, int]) -> str:
    tiles = [_tile(height, width) for height in _HEIGHTS for width in _WIDTHS]
    return "\n".join([*tiles, _pack(), _move(), _product(slots), _DECLARED, ATTRIBUTES])


_DECLARED = """declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare void @llvm.masked.store.v16i16.p0(<16 x i16>, ptr, i32, <16 x i1>)
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, i32, <16 x i1>, <16 x i16>)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare ptr @malloc(i64)
declare void @free(ptr)"""

_PACK = "ptr %second, i64 %row, i64 %column, i64 %inner, i64 %columns, ptr %panel"


def _pack() -> str:
    """Pack a panel of columns; zeros behind the last row and the last column."""
    text = Function(_MACHINE, f"internal void @pack({_PACK}) noinline")
    text.line(f"  br i1 {text.is_('eq', '%column', 1)}, label %near, label %far\nnear:")
    _packed(text, "near", "1")
    text.line("  ret void\nfar:")
    _packed(text, "far", "%column")
    return text.end()


def _packed(text: Function, name: str, column: str) -> None:
    pairs = text.divide(text.add("%inner", 1), 2)
    with Loop(text, f"{name}_pair", "0", pairs) as pair:
        low = text.mul(pair.counter, 2)
        high = text.add(low, 1)
        has_high = text.is_("slt", high, "%inner")
        lines = [text.at("%second", text.mul(each, "%row"), "i16") for each in (low, text.choose(has_high, high, low))]
        kept = text.value(f"select i1 {has_high}, i32 -1, i32 65535")
        target = text.at("%panel", text.mul(pair.counter, _PANEL), "i32")
        with Loop(text, f"{name}_lane", "0", "%columns") as lane:
            values = []
            for line in lines:
                place = text.at(line, text.mul(lane.counter, column) if column != "1" else lane.counter, "i16")
                values.append(text.value(f"zext i16 {text.value(f'load i16, ptr {place}, align 1')} to i32"))
            both = text.value(f"or i32 {values[0]}, {text.value(f'shl i32 {values[1]}, 16')}")
            kept_both = text.value(f"and i32 {both}, {kept}")
            text.line(f"  store i32 {kept_both}, ptr {text.at(target, lane.counter, 'i32')}, align 4")
        with Loop(text, f"{name}_rest", "%columns", str(_PANEL)) as lane:
            text.line(f"  store i32 0, ptr {text.at(target, lane.counter, 'i32')}, align 4")


_TILE = "ptr %first, i64 %row, i64 %inner, ptr %panel, float %alpha, float %beta, ptr %out, i64 %out_row, i64 %columns"


def _tile(height: int, width: int) -> str:
    """So many rows times so many vectors of packed columns."""
    text = Function(_MACHINE, f"internal void @tile_{height}_{width}({_TILE}) noinline")
    vector, cells = _MACHINE.vector, [(r, v) for r in range(height) for v in range(width)]
    rows = [text.at("%first", text.mul("%row", r), "i16") for r in range(height)]
    sums = {cell: f"%sum_{cell[0]}_{cell[1]}" for cell in cells}
    pairs = text.divide("%inner", 2)
    text.line(f"  %any = icmp sgt i64 {pairs}, 0\n  br i1 %any, label %loop, label %rest\nloop:")
    text.line("  %k = phi i64 [ 0, %entry ], [ %k_next, %loop ]")
    for cell in cells:
        text.line(f"  {sums[cell]} = phi {vector} [ zeroinitializer, %entry ], [ %next{sums[cell][4:]}, %loop ]")
    factors = [text.value(f"load i32, ptr {text.at(line, text.mul('%k', 2), 'i16')}, align 1") for line in rows]
    for cell, value in _summed(text, "%k", factors, sums, width).items():
        text.line(f"  %next{sums[cell][4:]} = bitcast {vector} {value} to {vector}")
    text.line(f"  %k_next = add nuw nsw i64 %k, 1\n  %more = icmp slt i64 %k_next, {pairs}")
    text.line("  br i1 %more, label %loop, label %rest\nrest:")
    for cell in cells:
        name = sums[cell][4:]
        text.line(f"  %even{name} = phi {vector} [ zeroinitializer, %entry ], [ %next{name}, %loop ]")
    is_odd = text.value(f"trunc i64 {text.remainder('%inner', 2)} to i1")
    text.line(f"  br i1 {is_odd}, label %odd, label %end\nodd:")
    last = text.sub("%inner", 1)
    singles = [text.value(f"load i16, ptr {text.at(line, last, 'i16')}, align 1") for line in rows]
    factors = [text.value(f"zext i16 {each} to i32") for each in singles]
    evens = {cell: f"%even{sums[cell][4:]}" for cell in cells}
    odds = _summed(text, pairs, factors, evens, width)
    text.line("  br label %end\nend:")
    totals = {cell: f"%total{sums[cell][4:]}" for cell in cells}
    for cell in cells:
        text.line(f"  {totals[cell]} = phi {vector} [ {evens[cell]}, %rest ], [ {odds[cell]}, %odd ]")
    _store(text, totals, width)
    return text.end()


Cells = dict[tuple[int, int], str]


def _summed(text: Function, pair: str, factors: list[str], sums: Cells, width: int) -> Cells:
    """Sums, and the products of a pair of columns of the rows with a packed pair of rows."""
    line = text.at("%panel", text.mul(pair, _PANEL), "i32")
    packed = [text.value(f"load <32 x bfloat>, ptr {text.at(line, v * _LANES, 'i32')}, align 4") for v in range(width)]
    found: Cells = {}
    for r, factor in enumerate(factors):
        spread = text.value(f"bitcast <16 x i32> {text.splat(factor, 'i32')} to <32 x bfloat>")
        for v in range(width):
            given = f"<16 x float> {sums[r, v]}, <32 x bfloat> {spread}, <32 x bfloat> {packed[v]}"
            found[r, v] = text.value(f"call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512({given})")
    return found


def _store(text: Function, totals: Cells, width: int) -> None:
    """Write sums, times alpha, with what there was times beta; what beta = 0 multiplies is not read."""
    vector = _MACHINE.vector
    alpha, beta = text.splat("%alpha"), text.splat("%beta")
    masks = [text.below(text.lanes_from(str(v * _LANES)), "%columns") for v in range(width)]
    scaled = {cell: text.value(f"fmul {vector} {alpha}, {total}") for cell, total in totals.items()}
    places = {(r, v): text.at("%out", text.add(text.mul("%out_row", r), v * _LANES), "i16") for r, v in totals}
    text.line("  %adds = fcmp une float %beta, 0.0\n  br i1 %adds, label %adding, label %storing\nadding:")
    added: Cells = {}
    for cell, value in scaled.items():
        given = f"ptr {places[cell]}, i32 1, <16 x i1> {masks[cell[1]]}, <16 x i16> zeroinitializer"
        bits = text.value(
            f"zext <16 x i16> {text.value(f'call <16 x i16> @llvm.masked.load.v16i16.p0({given})')} to <16 x i32>"
        )
        sixteen = f"<{', '.join(['i32 16'] * _LANES)}>"
        before = text.value(f"bitcast <16 x i32> {text.value(f'shl <16 x i32> {bits}, {sixteen}')} to {vector}")
        added[cell] = text.value(f"fadd {vector} {value}, {text.value(f'fmul {vector} {beta}, {before}')}")
    text.line("  br label %storing\nstoring:")
    final = {
        cell: text.value(f"phi {vector} [ {value}, %end ], [ {added[cell]}, %adding ]")
        for cell, value in scaled.items()
    }
    for cell, value in final.items():
        rounded = text.value(f"fptrunc {vector} {value} to <16 x bfloat>")
        halves = f"<16 x i16> {text.value(f'bitcast <16 x bfloat> {rounded} to <16 x i16>')}"
        stored = [halves, f"ptr {places[cell]}", "i32 1", f"<16 x i1> {masks[cell[1]]}"]
        text.call("llvm.masked.store.v16i16.p0", *stored)


_MOVE = "ptr %from, i64 %from_row, i64 %from_column, ptr %to, i64 %to_row, i64 %to_column, i64 %rows, i64 %columns"


def _move() -> str:
    """Copy a few rows."""
    text = Function(_MACHINE, f"internal void @move({_MOVE}) noinline")
    with Loop(text, "row", "0", "%rows") as row, Loop(text, "column", "0", "%columns") as column:
        places = [
            text.at(f"%{name}", text.inner((row.counter, f"%{name}_row"), (column.counter, f"%{name}_column")), "i16")
            for name in ("from", "to")
        ]
        text.line(f"  store i16 {text.value(f'load i16, ptr {places[0]}, align 1')}, ptr {places[1]}, align 1")
    return text.end()


def _product(slots: tuple[int, int]) -> str:
    """Rows [begin, end) of the left factors, counted through the batch: for each matrix panel by panel."""
    text = Function(_MACHINE, "void @narrow_product(ptr %frame, i64 %begin, i64 %end)")
    text.line("  %plan = load ptr, ptr %frame")
    for index, word in enumerate(_WORDS):
        text.line(f"  %{word} = load i64, ptr {text.at('%plan', builtin.HEADER + index, 'i64')}")
    names = {"first": slots[0], "second": slots[1], "alpha_wide": 3, "beta_wide": 4, "out": 5}
    for name, index in names.items():
        kind = "double" if name.endswith("wide") else "ptr"
        text.line(f"  %{name} = load {kind}, ptr {text.at('%frame', 16 * index, 'i8')}")
    for name in ("alpha", "beta"):
        text.line(f"  %{name} = fptrunc double %{name}_wide to float")
    text.line(f"  %tile = alloca [{_HEIGHTS[0] * _PANEL} x i16]")
    text.line("  %near = icmp eq i64 %out_column, 1\n  %far = xor i1 %near, true")
    text.line("  %adds = fcmp une float %beta, 0.0\n  %reads = and i1 %adds, %far")
    pairs = text.divide(text.add("%inner", 1), 2)
    text.line(f"  %panel = call ptr @malloc(i64 {text.mul(pairs, 4 * _PANEL)})")
    matrices = text.divide("%begin", "%rows"), text.add(text.divide(text.sub("%end", 1), "%rows"), 1)
    with Loop(text, "matrix", *matrices) as matrix:
        start = text.mul(matrix.counter, "%rows")
        low = text.larger(text.sub("%begin", start), 0)
        high = text.smaller(text.sub("%end", start), "%rows")
        first, second, out = (
            text.at(f"%{name}", text.mul(matrix.counter, f"%{name}_matrix"), "i16")
            for name in ("first", "second", "out")
        )
        with Loop(text, "panel_at", "0", "%columns", _PANEL) as at:
            width = text.smaller(text.sub("%columns", at.counter), _PANEL)
            source = text.at(second, text.mul(at.counter, "%second_column"), "i16")
            text.call("pack", f"ptr {source}", "i64 %second_row", "i64 %second_column", "i64 %inner", f"i64 {width}",
                      "ptr %panel")  # fmt: skip
            target = text.at(out, text.mul(at.counter, "%out_column"), "i16")
            _rows(text, first, target, low, high, width)
    text.line("  call void @free(ptr %panel)")
    return text.end()


def _rows(text: Function, first: str, out: str, low: str, high: str, width: str) -> None:
    """All rows of a panel: by tiles of the most rows, then fewer, as wide as there are columns.

    Tiles are written by rows: into memory of their own where the result's rows are no lines.
    """
    begin = low
    for height in _HEIGHTS:
        count = text.divide(text.larger(text.sub(high, begin), 0), height)
        end = text.add(begin, text.mul(count, height))
        with Loop(text, f"row{height}", begin, end, height) as row:
            line = text.at(first, text.mul(row.counter, "%first_row"), "i16")
            place = text.at(out, text.mul(row.counter, "%out_row"), "i16")
            target = text.value(f"select i1 %near, ptr {place}, ptr %tile")
            pitch = text.choose("%near", "%out_row", _PANEL)
            lies, stands = f"ptr {place}, i64 %out_row, i64 %out_column", f"ptr %tile, i64 {_PANEL}, i64 1"
            with When(text, f"read{height}", "%reads"):
                text.call("move", lies, stands, f"i64 {height}", f"i64 {width}")
            given = [f"ptr {line}", "i64 %first_row", "i64 %inner", "ptr %panel", "float %alpha", "float %beta"]
            for index, vectors in enumerate(_WIDTHS):
                fits = text.is_("sle", width, vectors * _LANES)
                least = _WIDTHS[index + 1] * _LANES if index + 1 < len(_WIDTHS) else 0
                is_wide = text.is_("sgt", width, least)
                both = text.value(f"and i1 {fits}, {is_wide}")
                with When(text, f"tile{height}_{vectors}", both):
                    text.call(f"tile_{height}_{vectors}", *given, f"ptr {target}", f"i64 {pitch}", f"i64 {width}")
            with When(text, f"write{height}", "%far"):
                text.call("move", stands, lies, f"i64 {height}", f"i64 {width}")
        begin = end
