"""Cumulative reductions along a dimension: ``cumsum``, ``cumprod``, ``cummax``, ``cummin``, ``logcumsumexp``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from opdsl import primitives
from opdsl.aten._shared.entries import documented
from opdsl.aten._shared.scalars import plus, times
from opdsl.aten.create.like_factories import ones_like
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.reduce.extrema import ValuesAndIndices
from opdsl.declare import Inplace, Out, formula, forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.runtime import DType, Tensor, bool_
from opdsl.schema import Alias

# ---------------------------------------------------------------------------------------------------- sums and products

sums_so_far = primitives.scan(plus, init=0, promote="sum", accumulators=("wide",))
products_so_far = primitives.scan(times, init=1, promote="sum", accumulators=("wide",))


@op("aten::cumsum", variants="function, method", tags="core", inplace=Inplace(variants="method"), out=True)
@formula
def cumsum(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return the cumulative sums along a dimension; integers are summed as int64."""
    return sums_so_far(self, dim, dtype=dtype)


@op("aten::cumprod", variants="function, method", inplace=Inplace(variants="method"), out=True)
@formula
def cumprod(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return the cumulative products along a dimension; integers are multiplied as int64."""
    return products_so_far(self, dim, dtype=dtype)


# -------------------------------------------------------------------------------------------------------------- extrema


def later_largest(a: float, at: int, b: float, later: int) -> tuple[float, int]:
    takes = math.isnan(b) or (not math.isnan(a) and b >= a)
    return (b, later) if takes else (a, at)


def later_smallest(a: float, at: int, b: float, later: int) -> tuple[float, int]:
    takes = math.isnan(b) or (not math.isnan(a) and b <= a)
    return (b, later) if takes else (a, at)


def declare_extrema(name: str, text: str, worst: float, combine: Callable[..., tuple[float, int]]) -> None:
    """Declare the cumulative extrema with the last index of each, and the helper operator that writes them into
    tensors.

    Args:
        name: of the packet.
        text: "largest" or "smallest", for the docstring.
        worst: the initial value: ``-inf`` for the largest element.
        combine: returns the better of two elements with indices; of equal elements the second.
    """

    extrema_so_far = primitives.scan(
        combine,
        "CompositeExplicitAutograd",
        init=(worst, 0),
        lift=lambda x, index: (x, index),
        accumulators=("value", "index"),
        results=("value", "index"),
    )

    @op(f"aten::{name}", variants="function, method", out=Out(args=("values", "indices")))
    @documented(f"Return the cumulative {text} element, NaN from the first NaN on, and the last index of that element.")
    @formula
    def extrema(self: Tensor, dim: int) -> ValuesAndIndices:
        return cast("ValuesAndIndices", extrema_so_far(self, dim))

    @op(f"aten::_{name}_helper", kernel=True)
    @documented(f"Write the results of ``{name}`` into ``values`` and ``indices``.")
    def helper(
        self: Tensor,
        values: Tensor[Alias("a", write=True)],
        indices: Tensor[Alias("b", write=True)],
        dim: int,
    ) -> None:
        extrema.variants["out"](self, dim, out=(values, indices))

    extrema.derivative(
        self=lambda grad, self, indices, dim: grad.new_zeros(self.shape).scatter_add_(dim, indices, grad)
    )


declare_extrema("cummax", "largest", -math.inf, later_largest)
declare_extrema("cummin", "smallest", math.inf, later_smallest)


# ----------------------------------------------------------------------------------- logarithms of sums of exponentials


def logcumsumexp_combine(a: Any, b: Any) -> Any:
    smallest, largest = (a, b) if a.real < b.real else (b, a)
    added = largest + math.log1p(math.exp(smallest - largest))
    return a if smallest.real == largest.real and math.isinf(smallest.real) else added


logarithms_so_far = primitives.scan(logcumsumexp_combine, init=-math.inf, promote="floating", accumulators=("wide",))


@op("aten::_logcumsumexp", out=True)
@formula
def _logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(self), dim))``, without overflow."""
    return logarithms_so_far(self, dim)


def from_the_end(scan: Callable[[Tensor, int], Tensor], tensor: Tensor, dim: int) -> Tensor:
    """Compute a scan along a dimension from its last element to its first."""
    return scan(tensor.flip([dim]), dim).flip([dim]) if tensor.ndim else scan(tensor, dim)


@_logcumsumexp.derivative("self")
def logcumsumexp_derivative(grad, self, result, dim):
    if self.ndim == 0:
        return grad * (self - result).exp().conj()
    if is_grad_enabled():  # the weight of each element in each sum, which unlike the logarithms below is differentiable
        shares = self.movedim(dim, -1).unsqueeze(-1) - result.movedim(dim, -1).unsqueeze(-2)
        later = ones_like(shares, dtype=bool_).triu()
        weights = where(later, shares, -math.inf).exp().conj()
        return (weights * grad.movedim(dim, -1).unsqueeze(-2)).sum([-1]).movedim(-1, dim)
    # Compute with logarithms, as exp(-result) could overflow; positive and negative real gradients separately.
    if grad.is_complex():
        return (from_the_end(logcumsumexp, grad.conj().log() - result, dim) + self).exp().conj()
    parts = []
    for signed in (grad, -grad):
        magnitudes = where(signed > 0, signed, 0.0).log()
        parts.append((from_the_end(logcumsumexp, magnitudes - result, dim) + self).exp())
    return parts[0] - parts[1]


@op("aten::logcumsumexp", kernel="CompositeExplicitAutograd", variants="function, method", out=True)
@forward(_logcumsumexp)
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(self), dim))``, without overflow."""


logcumsumexp.derivative("self")(logcumsumexp_derivative)
