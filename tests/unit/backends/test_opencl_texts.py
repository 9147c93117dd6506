"""Test that the OpenCL C of kernels is the reviewed one in ``opencl_kernels.txt``, which ``OPDSL_REFRESH=1``
rewrites.
"""

from __future__ import annotations

import os
from pathlib import Path

from opdsl.backends.opencl.printer import kernel_source
from opdsl.kernels.calls import (
    Folding,
    IndirectCall,
    MatrixLayout,
    OperandSpec,
    Ordering,
    PointwiseCall,
    ProductCall,
    Recurring,
    ReductionCall,
    RowCall,
    Scanning,
)
from opdsl.kernels.loops import elementwise, folding
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.making import identity, pairwise
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.schedules import in_parts, serial, shared
from opdsl.runtime.dtype import bool_, float16, float32, int64
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

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
    halves = PointwiseCall((6, 5), (OperandSpec(float16, (2, 24)), OperandSpec(float32, None)), (ROW,), (None,))
    positions = (OperandSpec(int64, (8,)),)
    there, operand_spec = OperandSpec(float32, (0,)), OperandSpec(float32, (4,))
    added = elementwise.indirect(ADD, IndirectCall((5,), (there, operand_spec), there, positions, 0, True)).program
    means = ReductionCall((6,), (5,), (ROW,), (WHOLE,), (None,))
    truths = ReductionCall((), (5,), (OperandSpec(bool_, (1,)),), (OperandSpec(float32, ()),), (None,))
    long = ReductionCall((), (1 << 17,), (WHOLE,), (OperandSpec(float32, ()),), (None,))
    row = RowCall((6,), 5, (ROW,), (ROW,), (None,))
    form = MatrixLayout(0, 9, 1)
    product = ProductCall(float32, 1, 4, 9, 9, form, form, form)
    places = OperandSpec(int64, (80, 8))
    (first,) = sorting(Ordering(True, 7), RowCall((6,), 9000, (ROW,), (ROW, places), (None, None)), F32, 1024).steps
    twice = TypedGraph("step", ADD.nodes, ADD.results * 2)
    return {
        "pointwise": elementwise.pointwise(ADD, halves).program,
        "updated": added,
        "updated serially": serial(added),
        "folded": folding.reduction(SUM, means).program,
        "folded by lanes": shared(folding.reduction(SUM, truths).program, 64),
        "folded in order": folding.reduction(SUM._replace(in_order=True), means).program,
        "folded in parts": shared(in_parts(folding.reduction(SUM, long), 4, 1 << 15)[0].program, 64),
        "scanned": folding.scan(Scanning((0.0,), SAME, ADD, SAME), row).program,
        "recurring": folding.recurrence(Recurring((0.0,), twice, False), row).program,
        "multiplied": folding.matrix_product(product, F32, reads_out=False).program,
        "first elements by lanes": shared(first.loops.program, 64),
        "scanned by lanes": shared(folding.scan(Scanning((0.0,), SAME, ADD, SAME), row).program, 64),
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
