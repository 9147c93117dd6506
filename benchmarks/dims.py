"""Operators over named dimensions against PyTorch's text of the same: forward, and forward and backward.

PyTorch's side is compiled by ``torch.compile``; ``--eager`` leaves it as it is. ``--threads 2`` has both sides use two.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from harness import Case, Report, compare, main
from harness.dims import operators

import opdsl


def pass_back(function: Callable[..., Any], given: Sequence[Any]) -> None:
    """A forward and a backward pass."""
    function(*given).sum().backward()
    for each in given:
        each.grad = None


def leaves(arrays: Sequence[numpy.ndarray[Any, Any]], convert: Callable[[Any], Any]) -> list[Any]:
    """Return tensors of copies, those of floating-point numbers as leaves."""
    made = [convert(each.copy()) for each in arrays]
    return [each.requires_grad_() if each.dtype in (opdsl.float32, torch.float32) else each for each in made]


def run(chosen: argparse.Namespace) -> Report:
    """Measure all operators."""
    torch.set_num_threads(chosen.threads)
    opdsl.set_num_threads(chosen.threads)
    report = Report("Operators over named dimensions", threads=chosen.threads)
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    names: dict[str, Any] = {"pass_back": pass_back}
    forward, both = [], []
    for title, (operator, text, arrays) in operators().items():
        name = title.replace(" ", "_")
        names[f"{name}_formula"] = operator
        names[f"{name}_text"] = text if chosen.eager else torch.compile(text)
        names[f"{name}_own"] = [opdsl.from_numpy(each) for each in arrays]
        names[f"{name}_its"] = [torch.from_numpy(each) for each in arrays]
        names[f"{name}_own_leaves"] = leaves(arrays, opdsl.from_numpy)
        names[f"{name}_its_leaves"] = leaves(arrays, torch.from_numpy)
        forward.append(Case(title, f"{name}_formula(*{name}_own)", f"{name}_text(*{name}_its)", 0.8))
        passes = [f"pass_back({name}_{call}, {name}_{side}_leaves)" for call, side in _SIDES]
        both.append(Case(title, passes[0], passes[1], 0.9))
    theirs = "torch" if chosen.eager else "torch.compile"
    report.comparison("Forward", compare(forward, names, clock=clock), theirs=theirs)
    report.comparison("Forward and backward", compare(both, names, clock=clock), theirs=theirs)
    return report


_SIDES = (("formula", "own"), ("text", "its"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eager", action="store_true")
    chosen, sys.argv[1:] = parser.parse_known_args()
    main(f"dims{'-2-threads' if chosen.threads == 2 else ''}", lambda: run(chosen))
