"""Test that the OpenCL C of kernels is the reviewed one in ``opencl_kernels.txt``, which ``OPDSL_REFRESH=1``
rewrites.
"""

from __future__ import annotations

import os
from pathlib import Path

from opdsl.backends.opencl.printer import kernel_source
from opdsl.kernels.calls import (
    Folding,
    MatrixLayout,
    OperandSpec,
    Ordering,
    ProductCall,
    Recurring,
    Scanning,
)
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.making import identity, pairwise
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.products import matrix_product
from opdsl.kernels.loops.schedules import in_parts, serial, shared
from opdsl.runtime.dtype import bool_, float16, float32, int64
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType
from tests.unit.kernels.computations import elements, folded, gathered, recurring, rows_layout, scanned

GOLDEN = Path(__file__).with_name("opencl_kernels.txt")

F32 = ScalarType.FLOAT32
ADD = pairwise(("add",), (F32,))
SAME = identity((F32,))
ROW, WHOLE = OperandSpec(float32, (80, 4)), OperandSpec(float32, (4,))


def mean() -> TypedGraph:
    builder = GraphBuilder()
    total, count = builder.parameter("total", F32), builder.parameter("count", ScalarType.INT64)
    return builder.finish("mean", [builder.node("divide", (total, builder.cast(count, F32)), F32)])


SUM = Folding((0.0,), SAME, ADD, mean())


def programs() -> dict[str, Program]:
    """Return one program for each kind of loop, by name."""
    halves, number = OperandSpec(float16, (2, 24)), OperandSpec(float32, None)
    positions = (OperandSpec(int64, (8,)),)
    there, operand_spec = OperandSpec(float32, (0,)), OperandSpec(float32, (4,))
    added = lowered(*gathered(ADD, (5,), (there, operand_spec), there, positions, 0, writes=True)).program
    means, one = ((6,), (5,), (ROW,), (WHOLE,)), OperandSpec(float32, ())
    truths = folded(SUM, (), (5,), (OperandSpec(bool_, (1,)),), (one,))
    long = folded(SUM, (), (1 << 17,), (WHOLE,), (one,))
    scan = lowered(*scanned(Scanning((0.0,), SAME, ADD, SAME), (6,), 5, (ROW,), (ROW,))).program
    form = MatrixLayout(0, 9, 1)
    product = ProductCall(float32, 1, 4, 9, 9, form, form, form)
    places = OperandSpec(int64, (80, 8))
    (first,) = sorting(Ordering(True, 7), rows_layout((6,), 9000, (ROW,), (ROW, places)), F32, 1024).steps
    twice = TypedGraph("step", ADD.nodes, ADD.results * 2)
    return {
        "pointwise": lowered(*elements(ADD, (6, 5), (halves, number), (ROW,))).program,
        "updated": added,
        "updated serially": serial(added),
        "folded": lowered(*folded(SUM, *means)).program,
        "folded by lanes": shared(lowered(*truths).program, 64),
        "folded in order": lowered(*folded(SUM._replace(in_order=True), *means)).program,
        "folded in parts": shared(in_parts(lowered(*long), 4, 1 << 15)[0].program, 64),
        "scanned": scan,
        "recurring": lowered(*recurring(Recurring((0.0,), twice, False), (6,), 5, (ROW,), (ROW,))).program,
        "multiplied": matrix_product(product, F32, reads_out=False).program,
        "first elements by lanes": shared(first.loops.program, 64),
        "scanned by lanes": shared(scan, 64),
    }


def test_kernels_are_printed_as_they_were_reviewed() -> None:
    texts = []
    for name, program in programs().items():
        check_program(program)
        kernel = kernel_source(program, doubles=True)
        texts.append(f"// {name}\n{kernel[kernel.index('__kernel') :]}")
    result = "\n".join(texts)
    if "OPDSL_REFRESH" in os.environ:
        GOLDEN.write_text(result)
    assert result == GOLDEN.read_text()
