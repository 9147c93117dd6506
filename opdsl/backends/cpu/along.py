"""Kernels for row functions and scans, which process one dimension as a whole: their forms and their plans.

The elements along that dimension are a row; the other dimensions are the kept ones. A kernel is
``void (operands, count, strides)``, and ``walk`` calls it for ``count`` neighboring rows. The array ``strides`` holds
the strides of the innermost kept dimension, then the length of a row and the operands' strides along it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.cost import grain_of
from opdsl.backends.cpu.forms import ANY, Form, letter, operands
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.walk import WalkPlan
from opdsl.backends.cpu.pointwise import number_input, planned_outputs
from opdsl.kernels.calls import RowCall
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.scalar.types import ScalarType

SYMBOL = "along"

# The fewest rows along the last kept dimension for which the innermost loop runs across rows.
_FEWEST_ACROSS = 8


def form_of(call: RowCall, taken: Sequence[ScalarType], scalar_types: Sequence[ScalarType], *, across: bool) -> Form:
    """Return the form of a call, the key by which its kernel is compiled: operand types and stride classes.

    Args:
        call: the dtypes and strides of the operands.
        taken, scalar_types: the types to which inputs are converted, and those of the computed outputs.
        across: whether the innermost loop runs across rows instead of along them.
    """
    layout = "".join(letter(input, -2 if across else -1) for input in (*call.inputs, *call.outputs))
    return Form(operands(call.inputs, taken), operands(call.outputs, scalar_types), layout, across)


def call_of(form: Form) -> RowCall:
    """Return a representative call of a form, with placeholder sizes, from which the loops are built."""
    count = len(form.inputs)
    return RowCall((ANY,), ANY, form.specs[:count], form.specs[count:], (None,) * len(form.outputs))


def runs_across(call: RowCall) -> bool:
    """Return whether the innermost loop is to run across rows, because most operands have smaller strides between rows
    than along them.
    """
    if not call.kept or call.kept[-1] < _FEWEST_ACROSS or call.length == 1:
        return bool(call.kept) and call.kept[-1] >= _FEWEST_ACROSS
    closer = [
        abs(spec.strides[-2]) < abs(spec.strides[-1])
        for spec in (*call.inputs, *call.outputs)
        if spec.strides is not None and len(spec.strides) > 1 and any(spec.strides)
    ]
    return sum(closer) * 2 > len(closer)


def kernel_of(
    name: str,
    code: engine.Code,
    call: RowCall,
    form: Form,
    cost: int,
    unit: int,
    over: Sequence[Sequence[int]] = (),
    more: Sequence[int] = (),
) -> Kernel:
    """Plan a call, and return it as a built-in function of the inputs and the given outputs.

    The function returns the output, or a tuple of several.

    Args:
        name: of the function.
        code: compiled for the form.
        call: the dtypes, sizes and strides of the operands.
        form: of the call.
        cost: of an element, in additions.
        unit: how many rows are processed together.
        over: for each output the indices of the inputs whose memory it may overwrite.
        more: words that the kernel reads after its strides.
    """
    rows = kept_elements(call)
    cost = largest(1, rows * call.length * cost)
    work = Work(
        loop=native.entry("walk"),
        elements=rows,
        grain=grain_of(cost, rows, unit) if rows > 1 else 0,
        unit=unit,
        details=_details(code.address(SYMBOL), call, *more),
    )
    inputs = [number_input(input.value) if input.is_number else builtin.ARRAY for input in form.inputs]
    return builtin.builtin(f"{name}_cpu", work, inputs, planned_outputs(call), [code], over)


def _details(kernel: int, call: RowCall, *more: int) -> list[int | Table]:
    """Return the words of a ``WalkPlan`` for a call."""
    specs = (*call.inputs, *call.outputs)
    strides = [spec.strides or (0,) * (len(call.kept) + 1) for spec in specs]
    return walk_words(kernel, call.kept, (call.length,), strides, more)


def walk_words(
    kernel: int,
    sizes: Sequence[int],
    further: Sequence[int],
    strides: Sequence[Sequence[int]],
    more: Sequence[int] = (),
    later: Sequence[int | Table] = (),
) -> list[int | Table]:
    """Return the words of a ``WalkPlan``, followed by those that the kernel itself reads.

    Args:
        kernel: its address.
        sizes: of the dimensions that ``walk`` iterates over.
        further: sizes of the dimensions that the kernel itself iterates over.
        strides: of each operand, for ``sizes`` then ``further``.
        more: words that the kernel reads after its strides.
        later: the plan of a second traversal, which runs after this one.
    """
    depth = len(sizes)
    steps = [stride[d] for d in range(depth) for stride in strides] if sizes else [0] * len(strides)
    for d, size in enumerate(further):
        steps += [size, *(stride[depth + d] for stride in strides)]
    return words(
        WalkPlan,
        row=kernel,
        operands=len(strides),
        dimensions=depth or 1,
        sizes=Table(sizes or (1,)),
        strides=Table([*steps, *more]),
        turns=0,
        later=Table(later) if later else 0,
    )


def kept_elements(call: RowCall) -> int:
    """Return the number of rows, the product of the kept sizes."""
    return math.prod(call.kept)
