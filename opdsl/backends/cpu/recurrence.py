"""Recurrences: the graph of a step and a call's geometry become a built-in function."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.folds import constants
from opdsl.backends.cpu.loops import SINGLE, STRIDED, Operand
from opdsl.backends.cpu.nests import kept_elements, layout_of, nest_details, runs_across
from opdsl.backends.cpu.pointwise import PARALLEL_FROM, SHARE_OF_A_THREAD, graph_cost, number_input, planned_outputs
from opdsl.backends.cpu.recurrence_text import LANES, RecurrenceSignature, module_ir
from opdsl.backends.cpu.scan_text import ABREAST, ACROSS, SYMBOL
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import Recurring, RowCall
    from opdsl.scalar.graph import TypedGraph


def recurrence(recurring: Recurring, call: RowCall) -> Kernel:
    """Compile (or find) a recurrence for a call's dtypes and layout, and plan its geometry.

    Args:
        recurring: what is computed at each step.
        call: where the operands lie.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    signature = _signature(recurring, call)
    code = recurrence_code(recurring.step, signature)
    rows = kept_elements(call)
    cost = largest(1, rows * call.length * graph_cost(recurring.step))
    unit = LANES[signature.form]
    work = Work(
        loop=native.code().address("walk"),
        elements=rows,
        grain=largest(unit, SHARE_OF_A_THREAD * rows // cost) if cost >= PARALLEL_FROM and rows > 1 else 0,
        unit=unit,
        details=nest_details(code.address(SYMBOL), call),
    )
    inputs = [
        builtin.ARRAY if spec.strides is not None else number_input(each.value)
        for spec, each in zip(call.inputs, signature.inputs, strict=True)
    ]
    return builtin.builtin(f"{recurring.step.name}_cpu", work, inputs, planned_outputs(call), [code])


def _signature(recurring: Recurring, call: RowCall) -> RecurrenceSignature:
    count = len(recurring.init)
    form = ACROSS if runs_across(call) else ABREAST
    specs = [*call.inputs, *call.outputs]
    layout = layout_of(specs, -2).replace(SINGLE, STRIDED) if form == ACROSS else STRIDED * len(specs)
    kinds = [str(kind) for _, kind in recurring.step.parameters[count:]]
    types = [str(kind) for kind in recurring.step.result_types]
    return RecurrenceSignature(
        tuple(
            Operand("" if spec.strides is None else spec.dtype.name, kind)
            for spec, kind in zip(call.inputs, kinds, strict=True)
        ),
        tuple(types[:count]),
        constants(recurring.init, tuple(types[:count])),
        tuple(Operand(spec.dtype.name, kind) for spec, kind in zip(call.outputs, types[count:], strict=True)),
        layout,
        form,
        recurring.is_reverse,
    )


@functools.lru_cache(maxsize=4096)
def recurrence_code(step: TypedGraph, signature: RecurrenceSignature) -> engine.Code:
    """The kernel of a recurrence."""

    def text() -> str:
        from opdsl.backends.cpu.printer import declarations, function_ir

        return module_ir(signature, [function_ir(step, "step")], [*declarations(step)])

    return engine.compile_ir(f"recurrence {step.fingerprint} {signature}", text, [SYMBOL])
