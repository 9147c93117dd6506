"""Random numbers that need rejection sampling, drawn by NumPy with a key from the generator; and ``multinomial``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from opdsl.aten._shared.checks import require_kernel
from opdsl.aten.create.distributions import all_hold, rand
from opdsl.aten.create.factories import empty, of_size
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.index.sorted_positions import places_above
from opdsl.aten.index.sorting import first_places_along
from opdsl.aten.special.implicit_gradients import _dirichlet_grad, _standard_gamma_grad
from opdsl.declare import Out, op
from opdsl.errors import DTypeError
from opdsl.kernels import check, holds, step
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Generator, Tensor, cpu, float64, int64
from opdsl.runtime.limits import finfo
from opdsl.schema.vocabulary import SymInt, TensorOptions

Array = numpy.ndarray[Any, Any]

SEEDED = "nondeterministic_seeded"

EXACT = 2.0**53
"""Largest count up to which float64 holds all integers; larger counts of events are drawn from a normal
distribution.
"""


def drawn(draw: Callable[..., None], generator: Generator | None, first: Tensor, *others: Tensor) -> Tensor:
    """Draw random numbers on the host with NumPy, one for each element of the parameter tensors.

    Args:
        draw: a step that takes a key, the parameters in double precision, and the array to write.
        generator: provides the key; None for the default generator of the device.
        first, others: the parameters of the distribution, tensors of one shape.

    Returns:
        A tensor with the shape, dtype and device of ``first``.
    """
    key = empty((2,), dtype=int64, device=first.device).random_(generator=generator)
    if first.is_meta:
        return first.new_empty(first.shape)
    numbers = empty(first.shape, dtype=float64)
    draw(key.to(cpu), *(parameter.to(cpu).to(float64).contiguous() for parameter in (first, *others)), numbers)
    sample: Tensor = numbers.to(first.device).to(first.dtype, copy=True)
    return sample


def numpys(key: Array) -> numpy.random.Generator:
    """Return a NumPy random generator that is seeded with a key of two int64 numbers."""
    return numpy.random.Generator(numpy.random.Philox(key=numpy.asarray(key).view(numpy.uint64)))


# ---------------------------------------------------------------------------------------------------- numbers of events


@step
def draw_poisson(key: Array, rates: Array, out: Array) -> None:
    source = numpys(key)
    usual = rates <= EXACT
    out[...] = source.poisson(numpy.where(usual, rates, 0.0))
    with numpy.errstate(invalid="ignore"):
        out[~usual] = (rates + numpy.sqrt(rates) * source.standard_normal(rates.shape))[~usual]


@op("aten::poisson", kernel=True, tags=SEEDED)
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return Poisson distributed counts whose means are the elements of ``self``."""
    require_kernel(self.dtype.is_floating_point, "poisson_cpu", self.dtype)
    check(all_hold(self >= 0), "invalid Poisson rate, expected rate to be non-negative")
    return drawn(draw_poisson, generator, self)


poisson.derivative("self")(zero_derivative)


@step
def draw_binomial(key: Array, counts: Array, chances: Array, out: Array) -> None:
    source = numpys(key)
    chance = numpy.clip(numpy.nan_to_num(chances), 0.0, 1.0)
    usual = counts <= EXACT
    out[...] = source.binomial(numpy.where(usual, numpy.maximum(counts, 0.0), 0.0).astype(numpy.int64), chance)
    with numpy.errstate(invalid="ignore"):
        spread = numpy.sqrt(counts * chance * (1 - chance)) * source.standard_normal(counts.shape)
        out[~usual] = (counts * chance + spread)[~usual]
    out[(chances >= 1) & (counts > 0)] = counts[(chances >= 1) & (counts > 0)]
    out[numpy.isnan(chances) & (counts > 0)] = numpy.nan


@op("aten::binomial", kernel=True, tags=SEEDED)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Return how many out of ``count`` trials succeed, each of them with the probability ``prob``."""
    for name, parameter in (("count", count), ("prob", prob)):
        if not parameter.dtype.is_floating_point:
            raise DTypeError(
                f"binomial only supports floating-point dtypes for {name}, got: {parameter.dtype.scalar_type}"
            )
    if count.dtype is not prob.dtype:
        raise DTypeError(f"binomial: expected count and prob of one dtype, got {count.dtype} and {prob.dtype}")
    shape = broadcast(count.shape, prob.shape)
    return drawn(draw_binomial, generator, count.expand(shape), prob.expand(shape))


binomial.derivative("count")(zero_derivative)
binomial.derivative("prob")(zero_derivative)


# ----------------------------------------------------------------------------------------------------- gamma, Dirichlet


@step
def draw_gamma(key: Array, shapes: Array, out: Array) -> None:
    with numpy.errstate(invalid="ignore"):
        fits = (shapes >= 0) & numpy.isfinite(shapes)
    # NumPy rejects -0.0 as negative.
    taken = numpy.where(fits, numpy.abs(shapes), 0.0)
    out[...] = numpy.where(fits, numpys(key).standard_gamma(taken), shapes * numpy.nan)


@op("aten::_standard_gamma", kernel=True, tags=SEEDED)
def _standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return gamma distributed numbers of scale 1, whose shape parameters are the elements of ``self``."""
    require_kernel(self.dtype.is_floating_point, "gamma_cpu", self.dtype)
    return drawn(draw_gamma, generator, self).clamp_(min=finfo(self.dtype).tiny)


_standard_gamma.derivative(self=lambda grad, self, result: grad * _standard_gamma_grad(self, result))


@op("aten::_sample_dirichlet", kernel=True, tags=SEEDED)
def _sample_dirichlet(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return Dirichlet distributed vectors, whose concentrations are along the last dimension of ``self``; each sums to
    1.
    """
    require_kernel(self.dtype.is_floating_point, "dirichlet", self.dtype)
    check(self.ndim > 0, "_sample_dirichlet: expected parameters along a dimension", got=self.shape)
    gammas = drawn(draw_gamma, generator, self.to(float64)).clamp_(min=finfo(float64).tiny)
    info = finfo(self.dtype)
    return (gammas / gammas.sum(-1, keepdim=True)).to(self.dtype).clamp(info.tiny, 1 - info.eps / 2)


@_sample_dirichlet.derivative("self")
def sample_dirichlet_derivative(grad, self, result):
    total = self.sum(-1, keepdim=True).expand(self.shape)
    inner = (result * grad).sum(-1, keepdim=True)
    return _dirichlet_grad(result, self, total) * (grad - inner)


# ---------------------------------------------------------------------------------------------------------- multinomial


@op("aten::multinomial", kernel=True, variants="method, function", tags=SEEDED, out=Out(tags=SEEDED))
def multinomial(
    self: Tensor,
    num_samples: SymInt,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return ``num_samples`` random indices for each row of ``self``, which holds the weights of the indices."""
    if out is not None and out.dtype is not int64:
        raise DTypeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_type}")
    check_sampled(self, num_samples, replacement)
    shape = (*self.shape[:-1], num_samples)
    output = of_size(shape, TensorOptions(dtype=int64, device=self.device), out)
    return draw_into(output, self, replacement, generator)


def check_sampled(self: Tensor, num_samples: int, replacement: bool) -> None:
    """Check that ``multinomial`` can draw ``num_samples`` indices from the weights ``self``.

    Raises:
        ShapeError: the shape of ``self`` or the number of samples does not fit.
        DTypeError: the weights are no floating-point numbers.
    """
    check(0 < self.ndim <= 2, "prob_dist must be 1 or 2 dim")
    check(num_samples > 0, "cannot sample n_sample <= 0 samples")
    check(
        replacement or num_samples <= self.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    if not self.dtype.is_floating_point:
        raise DTypeError(f"multinomial only supports floating-point dtypes for input, got: {self.dtype.scalar_type}")


def draw_into(out: Tensor, self: Tensor, replacement: bool, generator: Generator | None) -> Tensor:
    """Draw the indices of ``multinomial`` into ``out``, which has the right shape, and return it."""
    if self.is_meta or out.numel() == 0:
        return out
    weights = self.to(float64).reshape((-1, self.shape[-1]))
    check(
        holds((weights >= 0).logical_and(weights < math.inf).all()),
        "probability tensor contains either `inf`, `nan` or element < 0",
    )
    check(holds((weights.sum([1]) > 0).all()), "invalid multinomial distribution (sum of probabilities <= 0)")
    drawn = _with_replacement if replacement else _without
    return out.copy_(drawn(weights, out.shape[-1], generator).reshape(out.shape))


def _with_replacement(weights: Tensor, count: int, generator: Generator | None) -> Tensor:
    """Draw ``count`` indices for each row by searching uniform numbers in the cumulative sums of the weights."""
    weights = weights / weights.amax([1], True)
    # An index of weight 0 gets an empty interval, also where rounding made the sums around it differ.
    sums = weights.cumsum(1).where(weights > 0, 0).cummax(1)[0]
    numbers = rand((weights.shape[0], count), dtype=float64, device=weights.device, generator=generator)
    # The numbers are so far below 1 that no product is rounded up to the last sum.
    return places_above(sums, numbers * sums.narrow(1, weights.shape[1] - 1, 1))


def _without(weights: Tensor, count: int, generator: Generator | None) -> Tensor:
    """Draw ``count`` different indices for each row: those of the smallest exponential variates whose rates are the
    weights (P. Efraimidis and P. Spirakis, 2006).
    """
    clocks = empty(weights.shape, dtype=float64, device=weights.device).exponential_(generator=generator)
    return first_places_along(clocks / weights, count, 1)
