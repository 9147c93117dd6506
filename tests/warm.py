"""Compiles the kernels that take longest into the shared cache, before several test processes want them at once.

Run by ``make test``. It only saves time: a kernel that is not here is compiled by the test that needs it. Those that
numba compiles take seconds each, others a few hundredths of one, less than the calls that would warm them.
"""

from __future__ import annotations

import os
import time

import opdsl
from opdsl.cli.compiling import operators_wanted, run_all, tasks_left

# What sorts, in every way that there is.
NAMES = ("sort", "argsort", "topk", "kthvalue", "median", "quantile", "isin", "_unique2")


def main() -> None:
    started = time.perf_counter()
    tasks, _ = tasks_left(operators_wanted(NAMES, None, ()), [opdsl.float32, opdsl.int64])
    compiled = sum(outcome.compiled for outcome in run_all(tasks, (), os.cpu_count() or 1)) if tasks else 0
    print(f"warmed the kernel cache with {compiled} kernels in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
