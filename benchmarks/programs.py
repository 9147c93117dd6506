"""Benchmark of compiled functions, compared with PyTorch eager in one process.

``--threads 2`` lets both sides use two threads. Options add measurements: ``--inductor`` compares with
``torch.compile``, ``--first`` measures the time to the first result in fresh processes with cold caches, ``--exported``
models that torch has exported, ``--backend`` models under ``torch.compile(backend="opdsl")``, ``--decode`` a GPT with a
growing cache, ``--memory`` the memory of training. ``--only`` omits the default tables.
"""

from __future__ import annotations

import argparse
import copy
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch
from harness import Case, Report, compare, main
from harness.exported import NETWORKS
from harness.formulas import FORMULAS, arrays
from harness.gpt import Gpt
from harness.models import MODELS

import opdsl
from opdsl.interop.torch import from_fx
from opdsl.interop.torch.tensors import shared
from opdsl.testing.timing import measured

Clock = Callable[[], float]


def made(shapes: tuple[tuple[int, ...], ...]) -> tuple[list[Any], list[Any]]:
    """Return equal random positive arguments for both libraries."""
    drawn = arrays(shapes)
    return [opdsl.from_numpy(array) for array in drawn], [torch.from_numpy(array) for array in drawn]


def run(chosen: argparse.Namespace) -> Report:
    """Measure the tables that the options select."""
    torch.set_num_threads(chosen.threads)
    opdsl.set_num_threads(chosen.threads)
    report = Report("Programs", threads=chosen.threads)
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    if not chosen.only or chosen.inductor:
        formulas(report, clock, inductor=chosen.inductor)
    if not chosen.only:
        inference(report, clock)
        training(report, clock)
    for name, add in MORE.items():
        if getattr(chosen, name):
            add(report, clock)
    return report


def formulas(report: Report, clock: Clock, *, inductor: bool) -> None:
    """Add tables of compiled formulas."""
    for index, (title, size) in enumerate((("small", "1,000"), ("large", "1M, or 4096 x 1024"))):
        cases, others, names = [], [], {}
        for name, formula in FORMULAS.items():
            key = name.replace(" ", "_").replace("-", "_")
            own, its = made(formula.shapes[index])
            names |= {f"{key}_own": own, f"{key}_its": its, f"{key}_eager": formula.make(torch)}
            names[f"{key}_compiled"] = opdsl.compile(formula.make(opdsl))
            call = f"{key}_compiled(*{key}_own)"
            cases.append(Case(name, call, f"{key}_eager(*{key}_its)", formula.goal[index]))
            if inductor:
                names[f"{key}_inductor"] = torch.compile(formula.make(torch))
                others.append(Case(name, call, f"{key}_inductor(*{key}_its)", 0.7))
        rows = compare(cases, names, clock=clock)
        report.comparison(f"Written as calls, {title} ({size} elements), against eager", rows, theirs="torch")
        if others:
            rows = compare(others, names, clock=clock)
            report.comparison(f"The same against torch.compile, warm, {title}", rows, theirs="torch.compile")


def inference(report: Report, clock: Clock) -> None:
    """Add a table of compiled forward passes of networks."""
    cases, names = [], {}
    for index, model in enumerate(MODELS):
        ours, theirs = model.make(opdsl), model.make(torch)
        names |= {
            f"forward{index}": opdsl.no_grad()(opdsl.compile(ours.loss)),
            f"its{index}": torch.no_grad()(theirs.loss),
        }
        cases.append(Case(model.name, f"forward{index}()", f"its{index}()", 0.6))
    report.comparison("The forward pass of a network", compare(cases, names, rounds=5, clock=clock), theirs="torch")


def training(report: Report, clock: Clock) -> None:
    """Add a table of training steps whose loss is compiled, and so its backward pass, too."""
    cases, names = [], {}
    for index, model in enumerate(MODELS):
        ours, theirs = model.make(opdsl), model.make(torch)
        ours.loss = opdsl.compile(ours.loss)  # type: ignore[method-assign]
        names |= {f"step{index}": ours.step, f"its_step{index}": theirs.step}
        cases.append(Case(model.name, f"step{index}()", f"its_step{index}()", 0.6))
    rows = compare(cases, names, rounds=5, clock=clock)
    report.comparison("A training step of a network, its loss compiled", rows, theirs="torch")


def exported(report: Report, clock: Clock) -> None:
    """Add a table of models that torch has exported."""
    cases, names = [], {}
    for index, (name, network) in enumerate(NETWORKS.items()):
        model, inputs = network.make().eval(), network.argument()
        program = from_fx(torch.export.export(model, (inputs,)).run_decompositions())
        names |= {f"program{index}": opdsl.no_grad()(opdsl.compile(program)), f"own{index}": shared(inputs)}
        names |= {f"model{index}": torch.no_grad()(model), f"its{index}": inputs}
        cases.append(Case(name, f"program{index}(own{index})", f"model{index}(its{index})", network.goal))
    report.comparison(
        "Exported by torch, through from_fx", compare(cases, names, rounds=5, clock=clock), theirs="torch"
    )


def backend(report: Report, clock: Clock) -> None:
    """Add a table of models under ``torch.compile(backend="opdsl")``."""
    cases, names = [], {}
    for index, (name, network) in enumerate(NETWORKS.items()):
        model, inputs = network.make(), network.argument()
        compiled = torch.compile(copy.deepcopy(model), backend="opdsl")
        names |= {f"compiled{index}": compiled, f"model{index}": model, f"given{index}": inputs, "train": train}
        names |= {f"quick{index}": torch.no_grad()(compiled), f"plain{index}": torch.no_grad()(model)}
        forward = (f"quick{index}(given{index})", f"plain{index}(given{index})")
        step = (f"train(compiled{index}, given{index})", f"train(model{index}, given{index})")
        cases += [Case(f"{name}: forward", *forward, 0.8), Case(f"{name}: a step", *step, 0.9)]
    rows = compare(cases, names, rounds=5, clock=clock)
    report.comparison('torch.compile(backend="opdsl")', rows, theirs="torch")


def train(model: torch.nn.Module, inputs: Any) -> None:
    """Run a forward and a backward pass."""
    model(inputs).square().mean().backward()
    model.zero_grad()


class Cached(Gpt):
    """GPT that takes its cache of keys and values as an argument and returns the extended cache."""

    def next(self, inputs: Any, cache: list[tuple[Any, Any]]) -> tuple[Any, list[tuple[Any, Any]]]:
        """Return the logits of more tokens, and the extended cache."""
        kept = list(cache)
        return self(inputs, kept), kept


def decode(report: Report, clock: Clock) -> None:
    """Add a table of a GPT that generates tokens one after another with a growing cache."""
    names: dict[str, Any] = {}
    for lib, own in ((opdsl, "ours"), (torch, "its")):
        model = Cached(lib)
        call = opdsl.compile(model.next) if lib is opdsl else model.next
        names[own] = lib.no_grad()(partial(tokens, lib, call))
    rows = compare([Case("64 tokens, batch 4", "ours()", "its()", 0.3)], names, rounds=5, clock=clock)
    report.comparison("Decoding with a growing cache", rows, theirs="torch")


def tokens(lib: Any, model: Callable[..., Any], count: int = 64) -> Any:
    """Generate tokens one after another and return the last logits."""
    tensor = lib.from_numpy(numpy.arange(4 * 8).reshape(4, 8) % 65)
    logits, cache = model(tensor, [])
    for _ in range(count):
        logits, cache = model(logits[:, -1:].argmax(-1), cache)
    return logits


def first(report: Report, clock: Clock) -> None:
    """Add a table of the time to the first result, in fresh processes with cold caches."""
    rows = []
    for name in FORMULAS:
        pair = first_result("opdsl", name), first_result("torch", name)
        rows.append(measured(name, [pair], 0.03))
    title = "From the decorated function to the first result, fresh processes, cold caches"
    report.comparison(title, rows, theirs="torch.compile")


def first_result(library: str, name: str) -> float:
    """Return the seconds to the first result in a fresh process, without kernels on disk."""
    with tempfile.TemporaryDirectory() as cache:
        variables = {**os.environ, "OPDSL_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
        return float(in_process(["harness.first_result", library, name], variables))


def in_process(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a module in its own process and return its output."""
    folder = Path(__file__).parent
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=variables, cwd=folder).stdout


def memory(report: Report, clock: Clock) -> None:
    """Add a table of the memory of training steps with a compiled forward pass."""
    report.write(
        "", "## Memory of a step, and of five", "", "| | opdsl | torch | five | torch |", f"|---|{'---:|' * 4}"
    )
    for index, model in enumerate(MODELS):
        if "GPT" in model.name:
            runs = [("opdsl", "compiled"), ("torch", "")]
            result = [in_process(["harness.first_step", lib, str(index), how], os.environ).split() for lib, how in runs]
            sizes = [f"{float(one[at]):.1f} MiB" for at in (2, 1) for one in result]
            report.write(f"| {model.name} | {' | '.join(sizes)} |")


MORE: dict[str, Callable[[Report, Clock], None]] = {
    "exported": exported,
    "backend": backend,
    "decode": decode,
    "first": first,
    "memory": memory,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1)
    for option in ("inductor", "only", *MORE):
        parser.add_argument(f"--{option}", action="store_true")
    asked, sys.argv[1:] = parser.parse_known_args()
    title = "programs" if asked.threads == 1 else f"programs-{asked.threads}-threads"
    main(title, lambda: run(asked))
