"""Correct declarations, which mypy accepts and which also run."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import opdsl
from opdsl import Alias, Bools, Ints, Library, Scalar, Tensor, op

lib = Library("typing_pass")


@op("typing_pass::bare")
def bare(self: Tensor, n: int) -> Tensor: ...


@lib.op
def documented(self: Tensor) -> Tensor:
    """Have a docstring and no other body."""
    ...


@opdsl.op("typing_pass::qualified")
def qualified(self: Tensor) -> tuple[Tensor, Tensor]: ...


@lib.op
def add_(
    self: Tensor[Alias("a", write=True)], other: Tensor, *, alpha: Scalar = 1
) -> Tensor[Alias("a", write=True)]: ...


@lib.op
def chunk(self: Tensor[Alias("a", after="*")], chunks: int, dim: int = 0) -> list[Tensor[Alias("a")]]: ...


@lib.op
def pair(self: Tensor[Alias("a")] | None) -> tuple[Tensor[Alias("a")], int]: ...


@lib.op
def annotated(self: Annotated[Tensor, Alias("a")]) -> Annotated[Tensor, Alias("a")]: ...


@lib.op
def sized(self: Tensor, size: Ints[2], mask: Bools[3] | None = None) -> Tensor: ...


class Extremes(NamedTuple):
    """Named results of an operator."""

    values: Tensor
    indices: Tensor


@lib.op
def extremes(self: Tensor) -> Extremes: ...


@bare.overload("Scalar")
def bare_scalar(self: Tensor, n: Scalar) -> Tensor: ...


def local() -> None:
    """Declare an operator inside a function."""

    @lib.op("inner")
    def inner(self: Tensor) -> Tensor: ...


def uses(x: Tensor[Alias("a")]) -> list[Tensor]:
    """Use annotations of operators in a function that is not an operator."""
    y: Tensor[Alias("a")] = x
    z: list[Tensor[Alias("a")]] = [y]
    return z
