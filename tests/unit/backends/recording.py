"""Recorder of the kernels that the CPU runs: calls of the compiler protocol, with their operands and results."""

from __future__ import annotations

import ctypes
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

import opdsl
import opdsl.kernels
from opdsl.backends.cpu import compiler
from opdsl.backends.cuda.program import Program
from opdsl.backends.cuda.schedules import scheduled
from opdsl.dispatch.plans.plan_holders import forget_plans
from opdsl.errors import OpdslError
from opdsl.kernels.calls import Layout
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.kernels.kernel import Kernel, Scan
from opdsl.kernels.structure import Structure, structure_of
from opdsl.runtime import DType
from opdsl.runtime.lowering import lowering
from opdsl.testing.samples import samples_of
from tests.emulation import programs as emulation

KINDS = {
    Structure.ELEMENTS: "pointwise",
    Structure.FOLD: "reduction",
    Structure.ROWS: "row",
    Structure.SCAN: "scan",
    Structure.GATHER: "indirect",
    Structure.INDICES: "indexed",
    Structure.ANY: "indexed",
}
"""Kinds of kernels by their structure; a scan that is not associative is a ``recurrence``."""


def kind_of(kernel: Kernel) -> str:
    """Return the kind of a kernel."""
    kind = KINDS[structure_of(kernel)]
    is_step_by_step = any(isinstance(loop, Scan) and not loop.is_associative for loop in kernel.loops)
    return "recurrence" if kind == "scan" and is_step_by_step else kind


class Recorded(NamedTuple):
    """Record of one run of a kernel.

    operator: the operator whose sample ran the kernel.
    kind: see ``kind_of``.
    kernel, layout: arguments of the compiler.
    values: operands of the kernel, including given outputs; arrays as they were before.
    results: the kernel's results.
    """

    operator: str
    kind: str
    kernel: Kernel
    layout: Layout
    values: tuple[Any, ...]
    results: tuple[np.ndarray, ...]

    @property
    def program(self) -> Program:
        """Return the CUDA program for the same call."""
        return scheduled(self.kernel, self.layout)

    @property
    def operands(self) -> list[Any]:
        """Return operands for the program: copies of the inputs, and outputs with other contents."""
        results = self.results[: len(self.results) - (len(self.values) - self._inputs)]
        return [*copies(self.values), *map(like, results)]

    @property
    def _inputs(self) -> int:
        return len(self.values) - sum(array is None for array in self.layout.allocate)


class Recorder:
    """Recorder that wraps the CPU's compiler and keeps the runs of its kernels.

    kinds: the kinds of kernels to record.
    """

    def __init__(self, kinds: Iterable[str]) -> None:
        self.records: list[Recorded] = []
        self.kinds = tuple(kinds)
        self.operator = ""

    @contextmanager
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Replace the CPU's compiler by the recorder in this block."""
        with monkeypatch.context() as patch:
            patch.setattr(compiler, "compile", self._compiler(compiler.compile))
            forget_kernels()
            yield
        forget_kernels()

    def _compiler(self, compile_: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(kernel: Kernel, layout: Layout) -> Callable[..., Any]:
            run, kind = compile_(kernel, layout), kind_of(kernel)
            if kind not in self.kinds or lowering.get() is not None:
                return run  # or a plan of a form is being made: nothing runs yet

            def keep(*values: Any) -> Any:
                before = copies(values)
                result = run(*values)
                inputs = sum(array is None for array in layout.allocate)
                output = result if isinstance(result, tuple) else (result,)
                results = values[len(values) - inputs :] if inputs else output
                recorded = tuple(copies(results))
                self.records.append(Recorded(self.operator, kind, kernel, layout, tuple(before), recorded))
                return result

            return keep

        return compiled


def recorded(operators: Iterable[Any], dtype: DType, kinds: Iterable[str], patch: pytest.MonkeyPatch) -> list[Recorded]:
    """Return records of the kernels that operators run on their samples of a dtype."""
    recorder = Recorder(kinds)
    with recorder.installed(patch), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for operator in operators:
            recorder.operator = operator.name
            packet, _, overload = operator.name.removeprefix("aten::").partition(".")
            function = getattr(getattr(opdsl.ops.aten, packet), overload or "default").direct("CPU")
            for sample in samples_of(operator, dtype):
                try:
                    sample.call(function)
                except OpdslError:
                    continue  # the operator refuses the dtype, or the shapes
    return recorder.records


def operators_of(kind: str) -> Iterator[Any]:
    """Yield the functional variant of every operator of aten whose definition has a given kind."""
    for operator in [operator for operator in opdsl.registry if operator.name.startswith("aten::")]:
        kernels = operator.registrations.get(opdsl.DispatchKey("CPU"), [])
        kernel = kernels[0] if kernels else None
        if isinstance(kernel, StructuredKernel) and (kernel.kind, kernel.variant) == (kind, "functional"):
            yield operator


def distinct(records: Iterable[Recorded]) -> list[Recorded]:
    """Return the first record for each source and set of kernels."""
    by_source: dict[object, Recorded] = {}
    for record in records:
        if all(result.size for result in record.results):
            program = record.program
            entries = [launch.entry for variant in program.variants for launch in variant.launches]
            by_source.setdefault((program.source.fingerprint, *entries), record)
    return list(by_source.values())


def forget_kernels() -> None:
    """Clear the caches of compiled loops and of plans that hold them, so that the compiler is called again."""
    forget_plans()
    modules = [module.name for module in pkgutil.walk_packages(opdsl.kernels.__path__, "opdsl.kernels.")]
    if "opdsl.backends.cuda.positions" in sys.modules:  # it caches kernels that check indices
        modules.append("opdsl.backends.cuda.positions")
    for module in modules:
        for value in vars(importlib.import_module(module)).values():
            if hasattr(value, "cache_clear") and value.__name__ not in ("_compiler", "has_compiler"):
                value.cache_clear()


# ---------------------------------------------------------------------------------------------------- arrays in memory


def copies(values: Iterable[Any]) -> list[Any]:
    """Return copies of arrays with the same strides and alignment; operands that are one array stay one array."""
    output: dict[tuple[object, ...], np.ndarray] = {}

    def copied(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        key = (value.__array_interface__["data"][0], value.dtype, value.shape, value.strides)
        if key not in output:
            output[key] = _moved(value)
        return output[key]

    return [copied(value) for value in values]


def _moved(array: np.ndarray) -> np.ndarray:
    moved, begin, size = _room_for(array)
    low = array.__array_interface__["data"][0] - begin
    ctypes.memmove(moved.__array_interface__["data"][0] - begin, low, size)
    return moved


def like(array: np.ndarray) -> np.ndarray:
    """Return an array with the same strides, filled with other contents."""
    return _room_for(array)[0]


def _room_for(array: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Allocate an array with equal strides and alignment; return it, its first element's offset in memory, and its size
    in bytes.
    """
    reach = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)] if array.size else []
    begin = -sum(min(offset, 0) for offset in reach)
    size = begin + sum(max(offset, 0) for offset in reach) + (array.itemsize if array.size else 0)
    room = np.full(size + 128, 0x5A, np.uint8)
    address = room.__array_interface__["data"][0]
    place = -address % 64 + (array.__array_interface__["data"][0] - begin) % 64
    return np.ndarray(array.shape, array.dtype, room, place + begin, array.strides), begin, size


# -------------------------------------------------------------------------------------------------------- comparisons


def differs(result: np.ndarray, expected: np.ndarray, *, exact: bool, relative: float | None = None) -> bool:
    """Return whether results differ in any bit, or beyond a tolerance if not ``exact``; all NaNs are equal.

    relative: the tolerance; None for one that depends on the dtype.
    """
    result, expected = reals(result), reals(expected)
    if result.dtype.kind != "f":
        return not np.array_equal(result, expected)
    if exact:
        signs = np.array_equal(np.signbit(result) & ~np.isnan(result), np.signbit(expected) & ~np.isnan(expected))
        return not (signs and np.array_equal(result, expected, equal_nan=True))
    relative = relative or (1e-5 if result.dtype.itemsize < 8 else 1e-12)
    # The error of sums that cancel is relative to the addends.
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    return not np.allclose(result, expected, rtol=relative, atol=relative / 10 * largest, equal_nan=True)


def reals(array: np.ndarray) -> np.ndarray:
    """Return the real and imaginary parts of complex numbers, and bfloat16 (stored as uint16) as float32."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array


def wrong_ones(records: list[Recorded]) -> list[str]:
    """Return descriptions of the records whose results on an emulated grid differ from the CPU's."""
    programs = [record.program for record in records]
    emulation.build(programs)
    wrong = []
    for run, program in zip(records, programs, strict=True):
        operands = run.operands
        emulation.run(program, operands)
        outputs = operands[len(operands) - len(run.results) :]
        if any(differs(*pair, exact=False) for pair in zip(outputs, run.results, strict=True)):
            wrong.append(f"{run.operator}: {outputs} for {run.results} of {run.values}, {run.call}")
    return wrong
