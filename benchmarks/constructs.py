"""Benchmark of operators written with the constructs of the language, compared with PyTorch on one thread of the CPU.

Pooling, padding, interpolation, columns, sampling of images and depthwise convolutions run on at most 1,000 elements
and on many, forward, and forward and backward, also in channels-last layout. Then come scalar functions that loop,
lists of tensors, rows and recurrences.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
from harness import Case, Measured, Report, compare, main

import opdsl
from opdsl import Tensor, formula
from opdsl.testing.timing import ROUNDS

Tensors = dict[str, torch.Tensor]

SMALL, LARGE = 1.5, 1.2
"""The ratios to stay within."""

# Small and large shapes of signals, images and volumes, by the number of dimensions besides batch and channel.
SHAPES = {
    1: ((2, 4, 100), (16, 64, 1024)),
    2: ((2, 4, 10, 10), (8, 32, 56, 56)),
    3: ((1, 4, 6, 6, 6), (2, 16, 24, 24, 24)),
}

# Statements by family, each with its number of spatial dimensions; f is the module of functions, x the images.
FAMILIES: dict[str, list[tuple[int, str]]] = {
    "Largest elements": [
        (1, "{f}.max_pool1d({x}, 2)"),
        (1, "{f}.max_pool1d({x}, 3, 2, 1)"),
        (1, "{f}.max_pool1d({x}, 5, 1, 2)"),
        (2, "{f}.max_pool2d({x}, 2)"),
        (2, "{f}.max_pool2d({x}, 3, 2, 1)"),
        (2, "{f}.max_pool2d({x}, 3, 1, 1)"),
        (2, "{f}.max_pool2d({x}, 3, 1, 1, 2)"),
        (3, "{f}.max_pool3d({x}, 2)"),
        (2, "{f}.adaptive_max_pool2d({x}, 4)"),
    ],
    "Means": [
        (1, "{f}.avg_pool1d({x}, 2)"),
        (1, "{f}.avg_pool1d({x}, 5, 1, 2)"),
        (2, "{f}.avg_pool2d({x}, 2)"),
        (2, "{f}.avg_pool2d({x}, 3, 2, 1)"),
        (2, "{f}.avg_pool2d({x}, 3, 1, 1)"),
        (2, "{f}.avg_pool2d({x}, 5, 1, 2, False, False)"),
        (3, "{f}.avg_pool3d({x}, 2)"),
        (1, "{f}.adaptive_avg_pool1d({x}, 7)"),
        (2, "{f}.adaptive_avg_pool2d({x}, 1)"),
        (2, "{f}.adaptive_avg_pool2d({x}, 7)"),
        (3, "{f}.adaptive_avg_pool3d({x}, 4)"),
    ],
    "Margins": [
        (1, "{f}.pad({x}, (2, 3))"),
        (1, "{f}.pad({x}, (2, 3), 'reflect')"),
        (1, "{f}.pad({x}, (2, 3), 'replicate')"),
        (1, "{f}.pad({x}, (2, 3), 'circular')"),
        (2, "{f}.pad({x}, (1, 1, 1, 1))"),
        (2, "{f}.pad({x}, (1, 1, 1, 1), 'reflect')"),
        (2, "{f}.pad({x}, (3, 3, 3, 3), 'replicate')"),
        (2, "{f}.pad({x}, (1, 1, 1, 1), 'circular')"),
        (3, "{f}.pad({x}, (1,) * 6, 'reflect')"),
        (3, "{f}.pad({x}, (1,) * 6, 'replicate')"),
    ],
    "Other sizes": [
        (1, "{f}.interpolate({x}, scale_factor=2)"),
        (1, "{f}.interpolate({x}, scale_factor=2, mode='linear')"),
        (2, "{f}.interpolate({x}, scale_factor=2)"),
        (2, "{f}.interpolate({x}, scale_factor=1.5)"),
        (2, "{f}.interpolate({x}, scale_factor=2, mode='bilinear')"),
        (2, "{f}.interpolate({x}, scale_factor=0.5, mode='bilinear')"),
        (2, "{f}.interpolate({x}, scale_factor=1.5, mode='bilinear', align_corners=True)"),
        (2, "{f}.interpolate({x}, scale_factor=2, mode='bicubic')"),
        (2, "{f}.interpolate({x}, scale_factor=0.5, mode='bilinear', antialias=True)"),
        (3, "{f}.interpolate({x}, scale_factor=2)"),
        (3, "{f}.interpolate({x}, scale_factor=2, mode='trilinear')"),
    ],
    "Columns": [
        (2, "{f}.unfold({x}, 3, 1, 1)"),
        (2, "{f}.unfold({x}, 2, 1, 0, 2)"),
        (2, "{f}.fold({f}.unfold({x}, 2, 1, 0, 2), {x}.shape[2:], 2, 1, 0, 2)"),
        (2, "{x}.unfold(2, 3, 1).sum(-1)"),
    ],
    "Points": [
        (2, "{f}.grid_sample({x}, {g}, align_corners=False)"),
        (2, "{f}.grid_sample({x}, {g}, 'bilinear', 'border', align_corners=True)"),
        (2, "{f}.grid_sample({x}, {g}, 'bilinear', 'reflection', align_corners=False)"),
        (2, "{f}.grid_sample({x}, {g}, 'nearest', align_corners=False)"),
        (2, "{f}.grid_sample({x}, {g}, 'bicubic', align_corners=False)"),
        (3, "{f}.grid_sample({x}, {g}, align_corners=False)"),
    ],
    "Depthwise convolutions": [
        (1, "{f}.conv1d({x}, {w}, None, 1, 1, 1, {x}.shape[1])"),
        (2, "{f}.conv2d({x}, {w}, None, 1, 1, 1, {x}.shape[1])"),
        (2, "{f}.conv2d({x}, {w}, None, 2, 1, 1, {x}.shape[1])"),
        (2, "{f}.conv2d({x}, {w}, None, 1, 2, 2, {x}.shape[1])"),
        (3, "{f}.conv3d({x}, {w}, None, 1, 1, 1, {x}.shape[1])"),
    ],
}

lib = opdsl.Library("bench_constructs")


@lib.op
@formula
def linear_recurrence(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """``h = a * h + b``"""
    return opdsl.scan(lambda h, a, b: a * h + b, 0.0, a, b, along=dim)


@lib.op
@formula
def rms_norm(self: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide rows by their root mean square and multiply each column by its weight."""
    return self * weight / opdsl.sqrt((self * self).mean(-1, True) + eps)


def rms_norm_of_torch(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Compute ``rms_norm`` by calls of PyTorch."""
    return x * weight / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)


def recurrence_of_torch(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Compute ``linear_recurrence`` by PyTorch, in a Python loop over columns."""
    h, output = torch.zeros(a.shape[0]), []
    for k in range(a.shape[1]):
        h = a[:, k] * h + b[:, k]
        output.append(h)
    return torch.stack(output, 1)


def as_ours(tensor: torch.Tensor) -> Tensor:
    """Return a copy as a tensor of opdsl, with the same memory layout."""
    return opdsl.from_dlpack(tensor.detach()).clone().requires_grad_(tensor.requires_grad)


class Bench:
    """Settings of a run: the number of rounds and a filter of names."""

    def __init__(self, rounds: int, only: str) -> None:
        self.rounds, self.only = rounds, only

    def compare(self, rows: Sequence[tuple[str, str, str, float]], names: dict[str, Any]) -> list[Measured]:
        """Measure the rows whose name contains the filter; a row has a name, both sides' statements, and the ratio to
        reach.
        """
        cases = [Case(*row) for row in rows if self.only in row[0]]
        return compare(cases, names, rounds=self.rounds, clock=time.process_time) if cases else []

    def window(self, dims: int, text: str, shape: Sequence[int], goal: float, *, is_last: bool) -> list[Measured]:
        """Measure a statement on random images of a shape: forward, and forward and backward."""
        sizes = "x".join(map(str, shape))
        name = text.format(f="F", x="x", g="g", w="w").replace("F.", "").replace("(x, ", "(") + f" of {sizes}"
        if self.only not in name:
            return []
        theirs = {"x": torch.randn(*shape)}
        if is_last:
            theirs["x"] = theirs["x"].contiguous(memory_format=torch.channels_last)
        if "{g}" in text:
            theirs["g"] = torch.rand(shape[0], *shape[2:], dims) * 2.2 - 1.1
        if "{w}" in text:
            theirs["w"] = torch.randn(shape[1], 1, *(3,) * dims)
        output = tuple(theirs)
        theirs |= {f"g{name}": theirs[name].clone().requires_grad_() for name in output}
        f = torch.nn.functional
        theirs["grad"] = torch.randn_like(eval(text.format(f="f", x="x", g="g", w="w"), {"f": f} | theirs))
        names: dict[str, Any] = {"f_o": opdsl.nn.functional, "f_t": f}
        for key, tensor in theirs.items():
            names |= {f"{key}_o": as_ours(tensor), f"{key}_t": tensor}

        def statements(side: str) -> tuple[str, str]:
            forward = text.format(f=f"f_{side}", **{text: f"{text}_{side}" for text in output})
            recorded = text.format(f=f"f_{side}", **{text: f"g{text}_{side}" for text in output})
            cleared = " = ".join(f"g{text}_{side}.grad" for text in output)
            return forward, f"{cleared} = None; ({recorded}).backward(grad_{side})"

        ours, others = statements("o"), statements("t")
        rows = [(f"{name}, forward", ours[0], others[0], goal), (f"{name}, and backward", ours[1], others[1], goal)]
        return compare([Case(*row) for row in rows], names, rounds=self.rounds, clock=time.process_time)


def scalar_functions(bench: Bench) -> list[Measured]:
    """Measure operators whose scalar functions loop."""
    theirs = {
        "p": torch.rand(100_000) * 5 + 0.1,
        "q": torch.rand(100_000) * 5 + 0.1,
        "u": torch.rand(100_000),
        "n": torch.randint(0, 12, (100_000,)).float(),
        "i": torch.randint(1, 100_000, (100_000,)),
        "j": torch.randint(1, 100_000, (100_000,)),
        "s": torch.randn(100_000).sort()[0],
        "v": torch.randn(1_000_000),
    }
    names: dict[str, Any] = {"ours": opdsl, "theirs": torch}
    names |= theirs | {f"o{key}": as_ours(tensor) for key, tensor in theirs.items()}
    polynomials = ("chebyshev_polynomial_t", "hermite_polynomial_h", "laguerre_polynomial_l", "legendre_polynomial_p")
    calls = [
        ("igamma, 100k", "{m}.igamma({o}p, {o}q)"),
        ("igammac, 100k", "{m}.igammac({o}p, {o}q)"),
        ("zeta, 100k", "{m}.special.zeta({o}p + 1.5, {o}q)"),
        *((f"{polynomial}, 100k", f"{{m}}.special.{polynomial}({{o}}u, {{o}}n)") for polynomial in polynomials),
        ("gcd, 100k", "{m}.gcd({o}i, {o}j)"),
        ("lcm, 100k", "{m}.lcm({o}i, {o}j)"),
        ("searchsorted, 1M in 100k", "{m}.searchsorted({o}s, {o}v)"),
        ("bucketize, 1M by 100k", "{m}.bucketize({o}v, {o}s)"),
    ]
    rows = [(name, text.format(m="ours", o="o"), text.format(m="theirs", o=""), 1.5) for name, text in calls]
    return bench.compare(rows, names)


def lists(bench: Bench) -> list[Measured]:
    """Measure operators on lists of tensors."""
    theirs = [[torch.randn(1000) for _ in range(100)] for _ in range(2)]
    ours = [[as_ours(tensor) for tensor in listed] for listed in theirs]
    names: dict[str, Any] = {"ours": opdsl, "theirs": torch}
    names |= dict(zip(("ox", "oy", "x", "y"), (*ours, *theirs), strict=True))
    text = "{m}._foreach_add_({o}x, {o}y); {m}._foreach_mul_({o}x, 0.5)"
    name = "_foreach_add_ and _foreach_mul_ of 100 tensors of 1,000"
    return bench.compare([(name, text.format(m="ours", o="o"), text.format(m="theirs", o=""), 1.0)], names)


def users(bench: Bench) -> list[Measured]:
    """Measure operators that users declare: RMSNorm and a linear recurrence."""
    theirs = {
        "x": torch.randn(4096, 1024).requires_grad_(),
        "w": torch.randn(1024).requires_grad_(),
        "grad": torch.randn(4096, 1024),
        "a": torch.rand(64, 4096),
        "b": torch.randn(64, 4096),
    }
    names: dict[str, Any] = {"ours": rms_norm, "theirs": rms_norm_of_torch, "torch": torch}
    names |= {"recurrence": linear_recurrence, "loop": recurrence_of_torch}
    names |= theirs | {f"o{key}": as_ours(tensor) for key, tensor in theirs.items()}
    step = "{o}x.grad = {o}w.grad = None; {m}({o}x, {o}w).backward({o}grad)"
    steps = step.format(m="ours", o="o"), step.format(m="theirs", o="")
    return bench.compare(
        [
            ("RMSNorm 4096x1024, forward and backward", *steps, 0.5),
            ("a * h + b of 64x4096, over a loop", "recurrence(oa, ob, 1)", "loop(a, b)", 0.01),
            ("a * h + b of 64x4096, over cumsum", "recurrence(oa, ob, 1)", "torch.cumsum(a, 1)", 2.0),
        ],
        names,
    )


OTHERS = {"Scalar functions that loop": scalar_functions, "Lists": lists, "What users declare": users}


def run(rounds: int, only: str) -> Report:
    """Measure all lines that have ``only`` in their name."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    report = Report("Constructs of the language on the CPU", threads=1)
    bench = Bench(rounds, only)
    for is_last in (False, True):
        for family, statements in FAMILIES.items():
            for size, goal in enumerate((SMALL, LARGE)):
                rows = [
                    row
                    for dims, text in statements
                    if dims == 2 or not is_last
                    for row in bench.window(dims, text, SHAPES[dims][size], goal, is_last=is_last)
                ]
                if rows:
                    heading = f"{family}, {('small', 'large')[size]}" + ", channels last" * is_last
                    report.comparison(heading, rows, theirs="torch")
    for heading, measured in OTHERS.items():
        if rows := measured(bench):
            report.comparison(heading, rows, theirs="torch")
    missed = [row for row in report.measured if row.goal is not None and row.ratio > row.goal]
    report.write("", f"{len(missed)} of {len(report.measured)} lines are beyond their goal.")
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each side has its turn")
    parser.add_argument("--only", default="", help="lines with this in their name")
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    main("constructs", lambda: run(own.rounds, own.only))
