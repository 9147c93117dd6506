"""Compiles the kernels that many tests use into the shared cache, before several test processes want them at once.

Run by ``make test``. It only saves time: a kernel that is not here is compiled by the test that needs it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import opdsl
from opdsl.errors import OpdslError

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
UNARY = ("neg", "exp", "log", "tanh", "sigmoid", "relu")
BINARY = ("add", "sub", "mul", "div", "maximum", "eq", "lt")
REDUCTIONS = ("sum", "mean", "amax")


def compile_for(dtype_name: str) -> int:
    """Call every operator of the tables on contiguous and on strided tensors of a dtype.

    Args:
        dtype_name: a dtype's name, as ``opdsl`` has it.

    Returns:
        The number of calls that the operators took; the others do not exist for that dtype.
    """
    dtype = getattr(opdsl, dtype_name)
    contiguous = opdsl.full((4, 4), 1, dtype=dtype)
    calls: list[Callable[[], object]] = []
    for x in (contiguous, contiguous.t()):
        calls += [lambda name=name, x=x: getattr(opdsl, name)(x) for name in (*UNARY, *REDUCTIONS)]
        calls += [lambda name=name, x=x: getattr(opdsl, name)(contiguous, x) for name in BINARY]
    taken = 0
    for call in calls:
        with suppress(OpdslError):
            call()
            taken += 1
    return taken


def main() -> None:
    started = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        taken = sum(pool.map(compile_for, DTYPES))
    print(f"warmed the kernel cache with {taken} calls in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
