"""Benchmark of every operator of PyTorch's operator database that opdsl has, on tensors of several sizes.

One thread is measured by the processor time of the process, which other programs hardly change; two threads by
wall-clock time. The report names everything that was not measured: operators whose samples could not be enlarged, those
that failed, and those for which no time was left.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))  # tests.torch maps entries of the database to opdsl

import torch
from harness import Report, main
from harness.scaling import Call, enlarged, numel

import opdsl
from opdsl.testing.timing import shown
from tests.torch.op_db import function_of, name_of, operators, samples
from tests.torch.twins import Twins

SIZES = {"1K": 1_000, "100K": 100_000, "4M": 4_000_000}
THREADS = (1, 2)
SECONDS = 1200  # for all operators
SECONDS_OF_A_CALL = 0.2  # larger calls of operators that are slower in PyTorch are not measured
ELEMENTS_OF_A_RESULT = 1 << 26
SECONDS_OF_A_TURN = 0.002
ROUNDS = 5
MEMORY = 8 << 30
WORST, LIMIT = 30, 1.5
NO_DTYPE = "no dtype in common"
DTYPES = ("float32", "int64", "bool", "complex64")


class Cell(NamedTuple):
    """Measurement of an operator at one size and number of threads, in seconds per call."""

    name: str
    size: str
    threads: int
    ours: float
    theirs: float
    ratio: float


class Table:
    """Measurements, and reasons why others are missing.

    cells: the measurements.
    missing: the operators and sizes that were not measured, by reason.
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.missing: dict[str, list[str]] = {}

    def miss(self, reason: str, name: str) -> None:
        """Record that something was not measured."""
        self.missing.setdefault(reason, []).append(name)


class Extent(NamedTuple):
    """Selection of sizes, threads and dtypes to measure for every operator.

    sizes: names of numbers of elements.
    threads: numbers of threads.
    dtypes: candidates, of which the first one that the operator supports is measured.
    """

    sizes: Sequence[str] = tuple(SIZES)
    threads: Sequence[int] = THREADS
    dtypes: Sequence[str] = DTYPES


def measure(table: Table, info: Any, extent: Extent) -> None:
    """Measure an operator at all sizes and numbers of threads, and add the results to the table."""
    name, ours = name_of(info), function_of(info)
    dtype = next(
        (candidate for candidate in map(torch.__getattribute__, extent.dtypes) if candidate in info.dtypes), None
    )
    if ours is None or dtype is None:
        table.miss(NO_DTYPE, name)
        return
    calls = [Call(tuple(positional), dict(named)) for positional, named in samples(info, dtype)]
    before: tuple[int, float, int] | None = None  # elements, seconds and elements of the result at the previous size
    for size in extent.sizes:
        count = SIZES[size]
        if before is not None and is_too_much(before, count):
            table.miss("takes PyTorch too long or gives too much", f"{name} {size}")
            continue
        call, result = first_that_works(info.op, calls, count)
        if call is None:
            table.miss("no sample that can be made so large", f"{name} {size}")
            continue
        try:
            twin = Call(*Twins().of((call.positional, call.named)))
            sides = (lambda c=twin: ours(*c.positional, **c.named)), (lambda c=call: info.op(*c.positional, **c.named))
            for threads in extent.threads:
                table.cells.append(compared(name, size, threads, *sides))
        except Exception as error:
            table.miss("failed", f"{name} {size} ({type(error).__name__}: {str(error).splitlines()[0][:80]})")
            continue
        before = numel(call), table.cells[-1].theirs, numel(result)


def is_too_much(before: tuple[int, float, int], count: int) -> bool:
    """Return whether a larger call is likely to need too much time or memory, if its cost grows a bit more than in
    proportion.
    """
    elements, seconds, output = before
    growth = count / max(elements, 1)
    power = 2.0 if output > 4 * elements else 1.0
    return seconds * growth**1.25 > 4 * SECONDS_OF_A_CALL or output * growth**power > ELEMENTS_OF_A_RESULT


def first_that_works(operator: Callable[..., Any], inputs: Sequence[Call], count: int) -> tuple[Call | None, Any]:
    """Return the first enlarged sample that PyTorch accepts, and its result."""
    for call in enlarged(inputs, count):
        if 0.4 <= numel(call) / count <= 2.5:
            try:
                return call, operator(*call.positional, **call.named)
            except Exception:
                continue
    return None, None


def compared(name: str, size: str, threads: int, ours: Callable[[], Any], theirs: Callable[[], Any]) -> Cell:
    """Measure alternating calls of both sides."""
    opdsl.set_num_threads(threads)
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter

    def seconds(call: Callable[[], Any], loops: int) -> float:
        started = clock()
        for _ in range(loops):
            call()
        return (clock() - started) / loops

    for _ in range(4):  # compile and plan
        ours()
    loops = [max(1, int(SECONDS_OF_A_TURN / max(seconds(operand, 1), 1e-7))) for operand in (ours, theirs)]
    rounds = ROUNDS if max(seconds(theirs, 1), seconds(ours, 1)) < SECONDS_OF_A_TURN * ROUNDS else 3
    turns = [(seconds(ours, loops[0]), seconds(theirs, loops[1])) for _ in range(rounds)]
    medians = [statistics.median(side) for side in zip(*turns, strict=True)]
    return Cell(name, size, threads, *medians, statistics.median(one / max(other, 1e-9) for one, other in turns))


# ----------------------------------------------------------------------------------------------------------- the report


def geometric_mean(cells: Sequence[Cell]) -> float:
    """Return the geometric mean of the ratios."""
    return math.exp(statistics.fmean(math.log(max(cell.ratio, 1e-6)) for cell in cells))


def distribution(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of a table with statistics of the ratios for each size and number of threads."""
    yield "| elements | threads | operators | geometric mean | median | 90 % below | at most 1 | above 1.5 | above 4 |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for size in SIZES:
        for threads in THREADS:
            some = [cell for cell in cells if (cell.size, cell.threads) == (size, threads)]
            if not some:
                continue
            ratios = sorted(cell.ratio for cell in some)
            high = ratios[int(0.9 * (len(ratios) - 1))]
            shares = [sum(map(test, ratios)) for test in (lambda r: r <= 1, lambda r: r > LIMIT, lambda r: r > 4)]
            yield (
                f"| {size} | {threads} | {len(some)} | {geometric_mean(some):.2f} | {statistics.median(ratios):.2f} | "
                f"{high:.2f} | {shares[0]} | {shares[1]} | {shares[2]} |"
            )


def by_name(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of a table of the operators that are slow at any size, with their ratios on one and two
    threads.
    """
    yield f"| | {' | '.join(SIZES)} |"
    yield "|---|" + "---:|" * len(SIZES)
    for name in sorted({cell.name for cell in cells if cell.ratio > LIMIT}):
        result = {(cell.size, cell.threads): f"{cell.ratio:.2f}" for cell in cells if cell.name == name}
        columns = [" / ".join(result.get((size, threads), "-") for threads in THREADS) for size in SIZES]
        yield f"| {name} | {' | '.join(columns)} |"


def run(seconds: float, only: str, extent: Extent, part: tuple[int, int]) -> Report:
    """Measure operators until the time is over; ``part`` selects a share of them."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.simplefilter("ignore")
    title = "Every operator of op_db, against PyTorch"
    report = Report(title if extent.dtypes is DTYPES else f"{title}, {extent.dtypes[0]}", threads=max(extent.threads))
    table, result = Table(), [operator for operator in operators() if only in name_of(operator)]
    random.Random(0).shuffle(result)  # so that a short run measures a mixture of operators
    result = result[(part[0] - 1) * len(result) // part[1] : part[0] * len(result) // part[1]]
    started = time.monotonic()
    for index, info in enumerate(result):
        if time.monotonic() - started > seconds:
            for unmeasured in result[index:]:
                table.miss("no time left", name_of(unmeasured))
            break
        measure(table, info, extent)
    names = len({cell.name for cell in table.cells})
    absent = len(table.missing.get(NO_DTYPE, ()))
    report.write("", f"{names} of {len(result) - absent} operators; time as a multiple of PyTorch's.", "")
    report.write(*distribution(table.cells))
    report.write("", f"## The {WORST} worst", "", "| | elements | threads | opdsl | PyTorch | ratio |")
    report.write("|---|---|---:|---:|---:|---:|")
    for cell in sorted(table.cells, key=lambda cell: -cell.ratio)[:WORST]:
        times = f"{shown(cell.ours)} | {shown(cell.theirs)}"
        report.write(f"| {cell.name} | {cell.size} | {cell.threads} | {times} | {cell.ratio:.1f} |")
    report.write("", f"## Above {LIMIT} anywhere: on 1 / 2 threads", "", *by_name(table.cells))
    report.write("", "## Not measured")
    for reason, left in table.missing.items():
        report.write("", f"{reason} ({len(left)}): {', '.join(sorted(left))}.")
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the time for all")
    parser.add_argument("--only", default="", help="operators with this in their name")
    parser.add_argument("--threads", type=int, nargs="*", default=THREADS, choices=THREADS, help="on how many")
    parser.add_argument("--sizes", nargs="*", default=tuple(SIZES), choices=tuple(SIZES), help="how many elements")
    parser.add_argument("--dtype", default="", help="of these alone, bfloat16 for example")
    parser.add_argument("--part", type=int, nargs=2, default=(1, 1), help="which part of how many")
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    suffix = own.dtype and f"-{own.dtype}"
    suffix += "" if own.part[1] == 1 else "-{}-of-{}".format(*own.part)
    extent = Extent(own.sizes, own.threads, (own.dtype,) if own.dtype else DTYPES)
    main(f"kernels{suffix}", lambda: run(own.seconds, own.only, extent, own.part))
