"""Scan programs: teams of threads scan rows tile by tile; long rows in parts, whose accumulators come first."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.monoid import fingerprint, finished, fold_structure
from opdsl.backends.cuda.program import Constant, Launch, Program, Scratch, Source, Variant, operand_arguments, packed
from opdsl.backends.cuda.reduction import ENOUGH_BLOCKS, ENOUGH_THREADS, Cut, floor_log
from opdsl.backends.cuda.row import runs_along
from opdsl.backends.cuda.storage import stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import RowCall, Scanning

__all__ = ["scan"]

THREADS = 256
WARP = 32

# Bytes of an accumulator in scratch memory, at most.
_ACCUMULATOR = 16

# Neighbours that a lane holds, and tiles that are worth a part of their own.
_ITEMS_ALONG, _ITEMS_ACROSS = 8, 4
_TILES_OF_A_PART = 4


def scan(scanning: Scanning, call: RowCall) -> Program:
    """The program of a scan.

    Args:
        scanning: the monoid.
        call: where the operands lie.
    """
    form = cut(call)
    strides = [spec.strides or () for spec in (*call.inputs, *call.outputs)]
    kept = layout(call.kept, [each[:-1] for each in strides])
    stored = " ".join(spec.dtype.name for spec in (*call.inputs, *call.outputs))
    text = f"scan {fingerprint(scanning)} {stored} {kept.c_type} {form.along} {form.parts > 1}"
    body = functools.partial(_print, scanning, call, kept.c_type, form)
    source = Source(text, ("prelude", "neighbours", "team", "reduce", "scan"), body)
    operands = [
        (call.inputs[0], scanning.lift.parameters[0][1]),
        *zip(call.outputs, scanning.finish.result_types, strict=True),
    ]
    if form.rows == 0 or form.elements == 0:
        return Program(source, len(operands), (Variant(1, ()),))
    first, *rest = operand_arguments(operands)
    steps = packed(f"Steps<{len(strides)}>", *(ctypes.c_longlong(each[-1]) for each in strides))
    grid, block, numbers = (form.blocks, form.parts, 1), (THREADS, 1, 1), _constant(form)
    shape = (kept, steps, numbers)
    if form.parts == 1:
        launch = Launch("scans", grid, block, (first, *shape, *rest))
        return Program(source, len(operands), (Variant(1, (launch,)),))
    launches = (
        Launch("parts", grid, block, (first, *shape, *rest, Scratch(0))),
        Launch("scans", grid, block, (first, *shape, *rest, Scratch(0))),
    )
    size = len(scanning.init) * _ACCUMULATOR * form.rows * form.parts
    return Program(source, len(operands), (Variant(1, launches),), size)


def _constant(form: Cut) -> Constant:
    """The structure ``Cut`` of ``scan.cuh``."""
    words = [ctypes.c_longlong(each) for each in (form.rows, form.elements, form.part)]
    return packed("Cut", *words, ctypes.c_int(form.parts), ctypes.c_int(form.log))


def cut(call: RowCall) -> Cut:
    """How a call is cut; a part is a number of whole tiles."""
    rows, count = math.prod(call.kept), call.length
    along = runs_along(call)
    items = _ITEMS_ALONG if along else _ITEMS_ACROSS
    shares = max(1, -(-count // items))
    widest = floor_log(THREADS if along else max(THREADS // WARP, THREADS // max(1, rows)))
    log = 0
    while log < widest and 1 << log < shares and (along or rows << log < ENOUGH_THREADS):
        log += 1
    tile = items << log
    tiles, blocks = -(-count // tile), -(-rows // (THREADS >> log))
    parts = max(1, min(-(-ENOUGH_BLOCKS // max(1, blocks)), tiles // _TILES_OF_A_PART))
    part = -(-tiles // parts) * tile
    return Cut(along, 1, rows, count, log, max(1, -(-count // max(1, part))), part)


def _print(scanning: Scanning, call: RowCall, kept: str, form: Cut) -> str:
    items = _ITEMS_ALONG if form.along else _ITEMS_ACROSS
    structure = fold_structure(scanning, call.inputs[0], call.outputs, _finish(scanning, call))
    stored, along = stored_type(call.inputs[0].dtype), str(form.along).lower()
    declared = [f"{stored_type(spec.dtype)}* output{at}" for at, spec in enumerate(call.outputs)]
    fold = f"const Fold fold{{{', '.join(f'output{at}' for at in range(len(call.outputs)))}}};"
    head = f'extern "C" __global__ void __launch_bounds__({THREADS})'
    given = [
        f"const char* input, const {kept} kept, const Steps<{1 + len(call.outputs)}> steps, const Cut cut",
        *declared,
    ]
    texts = [structure]
    if form.parts > 1:
        texts.append(
            f"""{head} parts({", ".join([*given, "Fold::Accumulators* partial"])}) {{
    {fold}
    fold_parts<Fold, {stored}, {along}>(fold, input, partial, kept, steps, cut);
}}"""
        )
        given.append("const Fold::Accumulators* partial")
    partial = "partial" if form.parts > 1 else "nullptr"
    texts.append(
        f"""{head} scans({", ".join(given)}) {{
    {fold}
    scan<Fold, {stored}, {along}, {items}>(fold, input, {partial}, kept, steps, cut);
}}"""
    )
    return "\n".join(texts)


def _finish(scanning: Scanning, call: RowCall) -> list[str]:
    """The member that stores the results of neighbours."""
    outputs = range(len(call.outputs))
    types = [stored_type(spec.dtype) for spec in call.outputs]
    places = [f"made{at}[item]" for at in outputs]
    stores = [
        f"store_neighbours<items>(made{at}, &element<{types[at]}>(output{at}, offsets[{at + 1}]), "
        f"steps.step[{at + 1}], index, end);"
        for at in outputs
    ]
    return [
        "    template <int items>",
        "    __device__ void finish(",
        "        const Accumulators (&found)[items], const long long* offsets, const Steps<operands>& steps,",
        "        long long index, long long end) const {",
        *(f"        {types[at]} made{at}[items];" for at in outputs),
        "#pragma unroll",
        "        for (int item = 0; item < items; ++item) {",
        *(f"            {each}" for each in finished(scanning, "found[item]", call.outputs, places)),
        "        }",
        *(f"        {each}" for each in stores),
        "    }",
    ]
