"""Kernel of bfloat16 matrix products by AVX-512's instruction for pairs of products, accumulated in float32.

Columns of the right factor are packed into panels as wide as the registers have accumulators: the elements of a column
in two neighboring rows are placed next to each other, as the instruction reads them. Rows of the left factor are read
in place. Accumulators stay in registers for a whole row, and are rounded once.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, cast

from opdsl.backends.cpu.machine.call import Plan
from opdsl.backends.cpu.machine.language import (
    Address,
    Constant,
    Int16,
    Int32,
    Pointer,
    exported,
    instruction,
    internal,
    local,
    unrolled,
)
from opdsl.backends.cpu.machine.objects import memory
from opdsl.backends.cpu.machine.room import room
from opdsl.backends.cpu.machine.vectors import LANES, Mask, Real, Vector, first_lanes, rounded, spread, zeros

# The rows, and the vectors of columns, that a tile may have.
HEIGHTS = (6, 3, 1)
_WIDTHS = (4, 2, 1)
_PANEL = 64

# Elements as bits, and pairs of them.
Bits: TypeAlias = Pointer[Int16]
Pairs: TypeAlias = Pointer[Int32]
PairVector: TypeAlias = Annotated[object, "<32 x bfloat>"]


class NarrowPlan(Plan):
    """Plan of a bfloat16 product.

    first_slot, second_slot: words from the frame to the factors' addresses.
    rows, inner, columns: sizes; rows are of the left factor, columns of the right one.
    first_row, ...: elements between neighboring rows, columns and matrices; columns of the left factor are contiguous.
    """

    first_slot: int
    second_slot: int
    rows: int
    inner: int
    columns: int
    first_row: int
    second_row: int
    second_column: int
    out_row: int
    out_column: int
    first_matrix: int
    second_matrix: int
    out_matrix: int


@instruction("load i32, ptr {0}, align 1")
def load_pair(place: Bits) -> Int32:
    """Load two neighboring elements."""
    raise NotImplementedError


@instruction("load <32 x bfloat>, ptr {0}, align 4")
def load_pairs(place: Pairs) -> PairVector:
    """Load two elements for each lane."""
    raise NotImplementedError


@instruction("""{t}one = insertelement <16 x i32> poison, i32 {0}, i64 0
{t}all = shufflevector <16 x i32> {t}one, <16 x i32> poison, <16 x i32> zeroinitializer
bitcast <16 x i32> {t}all to <32 x bfloat>""")
def spread_pair(pair: Int32) -> PairVector:
    """Broadcast a pair of elements to all lanes."""
    raise NotImplementedError


@instruction("call {Vector} @llvm.x86.avx512bf16.dpbf16ps.512({Vector} {0}, <32 x bfloat> {1}, <32 x bfloat> {2})")
def add_products(sums: Vector, first: PairVector, second: PairVector) -> Vector:
    """Add the two products of each lane to accumulators."""
    raise NotImplementedError


@instruction(
    "{t}bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr {0}, i32 1, {Mask} {1}, <16 x i16> zeroinitializer)\n"
    "{t}wide = zext <16 x i16> {t}bits to <16 x i32>\n"
    "{t}high = shl <16 x i32> {t}wide, splat (i32 16)\n"
    "bitcast <16 x i32> {t}high to {Vector}"
)
def load_narrow(place: Bits, mask: Mask) -> Vector:
    """Load bfloat16 elements as float32 in the lanes of a mask, and zeros in the others."""
    raise NotImplementedError


@instruction("""{t}near = fptrunc {Vector} {1} to <16 x bfloat>
{t}bits = bitcast <16 x bfloat> {t}near to <16 x i16>
call void @llvm.masked.store.v16i16.p0(<16 x i16> {t}bits, ptr {0}, i32 1, {Mask} {2})""")
def store_narrow(place: Bits, values: Vector, mask: Mask) -> None:
    """Round values to bfloat16, and store the lanes in a mask."""


@internal("noinline")
def pack(second: Bits, row: int, column: int, inner: int, columns: int, panel: Pairs) -> None:
    """Pack a panel of columns, padded with zeros after the last row and the last column."""
    for pair in range((inner + 1) // 2):
        low = second + 2 * pair * row
        has_high = 2 * pair + 1 < inner
        high = low + row if has_high else low
        kept = -1 if has_high else 0xFFFF
        target = panel + pair * _PANEL
        if column == 1:
            for lane in range(columns):
                target[lane] = ((low[lane] & 0xFFFF) | (high[lane] << 16)) & kept
        else:
            for lane in range(columns):
                target[lane] = ((low[lane * column] & 0xFFFF) | (high[lane * column] << 16)) & kept
        for lane in range(columns, _PANEL):
            target[lane] = 0


@internal("noinline")
def tile(
    first: Bits, row: int, inner: int, panel: Pairs, alpha: Real, beta: Real, out: Bits, out_row: int, columns: int,
    height: Constant, width: Constant,
) -> None:  # fmt: skip
    """Multiply ``height`` rows by ``width`` vectors of packed columns; with a ``beta`` of 0 the result is not read."""
    sums = local(Vector, height * width)
    factors = local(int, height)
    for cell in unrolled(range(height * width)):
        sums[cell] = zeros()
    for pair in range(inner // 2):
        for r in unrolled(range(height)):
            factors[r] = load_pair(first + row * r + 2 * pair)
        multiply(sums, factors, panel + pair * _PANEL, height, width)
    if inner % 2 == 1:
        for r in unrolled(range(height)):
            factors[r] = first[row * r + inner - 1] & 0xFFFF
        multiply(sums, factors, panel + inner // 2 * _PANEL, height, width)
    for cell in unrolled(range(height * width)):
        sums[cell] = spread(alpha) * sums[cell]
    if beta != cast(Real, 0.0):
        for r in unrolled(range(height)):
            for v in unrolled(range(width)):
                before = load_narrow(out + out_row * r + v * LANES, first_lanes(columns - v * LANES))
                sums[r * width + v] = sums[r * width + v] + spread(beta) * before
    for r in unrolled(range(height)):
        for v in unrolled(range(width)):
            place = out + out_row * r + v * LANES
            store_narrow(place, sums[r * width + v], first_lanes(columns - v * LANES))


@internal("alwaysinline")
def multiply(sums: Pointer[Vector], factors: Pointer[int], line: Pairs, height: Constant, width: Constant) -> None:
    """Add the products of a pair of the left factor's columns and a packed pair of the right factor's rows."""
    packed = local(PairVector, width)
    for v in unrolled(range(width)):
        packed[v] = load_pairs(line + v * LANES)
    for r in unrolled(range(height)):
        factor = spread_pair(factors[r])
        for v in unrolled(range(width)):
            sums[r * width + v] = add_products(sums[r * width + v], factor, packed[v])


@internal("noinline")
def move_rows(
    source: Bits, row: int, column: int, to: Bits, to_row: int, to_column: int, rows: int, columns: int
) -> None:
    """Copy a few rows of a matrix between arrays with any strides."""
    for r in range(rows):
        for c in range(columns):
            to[r * to_row + c * to_column] = source[r * row + c * column]


@internal()
def multiply_rows(
    plan: NarrowPlan, first: Bits, panel: Pairs, alpha: Real, beta: Real, out: Bits, low: int, high: int, width: int
) -> None:
    """Multiply rows [low, high) by a panel, with the tallest tiles first, as wide as the panel has columns.

    Tiles are stored by rows: into a buffer first if the rows of the result are not contiguous.
    """
    own = local(Int16, HEIGHTS[0] * _PANEL)
    is_near = plan.out_column == 1
    for height in unrolled(HEIGHTS):
        for row in range(low, high - (height - 1), height):
            place = out + row * plan.out_row
            target = place if is_near else own
            pitch = plan.out_row if is_near else _PANEL
            if not is_near and beta != cast(Real, 0.0):
                move_rows(place, plan.out_row, plan.out_column, own, _PANEL, 1, height, width)
            for vectors in unrolled(_WIDTHS):
                if width <= vectors * LANES and (vectors == 1 or width > vectors // 2 * LANES):
                    line = first + row * plan.first_row
                    tile(line, plan.first_row, plan.inner, panel, alpha, beta, target, pitch, width, height, vectors)
            if not is_near:
                move_rows(own, _PANEL, 1, place, plan.out_row, plan.out_column, height, width)
            low = row + height


@exported
def narrow_product(frame: Pointer[NarrowPlan], begin: int, end: int) -> None:
    """Compute rows [begin, end) of the products, counted over the batch; for each matrix panel by panel."""
    plan = frame[0]
    operands = cast(Pointer[Bits], frame)
    numbers = cast(Pointer[float], frame)
    panel = cast(Pairs, room((plan.inner + 1) // 2 * 4 * _PANEL))
    for matrix in range(begin // plan.rows, (end - 1) // plan.rows + 1):
        low = max(begin - matrix * plan.rows, 0)
        high = min(end - matrix * plan.rows, plan.rows)
        first = operands[plan.first_slot] + matrix * plan.first_matrix
        for at in range(0, plan.columns, _PANEL):
            width = min(plan.columns - at, _PANEL)
            second = operands[plan.second_slot] + matrix * plan.second_matrix + at * plan.second_column
            pack(second, plan.second_row, plan.second_column, plan.inner, width, panel)
            out = operands[10] + matrix * plan.out_matrix + at * plan.out_column
            multiply_rows(plan, first, panel, rounded(numbers[6]), rounded(numbers[8]), out, low, high, width)
    memory.free(cast(Address, panel))
