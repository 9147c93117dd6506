"""Benchmark of calls with shapes that no earlier call had, compared with PyTorch in one process.

Each case is called with a stream of sizes, every one of them once; single calls of both sides are timed alternately.
Caches of known shapes do not help, as for sequences of varying length and growing caches.
"""

from __future__ import annotations

import gc
import os
import resource
import statistics
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy
import torch
from harness import Measured, Report, main
from harness.gpt import VOCABULARY, Gpt
from harness.streams import Arrays, Stream, timed_pairs

import opdsl

STREAM = 120  # sizes of a case that are timed, after equally many that are not
LIMITS = (2.0, 4.0)  # greatest allowed ratios: geometric mean, worst


def _random(*shape: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(0).random(shape, numpy.float32)


def _two(n: int) -> Arrays:
    return [_random(n, 32), _random(n, 32)]


def _one(n: int) -> Arrays:
    return [_random(n, 32)]


def _transposed(n: int) -> Arrays:
    return [_random(n, 48), _random(48, n)]


def _none(n: int) -> Arrays:
    return []


STREAMS = (
    Stream("add(x, y)", _two, lambda lib, a, n: lib.add(a[0], a[1])),
    Stream("add(x, row)", lambda n: [_random(n, 32), _random(32)], lambda lib, a, n: lib.add(a[0], a[1])),
    Stream("add(x, y.t())", _transposed, lambda lib, a, n: lib.add(a[0], a[1].t())),
    Stream("x.add_(y)", _two, lambda lib, a, n: a[0].add_(a[1])),
    Stream(
        "add(x, y, out=z)",
        lambda n: [_random(n, 32), _random(n, 32), _random(n, 32)],
        lambda lib, a, n: lib.add(a[0], a[1], out=a[2]),
    ),
    Stream("x * 2.0", _one, lambda lib, a, n: a[0] * 2.0),
    Stream("exp(x)", _one, lambda lib, a, n: lib.exp(a[0])),
    Stream(
        "where(mask, x, y)",
        lambda n: [_random(n, 32) > 0.5, *_two(n)],
        lambda lib, a, n: lib.where(a[0], a[1], a[2]),
    ),
    Stream("sum(x, 0)", _one, lambda lib, a, n: a[0].sum(0)),
    Stream("mean(x)", _one, lambda lib, a, n: a[0].mean()),
    Stream("amax(x, 1)", _one, lambda lib, a, n: a[0].amax(1)),
    Stream("cumsum(x, 0)", _one, lambda lib, a, n: a[0].cumsum(0)),
    Stream("softmax(x, -1)", lambda n: [_random(8, n)], lambda lib, a, n: a[0].softmax(-1)),
    Stream(
        "layer_norm(x, (32,))",
        lambda n: [_random(n, 32), _random(32), _random(32)],
        lambda lib, a, n: lib.layer_norm(a[0], (32,), a[1], a[2]),
    ),
    Stream("mm(x, y)", lambda n: [_random(n, 32), _random(32, 16)], lambda lib, a, n: lib.mm(a[0], a[1])),
    Stream(
        "matmul of 4 dimensions",
        lambda n: [_random(2, 4, n, 16), _random(2, 4, 16, n)],
        lambda lib, a, n: lib.matmul(a[0], a[1]),
    ),
    Stream(
        "linear of 3 dimensions",
        lambda n: [_random(2, n, 32), _random(16, 32), _random(16)],
        lambda lib, a, n: (torch.nn.functional if lib is torch else lib.nn).linear(a[0], a[1], a[2]),
    ),
    Stream("cat((x, y), 0)", _two, lambda lib, a, n: lib.cat((a[0], a[1]), 0)),
    Stream("x[2:n - 2]", _one, lambda lib, a, n: a[0][2 : n - 2]),
    Stream("x[3]", _one, lambda lib, a, n: a[0][3]),
    Stream("view(x, (4, -1))", lambda n: [_random(4 * n)], lambda lib, a, n: a[0].view(4, -1)),
    Stream("reshape(x, (n, 2, 16))", _one, lambda lib, a, n: a[0].reshape(n, 2, 16)),
    Stream("transpose(x, 0, 1)", _one, lambda lib, a, n: a[0].transpose(0, 1)),
    Stream("split(x, 16, 1)", _one, lambda lib, a, n: a[0].split(16, 1)),
    Stream(
        "masked_fill(x, mask, 0.0)",
        lambda n: [_random(n, 32), _random(n, 32) > 0.5],
        lambda lib, a, n: a[0].masked_fill(a[1], 0.0),
    ),
    Stream(
        "x[positions]",
        lambda n: [_random(50, 32), numpy.arange(n, dtype=numpy.int64) % 50],
        lambda lib, a, n: a[0][a[1]],
    ),
    Stream("x[x > 0.5]", _one, lambda lib, a, n: a[0][a[0] > 0.5]),
    Stream("ones(n)", _none, lambda lib, a, n: lib.ones(n)),
    Stream("arange(n)", _none, lambda lib, a, n: lib.arange(n)),
    Stream("x + 1", _one, lambda lib, a, n: a[0] + 1),
)


def measure(stream: Stream) -> Measured:
    """Time single calls of both sides with sizes that neither has met."""
    sizes = list(range(10, 10 + 2 * STREAM))
    numpy.random.default_rng(1).shuffle(sizes)
    pairs = list(timed_pairs(stream, sizes, perf_counter))[STREAM:]
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Measured(stream.name, mine, other, mine / other, 1.0)


def programs() -> list[Measured]:
    """Time a small GPT at new lengths: inference, a training step, decoding with a growing cache."""
    lengths = list(range(8, 128))
    numpy.random.default_rng(2).shuffle(lengths)
    rows = []
    for name, trains in (("GPT, inference at new lengths", False), ("GPT, training step at new lengths", True)):
        models = [Gpt(opdsl, trains=trains), Gpt(torch, trains=trains)]
        pairs = []
        for turn, length in enumerate(lengths):
            tokens = numpy.random.default_rng(length).integers(0, VOCABULARY, (1 + 3 * trains, length))
            taken = {}
            for model in models if turn % 2 else models[::-1]:
                tensor = model.lib.from_numpy(tokens)
                start = perf_counter()
                model.step(tensor) if trains else model(tensor)
                taken[model] = perf_counter() - start
            pairs.append((taken[models[0]], taken[models[1]]))
        rows.append(_median(name, pairs[len(pairs) // 2 :]))
    caches: list[list[Any]] = [[], []]
    models, pairs = [Gpt(opdsl), Gpt(torch)], []
    for index in range(300):
        taken = {}
        for side, model in enumerate(models):
            token = model.lib.from_numpy(numpy.array([[index % VOCABULARY]]))
            start = perf_counter()
            model(token, caches[side])
            taken[side] = perf_counter() - start
        pairs.append((taken[0], taken[1]))
    rows.append(_median("GPT, a token with a growing cache", pairs[150:]))
    return rows


def _median(name: str, pairs: Sequence[tuple[float, float]]) -> Measured:
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Measured(name, mine, other, statistics.median(one / two for one, two in pairs), LIMITS[0])


def growth(calls: int) -> float:
    """Return the MiB by which the process grows over calls with ever new shapes, not counting the first tenth of the
    calls.
    """
    memory = opdsl.from_numpy(_random(400 * 400))

    def run(count: int, first: int) -> None:
        for at in range(first, first + count):
            x = memory[: (at % 380 + 3) * (at // 380 % 380 + 2)].view(at % 380 + 3, at // 380 % 380 + 2)
            (x + x).sum()

    run(calls // 10, 0)
    gc.collect()
    before = _resident()
    run(calls - calls // 10, calls // 10)
    gc.collect()
    return (_resident() - before) / 2**20


def _resident() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run() -> Report:
    """Measure all streams, programs and the growth of memory."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    gc.disable()
    report = Report("Calls with shapes never seen", threads=1)
    chosen = [stream for stream in STREAMS if not ONLY or any(word in stream.name for word in ONLY)]
    rows = [measure(stream) for stream in chosen]
    report.comparison("Single calls, every size once", rows, theirs="torch")
    report.mean_and_worst(rows, LIMITS[0])
    if not ONLY:
        report.comparison("Programs, every length once", programs(), theirs="torch")
        report.write("", f"Growth over 100,000 calls with ever new shapes: {growth(100_000):.0f} MiB (to reach 20).")
    return report


ONLY: list[str] = []

if __name__ == "__main__":
    ONLY = [text for text in sys.argv[1:] if not text.startswith("--")]
    sys.argv[1:] = [text for text in sys.argv[1:] if text.startswith("--")]
    main("shapes", run)
