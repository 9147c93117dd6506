"""Functions as programs: compiled ones against PyTorch eager, and against ``torch.compile``, in one process.

``--inductor`` measures ``torch.compile`` as well, which takes a minute. ``--threads 2`` has both sides use two.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import torch
from harness import Case, Report, compare, main
from harness.models import MODELS

import opdsl

SMALL, LARGE = 1_000, 1_000_000


def black_scholes(lib: Any) -> Callable[..., Any]:
    """The price of a call option."""

    def function(s: Any, k: Any, t: Any, v: Any) -> Any:
        d1 = ((s / k).log() + (0.02 + 0.5 * v * v) * t) / (v * t.sqrt())
        d2 = d1 - v * t.sqrt()

        def below(d: Any) -> Any:
            return 0.5 * (1 + lib.erf(d * math.sqrt(0.5)))

        return s * below(d1) - k * (-0.02 * t).exp() * below(d2)

    return function


def gelu(lib: Any) -> Callable[..., Any]:
    """By the error function."""
    return lambda x: 0.5 * x * (1 + lib.erf(x * math.sqrt(0.5)))


def swiglu(lib: Any) -> Callable[..., Any]:
    """The gate of today's transformers."""
    return lambda x, y: x / (1 + (-x).exp()) * y


def chain(lib: Any) -> Callable[..., Any]:
    """Ten pointwise steps."""

    def function(x: Any, y: Any) -> Any:
        for _ in range(5):
            x = (x * 0.9 + y).tanh()
        return x

    return function


def softmax(lib: Any) -> Callable[..., Any]:
    """Written out."""

    def function(x: Any) -> Any:
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    return function


def layer_norm(lib: Any) -> Callable[..., Any]:
    """Written out."""

    def function(x: Any, weight: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        return centred / (variance + 1e-5).sqrt() * weight + bias

    return function


def rms_norm(lib: Any) -> Callable[..., Any]:
    """Written out."""
    return lambda x, weight: x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt() * weight


def loss(lib: Any) -> Callable[..., Any]:
    """Log-softmax written out, and the mean of what the wanted distribution makes of it."""

    def function(x: Any, wanted: Any) -> Any:
        shifted = x - x.amax(-1, keepdim=True)
        return -((shifted - shifted.exp().sum(-1, keepdim=True).log()) * wanted).sum(-1, keepdim=True).mean()

    return function


class Formula(NamedTuple):
    """A function to measure.

    make: gives it for a library.
    shapes: of its arguments, small and large.
    goal: of the ratio to PyTorch eager, for each.
    """

    make: Callable[[Any], Callable[..., Any]]
    shapes: tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]
    goal: tuple[float, float] = (0.2, 0.15)


def vectors(count: int) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Shapes of pointwise formulas."""
    return ((SMALL,),) * count, ((LARGE,),) * count


SMALL_ROWS, LARGE_ROWS = (10, 100), (4096, 1024)
ROWS = ((SMALL_ROWS,), (LARGE_ROWS,))
ONE_WEIGHT = ((SMALL_ROWS, SMALL_ROWS[1:]), (LARGE_ROWS, LARGE_ROWS[1:]))
TWO_WEIGHTS = ((*ONE_WEIGHT[0], SMALL_ROWS[1:]), (*ONE_WEIGHT[1], LARGE_ROWS[1:]))
TWO_MATRICES = ((SMALL_ROWS, SMALL_ROWS), (LARGE_ROWS, LARGE_ROWS))

FORMULAS = {
    "Black-Scholes": Formula(black_scholes, vectors(4)),
    "GELU": Formula(gelu, vectors(1)),
    "SwiGLU": Formula(swiglu, vectors(2)),
    "ten pointwise steps": Formula(chain, vectors(2)),
    "softmax": Formula(softmax, ROWS),
    "layer norm": Formula(layer_norm, TWO_WEIGHTS),
    "RMSNorm": Formula(rms_norm, ONE_WEIGHT),
    "log-softmax and loss": Formula(loss, TWO_MATRICES),
}


def made(shapes: tuple[tuple[int, ...], ...]) -> tuple[list[Any], list[Any]]:
    """Equal arguments of both libraries, positive ones."""
    draw = numpy.random.default_rng(0)
    arrays = [draw.random(size=each, dtype=numpy.float32) + numpy.float32(0.5) for each in shapes]
    return [opdsl.from_numpy(each) for each in arrays], [torch.from_numpy(each) for each in arrays]


def run(threads: int, *, inductor: bool) -> Report:
    """Measure everything."""
    torch.set_num_threads(threads)
    opdsl.set_num_threads(threads)
    report = Report("Programs", threads=threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    for index, (title, size) in enumerate((("small", "1,000"), ("large", "1M, or 4096 x 1024"))):
        cases, others, names = [], [], {}
        for name, each in FORMULAS.items():
            key = name.replace(" ", "_").replace("-", "_")
            own, its = made(each.shapes[index])
            names |= {f"{key}_own": own, f"{key}_its": its, f"{key}_eager": each.make(torch)}
            names[f"{key}_compiled"] = opdsl.compile(each.make(opdsl))
            call = f"{key}_compiled(*{key}_own)"
            cases.append(Case(name, call, f"{key}_eager(*{key}_its)", each.goal[index]))
            if inductor:
                names[f"{key}_inductor"] = torch.compile(each.make(torch))
                others.append(Case(name, call, f"{key}_inductor(*{key}_its)", 0.7))
        rows = compare(cases, names, clock=clock)
        report.comparison(f"Written as calls, {title} ({size} elements), against eager", rows, theirs="torch")
        if others:
            rows = compare(others, names, clock=clock)
            report.comparison(f"The same against torch.compile, warm, {title}", rows, theirs="torch.compile")
    inference(report, clock)
    training(report, clock)
    return report


def inference(report: Report, clock: Callable[[], float]) -> None:
    """Add forward passes of networks."""
    cases, names = [], {}
    for index, each in enumerate(MODELS):
        ours, theirs = each.make(opdsl), each.make(torch)
        names |= {
            f"forward{index}": opdsl.no_grad()(opdsl.compile(ours.loss)),
            f"its{index}": torch.no_grad()(theirs.loss),
        }
        cases.append(Case(each.name, f"forward{index}()", f"its{index}()", 0.6))
    report.comparison("The forward pass of a network", compare(cases, names, rounds=5, clock=clock), theirs="torch")


def training(report: Report, clock: Callable[[], float]) -> None:
    """Add steps of training: the loss is compiled, which makes a program of its backward pass, too."""
    cases, names = [], {}
    for index, each in enumerate(MODELS):
        ours, theirs = each.make(opdsl), each.make(torch)
        ours.loss = opdsl.compile(ours.loss)  # type: ignore[method-assign]
        names |= {f"step{index}": ours.step, f"its_step{index}": theirs.step}
        cases.append(Case(each.name, f"step{index}()", f"its_step{index}()", 0.6))
    rows = compare(cases, names, rounds=5, clock=clock)
    report.comparison("A training step of a network, its loss compiled", rows, theirs="torch")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inductor", action="store_true")
    chosen, sys.argv[1:] = parser.parse_known_args()
    name = "programs" if chosen.threads == 1 else f"programs-{chosen.threads}-threads"
    main(name, lambda: run(chosen.threads, inductor=chosen.inductor))
