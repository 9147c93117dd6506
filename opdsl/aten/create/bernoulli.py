"""Coin tosses."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.factories import give_size
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.create.like_factories import empty_like
from opdsl.aten.create.normal import all_hold
from opdsl.aten.pointwise.comparison import ge, le
from opdsl.declare import op, traceable
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.runtime import Generator, Tensor
from opdsl.schema import Alias

COIN: dict[str, Any] = {"tags": "nondeterministic_seeded", "device_check": "NoCheck"}


@op(
    "aten::bernoulli_.Tensor",
    variants="method",
    autogen="bernoulli.Tensor, bernoulli.Tensor_out",
)
def bernoulli_(
    self: Tensor[Alias("a", write=True)], p: Tensor, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with 1 where a trial with the probability of ``p``'s element succeeds, with 0 elsewhere."""
    ...


def succeeds(u, p):
    return u < p


bernoulli_.random(from_zero="u")(succeeds)


@bernoulli_.meta
def bernoulli_meta(ctx, self, p):
    refused = self if self.dtype.is_complex else p
    if self.dtype.is_complex or not p.dtype.is_floating_point:
        raise UnsupportedDTypeError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{refused.dtype.scalar_type}'")
    p.expand(self.shape)
    check(all_hold(ge(p, 0)) and all_hold(le(p, 1)), "Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


@bernoulli_.overload("float", variants="method", autogen="bernoulli.float_out")
def bernoulli_float_(
    self: Tensor[Alias("a", write=True)], p: float = 0.5, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with 1 where a trial with the probability ``p`` succeeds, with 0 elsewhere."""
    ...


bernoulli_float_.random(from_zero="u")(succeeds)


@bernoulli_float_.meta
def bernoulli_float_meta(ctx, self, p):
    check(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    if self.dtype.is_complex:
        raise UnsupportedDTypeError(f"\"bernoulli_scalar_cpu_\" not implemented for '{self.dtype.scalar_type}'")


@op("aten::bernoulli", kernel="CompositeExplicitAutograd", variants="function, method", **COIN)
@traceable
def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 where a trial with the probability of the element succeeds, 0 elsewhere."""
    return empty_like(self).bernoulli_(self, generator=generator)


bernoulli.sharding(elementwise=True)


bernoulli.derivative("self")(zero_derivative)


@bernoulli.overload("out", kernel=True, **COIN)
def bernoulli_out(
    self: Tensor, *, generator: Generator | None = None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """``bernoulli`` into a given tensor."""
    give_size(out, self.shape)
    return out.bernoulli_(self, generator=generator)


@bernoulli.overload("p", kernel="CompositeExplicitAutogradNonFunctional", variants="function, method", **COIN)
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """1 where a trial with the probability ``p`` succeeds, 0 elsewhere, in the form of a tensor."""
    return empty_like(self).bernoulli_(p, generator=generator)


bernoulli_p.sharding(elementwise=True)


bernoulli_p.derivative("self")(zero_derivative)
