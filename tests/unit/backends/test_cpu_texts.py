"""Test that the schedules and LLVM texts of CPU kernels are the reviewed ones in ``cpu_kernels.txt``.

``OPDSL_REFRESH=1`` rewrites the file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opdsl.backends.cpu import engine, indirect, loop_text, pointwise, row, scan
from opdsl.kernels.calls import OperandSpec, Recurring, Scanning
from opdsl.kernels.loops.making import Loops, identity, pairwise
from opdsl.kernels.loops.text import program_text
from opdsl.runtime.dtype import bfloat16, float32, int64
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType
from tests.unit.kernels.computations import elements, gathered, recurring, rows, scanned

from .plans import graph_of

GOLDEN = Path(__file__).with_name("cpu_kernels.txt")

F32 = ScalarType.FLOAT32
ADD, SAME = pairwise(("add",), (F32,)), identity((F32,))
NEAR, APART = OperandSpec(float32, (4,)), OperandSpec(float32, (8,))
ROW, COLUMN = OperandSpec(float32, (4000, 4)), OperandSpec(float32, (4, 4000))
SUMS = Scanning((0.0,), SAME, ADD, SAME)
HALVES = OperandSpec(bfloat16, (2,))
NUMBER, SAME_PLACE = OperandSpec(float32, None), OperandSpec(float32, (0,))


def exp_of_sum(x, y):  # type: ignore[no-untyped-def]
    return math.exp(x + y)


def sin(x):  # type: ignore[no-untyped-def]
    return math.sin(x)


def softmax() -> TypedGraph:
    builder = GraphBuilder()
    x = builder.parameter("x", F32)
    shifted = builder.node("subtract", (x, builder.node("row_max", (x,), F32)), F32)
    raised = builder.node("exp", (shifted,), F32)
    total = builder.node("row_sum", (raised,), F32)
    return builder.finish("softmax", [builder.node("divide", (raised, total), F32)])


def calls() -> dict[str, Any]:
    """Return compilations of ten kinds of loops, by name."""
    twice = TypedGraph("step", ADD.nodes, ADD.results * 2)
    along, across = ((1000,), 1000, (ROW,), (ROW,)), ((1000,), 1000, (COLUMN,), (COLUMN,))
    positions = (OperandSpec(int64, (8,)),)
    exp = graph_of(exp_of_sum, "float32", "float32")
    return {
        "neighbours": lambda: pointwise.pointwise(*elements(ADD, (9,), (HALVES, NUMBER), (NEAR,))),
        "brought together": lambda: pointwise.pointwise(*elements(exp, (9,), (APART, APART), (APART,))),
        "with rare elements": lambda: pointwise.pointwise(*elements(graph_of(sin, "float32"), (9,), (NEAR,), (NEAR,))),
        "gathered": lambda: indirect.indirect(
            *gathered(ADD, (2000,), (SAME_PLACE, NEAR), NEAR, positions, 0, writes=False)
        ),
        "updated": lambda: indirect.indirect(
            *gathered(ADD, (2000,), (SAME_PLACE, NEAR), SAME_PLACE, positions, 0, writes=True)
        ),
        "along rows": lambda: row.row(*rows(softmax(), *along)),
        "across rows": lambda: row.row(*rows(softmax(), *across)),
        "scanned abreast": lambda: scan.scan(*scanned(SUMS, *along)),
        "scanned in parts": lambda: scan.scan(*scanned(SUMS, (), 1000, (NEAR,), (NEAR,))),
        "recurring across": lambda: scan.scan(*recurring(Recurring((0.0,), twice, True), *across)),
    }


@pytest.fixture
def uncached() -> Iterator[None]:
    """Clear the caches of kernels before and after a test, so that they are compiled in it."""
    codes = pointwise.row_code, indirect._row_code, row.row_code, scan.scan_code
    for code in codes:
        code.cache_clear()
    yield
    for code in codes:
        code.cache_clear()


# For the other kinds of loops their schedules suffice.
PRINTED = ("neighbours", "along rows", "scanned abreast")


def test_kernels_are_printed_as_they_were_reviewed(monkeypatch: pytest.MonkeyPatch, uncached: None) -> None:
    printed: list[tuple[Loops, str]] = []
    compile_ir, module_ir = engine.compile_ir, loop_text.module_ir

    def recorded(loops: Loops, symbol: str) -> str:
        printed.append((loops, module_ir(loops, symbol)))
        return printed[-1][1]

    def compiled(key: str, make: Any, *others: Any, **options: Any) -> Any:
        make()
        return compile_ir(key, make, *others, **options)

    monkeypatch.setattr(engine, "vector_bytes", lambda: 64)
    monkeypatch.setattr(loop_text, "module_ir", recorded)
    monkeypatch.setattr(engine, "compile_ir", compiled)
    texts = []
    for name, call in calls().items():
        printed.clear()
        call()
        loops, text = printed[0]
        texts += [f"; {name}", program_text(loops.program).partition("\n\n")[0]]
        if name in PRINTED:
            kernel = re.search(r"^define void @\w+\(ptr %operands.*?^}", text, re.MULTILINE | re.DOTALL)
            assert kernel is not None
            texts += ["", kernel.group()]
        texts.append("")
    result = "\n".join(texts)
    if "OPDSL_REFRESH" in os.environ:
        GOLDEN.write_text(result)
    assert result == GOLDEN.read_text()
