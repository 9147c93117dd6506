"""Random numbers that are found by trial and error: NumPy draws them, with a key from the generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opdsl.aten.create.factories import empty
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.create.normal import all_hold
from opdsl.aten.special.implicit_gradients import _dirichlet_grad, _standard_gamma_grad
from opdsl.declare import op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, step
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Generator, Tensor, cpu, float64, int64
from opdsl.runtime.limits import finfo

Array = numpy.ndarray[Any, Any]

SEEDED = "nondeterministic_seeded"

EXACT = 2.0**53
"""Up to where float64 holds all integers; beyond it numbers of events are as good as normally distributed."""


def require_kernel(name: str, self: Tensor) -> None:
    """That numbers are drawn for a dtype.

    Raises:
        UnsupportedDTypeError: they are not.
    """
    if not self.dtype.is_floating_point:
        raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{self.dtype.scalar_type}'")


def drawn(draw: Callable[..., None], generator: Generator | None, first: Tensor, *others: Tensor) -> Tensor:
    """Random numbers for parameters of one shape, of the dtype of the first one.

    Args:
        draw: a step that takes a key, the parameters in double precision, and where to write.
        generator: None for the default one of the device.
    """
    key = empty((2,), dtype=int64, device=first.device).random_(generator=generator)
    if first.is_meta:
        return first.new_empty(first.shape)
    found = empty(first.shape, dtype=float64)
    draw(key.to(cpu), *(each.to(cpu).to(float64).contiguous() for each in (first, *others)), found)
    made: Tensor = found.to(first.device).to(first.dtype, copy=True)
    return made


def numpys(key: Array) -> numpy.random.Generator:
    """NumPy's generator of a key."""
    return numpy.random.Generator(numpy.random.Philox(key=numpy.asarray(key).view(numpy.uint64)))


# ------------------------------------------------------------------------------------------------ numbers of events


@step
def draw_poisson(key: Array, rates: Array, out: Array) -> None:
    source = numpys(key)
    usual = rates <= EXACT
    out[...] = source.poisson(numpy.where(usual, rates, 0.0))
    with numpy.errstate(invalid="ignore"):
        out[~usual] = (rates + numpy.sqrt(rates) * source.standard_normal(rates.shape))[~usual]


@op("aten::poisson", kernel=True, device_check="NoCheck", tags=SEEDED, autogen="poisson.out")
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of events whose mean numbers are the elements of a tensor."""
    require_kernel("poisson_cpu", self)
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


@op("aten::binomial", kernel=True, device_check="NoCheck", tags=SEEDED, autogen="binomial.out")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of trials out of ``count`` that succeed, each with the probability ``prob``."""
    for name, each in (("count", count), ("prob", prob)):
        if not each.dtype.is_floating_point:
            raise DTypeError(f"binomial only supports floating-point dtypes for {name}, got: {each.dtype.scalar_type}")
    if count.dtype is not prob.dtype:
        raise DTypeError(f"binomial: expected count and prob of one dtype, got {count.dtype} and {prob.dtype}")
    shape = broadcast(count.shape, prob.shape)
    return drawn(draw_binomial, generator, count.expand(shape), prob.expand(shape))


binomial.derivative("count")(zero_derivative)
binomial.derivative("prob")(zero_derivative)


# --------------------------------------------------------------------------------------------------- gamma, Dirichlet


@step
def draw_gamma(key: Array, shapes: Array, out: Array) -> None:
    with numpy.errstate(invalid="ignore"):
        fits = (shapes >= 0) & numpy.isfinite(shapes)
    # To NumPy -0.0 is below 0.
    taken = numpy.where(fits, numpy.abs(shapes), 0.0)
    out[...] = numpy.where(fits, numpys(key).standard_gamma(taken), shapes * numpy.nan)


@op("aten::_standard_gamma", kernel=True, tags=SEEDED, autogen="_standard_gamma.out")
def _standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma distributed numbers, whose shape parameters are the elements of a tensor."""
    require_kernel("gamma_cpu", self)
    return drawn(draw_gamma, generator, self).clamp_(min=finfo(self.dtype).tiny)


_standard_gamma.derivative(self=lambda grad, self, result: grad * _standard_gamma_grad(self, result))


@op("aten::_sample_dirichlet", kernel=True, tags=SEEDED, autogen="_sample_dirichlet.out")
def _sample_dirichlet(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Dirichlet distributed numbers: those along the last dimension are positive, and their sum is 1."""
    require_kernel("dirichlet", self)
    check(self.ndim > 0, "_sample_dirichlet: expected parameters along a dimension", got=self.shape)
    found = drawn(draw_gamma, generator, self.to(float64)).clamp_(min=finfo(float64).tiny)
    info = finfo(self.dtype)
    return (found / found.sum(-1, keepdim=True)).to(self.dtype).clamp(info.tiny, 1 - info.eps / 2)


@_sample_dirichlet.derivative("self")
def sample_dirichlet_derivative(grad, self, result):
    total = self.sum(-1, keepdim=True).expand(self.shape)
    inner = (result * grad).sum(-1, keepdim=True)
    return _dirichlet_grad(result, self, total) * (grad - inner)
