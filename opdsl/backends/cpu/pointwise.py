"""Elementwise kernels: compiles one for a call, and plans the call as a built-in function.

Machine code depends on the kernel, the dtypes and the stride classes of rows; shapes and strides are data of the plan,
so a new shape compiles nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine, memory, native
from opdsl.backends.cpu.builtin import Input, Kernel, Output, Table, Work
from opdsl.backends.cpu.cost import grain_of, graph_cost
from opdsl.backends.cpu.forms import ANY, CONTIGUOUS, NUMBER, SINGLE, STRIDED, Form, letter, operands
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.walk import WalkPlan
from opdsl.backends.cpu.machine.walks import TILE_COLUMNS, TILE_ROWS
from opdsl.backends.cpu.turning import TURNING, is_turned, turning_code
from opdsl.kernels.calls import Layout, NewArray, OperandSpec
from opdsl.kernels.iteration.numbers import ACCEPTED
from opdsl.kernels.kernel import operand_types
from opdsl.runtime.lowering import allocates_apart, may_choose, sizes_are_symbols

if TYPE_CHECKING:
    from opdsl.backends.cpu.operands import Operand
    from opdsl.kernels.kernel import Kernel as Computation
    from opdsl.runtime.dtype import DType
    from opdsl.scalar.types import ScalarType

# The number of elements from which a call with an operand of stride 0 gets a specialized kernel; the strided kernel is
# good enough for fewer.
_OWN_LAYOUT_FROM = 1024

# The most elements of a short row, and the fewest and most elements of the rows that replace it.
_SHORT, _LONG, _PART = 8, 64, 1024

# The number of elements that exceeds the L1 cache, and the bytes of a cache line.
_TILES_FROM = 4096
_LINE = 64

_PIECE_UNIT = 1024

# The cost of a function, in additions, from which strided operands are copied to a buffer, and the elements of that.
_STAGED_FROM = 4
_STRETCH = 1024

SYMBOL = "pointwise"

_NUMBER_INPUTS: dict[str, Input] = {
    "bool": builtin.TRUTH,
    **{name: builtin.integer(*bounds) for name, bounds in ACCEPTED.items()},
    "uint64": builtin.WORD,
    "float32": builtin.FLOAT,
    "float64": builtin.FLOAT,
    "complex64": builtin.COMPLEX,
    "complex128": builtin.COMPLEX,
}


def pointwise(kernel: Computation, layout: Layout) -> Kernel:
    """Compile the loop of an elementwise kernel for a call's dtypes and layout, or find it, and plan the call.

    Args:
        kernel: the computation; the types of what it reads and writes may differ from how the operands are stored,
            loading and storing convert.
        layout: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the inputs (ndarrays and Python numbers) and the given outputs, which returns the output
        or, of several, a tuple. It trusts the arrays' dtypes, shapes and strides. It holds the GIL only while the
        work is small.
    """
    layout = _with_longer_rows(layout)
    signature = signature_of(kernel)
    inputs, outputs = operands(layout.inputs, signature.taken), operands(layout.outputs, signature.results)
    form = Form(inputs, outputs, _layout(layout))
    code, symbol = row_code(kernel, form), SYMBOL
    specs = [*layout.inputs, *layout.outputs]
    sizes = layout.sizes[0] or (1,)
    across = _across(sizes, specs)
    loop, elements, unit = "walk", math.prod(sizes), _PIECE_UNIT
    cost, turns = elements * graph_cost(kernel.graph), False
    if across is not None:
        # The elements of the loop are bands of tiles.
        sizes, specs = _moved_inside(across, sizes, specs)
        loop, unit = "walk_tiles", 1
        elements = math.prod(sizes[:-2]) * math.ceil(sizes[-2] / TILE_ROWS)
        turns = is_turned(kernel.graph, specs)
        if turns:
            code, symbol = turning_code(specs[0].dtype.itemsize), TURNING
    work = Work(
        loop=native.entry(loop),
        elements=elements,
        grain=grain_of(cost, elements, unit),
        unit=unit,
        details=walk_details(code.address(symbol), sizes, specs, turns),
    )
    allocated = planned_outputs(layout)
    return builtin.builtin(f"{kernel.name}_cpu", work, signature.inputs, allocated, [code], lies_over(layout))


def _with_longer_rows(layout: Layout) -> Layout:
    """Return a layout with a longer innermost dimension if the given one is so short that loop overhead dominates.

    A long dimension becomes the innermost one, split into parts that stay in the L1 cache.
    """
    (sizes,) = layout.sizes
    if len(sizes) < 2 or not may_choose() or sizes[-1] > _SHORT:
        return layout
    dim = next((index for index in range(len(sizes) - 2, -1, -1) if sizes[index] >= _LONG), None)
    if dim is None:
        return layout
    size = sizes[dim]
    part = next((part for part in _parts() if size % part == 0), size)

    def moved(values: tuple[int, ...], outer: int, inner: int) -> tuple[int, ...]:
        return (outer, *values[:dim], *values[dim + 1 :], inner)

    def spec(operand_spec: OperandSpec) -> OperandSpec:
        steps = operand_spec.strides
        return operand_spec if not steps else operand_spec._replace(strides=moved(steps, steps[dim] * part, steps[dim]))

    return layout._replace(
        sizes=(moved(sizes, size // part, part),),
        inputs=tuple(map(spec, layout.inputs)),
        outputs=tuple(map(spec, layout.outputs)),
    )


def _parts() -> Sequence[int]:
    """Return the lengths to try for splitting a dimension, best first; few while a form is lowered, where each is a
    guard.
    """
    return [_PART >> index for index in range(5)] if sizes_are_symbols() else range(_PART, _LONG - 1, -1)


def _across(sizes: Sequence[int], operands: Sequence[OperandSpec]) -> int | None:
    """Return a dimension to tile together with the last one, because some operand is contiguous only along that
    dimension; or None.
    """
    if len(sizes) < 2 or not may_choose() or math.prod(sizes) < _TILES_FROM or sizes[-1] < TILE_COLUMNS:
        return None
    for operand in operands:
        steps = operand.strides or ()
        if len(steps) == len(sizes) and steps[-1] >= _LINE:
            nearest = min(range(len(sizes) - 1), key=lambda dim: (steps[dim] or math.inf, dim))
            if 0 < steps[nearest] < _LINE and sizes[nearest] * steps[nearest] >= _LINE:
                return nearest
    return None


def _moved_inside(
    dim: int, sizes: Sequence[int], operands: Sequence[OperandSpec]
) -> tuple[tuple[int, ...], list[OperandSpec]]:
    """Return the sizes and operands of an elementwise loop with a dimension moved to be the last but one."""
    order = [*(index for index in range(len(sizes) - 1) if index != dim), dim, len(sizes) - 1]
    moved = [
        operand._replace(strides=tuple(operand.strides[k] for k in order))
        if operand.strides is not None and len(operand.strides) == len(sizes)
        else operand
        for operand in operands
    ]
    return tuple(sizes[k] for k in order), moved


def number_input(kind: str) -> Input:
    """Return the input kind of a Python number that is computed as a scalar type."""
    return _NUMBER_INPUTS[kind]


class Signature(NamedTuple):
    """Operands of a kernel.

    inputs: the kinds of the arguments that are not written.
    taken, results: the types that inputs are converted to, and those of the results.
    """

    inputs: tuple[Input, ...]
    taken: tuple[ScalarType, ...]
    results: tuple[ScalarType, ...]


@functools.lru_cache(maxsize=4096)
def signature_of(kernel: Computation) -> Signature:
    """Return the operands of a kernel."""
    types = operand_types(kernel)
    numbers = {*kernel.numbers, *(name for operand in kernel.operands for pair in operand.extents for name in pair)}
    names = [operand.name for operand in kernel.operands]
    count = len(names) - len(kernel.outputs)
    kinds = tuple(number_input(types[name].value) if name in numbers else builtin.ARRAY for name in names[:count])
    return Signature(kinds, tuple(types[name] for name in names[:count]), tuple(types[name] for name in names[count:]))


def planned_outputs(layout: Layout) -> list[Output]:
    """Return the allocation of each output of a call: passed by the caller, allocated by NumPy, or, if large, taken
    from the block cache.
    """
    return [_output(spec.dtype, new) for spec, new in zip(layout.outputs, layout.allocate, strict=True)]


def lies_over(layout: Layout) -> list[list[int]]:
    """Return for each output the indices of the inputs with its strides and element size, whose memory it may reuse."""
    return [
        [
            place
            for place, input in enumerate(layout.inputs)
            if input.dtype.itemsize == output.dtype.itemsize and input.strides == output.strides
        ]
        for output in layout.outputs
    ]


def walk_details(
    row: int, sizes: Sequence[int], operands: Sequence[OperandSpec], turns: bool = False
) -> list[int | Table]:
    """Return the words of a ``WalkPlan``."""
    none = (0,) * len(sizes)
    strides = [(spec.strides or none) if len(sizes) == len(spec.strides or none) else none for spec in operands]
    by_dimension = [stride[d] for d in range(len(sizes)) for stride in strides]
    return words(
        WalkPlan,
        row=row,
        operands=len(operands),
        dimensions=len(sizes),
        sizes=Table(sizes),
        strides=Table(by_dimension),
        turns=int(turns),
    )


def _output(dtype: DType, new: NewArray | None) -> Output:
    if new is None:
        return builtin.Given()
    strides = tuple([step * dtype.itemsize for step in new.strides])
    if allocates_apart() or math.prod(new.shape) * dtype.itemsize >= memory.LARGE:
        if sizes_are_symbols():
            return builtin.Sized(memory.recorded, new.shape, None if is_contiguous(new) else strides, dtype.numpy)
        return builtin.Made(memory.allocator(new.shape, dtype.numpy, strides))
    return builtin.New(dtype.numpy, new.shape, None if is_contiguous(new) else strides)


def is_contiguous(new: NewArray) -> bool:
    """Return whether a new array is contiguous in row-major order."""
    expected = 1
    for size, stride in zip(reversed(new.shape), reversed(new.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def operands_of(signature: Signature, layout: Layout) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return the stored dtype of each input and output of a call, and the type in which it is computed."""
    return operands(layout.inputs, signature.taken), operands(layout.outputs, signature.results)


def _layout(layout: Layout) -> str:
    """Return the stride class of each operand, simplified so that few kernels serve most calls."""
    specs, (sizes,) = [*layout.inputs, *layout.outputs], layout.sizes
    contiguous = "".join([NUMBER if spec.strides is None else CONTIGUOUS for spec in specs])
    if not sizes or sizes[-1] == 1:
        return contiguous
    # An output with stride 0 is not kept in a register: a fill writes elements that share memory.
    exact = "".join(map(letter, layout.inputs)) + "".join(map(letter, layout.outputs)).replace(SINGLE, STRIDED)
    if exact == contiguous:
        return contiguous
    if STRIDED in exact or not may_choose() or math.prod(sizes) < _OWN_LAYOUT_FROM:
        return "".join(NUMBER if spec.strides is None else STRIDED for spec in specs)
    return exact


@functools.lru_cache(maxsize=4096)
def row_code(kernel: Computation, form: Form) -> engine.Code:
    """Compile the kernel of a form."""
    fingerprint, title = f"pointwise {kernel.fingerprint} {form}", f"pointwise {kernel.name}"
    return engine.compile_ir(fingerprint, lambda: text_of(kernel, form), [SYMBOL], title=title)


def text_of(kernel: Computation, form: Form) -> str:
    """Return the LLVM module of a form.

    If the function is costly, elements of strided operands are first copied to a contiguous buffer, because LLVM does
    not vectorize strided loads well.
    """
    from opdsl.backends.cpu.loop_text import module_ir
    from opdsl.kernels.loops import schedules
    from opdsl.kernels.loops.lowering import lowered

    count = len(form.inputs)
    layout = Layout(((ANY,),), form.specs[:count], form.specs[count:], (None,) * len(form.outputs))
    loops = lowered(kernel, layout)
    apart = [
        parameter.name for parameter, how in zip(loops.program.parameters, form.layout, strict=True) if how == STRIDED
    ]
    if apart and graph_cost(kernel.graph) >= _STAGED_FROM:
        loops = loops.scheduled(schedules.staged(loops.program, apart, _STRETCH))
    return module_ir(loops, SYMBOL)
