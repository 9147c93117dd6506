"""Operators written as formulas against ``torch.compile`` of the same text: forward, and forward and backward.

``--threads 2`` has both sides use two; ``--eager`` adds PyTorch's own calls, ``--small`` 1,000 elements in place of a
million.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from harness import Case, Report, compare, main
from harness.formulas import FORMULAS, arrays

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("benchmarked")


def operator(name: str, make: Callable[[Any], Callable[..., Any]]) -> Any:
    """An operator whose formula is a function of tensors."""
    function: Any = make(opdsl)
    function.__annotations__ = dict.fromkeys((*inspect.signature(function).parameters, "return"), Tensor)
    return lib.op(f"benchmarked::{name}")(formula(function))


def pass_back(function: Callable[..., Any], given: Sequence[Any]) -> None:
    """A forward and a backward pass."""
    function(*given).sum().backward()
    for each in given:
        each.grad = None


def run(chosen: argparse.Namespace) -> Report:
    """Measure all formulas."""
    torch.set_num_threads(chosen.threads)
    opdsl.set_num_threads(chosen.threads)
    report = Report("Formulas", threads=chosen.threads)
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    names: dict[str, Any] = {"pass_back": pass_back}
    forward, both = [], []
    for title, each in FORMULAS.items():
        name = title.replace(" ", "_").replace("-", "_")
        drawn = arrays(each.shapes[0 if chosen.small else 1])
        names[f"{name}_own"] = [opdsl.from_numpy(one) for one in drawn]
        names[f"{name}_its"] = [torch.from_numpy(one) for one in drawn]
        names[f"{name}_own_leaves"] = [opdsl.from_numpy(one.copy()).requires_grad_() for one in drawn]
        names[f"{name}_its_leaves"] = [torch.from_numpy(one.copy()).requires_grad_() for one in drawn]
        names[f"{name}_formula"] = operator(name, each.make)
        its = each.make(torch)
        names[f"{name}_compiled"] = its if chosen.eager else torch.compile(its)
        forward.append(Case(title, f"{name}_formula(*{name}_own)", f"{name}_compiled(*{name}_its)", 0.8))
        passes = [f"pass_back({name}_{call}, {name}_{side}_leaves)" for call, side in _SIDES]
        both.append(Case(title, passes[0], passes[1], 0.8))
    theirs = "torch" if chosen.eager else "torch.compile"
    report.comparison("Forward", compare(forward, names, clock=clock), theirs=theirs)
    report.comparison("Forward and backward", compare(both, names, clock=clock), theirs=theirs)
    return report


_SIDES = (("formula", "own"), ("compiled", "its"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--small", action="store_true")
    chosen, sys.argv[1:] = parser.parse_known_args()
    name = f"formulas{'-small' if chosen.small else ''}{'-2-threads' if chosen.threads == 2 else ''}"
    main(name, lambda: run(chosen))
