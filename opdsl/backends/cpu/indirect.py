"""Kernels for elementwise loops that read or write elements at positions from index tensors: ``gather``, ``scatter``,
``x[indices]``.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import grain_of, kernel_cost
from opdsl.backends.cpu.forms import ANY, NUMBER, SINGLE, STRIDED, Form, letter
from opdsl.backends.cpu.pointwise import SYMBOL, operands_of, signature_of, walk_details
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.kernel import Read, sources_behind
from opdsl.kernels.structure import scatters
from opdsl.runtime.lowering import may_choose

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel as Computation

# The cost of an access at an unpredictable position, in additions.
_COST_OF_A_PLACE = 8

# The number of elements from which a layout gets a specialized kernel.
_OWN_LAYOUT_FROM = 1024
_PIECE_UNIT = 1024


def indirect(kernel: Computation, layout: Layout) -> Kernel:
    """Compile an elementwise kernel with an operand whose further dimensions have sizes and strides that are operands
    too, or find it, and plan the call.

    Args:
        kernel: the computation.
        layout: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the inputs and the given output.
    """
    specs = [*layout.inputs, *layout.outputs]
    form = _form(kernel, layout)
    code = _row_code(kernel, form)
    sizes = layout.sizes[0] or (1,)
    elements = math.prod(sizes)
    is_near = _is_near(kernel, form)
    cost = elements * (kernel_cost(kernel) + (0 if is_near else _COST_OF_A_PLACE))
    grain = grain_of(cost, elements, _PIECE_UNIT)
    # Two iterations may write the same element, so a loop that writes is not divided.
    whole = scatters(kernel) and bool(grain)
    work = Work(
        loop=native.entry("walk"),
        elements=elements,
        grain=elements if whole else grain,
        unit=elements if whole else _PIECE_UNIT,
        details=walk_details(code.address(SYMBOL), sizes, specs),
    )
    return builtin.builtin(f"{kernel.name}_cpu", work, signature_of(kernel).inputs, [builtin.Given()], [code])


def _form(kernel: Computation, layout: Layout) -> Form:
    """Return the form of a call, the key by which its kernel is compiled."""
    return Form(*operands_of(signature_of(kernel), layout), _letters(kernel, layout))


def _letters(kernel: Computation, layout: Layout) -> str:
    """Return the stride class of each operand; an operand that is written or indexed is never a single element."""
    (sizes,) = layout.sizes
    is_large = not may_choose() or math.prod(sizes) >= _OWN_LAYOUT_FROM
    own = is_large and bool(sizes) and sizes[-1] > 1
    moved = [bool(operand.dims) or operand.name in kernel.outputs for operand in kernel.operands]

    def choose(spec: OperandSpec, is_moved: bool) -> str:
        if not own:
            return NUMBER if spec.strides is None else STRIDED
        spec_letter = letter(spec)
        return STRIDED if spec_letter == SINGLE and is_moved else spec_letter

    return "".join(map(choose, (*layout.inputs, *layout.outputs), moved))


def _is_near(kernel: Computation, form: Form) -> bool:
    """Return whether the indices are the same for all elements of a row."""
    accesses = (*kernel.reads, *kernel.writes)
    behind = sources_behind(kernel, [at for access in accesses for at in access.at])
    arrays = {source.operand for at in behind if isinstance(source := kernel.sources[at], Read)}
    letters = {kernel.operands[k].name: way for k, way in enumerate(form.layout)}
    return all(letters[name] == SINGLE for name in arrays)


@functools.lru_cache(maxsize=4096)
def _row_code(kernel: Computation, form: Form) -> engine.Code:
    """Compile the kernel of a form."""

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.kernels.loops import schedules
        from opdsl.kernels.loops.lowering import lowered

        count = len(form.inputs)
        loops = lowered(kernel, Layout(((ANY,),), form.specs[:count], form.specs[count:], (None,)))
        # If all elements of a row share indices, distinct iterations write distinct elements.
        if scatters(kernel) and not _is_near(kernel, form):
            loops = loops.scheduled(schedules.ordered(loops.program))
        return module_ir(loops, SYMBOL)

    return engine.compile_ir(f"indirect {kernel.fingerprint} {form}", text, [SYMBOL])
