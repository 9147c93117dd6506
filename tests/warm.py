"""Script that compiles the slowest kernels into the shared cache, before several test processes need them at once.

``make test`` runs it. It only saves time: a test compiles any kernel that it misses. Kernels of numba take seconds each
to compile; all others take some hundredths of a second, less than the calls that would compile them here.
"""

from __future__ import annotations

import os
import time

import opdsl
from opdsl.cli.compiling import operators_wanted, run_all, tasks_left

# Operators that sort: numba compiles their kernels.
NAMES = ("sort", "argsort", "topk", "kthvalue", "median", "quantile", "isin", "_unique2")


def main() -> None:
    started = time.perf_counter()
    tasks, _ = tasks_left(operators_wanted(NAMES, None, ()), [opdsl.float32, opdsl.int64])
    compiled = sum(outcome.compiled for outcome in run_all(tasks, (), os.cpu_count() or 1)) if tasks else 0
    print(f"warmed the kernel cache with {compiled} kernels in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
