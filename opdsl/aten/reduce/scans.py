"""Sums, products, extrema and logarithms of sums of exponentials, of all elements so far along a dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from opdsl.aten.create.like_factories import ones_like
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.runtime import DType, Tensor, bool_
from opdsl.schema import Alias

# -------------------------------------------------------------------------------------------------- sums and products


@op(
    "aten::cumsum",
    variants="function, method",
    tags="core",
    device_check="NoCheck",
    inplace=Inplace(variants="method", device_check="ExactSame"),
    out=True,
)
def cumsum(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The sums of all elements so far; integers are summed as int64."""
    ...


@cumsum.scan(init=0, promote="sum", accumulators=("wide",))
def cumsum_combine(a, b):
    return a + b


@op(
    "aten::cumprod",
    variants="function, method",
    device_check="NoCheck",
    inplace=Inplace(variants="method", device_check="ExactSame"),
    out=True,
)
def cumprod(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The products of all elements so far; integers are multiplied as int64."""
    ...


@cumprod.scan(init=1, promote="sum", accumulators=("wide",))
def cumprod_combine(a, b):
    return a * b


# ----------------------------------------------------------------------------------------------------------- extrema


class Extrema(NamedTuple):
    """The extrema so far, and where they were met last."""

    values: Tensor
    indices: Tensor


def extremum_lift(x, index):
    return x, index


@op(
    "aten::cummax",
    variants="function, method",
    device_check="NoCheck",
    out=Out(args=("values", "indices"), explicit=True),
    structured=False,
)
def cummax(self: Tensor, dim: int) -> Extrema:
    """The largest element so far, NaN from the first one on, and the index of the last that equals it."""
    ...


@cummax.scan(
    "CompositeExplicitAutograd",
    init=(-math.inf, 0),
    lift=extremum_lift,
    accumulators=("value", "index"),
    results=("value", "index"),
)
def cummax_combine(a, at, b, later):
    takes = math.isnan(b) or (not math.isnan(a) and b >= a)
    return (b, later) if takes else (a, at)


@cummax.derivative("self")
def extrema_derivative(grad, self, indices, dim):
    return grad.new_zeros(self.shape).scatter_add_(dim, indices, grad)


@op("aten::_cummax_helper", kernel=True)
def _cummax_helper(
    self: Tensor, values: Tensor[Alias("a", write=True)], indices: Tensor[Alias("b", write=True)], dim: int
) -> None:
    """``cummax`` into given tensors."""
    cummax.variants["out"](self, dim, out=(values, indices))


@op(
    "aten::cummin",
    variants="function, method",
    device_check="NoCheck",
    out=Out(args=("values", "indices"), explicit=True),
    structured=False,
)
def cummin(self: Tensor, dim: int) -> Extrema:
    """The smallest element so far, NaN from the first one on, and the index of the last that equals it."""
    ...


@cummin.scan(
    "CompositeExplicitAutograd",
    init=(math.inf, 0),
    lift=extremum_lift,
    accumulators=("value", "index"),
    results=("value", "index"),
)
def cummin_combine(a, at, b, later):
    takes = math.isnan(b) or (not math.isnan(a) and b <= a)
    return (b, later) if takes else (a, at)


cummin.derivative("self")(extrema_derivative)


@op("aten::_cummin_helper", kernel=True)
def _cummin_helper(
    self: Tensor, values: Tensor[Alias("a", write=True)], indices: Tensor[Alias("b", write=True)], dim: int
) -> None:
    """``cummin`` into given tensors."""
    cummin.variants["out"](self, dim, out=(values, indices))


# --------------------------------------------------------------------------------- logarithms of sums of exponentials


@op("aten::_logcumsumexp", out=Out(explicit=True), structured=False)
def _logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(x)))``, without overflow."""
    ...


@_logcumsumexp.scan(init=-math.inf, promote="floating", accumulators=("wide",))
def logcumsumexp_combine(a, b):
    smallest, largest = (a, b) if a.real < b.real else (b, a)
    added = largest + math.log1p(math.exp(smallest - largest))
    return a if smallest.real == largest.real and math.isinf(smallest.real) else added


def from_the_end(scan: Callable[[Tensor, int], Tensor], tensor: Tensor, dim: int) -> Tensor:
    """A scan along a dimension that begins with its last element."""
    return scan(tensor.flip([dim]), dim).flip([dim]) if tensor.ndim else scan(tensor, dim)


@_logcumsumexp.derivative("self")
def logcumsumexp_derivative(grad, self, result, dim):
    if self.ndim == 0:
        return grad * (self - result).exp().conj()
    if is_grad_enabled():  # each element's share of each sum: what logarithms hide can be differentiated
        shares = self.movedim(dim, -1).unsqueeze(-1) - result.movedim(dim, -1).unsqueeze(-2)
        later = ones_like(shares, dtype=bool_).triu()
        weights = where(later, shares, -math.inf).exp().conj()
        return (weights * grad.movedim(dim, -1).unsqueeze(-2)).sum([-1]).movedim(-1, dim)
    # In logarithms, as exp(-result) alone would overflow; of real numbers positive and negative gradients apart.
    if grad.is_complex():
        return (from_the_end(logcumsumexp, grad.conj().log() - result, dim) + self).exp().conj()
    parts = []
    for signed in (grad, -grad):
        magnitudes = where(signed > 0, signed, 0.0).log()
        parts.append((from_the_end(logcumsumexp, magnitudes - result, dim) + self).exp())
    return parts[0] - parts[1]


@op("aten::logcumsumexp", kernel="CompositeExplicitAutograd", variants="function, method", out=Out(explicit=True))
@forward(_logcumsumexp)
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(x)))``, without overflow."""


logcumsumexp.derivative("self")(logcumsumexp_derivative)
