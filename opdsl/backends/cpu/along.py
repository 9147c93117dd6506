"""Kernels that go along a dimension, rows and scans: their forms, and how a call becomes a built-in function.

Such a kernel is ``void (operands, count, strides)``, which ``walk`` calls for ``count`` kept elements in a row.
Behind the strides of that dimension lie the length of the other one and the operands' strides along it.
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

# Fewer kept elements side by side than this are not worth loops across them.
_FEWEST_ACROSS = 8


def form_of(call: RowCall, taken: Sequence[ScalarType], scalar_types: Sequence[ScalarType], *, across: bool) -> Form:
    """The form of a call.

    Args:
        call: where operands lie.
        taken, scalar_types: the types in which inputs are taken, and outputs made.
        across: whether the innermost loop is over kept elements.
    """
    layout = "".join(letter(input, -2 if across else -1) for input in (*call.inputs, *call.outputs))
    return Form(operands(call.inputs, taken), operands(call.outputs, scalar_types), layout, across)


def call_of(form: Form) -> RowCall:
    """A call of a form."""
    count = len(form.inputs)
    return RowCall((ANY,), ANY, form.specs[:count], form.specs[count:], (None,) * len(form.outputs))


def runs_across(call: RowCall) -> bool:
    """Whether loops across kept elements beat loops along the dimension: those that lie closer are stepped through."""
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
    """A built-in function of a call's inputs and given outputs, which returns the output or, of several, a tuple.

    Args:
        name: of the function.
        code: of the form.
        cost: of an element, in additions.
        unit: how many kept elements are taken together.
        over: for each output the inputs whose place it may take.
        more: words that the kernel reads behind the others.
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
    """The words of a plan that the walk reads."""
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
    """The words of a plan that the walk reads, and behind its strides those that the kernel reads.

    Args:
        kernel: its address.
        sizes: of the dimensions that are walked over.
        further: of those that the kernel goes along.
        strides: of each operand, for ``sizes`` then ``further``.
        more: words that the kernel reads behind these.
        later: the plan of another walk.
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
    """How many kept elements there are."""
    return math.prod(call.kept)
