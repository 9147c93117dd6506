"""Benchmark of operators declared as formulas, compared with ``torch.compile`` of the same functions.

Forward passes, and forward and backward passes, are measured. ``--threads 2`` lets both sides use two threads;
``--eager`` compares with PyTorch's own calls instead; ``--small`` uses 1,000 elements in place of a million.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from harness import Report, main
from harness.formulas import FORMULAS, arrays
from harness.passes import Pair, arguments, measured

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("benchmarked")


def operator(name: str, make: Callable[[Any], Callable[..., Any]]) -> Any:
    """Declare an operator whose formula is a function of tensors."""
    function: Any = make(opdsl)
    function.__annotations__ = dict.fromkeys((*inspect.signature(function).parameters, "return"), Tensor)
    return lib.op(f"benchmarked::{name}")(formula(function))


def run(chosen: argparse.Namespace) -> Report:
    """Measure all formulas."""
    pairs = {}
    for title, benchmark in FORMULAS.items():
        drawn = arrays(benchmark.shapes[0 if chosen.small else 1])
        its = benchmark.make(torch)
        pairs[title] = Pair(
            (
                operator(title.replace(" ", "_").replace("-", "_"), benchmark.make),
                its if chosen.eager else torch.compile(its),
            ),
            ([opdsl.from_numpy(one) for one in drawn], [torch.from_numpy(one) for one in drawn]),
            (
                [opdsl.from_numpy(one.copy()).requires_grad_() for one in drawn],
                [torch.from_numpy(one.copy()).requires_grad_() for one in drawn],
            ),
        )
    return measured("Formulas", pairs, chosen, (0.8, 0.8))


if __name__ == "__main__":
    parser = arguments()
    parser.add_argument("--small", action="store_true")
    chosen, sys.argv[1:] = parser.parse_known_args()
    name = f"formulas{'-small' if chosen.small else ''}{'-2-threads' if chosen.threads == 2 else ''}"
    main(name, lambda: run(chosen))
