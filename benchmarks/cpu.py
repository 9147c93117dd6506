"""Benchmark of kernels on the CPU, compared with PyTorch on equally many threads in the same process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

import numpy
import torch
from harness import Case, Measured, Report, compare, main

import opdsl

THREADS = min(2, os.cpu_count() or 1)
SIZES = (1_000, 10_000, 100_000, 1_000_000, 4_194_304, 10_000_000)
LARGE = 4_194_304
POINTWISE = {
    "add": "{0}.add({1}, {2})",
    "mul": "{0}.mul({1}, {2})",
    "exp": "{0}.exp({1})",
    "tanh": "{0}.tanh({1})",
    "sigmoid": "{0}.sigmoid({1})",
    "log": "{0}.log({1})",
    "erf": "{0}.erf({1})",
    "gelu": "{0}.nn.functional.gelu({1})",
}
SIDE = 2048
REDUCTIONS = {
    "sum of all": "{0}.sum({1})",
    "sum of rows": "{0}.sum({1}, 1)",
    "sum of columns": "{0}.sum({1}, 0)",
    "mean of all": "{0}.mean({1})",
    "mean of rows": "{0}.mean({1}, 1)",
    "amax of rows": "{0}.amax({1}, 1)",
    "amax of columns": "{0}.amax({1}, 0)",
    "var of all": "{0}.var({1})",
    "var of rows": "{0}.var({1}, 1)",
}

ROWS = {
    "softmax of rows": "{0}.softmax({1}, 1)",
    "softmax of columns": "{0}.softmax({1}, 0)",
    "log_softmax of rows": "{0}.log_softmax({1}, 1)",
    "layer_norm": "{0}.layer_norm({1}, ({1}.shape[1],))",
    "cumsum along rows": "{0}.cumsum({1}, 1)",
    "cumsum along columns": "{0}.cumsum({1}, 0)",
}
ROW_SHAPES = ((4096, 1024), (1024, 64), (64, 64))

INDEXED = {
    "gather along rows": "{0}.gather({1}, 1, {3})",
    "gather along columns": "{0}.gather({1}, 0, {3})",
    "index_select of rows": "{0}.index_select({1}, 0, {4})",
    "index_select of columns": "{0}.index_select({1}, 1, {4})",
    "x[i]": "{2}[{5}]",
    "x[mask]": "{1}[{6}]",
    "scatter_add": "{0}.scatter_add({1}, 1, {3}, {1})",
}

# Run in a separate process with its own cache directory: once to compile, once more to load.
SPECIALISATION = """
import time, opdsl
x = opdsl.tensor([1.0, 2.0])
opdsl.add(x, x)
for name in ("mul", "neg", "exp", "tanh", "sigmoid", "div"):
    call = getattr(opdsl, name)
    arguments = (x, x) if name in ("mul", "div") else (x,)
    started = time.perf_counter()
    call(*arguments)
    print(time.perf_counter() - started)
"""


def case(name: str, statement: str, *operands: str, goal: float | None = None) -> Case:
    """Return a case that runs one statement on operands of opdsl and on those of PyTorch, which are named
    ``t{operand}``.
    """
    twins = [f"t{operand}" for operand in operands]
    return Case(name, statement.format("ours", *operands), statement.format("theirs", *twins), goal)


def both(array: numpy.ndarray) -> tuple[opdsl.Tensor, torch.Tensor]:
    """Return tensors of opdsl and of PyTorch over the memory of one array."""
    return opdsl.from_numpy(array), torch.from_numpy(array)


def names(**arrays: numpy.ndarray) -> dict[str, object]:
    """Return the variables of statements: each array as ``name`` for opdsl and as ``tname`` for PyTorch."""
    result: dict[str, object] = {"ours": opdsl, "theirs": torch}
    for name, array in arrays.items():
        result[name], result[f"t{name}"] = both(array)
    return result


def random(*shape: int) -> numpy.ndarray:
    """Return random positive float32 numbers, for which every measured function is defined."""
    return numpy.random.default_rng(0).uniform(0.1, 2.0, shape).astype(numpy.float32)


def contiguous(size: int) -> list[Measured]:
    """Measure every pointwise operator on contiguous vectors."""
    goal = 1.05 if size == LARGE else None
    cases = [case(f"{name}, {size:,}", text, "x", "y", goal=goal) for name, text in POINTWISE.items()]
    return compare(cases, names(x=random(size), y=random(size)), rounds=15)


def layouts() -> list[Measured]:
    """Measure pointwise operators on transposed and broadcast matrices of 4M elements."""
    square = random(SIDE, SIDE)
    row, column = random(1, SIDE), random(SIDE, 1)
    known = names(x=square, t=square.T, u=random(SIDE, SIDE).T, r=row, c=column)
    cases = [
        case("add, one transposed", POINTWISE["add"], "x", "u"),
        case("add, both transposed", POINTWISE["add"], "t", "u"),
        case("add, a row for all", POINTWISE["add"], "x", "r"),
        case("add, a column for all", POINTWISE["add"], "x", "c"),
        case("mul, row times column", POINTWISE["mul"], "r", "c"),
        case("exp, transposed", POINTWISE["exp"], "t"),
        case("tanh, transposed", POINTWISE["tanh"], "t"),
    ]
    return compare(cases, known, rounds=11)


def others() -> list[Measured]:
    """Measure allocation of a large result, reductions and matrix products."""
    large = compare(
        [case("functional add, 16M", POINTWISE["add"], "x", "y", goal=0.4)],
        names(x=random(1 << 24), y=random(1 << 24)),
        rounds=9,
    )
    reductions = [case(f"{name}, {SIDE} x {SIDE}", text, "x", goal=1.0) for name, text in REDUCTIONS.items()]
    products = compare(
        [case("mm, 1024 x 1024", "{0}.mm({1}, {2})", "x", "y", goal=1.1)],
        names(x=random(1024, 1024), y=random(1024, 1024)),
        rounds=9,
    )
    return [*large, *compare(reductions, names(x=random(SIDE, SIDE)), rounds=15), *products]


def indexing() -> list[Measured]:
    """Measure reads and writes at random indices of 1M elements."""
    random_positions = numpy.random.default_rng(1).integers
    known = names(
        x=random(1000, 1000),
        v=random(1_000_000),
        i=random_positions(0, 1000, (1000, 1000)),
        r=random_positions(0, 1000, 1000),
        p=random_positions(0, 1_000_000, 1_000_000),
        m=random(1000, 1000) > 1,
    )
    cases = [case(name, text, "x", "v", "i", "r", "p", "m", goal=1.5) for name, text in INDEXED.items()]
    return compare(cases, known, rounds=11)


def rows(shape: tuple[int, int]) -> list[Measured]:
    """Measure softmax, layer_norm and scans along rows or columns; only the largest shape has a goal."""
    goal = 1.0 if shape == ROW_SHAPES[0] else None
    cases = [case(f"{name}, {shape[0]} x {shape[1]}", text, "x", goal=goal) for name, text in ROWS.items()]
    return compare(cases, names(x=random(*shape)), rounds=15)


def specialisations() -> list[tuple[str, float, float]]:
    """Return medians of whole first calls that compile a pointwise kernel, and of those that load it from disk."""
    with tempfile.TemporaryDirectory() as directory:
        variables = {**os.environ, "OPDSL_CACHE_DIR": directory}

        def run() -> float:
            done = subprocess.run(
                [sys.executable, "-c", SPECIALISATION], env=variables, check=True, capture_output=True, text=True
            )
            return statistics.median(map(float, done.stdout.split()))

        compiled = run()
        loaded = statistics.median(run() for _ in range(5))
    return [("compile, and the first call", compiled, 0.040), ("load from disk, and the first call", loaded, 0.005)]


def run() -> Report:
    """Measure all kernels."""
    torch.set_num_threads(THREADS)
    report = Report("Kernels on the CPU", threads=THREADS)
    vectors = [row for size in SIZES for row in contiguous(size)]
    report.comparison("Pointwise, contiguous float32", vectors, theirs="torch")
    report.comparison("Pointwise, other layouts, 2048 x 2048 float32", layouts(), theirs="torch")
    report.comparison("Allocation, reductions, products, float32", others(), theirs="torch")
    along = [row for shape in ROW_SHAPES for row in rows(shape)]
    report.comparison("Softmax, layer normalisation and scans, float32", along, theirs="torch")
    report.comparison("Indexing, 1M elements, float32", indexing(), theirs="torch")
    report.times("One pointwise specialisation", specialisations())
    return report


if __name__ == "__main__":
    main("cpu", run)
