"""Kernels for elementwise loops that read or write elements at positions from index tensors: ``gather``, ``scatter``,
``x[indices]``.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import grain_of, graph_cost
from opdsl.backends.cpu.forms import ANY, NUMBER, SINGLE, STRIDED, Form, letter, operands
from opdsl.backends.cpu.pointwise import (
    SYMBOL,
    graph_name,
    number_input,
    walk_details,
)
from opdsl.kernels.calls import IndirectCall, OperandSpec
from opdsl.runtime.dtype import int64
from opdsl.runtime.lowering import may_choose
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

# The cost of an access at an unpredictable position, in additions.
_COST_OF_A_PLACE = 8

# The number of elements from which a layout gets a specialized kernel.
_OWN_LAYOUT_FROM = 1024
_PIECE_UNIT = 1024
_NUMBER = OperandSpec(int64, None)


def indirect(graph: TypedGraph, call: IndirectCall) -> Kernel:
    """Compile the loop of a scalar graph for a call's dtypes and layout, or find it, and plan the call.

    Args:
        graph: the function.
        call: the dtypes, sizes and strides of the operands, and which of them are indexed by the positions.

    Returns:
        A built-in function, see ``Compiler.indirect``.
    """
    count = len(call.positions)
    specs = [*call.inputs, *call.positions, *[_NUMBER] * (2 * count), call.output]
    taken = [*(kind for _, kind in graph.parameters), *[ScalarType.INT64] * (3 * count)]
    form = Form(operands(specs[:-1], taken), operands(specs[-1:], graph.result_types), _layout(call))
    code = _row_code(graph, form, count, call.reads, call.writes)
    sizes = call.sizes or (1,)
    elements = math.prod(sizes)
    is_near = _is_near(form, count)
    cost = elements * (graph_cost(graph) + (0 if is_near else _COST_OF_A_PLACE))
    grain = grain_of(cost, elements, _PIECE_UNIT)
    # Two iterations may write the same element, so a loop that writes is not divided.
    whole = call.writes and bool(grain)
    work = Work(
        loop=native.entry("walk"),
        elements=elements,
        grain=elements if whole else grain,
        unit=elements if whole else _PIECE_UNIT,
        details=walk_details(code.address(SYMBOL), sizes, specs),
    )
    inputs = [number_input(input.value) if input.is_number else builtin.ARRAY for input in form.inputs]
    return builtin.builtin(graph_name(graph), work, inputs, [builtin.Given()], [code])


def _layout(call: IndirectCall) -> str:
    """Return the stride class of each operand; an operand that is written or indexed is never a single element."""
    is_large = not may_choose() or math.prod(call.sizes) >= _OWN_LAYOUT_FROM
    own = is_large and bool(call.sizes) and call.sizes[-1] > 1

    def choose(spec: OperandSpec, is_moved: bool) -> str:
        if not own:
            return NUMBER if spec.strides is None else STRIDED
        spec_letter = letter(spec)
        return STRIDED if spec_letter == SINGLE and is_moved else spec_letter

    data = "".join(choose(spec, index == call.reads) for index, spec in enumerate(call.inputs))
    positions = "".join(choose(spec, False) for spec in call.positions)
    return data + positions + NUMBER * (2 * len(positions)) + choose(call.output, True)


def _is_near(form: Form, count: int) -> bool:
    """Return whether the positions are the same for all elements of a row."""
    first = len(form.inputs) - 3 * count
    return set(form.layout[first : first + count]) <= {SINGLE}


@functools.lru_cache(maxsize=4096)
def _row_code(graph: TypedGraph, form: Form, count: int, reads: int | None, writes: bool) -> engine.Code:
    """Compile the kernel of a form, whose inputs are those of the function, then positions, strides and sizes of
    indexed dimensions.
    """

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.kernels.loops import elementwise, schedules

        first = len(form.inputs) - 3 * count
        inputs, positions, output = form.specs[:first], form.specs[first : first + count], form.specs[-1]
        loops = elementwise.indirect(graph, IndirectCall((ANY,), inputs, output, positions, reads, writes))
        # If all elements of a row share positions, distinct iterations write distinct elements.
        if writes and not _is_near(form, count):
            loops = loops.scheduled(schedules.ordered(loops.program))
        return module_ir(loops, SYMBOL)

    return engine.compile_ir(f"indirect {graph.fingerprint} {form} {count} {reads} {writes}", text, [SYMBOL])
