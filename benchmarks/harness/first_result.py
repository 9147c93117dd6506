"""Program that prints the seconds from compiling a function to its first result.

python -m harness.first_result opdsl GELU
"""

from __future__ import annotations

import importlib
import sys
import time


def report(library: str, name: str) -> None:
    """Print the seconds of compiling a formula and calling it once; loading the library does not count."""
    formulas = importlib.import_module("harness.formulas")
    lib = importlib.import_module(library)
    lib.set_num_threads(1)
    formula = formulas.FORMULAS[name]
    inputs = [lib.from_numpy(tensor) for tensor in formulas.arrays(formula.shapes[1])]
    started = time.perf_counter()
    lib.compile(formula.make(lib))(*inputs)
    print(time.perf_counter() - started)


if __name__ == "__main__":
    report(sys.argv[1], sys.argv[2])
