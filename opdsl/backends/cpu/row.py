"""Row kernels: a row function's graph and a call's geometry become a built-in function."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.loops import Operand
from opdsl.backends.cpu.nests import kept_elements, layout_of, nest_details, runs_across
from opdsl.backends.cpu.pointwise import (
    PARALLEL_FROM,
    SHARE_OF_A_THREAD,
    graph_cost,
    graph_name,
    lies_over,
    number_input,
    planned_outputs,
)
from opdsl.backends.cpu.row_text import LANES, SYMBOL, RowSignature, module_ir
from opdsl.backends.cpu.storage import MEMORY
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import RowCall
    from opdsl.scalar.graph import TypedGraph
    from opdsl.scalar.rows import RowProgram

# What a kernel may keep of a row on the stack, in bytes.
_ROOM = 1 << 17

# Elements from which on rows take longer than a copy and a call.
_WORTH_A_COPY = 1024


def row(graph: TypedGraph, call: RowCall) -> Kernel:
    """Compile (or find) the kernel of a row function for a call's dtypes and layout, and plan its geometry.

    Args:
        graph: the function; its first parameters are those of the arrays, the others those of the numbers.
        call: where the operands lie.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    across = runs_across(call)
    keep = _fits(graph, call, across=across)
    code = row_code(graph, _signature(graph, call, across=across), keep=keep)
    rows = kept_elements(call)
    cost = largest(1, rows * call.length * graph_cost(graph))
    unit = LANES if across else 1
    work = Work(
        loop=native.code().address("walk"),
        elements=rows,
        grain=largest(unit, SHARE_OF_A_THREAD * rows // cost) if cost >= PARALLEL_FROM and rows > 1 else 0,
        unit=unit,
        details=nest_details(code.address(SYMBOL), call),
    )
    inputs = [
        builtin.ARRAY if spec.strides is not None else number_input(str(kind))
        for spec, (_, kind) in zip(call.inputs, graph.parameters, strict=True)
    ]
    reads_others = any(node.op == "row_at" for node in graph.nodes)
    return builtin.builtin(
        graph_name(graph), work, inputs, planned_outputs(call), [code], [] if reads_others else lies_over(call)
    )


def apart(call: RowCall) -> list[int]:
    """See ``opdsl.kernels.compiler.apart``: loops along rows have vectors of neighbours alone."""
    if runs_across(call) or call.length * kept_elements(call) < _WORTH_A_COPY:
        return []
    inputs = enumerate(call.inputs)
    return [place for place, each in inputs if each.strides and each.strides[-1] not in (0, each.dtype.itemsize)]


def _arrays(call: RowCall) -> int:
    return sum(spec.strides is not None for spec in call.inputs)


@functools.lru_cache(maxsize=1024)
def _program(graph: TypedGraph, arrays: int, *, keep: bool) -> RowProgram:
    from opdsl.scalar.rows import row_program

    return row_program(graph, arrays, keep=keep)


def _fits(graph: TypedGraph, call: RowCall, *, across: bool) -> bool:
    """Whether what one stage could keep for another is small enough to be kept."""
    stages = _program(graph, _arrays(call), keep=True).stages
    kinds = [kind for stage in stages for kind in stage.graph.result_types[len(stage.folds) :]]
    size = sum(MEMORY[str(kind)].itemsize for kind in kinds)
    return 0 < size * call.length * (LANES if across else 1) <= _ROOM


def _signature(graph: TypedGraph, call: RowCall, *, across: bool) -> RowSignature:
    return RowSignature(
        tuple(
            Operand("" if spec.strides is None else spec.dtype.name, str(kind))
            for spec, (_, kind) in zip(call.inputs, graph.parameters, strict=True)
        ),
        tuple(Operand(spec.dtype.name, str(kind)) for spec, kind in zip(call.outputs, graph.result_types, strict=True)),
        layout_of([*call.inputs, *call.outputs], -2 if across else -1),
        across,
    )


@functools.lru_cache(maxsize=4096)
def row_code(graph: TypedGraph, signature: RowSignature, *, keep: bool) -> engine.Code:
    """The row kernel of a layout."""

    def text() -> str:
        from opdsl.backends.cpu.printer import declarations, function_ir

        program = _program(graph, sum(not each.is_number for each in signature.inputs), keep=keep)
        graphs = {f"stage{index}": stage.graph for index, stage in enumerate(program.stages)}
        graphs |= {
            name: each for name, each in (("elements", program.elements), ("rows", program.rows)) if each.results
        }
        functions = [function_ir(each, name) for name, each in graphs.items()]
        return module_ir(
            program, signature, functions, [line for each in graphs.values() for line in declarations(each)]
        )

    return engine.compile_ir(f"row {graph.fingerprint} {signature} {keep}", text, [SYMBOL])
