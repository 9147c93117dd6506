"""Correct formulas: their bodies are typed Python, and the result of ``op`` has their parameters."""

from __future__ import annotations

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("typed_formulas")


def positive(x: Tensor) -> Tensor:
    return x if x > 0 else opdsl.tensor(0.0)


@lib.op(variants="function, method", inplace=True, out=True)
@formula
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    z = beta * self
    return (opdsl.clamp_min(z, 0.0) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@lib.op
@formula
def elu(self: Tensor, alpha: float = 1.0) -> Tensor:
    if self > 0:
        return self
    return alpha * (opdsl.exp(self) - 1)


@lib.op
@formula
def softmax(self: Tensor, dim: int) -> Tensor:
    e = opdsl.exp(self - self.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


@lib.op
@formula
def scaled(self: Tensor, weight: Tensor | None = None, mode: str = "mean") -> tuple[Tensor, Tensor]:
    x = self if weight is None else self * weight
    total = positive(x) if mode == "mean" else smooth_relu(x, 2.0)
    while (total > 1) and mode != "none":
        total = total / 2
    return total, softmax(total, -1)


first, second = scaled(opdsl.ones(2, 3), mode="rms")
elu(first, alpha=2.0)


@lib.op
@opdsl.formula
def halved(self: Tensor, mode: str = "exact") -> Tensor:
    return self / 2


@halved.formula(dtypes="integer", when={"mode": "exact"})
def halved_integer(self: Tensor) -> Tensor:
    return self.floor_divide(2)


@halved.formula(dtypes=("floating", "complex"), when={"mode": "squared"})
def halved_squared(self: Tensor, mode: str) -> Tensor:
    return self * self / len(mode)


halved(first, "squared")
