"""Test that the CUDA C++ of kernels is the reviewed one in ``cuda_kernels.txt``, which ``OPDSL_REFRESH=1`` rewrites."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import pytest

import opdsl
from opdsl.backends.cuda.program import Program
from opdsl.backends.cuda.schedules import indirect, order, pointwise, reduction, row, scan
from opdsl.kernels.calls import OperandSpec, Ordering, Recurring, Scanning
from opdsl.kernels.loops.making import identity, pairwise
from opdsl.runtime.dtype import bfloat16, float32, int64
from opdsl.scalar import read
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.intrinsics import row_max, row_sum
from opdsl.scalar.types import ScalarType
from tests.unit.backends.recording import Recorder
from tests.unit.backends.test_opencl_texts import ADD, SUM
from tests.unit.kernels.computations import elements, folded, gathered, recurring, rows, rows_layout, scanned

GOLDEN = Path(__file__).with_name("cuda_kernels.txt")

FLOAT32 = ScalarType.FLOAT32
FLAT, ONE, NUMBER = OperandSpec(float32, (4,)), OperandSpec(float32, (0,)), OperandSpec(float32, None)
ACROSS = OperandSpec(float32, (4, 2400))
LONG, FOUND = OperandSpec(float32, (400_000, 4)), OperandSpec(int64, (800_000, 8))
ROW, HALF_ROW = OperandSpec(float32, (80, 4)), OperandSpec(bfloat16, (2, 12))
PLACES = OperandSpec(int64, (8, 0))
SCALAR = OperandSpec(float32, ())
RUNNING = Scanning((0.0,), identity((FLOAT32,)), pairwise(("add",), (FLOAT32,)), identity((FLOAT32,)))
SOFTMAX = read(lambda x: math.exp(x - row_max(x)) / row_sum(math.exp(x - row_max(x))), rows=True).specialise(
    {"x": "float32"}, results=["float32"]
)


def programs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Program]:
    """Return programs for all kinds of loops, by name."""
    recorder = Recorder(["indexed"])
    with recorder.installed(monkeypatch):
        opdsl.nn.functional.max_pool1d(opdsl.ones(2, 3, 8), 3, 2, 1, return_indices=True)
        opdsl.nn.functional.pad(opdsl.ones(2, 3, 8), (1, 1), mode="reflect")
    pool, margin = (record.program for record in recorder.records)
    moved = OperandSpec(float32, (0, 4))
    whole = OperandSpec(float32, (4000, 4)), OperandSpec(float32, (4, 4000))
    return {
        "flat": pointwise(*elements(ADD, (99,), (FLAT, ONE), (FLAT,))),
        "with a number, strided": pointwise(*elements(ADD, (6, 5), (HALF_ROW, NUMBER), (ROW,))),
        "gathered": indirect(*gathered(ADD, (5, 20), (moved, ROW), ROW, (PLACES,), 0, writes=False)),
        "updated": indirect(*gathered(ADD, (5, 20), (moved, ROW), moved, (PLACES,), 0, writes=True)),
        "folded whole": reduction(*folded(SUM, (600,), (1000,), whole[:1], (FLAT,))),
        "folded across": reduction(*folded(SUM, (1000,), (60,), whole[1:], (FLAT,))),
        "folded in parts": reduction(*folded(SUM, (), (1 << 20,), (FLAT,), (SCALAR,))),
        "rows that teams hold": row(*rows(SOFTMAX, (600,), 100, (LONG,), (LONG,))),
        "rows in tiles": row(*rows(SOFTMAX, (6,), 100_000, (LONG,), (LONG,))),
        "scanned in parts": scan(*scanned(RUNNING, (), 1 << 20, (FLAT,), (FLAT,))),
        "scanned across": scan(*scanned(RUNNING, (600,), 100, (ACROSS,), (ACROSS,))),
        "sorted rows": order(Ordering(False, 1024), rows_layout((6,), 1024, (LONG,), (LONG, FOUND))),
        "sorted and merged": order(Ordering(True, 9000), rows_layout((6,), 9000, (LONG,), (LONG, FOUND))),
        "first elements": order(Ordering(True, 7), rows_layout((6,), 9000, (LONG,), (LONG, FOUND))),
        "recurring": scan(*recurring(Recurring((0.0,), twice(), False), (6,), 5, (ROW,), (ROW,))),
        "pooled": pool,
        "with a margin": margin,
    }


def twice() -> TypedGraph:
    """Return the graph of a step that returns the sum of the carried value and an element twice."""
    return TypedGraph("step", ADD.nodes, ADD.results * 2)


def test_kernels_are_printed_as_they_were_reviewed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for name, program in programs(monkeypatch).items():
        body = program.source.body()
        texts += [f"// {name}", *re.findall(r'^extern "C".*?^}\n', body, re.MULTILINE | re.DOTALL)]
    result = "\n".join(texts)
    if "OPDSL_REFRESH" in os.environ:
        GOLDEN.write_text(result)
    assert result == GOLDEN.read_text()
