"""Benchmark of convolutions and their gradients on one thread, compared with PyTorch by processor time."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy
import torch
from harness import Case, Measured, Report, compare, main

import opdsl

ROUNDS = 9
NOTE = (
    "Seconds of the processor. PyTorch allocates results of megabytes anew, so that the system clears their pages in "
    "each call; ours come out of a cache of blocks. That is the larger part of what differs for the large results of "
    "few channels."
)


class Layer(NamedTuple):
    """Convolution to measure: the shapes of input and weight, the stride and the groups.

    goal: the ratio to reach.
    """

    shape: tuple[int, ...]
    weight: tuple[int, ...]
    stride: int = 1
    groups: int = 1
    goal: float = 1.0

    @property
    def name(self) -> str:
        """Return the label in tables: input shape, weight shape, and a stride other than 1."""
        shape, weight = ("x".join(map(str, sizes)) for sizes in (self.shape, self.weight))
        strided = f", stride {self.stride}" if self.stride > 1 else ""
        return f"{shape} * {weight}{strided}"


LAYERS = {
    "Images, 3x3": [
        Layer((32, 64, 16, 16), (64, 64, 3, 3)),
        Layer((32, 3, 32, 32), (16, 3, 3, 3)),
        Layer((32, 3, 32, 32), (64, 3, 3, 3)),
        Layer((1, 64, 56, 56), (64, 64, 3, 3)),
        Layer((8, 64, 56, 56), (64, 64, 3, 3)),
        Layer((1, 128, 28, 28), (128, 128, 3, 3)),
        Layer((1, 256, 14, 14), (256, 256, 3, 3)),
        Layer((1, 512, 7, 7), (512, 512, 3, 3)),
    ],
    "Other windows and strides": [
        Layer((8, 64, 56, 56), (128, 64, 3, 3), stride=2),
        Layer((4, 3, 224, 224), (64, 3, 7, 7), stride=2),
        Layer((8, 64, 56, 56), (64, 64, 1, 1)),
        Layer((4, 64, 1000), (64, 64, 5)),
        Layer((1, 16, 16, 16, 16), (16, 16, 3, 3, 3)),
    ],
    "Depthwise and groups": [
        Layer((8, 32, 56, 56), (32, 1, 3, 3), groups=32),
        Layer((1, 32, 112, 112), (32, 1, 3, 3), groups=32),
        Layer((8, 64, 28, 28), (64, 1, 3, 3), stride=2, groups=64),
        Layer((8, 64, 28, 28), (64, 16, 3, 3), groups=4),
    ],
    "At most 1,000 elements": [
        Layer((1, 3, 8, 8), (4, 3, 3, 3)),
        Layer((1, 4, 8, 8), (4, 1, 3, 3), groups=4),
        Layer((2, 8, 6, 6), (10, 8, 3, 3)),
        Layer((1, 1, 28, 28), (4, 1, 5, 5)),
        Layer((1, 4, 100), (8, 4, 3)),
    ],
}

FORWARD = "{0}.conv{1}d({2}x, {2}w, {2}b, {3}, {4}, 1, {5})"
BACKWARD = "{2}gx.grad = {2}gw.grad = None; {0}.conv{1}d({2}gx, {2}gw, None, {3}, {4}, 1, {5}).backward({2}g)"


def measure(layer: Layer, *, is_last: bool = False) -> list[Measured]:
    """Measure a convolution forward, and forward and backward.

    Args:
        layer: the convolution.
        is_last: whether images are in channels-last layout.
    """
    dims = len(layer.shape) - 2
    random = numpy.random.default_rng(0)
    padding = layer.weight[-1] // 2
    arrays = {"x": layer.shape, "w": layer.weight, "b": layer.weight[:1]}
    # In memory allocated by PyTorch: its library is slower on unaligned memory.
    theirs = {
        name: torch.from_numpy(random.standard_normal(shape, dtype=numpy.float32)).clone()
        for name, shape in arrays.items()
    }
    if is_last:
        theirs |= {name: theirs[name].contiguous(memory_format=torch.channels_last) for name in ("x", "w")}
    function = getattr(torch, f"conv{dims}d")
    theirs["g"] = torch.randn_like(function(theirs["x"], theirs["w"], None, layer.stride, padding, 1, layer.groups))
    ours = {name: opdsl.from_dlpack(tensor.detach()).clone() for name, tensor in theirs.items()}
    names: dict[str, object] = {"ours": opdsl, "theirs": torch}
    for tensors, prefix in ((ours, "o"), (theirs, "t")):
        names |= {f"{prefix}{name}": tensor for name, tensor in tensors.items()}
        names |= {f"{prefix}g{name}": tensors[name].clone().requires_grad_() for name in ("x", "w")}
    texts = {"forward": FORWARD, "forward and backward": BACKWARD}
    sides = (("ours", "o"), ("theirs", "t"))
    cases = []
    for word, text in texts.items():
        formats = [text.format(module, dims, prefix, layer.stride, padding, layer.groups) for module, prefix in sides]
        cases.append(Case(f"{layer.name}, {word}", formats[0], formats[1], layer.goal))
    return compare(cases, names, rounds=ROUNDS, clock=time.process_time)


def run() -> Report:
    """Measure all layers on one thread."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    report = Report("Convolutions on the CPU", threads=1)
    tables = {heading: [row for layer in layers for row in measure(layer)] for heading, layers in LAYERS.items()}
    tables["Images, 3x3, channels last"] = [
        row for layer in LAYERS["Images, 3x3"][:4] for row in measure(layer, is_last=True)
    ]
    report.write("", NOTE)
    for heading, rows in tables.items():
        report.comparison(heading, rows, theirs="torch")
    every = [row.ratio for rows in tables.values() for row in rows]
    report.write("", f"Geometric mean of all: {math.exp(sum(map(math.log, every)) / len(every)):.2f}.")
    return report


if __name__ == "__main__":
    main("convolutions", run)
