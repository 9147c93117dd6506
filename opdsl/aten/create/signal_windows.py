"""Windows of signal processing: factors that let a stretch of a signal begin and end gently."""

from __future__ import annotations

import math
from collections.abc import Callable

from opdsl.aten.create.factories import empty
from opdsl.aten.create.like_factories import ones_like
from opdsl.aten.create.ranges import arange
from opdsl.aten.special.bessel import i0
from opdsl.declare import Operator, op
from opdsl.dispatch import get_default_dtype
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import TensorOptions

Shape = Callable[..., Tensor]


def bartlett(place: Tensor, last: int) -> Tensor:
    """A triangle."""
    return 1 - (place * (2 / last) - 1).abs()


def blackman(place: Tensor, last: int) -> Tensor:
    """Two cosines (Blackman and Tukey, 1958)."""
    angle = place * (2 * math.pi / last)
    return 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos()


def hamming(place: Tensor, last: int, alpha: float = 0.54, beta: float = 0.46) -> Tensor:
    """One cosine."""
    return alpha - beta * (place * (2 * math.pi / last)).cos()


def hann(place: Tensor, last: int) -> Tensor:
    """One cosine, which starts at 0."""
    return hamming(place, last, 0.5, 0.5)


def kaiser(place: Tensor, last: int, beta: float = 12.0) -> Tensor:
    """The modified Bessel function of half an ellipse (Kaiser, 1974)."""
    half = last / 2
    inside = 1 - ((place - half) / half).square()
    whole = place * 0 + beta
    return i0(inside.clamp_min(0).sqrt() * beta) / i0(whole)


def window_of(
    name: str, shape: Shape, length: int, options: TensorOptions, periodic: bool = True, *given: float
) -> Tensor:
    """A window of so many elements; a periodic one is the start of one that has an element more.

    Raises:
        ShapeError: the dtype is not floating-point, or the length negative.
    """
    dtype = options.dtype or get_default_dtype()
    check(dtype.is_floating_point or dtype.is_complex, f"{name} expects floating point dtypes, got: {dtype.name}")
    check(length >= 0, f"{name} requires non-negative window_length, got window_length={length}")
    chosen = options.replace(dtype=dtype)
    if length == 0:
        return empty([0], **chosen)
    place = arange(0, length, **chosen)
    last = length if periodic else length - 1
    return shape(place, last, *given) if length > 1 else ones_like(place)


def declare_window(name: str, shape: Shape) -> Operator[..., Tensor]:
    """The operator of a window, and its overload that tells symmetric ones from periodic ones."""

    @op(f"aten::{name}", kernel="CompositeExplicitAutograd", autogen=f"{name}.out")
    def window(window_length: int, *, options: TensorOptions) -> Tensor:
        return window_of(name, shape, window_length, options)

    @window.overload("periodic", kernel="CompositeExplicitAutograd", autogen=f"{name}.periodic_out")
    def window_periodic(window_length: int, periodic: bool, *, options: TensorOptions) -> Tensor:
        return window_of(name, shape, window_length, options, periodic)

    return window


declare_window("bartlett_window", bartlett)
declare_window("blackman_window", blackman)
declare_window("hann_window", hann)
hamming_window = declare_window("hamming_window", hamming)
kaiser_window = declare_window("kaiser_window", kaiser)


@hamming_window.overload(
    "periodic_alpha", kernel="CompositeExplicitAutograd", autogen="hamming_window.periodic_alpha_out"
)
def hamming_alpha(window_length: int, periodic: bool, alpha: float, *, options: TensorOptions) -> Tensor:
    """A window of one cosine about another mean."""
    return window_of("hamming_window", hamming, window_length, options, periodic, alpha)


@hamming_window.overload(
    "periodic_alpha_beta", kernel="CompositeExplicitAutograd", autogen="hamming_window.periodic_alpha_beta_out"
)
def hamming_alpha_beta(
    window_length: int, periodic: bool, alpha: float, beta: float, *, options: TensorOptions
) -> Tensor:
    """A window of one cosine about another mean, and of another height."""
    return window_of("hamming_window", hamming, window_length, options, periodic, alpha, beta)


@kaiser_window.overload("beta", kernel="CompositeExplicitAutograd", autogen="kaiser_window.beta_out")
def kaiser_beta(window_length: int, periodic: bool, beta: float, *, options: TensorOptions) -> Tensor:
    """A Kaiser window that is as narrow as ``beta`` says."""
    return window_of("kaiser_window", kaiser, window_length, options, periodic, beta)
