"""Kernels that go along a dimension, rows and scans: their forms, and how a call becomes a built-in function.

Such a kernel is ``void (operands, count, strides)``, which ``walk`` calls for ``count`` kept elements in a row.
Behind the strides of that dimension lie the length of the other one and the operands' strides along it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.loops import CONTIGUOUS, NUMBER, SINGLE, STRIDED, Operand
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.walk import WalkPlan
from opdsl.backends.cpu.pointwise import PARALLEL_FROM, SHARE_OF_A_THREAD, number_input, planned_outputs
from opdsl.kernels.calls import OperandSpec, RowCall
from opdsl.runtime.dtype import to_dtype
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.loops.model import Program
    from opdsl.scalar.types import ScalarType

SYMBOL = "along"

# Fewer kept elements side by side than this are not worth loops across them.
_FEWEST_ACROSS = 8

# A size, and a stride in elements, that come with a call.
_ANY = 2


class Form(NamedTuple):
    """What a kernel that goes along a dimension is compiled for, beside its graphs.

    inputs: arrays and numbers. outputs: the results.
    layout: a letter for each operand, by how it steps in the innermost loop.
    across: whether that is a loop over kept elements.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    layout: str
    across: bool

    def __str__(self) -> str:
        inputs = " ".join(f"{each.dtype or 'number'}:{each.value}" for each in self.inputs)
        outputs = " ".join(f"{each.dtype}:{each.value}" for each in self.outputs)
        return f"{inputs} -> {outputs} {self.layout} {'across' if self.across else 'along'}"

    def call(self) -> RowCall:
        """A call of this form."""

        def spec(operand: Operand, letter: str) -> OperandSpec:
            if operand.is_number:
                return OperandSpec(to_dtype(operand.value), None)
            dtype = to_dtype(operand.dtype)
            step = {CONTIGUOUS: dtype.itemsize, SINGLE: 0}.get(letter, _ANY * dtype.itemsize)
            own, other = step, _ANY * dtype.itemsize
            return OperandSpec(dtype, (own, other) if self.across else (other, own))

        count = len(self.inputs)
        inputs = tuple(map(spec, self.inputs, self.layout[:count]))
        outputs = tuple(map(spec, self.outputs, self.layout[count:]))
        return RowCall((_ANY,), _ANY, inputs, outputs, (None,) * len(outputs))


def form_of(call: RowCall, taken: Sequence[ScalarType], made: Sequence[ScalarType], *, across: bool) -> Form:
    """The form of a call.

    Args:
        call: where operands lie.
        taken, made: the types in which inputs are taken, and outputs made.
        across: whether the innermost loop is over kept elements.
    """
    inputs, outputs = (
        tuple(
            Operand("" if spec.strides is None else spec.dtype.name, kind.value)
            for spec, kind in zip(specs, kinds, strict=True)
        )
        for specs, kinds in ((call.inputs, taken), (call.outputs, made))
    )
    return Form(inputs, outputs, layout_of([*call.inputs, *call.outputs], -2 if across else -1), across)


def kernel_text(program: Program) -> str:
    """The module of a program of ``Form.call``."""
    from opdsl.backends.cpu.loop_text import COUNT, module_ir
    from opdsl.kernels.loops.model import Array
    from opdsl.kernels.loops.row_schedules import PART_LENGTH

    operands = program.parameters
    table = {"i0_n": COUNT, "j0_n": len(operands), PART_LENGTH: 2 * len(operands) + 1}
    for k, each in enumerate(operands):
        if isinstance(each, Array):
            places = zip(each.strides, (k, len(operands) + 1 + k), strict=False)
            table |= {stride: place for stride, place in places if isinstance(stride, str)}
    return module_ir(program, SYMBOL, {word: table[word] for word in program.words})


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


def layout_of(specs: Sequence[OperandSpec], dimension: int) -> str:
    """A letter for each operand, by its stride in a dimension, counted from the last."""
    return "".join(_letter(spec, dimension) for spec in specs)


def _letter(spec: OperandSpec, dimension: int) -> str:
    if spec.strides is None:
        return NUMBER
    stride = spec.strides[dimension] if len(spec.strides) >= -dimension else 0
    return {spec.dtype.itemsize: CONTIGUOUS, 0: SINGLE}.get(stride, STRIDED)


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
        loop=native.code().address("walk"),
        elements=rows,
        grain=largest(unit, SHARE_OF_A_THREAD * rows // cost) if cost >= PARALLEL_FROM and rows > 1 else 0,
        unit=unit,
        details=_details(code.address(SYMBOL), call, *more),
    )
    inputs = [number_input(each.value) if each.is_number else builtin.ARRAY for each in form.inputs]
    return builtin.builtin(f"{name}_cpu", work, inputs, planned_outputs(call), [code], over)


def _details(kernel: int, call: RowCall, *more: int) -> list[int | Table]:
    """The words of a plan that the walk reads, and behind its strides those that the kernel reads, ``more`` last."""
    operands = (*call.inputs, *call.outputs)
    sizes = call.kept or (1,)
    strides = [spec.strides or (0,) * (len(call.kept) + 1) for spec in operands]
    steps = [each[d] if call.kept else 0 for d in range(len(sizes)) for each in strides]
    along = [each[-1] for each in strides]
    return words(
        WalkPlan,
        row=kernel,
        operands=len(operands),
        dimensions=len(sizes),
        sizes=Table(sizes),
        strides=Table([*steps, call.length, *along, *more]),
    )


def kept_elements(call: RowCall) -> int:
    """How many kept elements there are."""
    return math.prod(call.kept)
