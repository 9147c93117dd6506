"""Compiles the kernels that many tests use into the shared cache, before several test processes want them at once.

Run by ``make test``. It only saves time: a kernel that is not here is compiled by the test that needs it.
"""

from __future__ import annotations

import os
import time

import opdsl
from opdsl.cli.compiling import run_all
from opdsl.testing.ahead import is_done, tasks_of

# Those that most tests use come first; what does not fit into the time is left to the tests.
DTYPES = ("float32", "int64", "bool", "bfloat16", "float64", "complex64", "int32", "float16", "uint8", "complex128")
SECONDS = 50


def main() -> None:
    started = time.perf_counter()
    opdsl.ops.aten  # noqa: B018  loads the operators
    compiled = 0
    for name in DTYPES:
        tasks = [each for each in tasks_of(opdsl.registry, [getattr(opdsl, name)]) if not is_done(each)]
        if tasks and time.perf_counter() - started < SECONDS:
            left = SECONDS - (time.perf_counter() - started)
            compiled += sum(
                each.compiled for each in run_all(tasks, ("opdsl.aten",), os.cpu_count() or 1, seconds=left)
            )
    print(f"warmed the kernel cache with {compiled} kernels in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
