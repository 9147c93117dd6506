"""Indices that are drawn with given probabilities."""

from __future__ import annotations

import math

from opdsl.aten.create.distributions import rand
from opdsl.aten.create.factories import empty, give_size
from opdsl.aten.index.sorted_positions import places_above
from opdsl.aten.index.sorting import first_places_along
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check, holds
from opdsl.runtime import Generator, Tensor, float64, int64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt


@op("aten::multinomial", kernel=True, variants="method, function", tags="nondeterministic_seeded")
def multinomial(
    self: Tensor, num_samples: SymInt, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with the probabilities that a row of ``self`` is proportional to, for each row."""
    check_sampled(self, num_samples, replacement)
    made = empty((*self.shape[:-1], num_samples), dtype=int64, device=self.device)
    return draw_into(made, self, replacement, generator)


@multinomial.overload("out", kernel=True, tags="nondeterministic_seeded")
def multinomial_out(
    self: Tensor,
    num_samples: SymInt,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor[Alias("a", write=True)],
) -> Tensor[Alias("a", write=True)]:
    """``multinomial`` into a given tensor."""
    if out.dtype is not int64:
        raise DTypeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_type}")
    check_sampled(self, num_samples, replacement)
    give_size(out, (*self.shape[:-1], num_samples))
    return draw_into(out, self, replacement, generator)


def check_sampled(self: Tensor, num_samples: int, replacement: bool) -> None:
    """That so many samples can be drawn.

    Raises:
        ShapeError: they cannot. DTypeError: probabilities are no floating-point numbers.
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
    """``multinomial`` into a tensor of the right shape."""
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
    """Where uniform numbers fall among the cumulated weights."""
    weights = weights / weights.amax([1], True)
    # A weight of 0 takes no room, also where the sums before and behind it were rounded otherwise.
    sums = weights.cumsum(1).where(weights > 0, 0).cummax(1)[0]
    numbers = rand((weights.shape[0], count), dtype=float64, device=weights.device, generator=generator)
    # They are below 1 by so much that no product is rounded up to the last sum.
    return places_above(sums, numbers * sums.narrow(1, weights.shape[1] - 1, 1))


def _without(weights: Tensor, count: int, generator: Generator | None) -> Tensor:
    """The first arrivals of exponential clocks whose rates are the weights (P. Efraimidis and P. Spirakis, 2006)."""
    clocks = empty(weights.shape, dtype=float64, device=weights.device).exponential_(generator=generator)
    return first_places_along(clocks / weights, count, 1)
