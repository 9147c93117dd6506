"""Scans: the graphs of a monoid and a call's geometry become a built-in function."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.folds import constants
from opdsl.backends.cpu.loops import SINGLE, STRIDED, Operand
from opdsl.backends.cpu.nests import kept_elements, layout_of, nest_details, runs_across
from opdsl.backends.cpu.pointwise import PARALLEL_FROM, SHARE_OF_A_THREAD, graph_cost, planned_outputs
from opdsl.backends.cpu.scan_text import ABREAST, ACROSS, LANES, PARTS, SYMBOL, ScanSignature, module_ir
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import RowCall, Scanning
    from opdsl.scalar.graph import TypedGraph

# Fewer rows side by side than this are cut into parts.
_FEWEST_ROWS = 4

# Parts begin at other places of the first cache: a part's length leaves this many elements over such a multiple.
_PART_MULTIPLE, _PART_REST = 256, 80


def scan(scanning: Scanning, call: RowCall) -> Kernel:
    """Compile (or find) the functions of a scan for a call's dtypes and layout, and plan its geometry.

    Args:
        scanning: the monoid.
        call: where the operands lie.

    Returns:
        A built-in function of the input and the given outputs, which returns the output or, of several, a tuple.
    """
    signature = _signature(scanning, call)
    code = scan_code(scanning.lift, scanning.combine, scanning.finish, signature)
    rows = kept_elements(call)
    cost = largest(1, rows * call.length * sum(map(graph_cost, (scanning.lift, scanning.combine, scanning.finish))))
    unit = 1 if signature.form == PARTS else LANES[signature.form]
    work = Work(
        loop=native.code().address("walk"),
        elements=rows,
        grain=largest(unit, SHARE_OF_A_THREAD * rows // cost) if cost >= PARALLEL_FROM and rows > 1 else 0,
        unit=unit,
        details=nest_details(code.address(SYMBOL), call, part_length(call.length)),
    )
    return builtin.builtin(f"{scanning.combine.name}_cpu", work, [builtin.ARRAY], planned_outputs(call), [code])


def part_length(length: int) -> int:
    """How long the parts of a row are.

    >>> part_length(100), part_length(1 << 20)
    (12, 130896)
    """
    part = length // LANES[PARTS]
    return part if part < 2 * _PART_MULTIPLE else part - (part - _PART_REST) % _PART_MULTIPLE


def _signature(scanning: Scanning, call: RowCall) -> ScanSignature:
    (source,), outputs = call.inputs, call.outputs
    form = ACROSS if runs_across(call) else ABREAST if call.kept and call.kept[-1] >= _FEWEST_ROWS else PARTS
    layout = layout_of([source, *outputs], -2) if form == ACROSS else STRIDED * (1 + len(outputs))
    layout = layout.replace(SINGLE, STRIDED)
    parameters = scanning.lift.parameters
    accumulators = tuple(str(kind) for kind in scanning.combine.result_types)
    results = zip(outputs, scanning.finish.result_types, strict=True)
    return ScanSignature(
        Operand(source.dtype.name, str(parameters[0][1])),
        len(parameters) > 1,
        accumulators,
        constants(scanning.init, accumulators),
        tuple(Operand(spec.dtype.name, str(kind)) for spec, kind in results),
        layout,
        form,
    )


@functools.lru_cache(maxsize=4096)
def scan_code(lift: TypedGraph, combine: TypedGraph, finish: TypedGraph, signature: ScanSignature) -> engine.Code:
    """The kernel of a scan."""
    graphs = {"lift": lift, "combine": combine, "finish": finish}

    def text() -> str:
        from opdsl.backends.cpu.printer import declarations, function_ir

        functions = [function_ir(graph, name) for name, graph in graphs.items()]
        return module_ir(signature, functions, [line for graph in graphs.values() for line in declarations(graph)])

    prints = " ".join(graph.fingerprint for graph in graphs.values())
    return engine.compile_ir(f"scan {prints} {signature}", text, [SYMBOL])
