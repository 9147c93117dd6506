"""Correct declarations that need no plugin: aliases as ``Annotated``, sizes as ``Annotated[IntList, Size(n)]``."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Annotated, NamedTuple

import opdsl
from opdsl import Alias, IntList, Library, Scalar, Size, Tensor, op

lib = Library("typing_plain")

Written = Annotated[Tensor, Alias("a", write=True)]


class Extremes(NamedTuple):
    """Named results of an operator."""

    low: Tensor
    high: Tensor


@op("typing_plain::scaled")
def scaled(self: Tensor, factor: float = 1.0, *, power: Scalar = 1) -> Tensor:
    """``factor * self ** power``"""
    return self.pow(power) * factor


@lib.op
def scaled_(self: Written, factor: float) -> Written:
    """Scale in place."""
    ...


@scaled_.kernel("CPU")
def scaled_kernel(self: Tensor, factor: float) -> Tensor:
    return self.copy_(self * factor)


@lib.op
def first(self: Annotated[Tensor, Alias("a")]) -> Annotated[Tensor, Alias("a")]:
    """Return the first element along dimension 0 as a view."""
    return self[0]


@lib.op
def extremes(self: Tensor) -> Extremes:
    """Return the smallest and the largest element."""
    return Extremes(self.amin(), self.amax())


@lib.op
def pooled(self: Tensor, size: Annotated[IntList, Size(2)]) -> Tensor:
    """Pool windows whose size is one int or two."""
    ...


@pooled.kernel("CPU")
def pooled_kernel(self: Tensor, size: tuple[int, ...]) -> Tensor:
    return self[: size[0], : size[1]].clone()


@scaled.overload("Tensor")
def scaled_tensor(self: Tensor, factor: Tensor) -> Tensor:
    """Scale by a tensor."""
    return self * factor


x = opdsl.ones(3, 2)
assert scaled(x, 2.0, power=2).tolist() == [[2.0, 2.0]] * 3
assert scaled_(x.clone(), 2.0).shape == (3, 2)
assert first(x).shape == (2,)
assert extremes(x).low.item() == 1.0
assert pooled(x, 1).shape == pooled(x, [1, 1]).shape == (1, 1)
assert scaled_tensor(x, x).shape == scaled.variants["functional"](x).shape
assert str(scaled.schema).startswith("typing_plain::scaled(")
