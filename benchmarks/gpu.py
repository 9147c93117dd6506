"""Benchmark of a GPU, compared with PyTorch's CUDA kernels and with device copies; it needs a GPU, and torch with CUDA.

``OPDSL_GPU_ROUNDS`` sets the number of measurements of each case, of which the median counts.

Device time is measured by events around many calls; host time by a clock around calls, without waiting for the device.
Both sides alternate, and start from warm caches.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from harness import Measured, Report, main

import opdsl
from opdsl import Library, Tensor, formula

ROUNDS = int(os.environ.get("OPDSL_GPU_ROUNDS", "15"))
PEER = "torch CUDA"

lib = Library("gpu_benchmark")


@lib.op
@formula
def damped(self: Tensor, other: Tensor) -> Tensor:
    """Compute five pointwise operations in one kernel."""
    return opdsl.tanh(self * other + 1.0) * opdsl.exp(-abs(self))


class Side:
    """Timer of calls of one library.

    event: creates an event that measures time.
    synchronize: waits for the device.
    """

    def __init__(self, library: Any) -> None:
        self.event: Callable[[], Any] = lambda: library.cuda.Event(enable_timing=True)
        self.synchronize: Callable[[], None] = library.cuda.synchronize

    def device_seconds(self, call: Callable[[], object], calls: int) -> float:
        """Return the device time of each call."""
        start, end = self.event(), self.event()
        start.record()
        for _ in range(calls):
            call()
        end.record()
        self.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / calls

    def host_seconds(self, call: Callable[[], object], calls: int) -> float:
        """Return the host time of each call, without the time that the device needs to finish."""
        self.synchronize()
        began = time.perf_counter()
        for _ in range(calls):
            call()
        seconds = (time.perf_counter() - began) / calls
        self.synchronize()
        return seconds


class Turns:
    """Comparison of both sides, whose measurements alternate.

    Args:
        ours, theirs: timers of opdsl and of PyTorch.
    """

    def __init__(self, ours: Side, theirs: Side) -> None:
        self.us = ours
        self.them = theirs
        self.generator = torch.Generator(device="cuda").manual_seed(0)

    def pair(self, *shape: int) -> tuple[Tensor, Any]:
        """Return tensors of opdsl and of torch over the same random device memory."""
        theirs = torch.randn(shape, device="cuda", generator=self.generator)
        return opdsl.from_dlpack(theirs), theirs

    def device(
        self, name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float | None
    ) -> Measured:
        """Compare the device time of two calls."""
        us, them = self.us, self.them
        return _compared(name, lambda: us.device_seconds(ours, 10), lambda: them.device_seconds(theirs, 10), goal)

    def host(self, name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float | None) -> Measured:
        """Compare the host time of two calls."""
        us, them = self.us, self.them
        return _compared(name, lambda: us.host_seconds(ours, 1000), lambda: them.host_seconds(theirs, 1000), goal)


def _compared(name: str, ours: Callable[[], float], theirs: Callable[[], float], goal: float | None) -> Measured:
    """Compare alternating measurements of both sides, after a first pair that does not count."""
    ours()
    theirs()
    pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    first, second = (statistics.median(side) for side in zip(*pairs, strict=True))
    # The table comes after all of its cases, and a run on a borrowed GPU may end before.
    print(f"{name}: {first:.3g} s, other side {second:.3g} s", file=sys.stderr, flush=True)
    return Measured(name, first, second, statistics.median(one / other for one, other in pairs), goal)


def pointwise(report: Report, turns: Turns) -> None:
    """Measure large pointwise operators."""
    (a, x), (b, y) = turns.pair(1 << 28), turns.pair(1 << 28)
    c, z = opdsl.empty_like(a), torch.empty_like(x)
    report.comparison(
        "Pointwise, 256M float32, against a copy of as many bytes",
        [
            turns.device("add(a, b, out=c)", lambda: opdsl.add(a, b, out=c), lambda: _copies(z, x, 1.5), 1 / 0.9),
            turns.device("exp(a, out=c)", lambda: opdsl.exp(a, out=c), lambda: _copies(z, x, 1.0), 1 / 0.9),
        ],
        theirs="copy",
    )
    report.comparison(
        "Pointwise, 256M float32",
        [
            turns.device("add(a, b, out=c)", lambda: opdsl.add(a, b, out=c), lambda: torch.add(x, y, out=z), 1.0),
            turns.device("a * b", lambda: a * b, lambda: x * y, 1.0),
            turns.device("tanh(a)", lambda: opdsl.tanh(a), lambda: torch.tanh(x), 1.0),
            turns.device(
                "five operations",
                lambda: damped(a, b),
                lambda: torch.tanh(x * y + 1.0) * torch.exp(-torch.abs(x)),
                1 / 3,
            ),
        ],
        theirs=PEER,
    )


def rows(report: Report, turns: Turns) -> None:
    """Measure reductions and operators along rows."""
    m, n = turns.pair(8192, 4096)
    report.comparison(
        "Reductions and rows, 8192 x 4096 float32",
        [
            turns.device("sum()", lambda: m.sum(), lambda: n.sum(), 1.0),
            turns.device("sum(1)", lambda: m.sum(1), lambda: n.sum(1), 1.0),
            turns.device("sum(0)", lambda: m.sum(0), lambda: n.sum(0), 1.0),
            turns.device("amax(1)", lambda: m.amax(1), lambda: n.amax(1), 1.0),
            turns.device("var(1)", lambda: m.var(1), lambda: n.var(1), 1.0),
            turns.device("softmax(1)", lambda: m.softmax(1), lambda: n.softmax(1), 1.0),
            turns.device(
                "layer_norm",
                lambda: opdsl.layer_norm(m, [4096]),
                lambda: torch.nn.functional.layer_norm(n, [4096]),
                1.0,
            ),
            turns.device("cumsum(1)", lambda: m.cumsum(1), lambda: n.cumsum(1), 1.0),
        ],
        theirs=PEER,
    )


def halves(report: Report, turns: Turns, count: int = 8192) -> None:
    """Measure operators on bfloat16 elements.

    count: the number of rows.
    """
    functional = torch.nn.functional
    (wide, theirs), (row, bias) = turns.pair(count, 4096), turns.pair(4096)
    x, w = wide.bfloat16(), row.bfloat16()
    y, v = theirs.bfloat16(), bias.bfloat16()
    places = torch.arange(count, device=y.device) * 7 % count
    own_places = opdsl.from_dlpack(places)
    report.comparison(
        f"{count} x 4096 bfloat16",
        [
            turns.device(
                "layer_norm",
                lambda: opdsl.layer_norm(x, [4096], w, w),
                lambda: functional.layer_norm(y, [4096], v, v),
                1.0,
            ),
            turns.device("softmax(1)", lambda: x.softmax(1), lambda: y.softmax(1), 1.0),
            turns.device("gelu", lambda: opdsl.nn.functional.gelu(x), lambda: functional.gelu(y), 1.0),
            turns.device("bias", lambda: x + w, lambda: y + v, 1.0),
            turns.device("transpose", lambda: x.t().contiguous(), lambda: y.t().contiguous(), 1.0),
            turns.device("matmul", lambda: x @ x.t(), lambda: y @ y.t(), 1.0),
            turns.device("embedding", lambda: x.index_select(0, own_places), lambda: y.index_select(0, places), 1.0),
            turns.device("rand_like", lambda: opdsl.rand_like(x), lambda: torch.rand_like(y), 1.0),
        ],
        theirs=PEER,
    )


def attention(report: Report, turns: Turns, lengths: tuple[int, ...] = (128, 1024, 4096)) -> None:
    """Measure attention of 16 heads of 64 elements, and of 128."""
    ours, theirs = opdsl.nn.functional.scaled_dot_product_attention, torch.nn.functional.scaled_dot_product_attention
    cases = []
    for length in lengths:
        for size in (64, 128):
            (wide, other), name = turns.pair(4, 16, length, size), f"{length} queries of {size}, causal"
            for dtype in ("float32", "bfloat16"):
                x, y = wide.to(getattr(opdsl, dtype)), other.to(getattr(torch, dtype))
                cases.append(
                    turns.device(
                        f"{name}, {dtype}",
                        partial(ours, x, x, x, is_causal=True),
                        partial(theirs, y, y, y, is_causal=True),
                        1.0,
                    )
                )
    report.comparison("Attention, 4 x 16 heads", cases, theirs=PEER)


def convolution(report: Report, turns: Turns, batch: int = 32) -> None:
    """Measure convolutions of images; ``batch`` is the number of images."""
    ours, theirs, cases = opdsl.nn.functional.conv2d, torch.nn.functional.conv2d, []
    torch.backends.cudnn.allow_tf32 = False  # it rounds float32 to 10 bits
    for channels, size, length in ((3, 224, 7), (64, 56, 1), (64, 56, 3), (256, 14, 3)):
        images, weight = turns.pair(batch, channels, size, size), turns.pair(64, channels, length, length)
        for dtype in ("float32", "bfloat16"):
            x, w = (pair[0].to(getattr(opdsl, dtype)) for pair in (images, weight))
            y, v = (pair[1].to(getattr(torch, dtype)) for pair in (images, weight))
            options = {"padding": length // 2}
            name = f"{channels} x {size} x {size} with {length} x {length}, {dtype}"
            cases.append(turns.device(name, partial(ours, x, w, **options), partial(theirs, y, v, **options), 1.0))
    report.comparison(f"Convolutions of {batch} images, 64 outputs", cases, theirs=PEER)


def calls(report: Report, turns: Turns) -> None:
    """Measure operators on 4 elements, and a CUDA graph of them."""
    s, t = turns.pair(4)
    u, v = opdsl.empty_like(s), torch.empty_like(t)
    report.comparison(
        "A call of an operator on 4 elements, on the host",
        [
            turns.host("add(s, s)", lambda: opdsl.add(s, s), lambda: torch.add(t, t), 1.0),
            turns.host("s + s", lambda: s + s, lambda: t + t, 1.0),
            turns.host("s + 1", lambda: s + 1, lambda: t + 1, 1.0),
            turns.host("add(s, s, out=u)", lambda: opdsl.add(s, s, out=u), lambda: torch.add(t, t, out=v), 1.0),
        ],
        theirs=PEER,
    )

    def chain(value: Any) -> Any:
        for _ in range(100):
            value = value + 1
        return value

    replay = opdsl.cuda.graph(chain)
    report.comparison(
        "A graph of 100 operators on 4 elements, against running them one by one",
        [
            turns.device("against torch", lambda: replay(s), lambda: chain(t), None),
            Turns(turns.us, turns.us).device("against opdsl without it", lambda: replay(s), lambda: chain(s), 0.2),
        ],
        theirs="one by one",
    )


def run() -> Report:
    """Measure all cases and return the report."""
    device_properties = opdsl.cuda.get_device_properties()
    report = Report(f"GPU: {device_properties.name}", threads=1)
    memory = f"{device_properties.total_memory / (1 << 30):.0f} GiB"
    report.write(
        "",
        f"{device_properties.name}, {memory}, compute capability {'.'.join(map(str, device_properties.capability))}.",
    )
    turns = Turns(Side(opdsl), Side(torch))
    for measure in (pointwise, rows, calls, halves, attention, convolution):
        measure(report, turns)
    return report


def _copies(target: Any, source: Any, share: float) -> None:
    """Copy as many bytes as a measured operator moves: all elements once, or one and a half times."""
    target.copy_(source)
    if share > 1:
        half = source.numel() // 2
        target[:half].copy_(source[:half])


def card() -> str:
    """Return the name of the GPU in the form that file names use."""
    return opdsl.cuda.get_device_name().lower().replace(" ", "-")


if __name__ == "__main__":
    if not opdsl.cuda.is_available():
        sys.exit("benchmarks/gpu.py needs a GPU: opdsl.cuda.is_available() is False")
    main(f"gpu-{card()}", run)
