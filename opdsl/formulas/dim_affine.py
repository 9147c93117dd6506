"""Indices that are affine functions of dims, and reads of tensors at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opdsl.formulas.dim_sources import Source


class Affine(NamedTuple):
    """Index that is an affine function of dims: ``offset`` plus the sum of ``coefficient * index`` over dims.

    coefficients: of each dim that it depends on.
    offset: the constant term.
    """

    coefficients: Mapping[Any, int]
    offset: int

    def plus(self, other: Affine, factor: int) -> Affine:
        """Return ``self + factor * other``."""
        sums = dict(self.coefficients)
        for dim, coefficient in other.coefficients.items():
            sums[dim] = sums.get(dim, 0) + factor * coefficient
        return Affine(sums, self.offset + factor * other.offset)


class Line(NamedTuple):
    """Affine index along one dimension of a tensor.

    at: the index.
    is_padded: whether out-of-bounds elements are zeros; otherwise no index is out of bounds.
    """

    at: Affine
    is_padded: bool


class Windows(NamedTuple):
    """Read of a tensor at affine indices.

    source: the tensor, with its version at the time of the read.
    copied: the elements that were read, with their version.
    labels: for each of its dimensions the ``Dim`` or the ``Line`` at which it is read; None for a positional dimension.
    """

    source: Source
    copied: Source
    labels: tuple[Any, ...]
