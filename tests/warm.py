"""Compiles the kernels that many tests use into the shared cache, before several test processes want them at once.

Run by ``make test``. It only saves time: a kernel that is not here is compiled by the test that needs it.
"""

from __future__ import annotations

import os
import time

import opdsl
from opdsl.cli.compiling import run_all
from opdsl.testing.ahead import Task, is_done, tasks_of

# Those that most tests use come first; what does not fit into the time is left to the tests.
DTYPES = ("float32", "int64", "bool", "bfloat16", "float64", "complex64", "int32", "float16", "uint8", "complex128")
SECONDS = 50

# So many tasks from all over tell whether the cache is warm: then fewer than a fourth of them compile anything.
PROBES = 60


def compile_all(tasks: list[Task], started: float) -> int:
    """Run tasks while there is time; how many kernels they have compiled."""
    left = SECONDS - (time.perf_counter() - started)
    if not tasks or left <= 0:
        return 0
    return sum(each.compiled for each in run_all(tasks, ("opdsl.aten",), os.cpu_count() or 1, seconds=left))


def main() -> None:
    started = time.perf_counter()
    opdsl.ops.aten  # noqa: B018  loads the operators
    compiled = 0
    for place, name in enumerate(DTYPES):
        tasks = [each for each in tasks_of(opdsl.registry, [getattr(opdsl, name)]) if not is_done(each)]
        probes = tasks[:: 1 + len(tasks) // PROBES]
        if place == 0:
            compiled += compile_all(probes, started)
            if compiled < len(probes) / 4:
                break
        compiled += compile_all(tasks, started)
    print(f"warmed the kernel cache with {compiled} kernels in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
