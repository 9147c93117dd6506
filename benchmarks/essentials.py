"""Benchmark of the kernels that networks and numerical programs use most, compared with PyTorch on equally many
threads.

One thread is measured by the processor time of the process, which other programs hardly change; several threads are
measured by wall-clock time, which needs a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import torch
from harness import Case, Measured, Report, compare, main

import opdsl
from opdsl.testing.timing import ROUNDS

Tensors = dict[str, torch.Tensor]


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return normally distributed numbers."""
    return torch.randn(shape, dtype=dtype)


def images(channels: int, *shape: int, kernels: int, groups: int = 1) -> Tensors:
    """Return images and the weight of a 3x3 convolution, both again requiring gradients, and a gradient of the
    result.
    """
    x, w = random(shape[0], channels, *shape[1:]), random(kernels, channels // groups, 3, 3)
    grad = random(shape[0], kernels, *shape[1:])
    return {"x": x, "w": w, "gx": x.clone().requires_grad_(), "gw": w.clone().requires_grad_(), "grad": grad}


def matrices() -> Tensors:
    """Return square matrices: a general one, a positive definite one, small parts of both; and right-hand sides."""
    any_one = random(300, 300)
    definite = any_one @ any_one.T + 300 * torch.eye(300)
    small = definite[:100, :100].contiguous(), any_one[:100, :100].contiguous()
    return {"a": any_one, "s": definite, "b": random(300, 10), "s100": small[0], "a100": small[1]}


CONV = "{m}.conv2d({p}x, {p}w, None, 1, 1, 1, {groups})"
CONV_BACKWARD = "{p}gx.grad = {p}gw.grad = None; {m}.conv2d({p}gx, {p}gw, None, 1, 1, 1, {groups}).backward({p}grad)"
LEARN = "{p}w.grad = None; {m}.nn.functional."

# Rows of a table: name, statement and greatest allowed ratio; in statements m is the module and p the prefix of the
# side's tensors.
Rows = list[tuple[str, str, float]]


def tables() -> list[tuple[str, Tensors, Rows]]:
    """Return the tables to measure: heading, tensors, and rows of a name, a statement and the greatest allowed
    ratio.
    """
    sections: list[tuple[str, Tensors, Rows]] = []
    for name, output, groups, limit in (
        ("32x64x16x16, 64 kernels", images(64, 32, 16, 16, kernels=64), 1, 1.3),
        ("32x3x32x32, 64 kernels", images(3, 32, 32, 32, kernels=64), 1, 1.3),
        ("1x64x56x56, 64 kernels", images(64, 1, 56, 56, kernels=64), 1, 1.3),
        ("1x3x8x8, 4 kernels", images(3, 1, 8, 8, kernels=4), 1, 2.0),
        ("8x64x32x32, depthwise", images(64, 8, 32, 32, kernels=64, groups=64), 64, 1.2),
        ("1x32x112x112, depthwise", images(32, 1, 112, 112, kernels=32, groups=32), 32, 1.2),
    ):
        rows = [("forward", CONV, limit), ("forward and backward", CONV_BACKWARD, max(limit, 1.3))]
        texts = [(name, text.replace("{groups}", str(groups)), most) for name, text, most in rows]
        sections.append((f"conv2d 3x3 of {name}", output, texts))
    sections += [
        (
            "Fourier transforms",
            {"x": random(8, 65536), "y": random(8, 66536), "z": random(8, 66000, dtype=torch.complex64)},
            [
                ("rfft 8x65536", "{m}.fft.rfft({p}x)", 1.2),
                ("rfft 8x66536 (a prime factor)", "{m}.fft.rfft({p}y)", 1.2),
                ("fft of complex 8x66000", "{m}.fft.fft({p}z)", 1.2),
            ],
        ),
        (
            "Matrices",
            matrices(),
            [
                ("cholesky 300", "{m}.linalg.cholesky({p}s)", 1.2),
                ("solve 300", "{m}.linalg.solve({p}a, {p}b)", 1.2),
                ("eigh 100", "{m}.linalg.eigh({p}s100)", 1.2),
                ("svd 100", "{m}.linalg.svd({p}a100)", 1.2),
            ],
        ),
        (
            "Products",
            {"a": random(512, 512), "b": random(1024, 1024), "v": random(1024), "u": random(1000)},
            [
                ("mm 512", "{m}.mm({p}a, {p}a)", 1.1),
                ("mm 1024", "{m}.mm({p}b, {p}b)", 1.1),
                ("mv 1024", "{m}.mv({p}b, {p}v)", 1.0),
                ("dot 1000", "{m}.dot({p}u, {p}u)", 1.0),
            ],
        ),
        (
            "Order, 1M float32",
            {"x": random(1_000_000)},
            [
                ("sort", "{m}.sort({p}x)", 1.0),
                ("argsort", "{m}.argsort({p}x)", 1.0),
                ("topk 10", "{m}.topk({p}x, 10)", 1.0),
                ("topk 1000", "{m}.topk({p}x, 1000)", 1.0),
            ],
        ),
        (
            "cross_entropy 512x1000, forward and backward",
            {"w": random(512, 1000).requires_grad_(), "t": torch.randint(0, 1000, (512,))},
            [("cross_entropy", LEARN + "cross_entropy({p}w, {p}t).backward()", 1.0)],
        ),
        (
            "embedding of 32x128 in 10000x256, forward and backward",
            {
                "w": random(10000, 256).requires_grad_(),
                "t": torch.randint(0, 10000, (32, 128)),
                "grad": random(32, 128, 256),
            },
            [("embedding", LEARN + "embedding({p}t, {p}w).backward({p}grad)", 1.0)],
        ),
        (
            "Elements",
            {"d": torch.rand(1_000_000, dtype=torch.float64) + 0.1, "s": random(1_000_000), "q": random(2000, 2000)},
            [
                ("randn 100000", "{m}.randn(100000)", 1.0),
                *((f"{name} 1M float64", f"{{m}}.{name}({{p}}d)", 1.0) for name in ("erf", "log", "exp", "sqrt")),
                ("gelu 1M float32", "{m}.nn.functional.gelu({p}s)", 1.0),
                ("a transposed copy, 4M", "{p}q.t().contiguous()", 1.0),
            ],
        ),
        (
            "Scans and scattering, 1M float32",
            {
                "x": random(1_000_000),
                "y": random(1000, 1000),
                "i": torch.randint(0, 100_000, (1_000_000,)),
                "o": torch.zeros(100_000),
                "j": torch.randint(0, 1000, (1000, 1000)),
            },
            [
                ("cumsum", "{m}.cumsum({p}x, 0)", 1.0),
                ("cumsum of columns", "{m}.cumsum({p}y, 0)", 1.0),
                ("cumsum of rows", "{m}.cumsum({p}y, 1)", 1.0),
                ("scatter_add into 100000", "{m}.scatter_add({p}o, 0, {p}i, {p}x)", 1.2),
                ("scatter_add in columns", "{m}.scatter_add({p}y, 0, {p}j, {p}y)", 1.2),
            ],
        ),
    ]
    return sections


def measure(tensors: Tensors, rows: Rows, threads: int, rounds: int) -> list[Measured]:
    """Measure the rows of a table."""
    names: dict[str, Any] = {"opdsl": opdsl, "torch": torch}
    for name, value in tensors.items():
        names[f"t{name}"] = value
        names[f"o{name}"] = opdsl.from_dlpack(value.detach()).clone().requires_grad_(value.requires_grad)
    texts = [[text.format(m=module, p=module[0]) for module in ("opdsl", "torch")] for _, text, _ in rows]
    cases = [Case(name, *text, limit) for (name, _, limit), text in zip(rows, texts, strict=True)]
    return compare(cases, names, rounds=rounds, clock=time.process_time if threads == 1 else time.perf_counter)


def run(threads: int, rounds: int, only: str) -> Report:
    """Measure all tables and rows whose heading or name contains ``only``."""
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    opdsl.set_num_threads(threads)
    report = Report("Kernels that programs lean on", threads=threads)
    for heading, output, rows in tables():
        chosen = rows if only in heading else [row for row in rows if only in row[0]]
        if chosen:
            report.comparison(heading, measure(output, chosen, threads, rounds), theirs="torch")
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1, help="on how many")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each side has its turn")
    parser.add_argument("--only", default="", help="tables and lines with this in their name")
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    main(
        "essentials" + (f"-{own.threads}-threads" if own.threads > 1 else ""),
        lambda: run(own.threads, own.rounds, own.only),
    )
