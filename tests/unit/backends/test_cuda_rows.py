"""Tests of reductions, rows, scans and loops over indices in CUDA C++, run by an emulated grid, against the CPU."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

import opdsl
from opdsl import formula, primitives
from opdsl.backends.cuda.schedules import indirect, reduction, row, scan
from opdsl.declare import Library
from opdsl.kernels.calls import Folding, OperandSpec, Scanning
from opdsl.kernels.kernel import Old, Scan
from opdsl.runtime import Tensor
from opdsl.scalar import TypedGraph, read
from opdsl.scalar.intrinsics import row_index, row_max, row_mean, row_min, row_sum
from tests.emulation import programs as emulation
from tests.emulation.libraries import needs_compiler
from tests.unit.backends.recording import Recorder, distinct, operators_of, recorded, wrong_ones
from tests.unit.kernels.computations import folded, gathered, rows, scanned

pytestmark = needs_compiler

# Dtypes with special code to load, compute or store elements, and the other dtypes.
DTYPES = ("bool", "int64", "bfloat16", "float32", "complex64")
FURTHER = ("uint8", "int8", "int16", "int32", "float16", "float64", "complex128")
if os.environ.get("OPDSL_TEST_FULL"):
    DTYPES += FURTHER

INDEXING = ("gather", "scatter", "index", "put", "take", "embedding", "masked")


def operators_that_run(kind: str) -> Iterator[Any]:
    """Yield the operators whose samples run kernels of a kind."""
    if kind != "indirect":
        yield from operators_of(kind)
        return
    for operator in [operator for operator in opdsl.registry if operator.name.startswith("aten::")]:
        has_kernel = opdsl.DispatchKey("CPU") in operator.registrations
        if has_kernel and any(word in operator.name for word in INDEXING):
            yield operator


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["reduction", "row", "scan", "indirect"])
def test_every_operator_agrees_with_the_cpu(kind: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records = distinct(recorded(operators_that_run(kind), getattr(opdsl, dtype), [kind], monkeypatch))
    assert records or (kind == "row" and dtype in ("bool", "int64", "complex64"))
    assert not records or wrong_ones(records) == []


# ------------------------------------------------------------------------------------------------------------- shapes


lib = Library("cuda_rows_test")


def compose(factor, addend, later_factor, later_addend):
    return factor * later_factor, addend * later_factor + later_addend


COMPOSED = primitives.fold(
    compose, init=(1, 0), accumulators=("index", "index"), results=("index",),
    lift=lambda x, index: (int(x) * 2 + 1, index), finish=lambda factor, addend, count: factor + addend,
)  # fmt: skip


@lib.op
@formula
def composed(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    """Compose the affine maps ``x -> (element | 1) * x + index`` of a row, applied to 1; the fold does not commute."""
    return COMPOSED(self, dim, keepdim)


RUNNING = primitives.scan(
    compose, init=(1, 0), accumulators=("index", "index"), results=("index",),
    lift=lambda x, index: (int(x) * 2 + 1, index), finish=lambda factor, addend: factor + addend,
)  # fmt: skip


@lib.op
@formula
def running(self: Tensor, dim: int) -> Tensor:
    """Return the running compositions of ``composed``, applied to 1."""
    return RUNNING(self, dim)


@lib.op
def spread(self: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Return a row's exponentials combined with its mean and smallest element, and the row's largest element."""
    ...


@spread.meta
def spread_meta(ctx, self, scale):
    ctx.set_output(0, self.shape, like=self)
    ctx.set_output(1, (*self.shape[:-1], 1), like=self)
    return (self.ndim - 1,)


def spread_row(self, scale):
    high = row_max(self)
    e = math.exp((self - high) * scale)
    return e / row_sum(e) - row_mean(self) + row_min(self) * row_index(self), high


SPREAD = primitives.rows(spread_row, promote="floating")


@spread.formula
def spread_formula(self: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    return cast("tuple[Tensor, Tensor]", SPREAD(self, scale))


def whole_numbers(*shape: int) -> Tensor:
    """Return small whole numbers, whose float32 sums are exact."""
    generator = np.random.default_rng(math.prod(shape))
    return opdsl.from_numpy(generator.integers(-8, 8, shape).astype(np.float32))


REDUCED = [(1,), (31,), (1025,), (100_003,), (3, 40_001), (40_001, 3), (7, 1000, 5), (70, 501), (501, 70), (2, 3, 1001)]


@pytest.mark.parametrize("name", ["sum", "argmax", "var", "composed"])
def test_reductions_of_any_shape(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function: Callable[..., Any] = composed if name == "composed" else getattr(opdsl, name)
    recorder = Recorder(["reduction"])
    with recorder.installed(monkeypatch):
        for shape in REDUCED:
            recorder.operator = f"{name} of {shape}"
            x = whole_numbers(*shape)
            function(x)
            function(x[::2])
            if shape[0] > 1:
                function(x[1:])  # unaligned where rows are long
            for dim in range(len(shape)):
                function(x, dim if name == "argmax" else [dim])
                function(x.transpose(0, -1), dim if name == "argmax" else [dim])
    entries = {launch.entry for record in recorder.records for launch in record.program.variants[0].launches}
    assert entries == {"whole", "parts", "rest"}
    assert wrong_ones(recorder.records) == []


SCANNED = [(1,), (9,), (2049,), (70_001,), (3, 9000), (9000, 3), (5, 300, 7), (300, 40)]


@pytest.mark.parametrize("name", ["cumsum", "cummax", "running"])
def test_scans_of_any_shape(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function: Callable[..., Any] = running if name == "running" else getattr(opdsl, name)
    recorder = Recorder(["scan"])
    with recorder.installed(monkeypatch):
        for shape in SCANNED:
            recorder.operator = f"{name} of {shape}"
            x = whole_numbers(*shape)
            function(x[1:], 0)
            for dim in range(len(shape)):
                function(x, dim)
                function(x.transpose(0, -1), dim)
    assert {len(record.program.variants[0].launches) for record in recorder.records} >= {1, 2}
    assert wrong_ones(recorder.records) == []


ROWS = [(1,), (2, 3), (5, 32), (3, 33), (40, 128), (2, 513), (3, 1000), (2, 4097), (3, 9001), (300, 7), (33, 5, 17)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_rows_of_any_shape(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["row"])
    with recorder.installed(monkeypatch):
        for shape in ROWS:
            recorder.operator = f"rows of {shape}"
            x = whole_numbers(*shape).to(getattr(opdsl, dtype))
            spread(x, 0.5)
            for dim in range(len(shape)):
                opdsl.softmax(x, dim)
                opdsl.softmax(x[..., ::2], dim)
            length = shape[-1]
            weight, bias = (whole_numbers(length).to(x.dtype) for _ in range(2))
            opdsl.native_layer_norm(x[..., :length], [length], weight, bias, 1e-5)
            if length > 1:
                opdsl.softmax(x[..., 1:], -1)  # unaligned
    assert wrong_ones(recorder.records) == []


def fading_step(product: Any, total: Any, self: Any, weight: Any, keep: Any) -> Any:
    return max(min(product * weight, 2.0), -2.0), keep * total + self * product


FADING = primitives.scan(fading_step, init=(1.0, 0.0), promote="floating")


@lib.op
@formula
def fading(self: Tensor, weight: Tensor, dim: int, keep: float) -> tuple[Tensor, Tensor]:
    """Compute a recurrence with two carried values."""
    return cast("tuple[Tensor, Tensor]", FADING(self, weight, dim, keep))


def test_recurrences_of_any_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["recurrence"])
    with recorder.installed(monkeypatch):
        for shape in [(1,), (9000,), (3, 700), (700, 3), (5, 30, 7)]:
            recorder.operator = f"recurrences of {shape}"
            x, weight = whole_numbers(*shape).requires_grad_(), whole_numbers(shape[-1]).requires_grad_()
            for dim in range(len(shape)):
                result = fading(x, weight, dim, 0.5)
                opdsl.autograd.grad([output.sum() for output in result], [x, weight])
                fading(x.transpose(0, -1).detach(), weight[:1].detach(), dim, 0.5)
    loops = [loop for record in recorder.records for loop in record.kernel.loops]
    assert {isinstance(loop, Scan) and loop.is_reverse for loop in loops} == {False, True}
    assert wrong_ones(recorder.records) == []


def test_derived_gradients_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["row"])
    with recorder.installed(monkeypatch):
        for shape in [(1,), (3, 33), (2, 4097), (300, 7)]:
            recorder.operator = f"gradients of rows of {shape}"
            x = whole_numbers(*shape).requires_grad_()
            opdsl.autograd.grad([output.sum() for output in spread(x, 0.5)], [x])
    assert {len(record.layout.outputs) for record in recorder.records} == {1, 2}
    assert wrong_ones(recorder.records) == []


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "bfloat16", "float32", "int64", "complex128"])
def test_updates_that_meet_in_one_place(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["indirect"])
    values = (whole_numbers(40, 6).abs() % 2).to(getattr(opdsl, dtype))
    rows, places = opdsl.arange(40) % 7, (opdsl.arange(240) % 5).reshape(40, 6)
    with recorder.installed(monkeypatch):
        values.new_zeros((7, 6)).index_add_(0, rows, values)
        values.new_zeros((40, 6)).scatter_add_(1, places, values)
        values.new_zeros((7, 6)).index_copy_(0, rows[:7], values[:7])
        values[rows, places[:, 0]]
        values.index_select(0, rows)
    updates = [record for record in recorder.records if Old(0) in record.kernel.sources]
    assert len(updates) == 2
    assert wrong_ones(recorder.records) == []


# ------------------------------------------------------------------------------------------- far apart, beyond 32 bits


STEP = (1 << 30) + 7
FAR = OperandSpec(opdsl.int8, (STEP,))
NEAR = OperandSpec(opdsl.int8, (1,))


def far_values() -> np.ndarray:
    """Return an array of three values far apart; the system allocates only the touched pages."""
    far = np.zeros(2 * STEP + 4096, np.int8)
    far[::STEP] = [3, 5, 7]
    return far


def typed(function: Any, *kinds: str, results: list[str]) -> TypedGraph:
    """Return the graph of a scalar function for given types."""
    scalar = read(function)
    return scalar.specialise(dict(zip(scalar.parameters, kinds, strict=True)), results=results)


def monoid() -> tuple[TypedGraph, TypedGraph]:
    """Return the graphs that convert an element and combine partial sums, for sums of int8."""
    return typed(lambda x: x, "int8", results=["int64"]), typed(lambda a, b: a + b, "int64", "int64", results=["int64"])


def test_a_reduction_beyond_32_bits() -> None:
    folding = Folding((0,), *monoid(), typed(lambda a, n: a + n, "int64", "int64", results=["int64"]))
    program = reduction(*folded(folding, (), (3,), (FAR,), (OperandSpec(opdsl.int64, ()),)))
    result = np.zeros((), np.int64)
    emulation.run(program, [far_values(), result])
    assert result == 3 + 5 + 7 + 3


def test_a_scan_beyond_32_bits() -> None:
    scanning = Scanning((0,), *monoid(), typed(lambda a: a, "int64", results=["int64"]))
    program = scan(*scanned(scanning, (), 3, (FAR,), (OperandSpec(opdsl.int64, (8,)),)))
    result = np.zeros(3, np.int64)
    emulation.run(program, [far_values(), result])
    assert result.tolist() == [3, 8, 15]


def test_rows_beyond_32_bits() -> None:
    graph = read(lambda x: x - row_max(x), rows=True).specialise({"x": "int8"}, results=["int8"])
    far, near = OperandSpec(opdsl.int8, (STEP, 1)), OperandSpec(opdsl.int8, (1, 1))
    program = row(*rows(graph, (3,), 1, (far,), (near,)))
    result = np.ones(3, np.int8)
    emulation.run(program, [far_values(), result])
    assert result.tolist() == [0, 0, 0]


def test_positions_beyond_32_bits() -> None:
    position = OperandSpec(opdsl.int64, (8,))
    graph = typed(lambda x: x, "int8", results=["int8"])
    program = indirect(*gathered(graph, (3,), (OperandSpec(opdsl.int8, (0,)),), NEAR, (position,), 0, writes=False))
    result = np.zeros(3, np.int8)
    emulation.run(program, [far_values(), np.array([2, -3, 1]), STEP, 3, result])
    assert result.tolist() == [7, 3, 5]
