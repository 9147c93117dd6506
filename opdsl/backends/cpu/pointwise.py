"""Elementwise kernels: compiles a typed scalar graph for a call, and plans the call as a built-in function.

Machine code depends on the graph, the dtypes and the stride classes of rows; shapes and strides are data of the plan,
so a new shape compiles nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opdsl.backends.cpu import builtin, engine, memory, native
from opdsl.backends.cpu.builtin import Input, Kernel, Output, Table, Work
from opdsl.backends.cpu.cost import grain_of, graph_cost
from opdsl.backends.cpu.forms import ANY, CONTIGUOUS, NUMBER, SINGLE, STRIDED, Form, letter, operands
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.walk import WalkPlan
from opdsl.backends.cpu.machine.walks import TILE_COLUMNS, TILE_ROWS
from opdsl.backends.cpu.turning import TURNING, is_turned, turning_code
from opdsl.kernels.iteration.numbers import ACCEPTED
from opdsl.runtime.lowering import may_choose, sizes_are_symbols

if TYPE_CHECKING:
    from opdsl.kernels.calls import NewArray, OperandSpec, PointwiseCall, RowCall
    from opdsl.runtime.dtype import DType
    from opdsl.scalar.graph import TypedGraph

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


def pointwise(graph: TypedGraph, call: PointwiseCall) -> Kernel:
    """Compile the loop of a scalar graph for a call's dtypes and layout, or find it, and plan the call.

    Args:
        graph: the function; its parameter and result types may differ from how the operands are stored, loading and
            storing convert.
        call: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the inputs (ndarrays and Python numbers) and the given outputs, which returns the output
        or, of several, a tuple. It trusts the arrays' dtypes, shapes and strides. It holds the GIL only while the
        work is small.
    """
    call = _with_longer_rows(call)
    form = form_of(graph, call)
    code, name = row_code(graph, form), SYMBOL
    specs = [*call.inputs, *call.outputs]
    sizes = call.sizes or (1,)
    across = _across(sizes, specs)
    loop, elements, unit = "walk", math.prod(sizes), _PIECE_UNIT
    cost, turns = elements * graph_cost(graph), False
    if across is not None:
        # The elements of the loop are bands of tiles.
        sizes, specs = _moved_inside(across, sizes, specs)
        loop, unit = "walk_tiles", 1
        elements = math.prod(sizes[:-2]) * math.ceil(sizes[-2] / TILE_ROWS)
        turns = is_turned(graph, specs)
        if turns:
            code, name = turning_code(specs[0].dtype.itemsize), TURNING
    work = Work(
        loop=native.entry(loop),
        elements=elements,
        grain=grain_of(cost, elements, unit),
        unit=unit,
        details=walk_details(code.address(name), sizes, specs, turns),
    )
    inputs = [number_input(input.value) if input.is_number else builtin.ARRAY for input in form.inputs]
    return builtin.builtin(graph_name(graph), work, inputs, planned_outputs(call), [code], lies_over(call))


def _with_longer_rows(call: PointwiseCall) -> PointwiseCall:
    """Return a call with a longer innermost dimension if the given one is so short that loop overhead dominates.

    A long dimension becomes the innermost one, split into parts that stay in the L1 cache.
    """
    sizes = call.sizes
    if len(sizes) < 2 or not may_choose() or sizes[-1] > _SHORT:
        return call
    dim = next((index for index in range(len(sizes) - 2, -1, -1) if sizes[index] >= _LONG), None)
    if dim is None:
        return call
    size = sizes[dim]
    part = next((part for part in _parts() if size % part == 0), size)

    def moved(values: tuple[int, ...], outer: int, inner: int) -> tuple[int, ...]:
        return (outer, *values[:dim], *values[dim + 1 :], inner)

    def spec(operand_spec: OperandSpec) -> OperandSpec:
        steps = operand_spec.strides
        return operand_spec if not steps else operand_spec._replace(strides=moved(steps, steps[dim] * part, steps[dim]))

    return call._replace(
        sizes=moved(sizes, size // part, part),
        inputs=tuple(map(spec, call.inputs)),
        outputs=tuple(map(spec, call.outputs)),
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


def graph_name(graph: TypedGraph) -> str:
    """Return the name of a kernel that is made from a graph."""
    return f"{graph.name}_cpu"


def planned_outputs(call: Any) -> list[Output]:
    """Return the allocation of each output of a call: passed by the caller, allocated by NumPy, or, if large, taken
    from the block cache.
    """
    return [_output(spec.dtype, new) for spec, new in zip(call.outputs, call.allocate, strict=True)]


def lies_over(call: PointwiseCall | RowCall) -> list[list[int]]:
    """Return for each output the indices of the inputs with its strides and element size, whose memory it may reuse."""
    return [
        [
            place
            for place, input in enumerate(call.inputs)
            if input.dtype.itemsize == output.dtype.itemsize and input.strides == output.strides
        ]
        for output in call.outputs
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
    if not may_choose() or math.prod(new.shape) * dtype.itemsize >= memory.LARGE:
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


def form_of(graph: TypedGraph, call: PointwiseCall) -> Form:
    """Return the form of a call, the key by which its kernel is compiled."""
    taken = [kind for _, kind in graph.parameters]
    return Form(operands(call.inputs, taken), operands(call.outputs, graph.result_types), _layout(call))


def _layout(call: PointwiseCall) -> str:
    """Return the stride class of each operand, simplified so that few kernels serve most calls."""
    specs = [*call.inputs, *call.outputs]
    contiguous = "".join([NUMBER if spec.strides is None else CONTIGUOUS for spec in specs])
    if not call.sizes or call.sizes[-1] == 1:
        return contiguous
    # An output with stride 0 is not kept in a register: a fill writes elements that share memory.
    exact = "".join(map(letter, call.inputs)) + "".join(map(letter, call.outputs)).replace(SINGLE, STRIDED)
    if exact == contiguous:
        return contiguous
    if STRIDED in exact or not may_choose() or math.prod(call.sizes) < _OWN_LAYOUT_FROM:
        return "".join(NUMBER if spec.strides is None else STRIDED for spec in specs)
    return exact


@functools.lru_cache(maxsize=4096)
def row_code(graph: TypedGraph, form: Form) -> engine.Code:
    """Compile the kernel of a form."""
    fingerprint, title = f"pointwise {graph.fingerprint} {form}", f"pointwise {graph.name}"
    return engine.compile_ir(fingerprint, lambda: text_of(graph, form), [SYMBOL], title=title)


def text_of(graph: TypedGraph, form: Form) -> str:
    """Return the LLVM module of a form.

    If the function is costly, elements of strided operands are first copied to a contiguous buffer, because LLVM does
    not vectorize strided loads well.
    """
    from opdsl.backends.cpu.loop_text import module_ir
    from opdsl.kernels.calls import PointwiseCall
    from opdsl.kernels.loops import elementwise, schedules

    count = len(form.inputs)
    call = PointwiseCall((ANY,), form.specs[:count], form.specs[count:], (None,) * len(form.outputs))
    loops = elementwise.pointwise(graph, call)
    apart = [
        parameter.name for parameter, how in zip(loops.program.parameters, form.layout, strict=True) if how == STRIDED
    ]
    if apart and graph_cost(graph) >= _STAGED_FROM:
        loops = loops.scheduled(schedules.staged(loops.program, apart, _STRETCH))
    return module_ir(loops, SYMBOL)
