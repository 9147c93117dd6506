"""Benchmark of gradients: forward and backward passes, compared with PyTorch in the same process."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy
import torch
from harness import Case, Report, compare, main

import opdsl
from opdsl import Library, Tensor, formula

BATCH = 256
SIZES = (784, 512, 512, 10)
LONG = 1_000
LARGE = 4 * 1024 * 1024

lib = Library("benchmark_autograd")


@lib.op
@formula
def damped(self: Tensor, rate: Tensor) -> Tensor:
    """``tanh(x * r) * exp(-x * x)``: five operations, one loop forward and one backward."""
    return opdsl.tanh(self * rate) * opdsl.exp(-(self * self))


def damped_in_torch(x: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x * rate) * torch.exp(-(x * x))


def perceptron(library: Any, make: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return a function that runs one training step of a three-layer perceptron: forward pass, loss, backward pass.

    Args:
        library: opdsl or torch.
        make: converts an array to a tensor.
    """
    random = numpy.random.default_rng(0)
    images = make(random.normal(size=(BATCH, SIZES[0])).astype(numpy.float32))
    labels = make(random.integers(0, SIZES[-1], size=(BATCH, 1)))
    weights = [make((random.normal(size=pair) / math.sqrt(pair[0])).astype(numpy.float32)) for pair in pairwise(SIZES)]
    biases = [make(numpy.zeros(size, numpy.float32)) for size in SIZES[1:]]
    parameters = [weight.requires_grad_() for weight in (*weights, *biases)]

    def step() -> Any:
        hidden = images
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            hidden = hidden @ weight + bias
            if layer + 1 < len(weights):
                hidden = hidden.tanh()
        loss = -hidden.log_softmax(1).gather(1, labels).mean()
        loss.backward()
        for parameter in parameters:
            parameter.grad = None
        return loss

    return step


def chain(library: Any) -> Callable[[], Any]:
    """Return a function that runs 1,000 multiplications of 4 elements, one after the other, and their backward pass."""
    x, factor = library.ones(4, requires_grad=True), library.full((4,), 1.0001)
    seed = library.ones(4)

    def step() -> Any:
        y = x
        for _ in range(LONG):
            y = y * factor
        y.backward(seed)
        x.grad = None
        return y

    return step


def backward_of(function: Callable[..., Any], library: Any) -> Callable[[], Any]:
    """Return a function that runs only the backward pass of a function of two tensors."""
    x, rate = library.rand(LARGE, requires_grad=True), library.rand(LARGE)
    result, seed = function(x, rate), library.ones(LARGE)
    return lambda: library.autograd.grad(result, x, seed, retain_graph=True)


def run() -> Report:
    """Measure all cases."""
    torch.set_num_threads(2)
    opdsl.set_num_threads(2)
    report = Report("Gradients", threads=2)
    names = {
        "mine": perceptron(opdsl, opdsl.from_numpy),
        "its": perceptron(torch, torch.from_numpy),
        "my_chain": chain(opdsl),
        "its_chain": chain(torch),
        "my_backward": backward_of(damped, opdsl),
        "its_backward": backward_of(damped_in_torch, torch),
    }
    cases = (
        Case(f"perceptron {'-'.join(map(str, SIZES))}, batch {BATCH}, a step", "mine()", "its()", 1.0),
        Case(f"{LONG:,} multiplications of 4 elements, there and back", "my_chain()", "its_chain()", 0.4),
        Case(f"backward of 5 operations on {LARGE:,} elements", "my_backward()", "its_backward()", 0.5),
    )
    report.comparison("float32", compare(cases, names, rounds=15), theirs="torch")
    return report


if __name__ == "__main__":
    main("autograd", run)
