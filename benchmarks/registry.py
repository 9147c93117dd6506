"""Benchmark of a registry of many operators: the time and memory of each declaration, and the time of a call.

Every row is a separate process, which declares that number of operators, with a kernel each, and calls one of them.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from timeit import Timer
from typing import NamedTuple

from harness import Report, main
from harness.report import shown

import opdsl
from opdsl import Library, Tensor

SIZES = (1_000, 2_000, 5_000, 10_000)
ROUNDS = 3
CALLS = 20_000


class Measured(NamedTuple):
    """Measurements of one process.

    seconds: processor time of all declarations.
    call: processor seconds of one planned call of the operator that was declared first.
    size: bytes that all operators hold, or 0 if memory was not traced, which would slow down the rest.
    """

    seconds: float
    call: float
    size: int


def declare(count: int) -> Callable[..., object]:
    """Declare operators with a kernel each, and return the first one."""
    lib = Library("many")

    def kernel(self: Tensor, other: Tensor, alpha: float) -> Tensor:
        return self

    def made(number: int) -> Callable[..., object]:
        def operator(self: Tensor, other: Tensor, alpha: float = 1.0) -> Tensor:
            """Return ``self``; the body of each of the many operators."""
            ...

        operator.__name__ = operator.__qualname__ = f"operator{number}"
        declared = lib.op(operator)
        declared.kernel("CPU")(kernel)
        return declared

    first, *_ = [made(number) for number in range(count)]
    return first


def measure(count: int, *, traced: bool) -> Measured:
    """Declare operators and call one, in this process."""
    x = opdsl.tensor([1.0, 2.0, 3.0, 4.0])
    Library("warm").op(_first)  # loads the modules that the first declaration of a process loads
    if traced:
        tracemalloc.start()
    before = time.process_time()
    first = declare(count)
    seconds = time.process_time() - before
    size = tracemalloc.get_traced_memory()[0] if traced else 0
    first(x, x)
    # The least of several, since other processes only lengthen a measurement.
    turns = Timer("f(x, x)", timer=time.process_time, globals={"f": first, "x": x}).repeat(15, CALLS)
    return Measured(seconds, min(turns) / CALLS, size)


def _first(n: int) -> int:
    return n


def in_a_process(count: int, *, traced: bool = False) -> Measured:
    """Run ``measure`` in a fresh interpreter."""
    command = [sys.executable, __file__, "--measure", str(count), str(int(traced))]
    return Measured(*json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def run() -> Report:
    """Measure every size in alternating rounds."""
    report = Report("Many operators", threads=1)
    rounds = [[in_a_process(size) for size in SIZES] for _ in range(ROUNDS)]
    columns = {size: [one[index] for one in rounds] for index, size in enumerate(SIZES)}
    medians = {size: statistics.median(one.seconds / size for one in column) for size, column in columns.items()}
    calls = {size: statistics.median(one.call for one in column) for size, column in columns.items()}
    held = in_a_process(SIZES[0], traced=True).size // SIZES[0]
    report.write("", "## Declaring an operator and a kernel, and calling one of them", "")
    report.write(
        f"Processor time. An operator with its kernel, its function and its plan tables holds {held:,} bytes.", ""
    )
    report.write(
        "| operators | declaring each | against 1,000 | a call | against 1,000 |", "|---:|---:|---:|---:|---:|"
    )
    for size in SIZES:
        ratios = medians[size] / medians[SIZES[0]], calls[size] / calls[SIZES[0]]
        report.write(
            f"| {size:,} | {shown(medians[size])} | {ratios[0]:.2f} | {shown(calls[size])} | {ratios[1]:.2f} |"
        )
    return report


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(int(sys.argv[2]), traced=sys.argv[3] == "1")))
    else:
        main("registry", run)
