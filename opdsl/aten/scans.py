"""Sums, products, extrema and logarithms of sums of exponentials, of all elements so far along a dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from opdsl.aten.comparison import where
from opdsl.aten.joining import cat
from opdsl.declare import Inplace, Out, op
from opdsl.dispatch import is_grad_enabled
from opdsl.runtime import DType, Tensor
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


@cumsum.derivative("self")
def cumsum_derivative(grad, dim):
    return from_the_end(cumsum, grad, dim)


def from_the_end(scan: Callable[[Tensor, int], Tensor], tensor: Tensor, dim: int) -> Tensor:
    """A scan along a dimension that begins with its last element."""
    return scan(tensor.flip([dim]), dim).flip([dim]) if tensor.ndim else scan(tensor, dim)


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


@cumprod.derivative("self")
def cumprod_derivative(grad, self, result, dim):
    self = self.to(grad.dtype)
    if self.ndim == 0:
        return grad
    if not bool((self == 0).any()) and not is_grad_enabled():
        return from_the_end(cumsum, grad * result.conj(), dim) / self.conj()
    # Where an element is 0 the quotient is none: what stands before it times what follows, element by element.
    factors, size = self.conj(), self.shape[dim]
    found, before = [], grad.narrow(dim, 0, min(size, 1)) * 0 + 1
    for at in range(size):
        after = grad.narrow(dim, at, 1)
        if at + 1 < size:
            products = cumprod(factors.narrow(dim, at + 1, size - at - 1), dim)
            after = after + (grad.narrow(dim, at + 1, size - at - 1) * products).sum([dim], True)
        found.append(before * after)
        before = before * factors.narrow(dim, at, 1)
    return cat(found, dim) if found else grad


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
    return grad.new_zeros(self.shape).scatter_add(dim, indices, grad)


@op("aten::_cummax_helper")
def _cummax_helper(
    self: Tensor, values: Tensor[Alias("a", write=True)], indices: Tensor[Alias("b", write=True)], dim: int
) -> None:
    """``cummax`` into given tensors."""
    ...


@_cummax_helper.kernel("CPU", "Meta")
def cummax_helper_kernel(self, values, indices, dim):
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


@op("aten::_cummin_helper")
def _cummin_helper(
    self: Tensor, values: Tensor[Alias("a", write=True)], indices: Tensor[Alias("b", write=True)], dim: int
) -> None:
    """``cummin`` into given tensors."""
    ...


@_cummin_helper.kernel("CPU", "Meta")
def cummin_helper_kernel(self, values, indices, dim):
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


@_logcumsumexp.derivative("self")
def logcumsumexp_derivative(grad, self, result, dim):
    if grad.is_complex():
        weights = grad * (-result).exp().conj()
        return from_the_end(cumsum, weights, dim) * self.exp().conj()
    # In logarithms, positive and negative gradients apart: exp(-result) alone would overflow.
    parts = []
    for signed in (grad, -grad):
        magnitudes = where(signed > 0, signed, 0.0).log()
        parts.append((from_the_end(logcumsumexp, magnitudes - result, dim) + self).exp())
    return parts[0] - parts[1]


@op("aten::logcumsumexp", variants="function, method")
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(x)))``, without overflow."""
    ...


@logcumsumexp.kernel("CompositeExplicitAutograd")
def logcumsumexp_kernel(self, dim):
    return _logcumsumexp(self, dim)


logcumsumexp.derivative("self")(logcumsumexp_derivative)


@logcumsumexp.out_variant()
def logcumsumexp_out(self: Tensor, dim: int, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """``logcumsumexp`` into a given tensor."""
    ...


@logcumsumexp_out.kernel("CompositeExplicitAutograd")
def logcumsumexp_out_kernel(self, dim, out):
    return _logcumsumexp.variants["out"](self, dim, out=out)
