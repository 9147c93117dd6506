"""Printed CUDA C++, run by an emulated grid, gives the bits that the CPU's kernels give."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opdsl
from opdsl.backends.cpu import compiler as cpu
from opdsl.backends.cuda.pointwise_source import divider, is_narrow
from opdsl.errors import OpdslError
from opdsl.kernels import pointwise
from opdsl.kernels.calls import OperandSpec, PointwiseCall
from opdsl.kernels.structured import StructuredKernel
from opdsl.runtime import DType
from opdsl.runtime.dtype import complex64
from opdsl.scalar import TypedGraph, lower, read
from opdsl.scalar.operations import LIBM
from opdsl.testing.samples import samples_of
from tests.unit.backends.emulation import Emulation

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++, which stands for NVRTC")

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip


class Recorded(NamedTuple):
    """One run of a pointwise loop: what was compiled, what it got, and what it made."""

    operator: str
    graph: TypedGraph
    call: PointwiseCall
    values: tuple[Any, ...]
    results: tuple[Any, ...]


def pointwise_operators() -> Iterator[Any]:
    """Every operator of aten that has a pointwise definition, its functional variant."""
    for operator in [each for each in opdsl.registry if each.name.startswith("aten::")]:
        kernels = operator.registrations.get(opdsl.DispatchKey("CPU"), [])
        kernel = kernels[0] if kernels else None
        if isinstance(kernel, StructuredKernel) and (kernel.kind, kernel.variant) == ("pointwise", "functional"):
            yield operator


def recorded(dtype: DType, monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """The loops that all operators run on their samples of a dtype."""
    found: list[Recorded] = []
    name = ""

    def compiled(device: str, graph: TypedGraph, call: PointwiseCall) -> Callable[..., Any]:
        run = cpu.pointwise(graph, call)

        def keep(*values: Any) -> Any:
            result = run(*values)
            results = result if isinstance(result, tuple) else (result,)
            found.append(Recorded(name, graph, call, values, results))
            return result

        return keep

    monkeypatch.setattr(pointwise, "_compiled", compiled)
    for operator in pointwise_operators():
        name = operator.name
        packet, _, overload = name.removeprefix("aten::").partition(".")
        function = getattr(getattr(opdsl.ops.aten, packet), overload or "default").direct("CPU")
        for sample in samples_of(operator, dtype):
            try:
                sample.call(function)
            except OpdslError:
                continue  # the operator refuses the dtype, or the shapes
    return found


def distinct(found: list[Recorded]) -> dict[str, Recorded]:
    """One record for each source, by a name for its kernels."""
    by_source: dict[object, Recorded] = {}
    for each in found:
        specs = [(spec.dtype, spec.strides is None) for spec in (*each.call.inputs, *each.call.outputs)]
        contiguous = all(spec.strides in (None, (spec.dtype.itemsize,)) for spec in each.call.inputs)
        key = (each.graph, tuple(specs), len(each.call.sizes), contiguous)
        by_source.setdefault(key, each)
    return {f"kernel{at}": each for at, each in enumerate(by_source.values())}


def is_contiguous(record: Recorded) -> bool:
    specs = [spec for spec in (*record.call.inputs, *record.call.outputs) if spec.strides is not None]
    return len(record.call.sizes) == 1 and all(spec.strides == (spec.dtype.itemsize,) for spec in specs)


def like(array: np.ndarray) -> np.ndarray:
    """Memory for a result with the same strides, full of something else."""
    return np.lib.stride_tricks.as_strided(
        np.full(array.size * array.itemsize + 64, 0x5A, np.uint8)[: array.nbytes].view(array.dtype),
        array.shape,
        array.strides,
    )


def differs(found: np.ndarray, expected: np.ndarray, *, exact: bool) -> bool:
    """Whether results are not the same bits; all NaNs are one."""
    found, expected = reals(found), reals(expected)
    if found.dtype.kind != "f":
        return not np.array_equal(found, expected)
    if exact:
        signs = np.array_equal(np.signbit(found) & ~np.isnan(found), np.signbit(expected) & ~np.isnan(expected))
        return not (signs and np.array_equal(found, expected, equal_nan=True))
    return not np.allclose(found, expected, rtol=1e-5 if found.dtype.itemsize < 8 else 1e-12, atol=0, equal_nan=True)


def reals(array: np.ndarray) -> np.ndarray:
    """The parts of complex numbers, and bfloat16, which has its bits in uint16, as float32."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array


def uses_library(graph: TypedGraph) -> bool:
    """Whether something is left to the mathematics library, which is another one on a GPU and has other last digits."""
    return any(node.op in LIBM for node in lower(graph).nodes)


def edges(dtype: DType) -> np.ndarray:
    """Numbers at the edges of a dtype, and some between."""
    kind = np.dtype(dtype.numpy)
    if dtype.is_complex:
        parts = edges(opdsl.float32 if dtype is complex64 else opdsl.float64)
        return np.array([complex(one, other) for one in parts for other in parts], kind)
    if kind.kind == "f":
        limits = np.finfo(kind)
        plain = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 600.0, np.inf, -np.inf, np.nan]
        return np.array([*plain, limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 1.5, -0.5], kind)
    if kind.kind in "iu" and dtype.is_floating_point:  # bfloat16, as bits
        return np.array([0, 0x8000, 0x3F80, 0xBF80, 0x4049, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 1, 0x0080, 0x4416], kind)
    if kind.kind == "b":
        return np.array([False, True])
    limits = np.iinfo(kind)
    return np.array([limits.min, limits.max, 0, 1, 2, 3, 5, 7, limits.max // 2, limits.max - 1, limits.min + 1], kind)


def on_edges(record: Recorded) -> Recorded:
    """The same loop over all combinations of numbers at the edges; what it makes comes from the CPU's kernel."""
    columns = np.meshgrid(*(edges(spec.dtype) for spec in record.call.inputs if spec.strides), indexing="ij")
    # Of three complex operands there would be millions.
    flat = iter([np.ascontiguousarray(column.ravel()[:: 1 + column.size // 20_000]) for column in columns])
    inputs = zip(record.call.inputs, record.values, strict=True)
    values = [value if spec.strides is None else next(flat) for spec, value in inputs]
    count = next(value.size for value in values if isinstance(value, np.ndarray))
    outputs = [np.empty(count, result.dtype) for result in record.results]
    call = record.call._replace(sizes=(count,), allocate=(None,) * len(outputs))
    cpu.pointwise(record.graph, call)(*values, *outputs)
    return record._replace(call=call, values=tuple(values), results=tuple(outputs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_agrees_with_the_cpu(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records = distinct([each for each in recorded(getattr(opdsl, dtype), monkeypatch) if each.results[0].size])
    emulation = Emulation({name: (each.graph, each.call) for name, each in records.items()})
    wrong = []
    for name, each in records.items():
        runs = [each, on_edges(each)] if is_contiguous(each) else [each]
        for run in runs:
            for kind in ("strided", "vectors") if is_contiguous(run) else ("strided",):
                outputs = [like(result) for result in run.results]
                getattr(emulation, kind)(name, [*run.values, *outputs], run.call)
                exact = not uses_library(run.graph)
                if any(differs(*pair, exact=exact) for pair in zip(outputs, run.results, strict=True)):
                    wrong.append(f"{run.operator} {kind}: {outputs} for {run.results} of {run.values}")
    assert records
    assert wrong == []


def test_a_stretch_of_memory_beyond_32_bits() -> None:
    def twice(x):
        return x + x

    graph = read(twice).specialise({"x": "int8"}, results=["int8"], default_float="float32")
    far = np.zeros((1 << 31) + 4096, np.int8)  # of which the system gives only the pages that are touched
    step = (1 << 30) + 7
    far[::step] = [3, 5, 7]
    spec = OperandSpec(opdsl.int8, (step,))
    call = PointwiseCall((3,), (spec,), (OperandSpec(opdsl.int8, (1,)),), (None,))
    found = np.zeros(3, np.int8)
    emulation = Emulation({"far": (graph, call)})
    emulation.strided("far", [far, found], call)
    assert found.tolist() == [6, 10, 14]


@pytest.mark.parametrize(
    ("sizes", "strides", "narrow"),
    [
        ((2,), (4,), True),
        ((1 << 31,), (0,), False),
        (((1 << 31) - 1,), (1,), True),
        ((1 << 20, 2), (1 << 12, 1 << 30), False),
        ((1 << 20, 2), (-(1 << 11), -1), True),
        ((1 << 20, 3), (-(1 << 11), -1025), False),
    ],
)
def test_offsets_of_32_bits(sizes: tuple[int, ...], strides: tuple[int, ...], narrow: bool) -> None:
    spec = OperandSpec(opdsl.int8, strides)
    assert is_narrow(PointwiseCall(sizes, (spec,), (spec,), (None,))) is narrow


@given(st.integers(1, 1 << 31), st.integers(0, (1 << 32) - 1))
def test_division_by_a_known_number(divisor: int, value: int) -> None:
    _, multiplier, shift = divider(divisor)
    high = value * multiplier >> 32
    assert (high + ((value - high) >> min(shift, 1))) >> max(shift - 1, 0) == value // divisor


@pytest.mark.parametrize("count", [1, 3, 4, 5, 255, 256, 1023, 1025])
def test_tails_of_vectors(count: int) -> None:
    values = np.arange(count + 8, dtype=np.float32)
    spec = OperandSpec(opdsl.float32, (4,))
    call = PointwiseCall((count,), (spec,), (spec,), (None,))
    found = np.full(count + 8, -1, np.float32)
    negatives().vectors("negatives", [values, found], call)
    assert found.tolist() == [*(-values[:count]), *[-1] * 8]


@cache
def negatives() -> Emulation:
    def negative(x):
        return -x

    graph = read(negative).specialise({"x": "float32"}, results=["float32"], default_float="float32")
    spec = OperandSpec(opdsl.float32, (4,))
    return Emulation({"negatives": (graph, PointwiseCall((4,), (spec,), (spec,), (None,)))})
