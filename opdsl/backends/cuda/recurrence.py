"""Recurrence programs: a thread goes along each row, step by step."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.pointwise import parameters
from opdsl.backends.cuda.program import Launch, Program, Source, Variant, long_long, operand_arguments, packed
from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec, Recurring, RowCall
    from opdsl.scalar.types import ScalarType

__all__ = ["recurrence"]

# Few, so that rows are spread over multiprocessors.
THREADS = 64


def recurrence(recurring: Recurring, call: RowCall) -> Program:
    """The program of a recurrence.

    Args:
        recurring: what is computed at each step.
        call: where the operands lie.
    """
    count = len(recurring.init)
    inputs = list(zip(call.inputs, (kind for _, kind in recurring.step.parameters[count:]), strict=True))
    operands = [*inputs, *zip(call.outputs, recurring.step.result_types[count:], strict=True)]
    strides = [spec.strides for spec, _ in operands if spec.strides is not None]
    kept = layout(call.kept, [each[:-1] for each in strides])
    stored = " ".join(f"{spec.dtype.name if spec.strides else 'number'}:{kind}" for spec, kind in operands)
    init = " ".join(f"{type(each).__name__}:{each!r}" for each in recurring.init)
    text = f"recurrence {recurring.step.fingerprint} {init} {stored} {kept.c_type} {recurring.is_reverse}"
    body = functools.partial(_print, recurring, operands, len(inputs), kept.c_type)
    source = Source(text, ("prelude", "neighbours", "team", "row"), body)
    rows = math.prod(call.kept)
    if rows == 0 or call.length == 0:
        return Program(source, len(operands), (Variant(1, ()),))
    steps = packed(f"Steps<{len(strides)}>", *(ctypes.c_longlong(each[-1]) for each in strides))
    arguments = (*operand_arguments(operands), kept, steps, long_long(rows), long_long(call.length))
    launch = Launch("steps_of_rows", (-(-rows // THREADS), 1, 1), (THREADS, 1, 1), arguments)
    return Program(source, len(operands), (Variant(1, (launch,)),))


def _print(recurring: Recurring, operands: Sequence[tuple[OperandSpec, ScalarType]], inputs: int, kept: str) -> str:
    from opdsl.backends.cuda.printer import constant_text, function_source

    arrays = [k for k, (spec, _) in enumerate(operands) if spec.strides is not None]
    kinds = recurring.step.result_types[: len(recurring.init)]
    carried = [
        f"{VALUE_TYPES[kind]} carried{at} = {constant_text(value, kind)}, next{at};"
        for at, (value, kind) in enumerate(zip(recurring.init, kinds, strict=True))
    ]

    def place(k: int) -> str:
        at = arrays.index(k)
        return f"element<{stored_type(operands[k][0].dtype)}>(operand{k}, offsets[{at}] + index * steps.step[{at}])"

    given = [
        f"convert<{VALUE_TYPES[kind]}>({f'load({place(k)})' if k in arrays else f'operand{k}'})"
        for k, (_, kind) in enumerate(operands[:inputs])
    ]
    count = range(len(kinds))
    made = [f"result{k}" for k in range(inputs, len(operands))]
    passed = [*(f"carried{at}" for at in count), *given, *(f"next{at}" for at in count), *made]
    body = [
        *(f"{VALUE_TYPES[kind]} {name};" for (_, kind), name in zip(operands[inputs:], made, strict=True)),
        f"step_function({', '.join(passed)});",
        *(f"carried{at} = next{at};" for at in count),
        *(
            f"store({place(k)}, convert<{loaded_type(operands[k][0].dtype)}>(result{k}));"
            for k in range(inputs, len(operands))
        ),
    ]
    index = "length - 1 - at" if recurring.is_reverse else "at"
    return "\n".join(
        [
            function_source(recurring.step, "step_function"),
            f"""extern "C" __global__ void __launch_bounds__({THREADS}) steps_of_rows(
    {parameters(operands, inputs)}, const {kept} kept, const Steps<{len(arrays)}> steps,
    long long rows, long long length) {{
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= rows) {{
        return;
    }}
    long long offsets[{len(arrays)}] = {{}};
    kept.offsets(row, offsets);""",
            *(f"    {each}" for each in carried),
            "    for (long long at = 0; at < length; ++at) {",
            f"        const long long index = {index};",
            *(f"        {each}" for each in body),
            "    }",
            "}",
        ]
    )
