"""Formulas written as calls of operators, as users write them, for any library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

SMALL, LARGE = 1_000, 1_000_000


def black_scholes(lib: Any) -> Callable[..., Any]:
    """Return a function that computes prices of call options."""

    def function(s: Any, k: Any, t: Any, v: Any) -> Any:
        d1 = ((s / k).log() + (0.02 + 0.5 * v * v) * t) / (v * t.sqrt())
        d2 = d1 - v * t.sqrt()

        def below(d: Any) -> Any:
            return 0.5 * (1 + lib.erf(d * math.sqrt(0.5)))

        return s * below(d1) - k * (-0.02 * t).exp() * below(d2)

    return function


def gelu(lib: Any) -> Callable[..., Any]:
    """Return a function that computes GELU by the error function."""
    return lambda x: 0.5 * x * (1 + lib.erf(x * math.sqrt(0.5)))


def swiglu(lib: Any) -> Callable[..., Any]:
    """Return a function that computes SwiGLU, the gate of recent transformers."""
    return lambda x, y: x / (1 + (-x).exp()) * y


def chain(lib: Any) -> Callable[..., Any]:
    """Return a function of ten pointwise steps."""

    def function(x: Any, y: Any) -> Any:
        for _ in range(5):
            x = (x * 0.9 + y).tanh()
        return x

    return function


def softmax(lib: Any) -> Callable[..., Any]:
    """Return a function that computes softmax by elementary operators."""

    def function(x: Any) -> Any:
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    return function


def layer_norm(lib: Any) -> Callable[..., Any]:
    """Return a function that computes layer normalization by elementary operators."""

    def function(x: Any, weight: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        return centred / (variance + 1e-5).sqrt() * weight + bias

    return function


def rms_norm(lib: Any) -> Callable[..., Any]:
    """Return a function that computes RMS normalization by elementary operators."""
    return lambda x, weight: x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt() * weight


def loss(lib: Any) -> Callable[..., Any]:
    """Return a function that computes the mean cross entropy with target probabilities by elementary operators."""

    def function(x: Any, wanted: Any) -> Any:
        shifted = x - x.amax(-1, keepdim=True)
        return -((shifted - shifted.exp().sum(-1, keepdim=True).log()) * wanted).sum(-1, keepdim=True).mean()

    return function


class Formula(NamedTuple):
    """Function to measure, for any library.

    make: returns the function for a library.
    shapes: the shapes of its arguments, small and large.
    goal: the ratio to PyTorch eager that is to be reached, for each.
    """

    make: Callable[[Any], Callable[..., Any]]
    shapes: tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]
    goal: tuple[float, float] = (0.2, 0.15)


def vectors(count: int) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return shapes for a pointwise formula of ``count`` arguments, small and large."""
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


def arrays(shapes: tuple[tuple[int, ...], ...]) -> list[numpy.ndarray[Any, Any]]:
    """Return random positive arrays of the given shapes."""
    draw = numpy.random.default_rng(0)
    return [draw.random(size=shape, dtype=numpy.float32) + numpy.float32(0.5) for shape in shapes]
