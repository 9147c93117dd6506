"""Window functions of signal processing: ``bartlett_window``, ``blackman_window``, ``hann_window``, ``hamming_window``,
``kaiser_window``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from opdsl.aten.create.factories import empty
from opdsl.aten.create.like_factories import ones_like
from opdsl.aten.create.ranges import arange
from opdsl.aten.special.bessel import i0
from opdsl.declare import Overload, op
from opdsl.dispatch import get_default_dtype
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import TensorOptions

Shape = Callable[..., Tensor]


def bartlett(place: Tensor, last: int) -> Tensor:
    """Return the triangular window at the indices ``place``, for a window that ends at index ``last``."""
    return 1 - (place * (2 / last) - 1).abs()


def blackman(place: Tensor, last: int) -> Tensor:
    """Return the window that is a sum of two cosines (Blackman and Tukey, 1958) at the indices ``place``."""
    angle = place * (2 * math.pi / last)
    return 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos()


def hamming(place: Tensor, last: int, alpha: float, beta: float) -> Tensor:
    """Return the window ``alpha - beta * cos(2 pi place / last)`` at the indices ``place``."""
    return alpha - beta * (place * (2 * math.pi / last)).cos()


def hann(place: Tensor, last: int) -> Tensor:
    """Return the raised cosine window, which begins at 0, at the indices ``place``."""
    return hamming(place, last, 0.5, 0.5)


def kaiser(place: Tensor, last: int, beta: float) -> Tensor:
    """Return the window ``i0(beta * sqrt(1 - t**2)) / i0(beta)``, t from -1 to 1 (Kaiser, 1974), at the indices
    ``place``.
    """
    half = last / 2
    inside = 1 - ((place - half) / half).square()
    whole = place * 0 + beta
    return i0(inside.clamp_min(0).sqrt() * beta) / i0(whole)


def window_of(name: str, shape: Shape, length: int, options: TensorOptions, periodic: bool, *numbers: float) -> Tensor:
    """Return a window of ``length`` elements. A periodic window is the start of one that has one element more.

    Args:
        name: of the operator, for errors.
        shape: computes the window from the indices and the last index.
        length: how many elements.
        options: the dtype and device of the result.
        periodic: whether the window is periodic instead of symmetric.
        numbers: further arguments of ``shape``.

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
    return shape(place, last, *numbers) if length > 1 else ones_like(place)


def declare_window(name: str, shape: Shape) -> None:
    """Declare a window operator with two overloads: one takes ``periodic``, the other is always periodic."""

    @op(
        f"aten::{name}.periodic",
        overloads={"": Overload(fixed={"periodic": True}), "periodic": Overload()},
        kernel="CompositeExplicitAutograd",
    )
    def window(window_length: int, periodic: bool, *, options: TensorOptions) -> Tensor:
        return window_of(name, shape, window_length, options, periodic)


declare_window("bartlett_window", bartlett)
declare_window("blackman_window", blackman)
declare_window("hann_window", hann)


@op(
    "aten::hamming_window.periodic_alpha_beta",
    overloads={
        "": Overload(fixed={"periodic": True, "alpha": 0.54, "beta": 0.46}),
        "periodic": Overload(fixed={"alpha": 0.54, "beta": 0.46}),
        "periodic_alpha": Overload(fixed={"beta": 0.46}),
        "periodic_alpha_beta": Overload(),
    },
    kernel="CompositeExplicitAutograd",
)
def hamming_window(window_length: int, periodic: bool, alpha: float, beta: float, *, options: TensorOptions) -> Tensor:
    """Return the Hamming window ``alpha - beta * cos(2 pi i / N)``, periodic or symmetric."""
    return window_of("hamming_window", hamming, window_length, options, periodic, alpha, beta)


@op(
    "aten::kaiser_window.beta",
    overloads={
        "": Overload(fixed={"periodic": True, "beta": 12.0}),
        "periodic": Overload(fixed={"beta": 12.0}),
        "beta": Overload(),
    },
    kernel="CompositeExplicitAutograd",
)
def kaiser_window(window_length: int, periodic: bool, beta: float, *, options: TensorOptions) -> Tensor:
    """Return the Kaiser window, periodic or symmetric; the larger ``beta``, the narrower it is."""
    return window_of("kaiser_window", kaiser, window_length, options, periodic, beta)
