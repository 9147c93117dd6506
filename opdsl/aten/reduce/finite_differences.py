"""``gradient``: derivatives of sampled functions, by differences of second order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from opdsl.aten.reduce.differences import diff
from opdsl.aten.shape.joining import cat
from opdsl.declare import op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, uint8, wrap_dimension
from opdsl.schema.vocabulary import Scalar


def gradients(
    self: Tensor, spacing: Sequence[Any] | None, dims: int | Sequence[int] | None, edge_order: int
) -> list[Tensor]:
    """The derivatives along dimensions, all of them by default.

    Args:
        self: the samples.
        spacing: for each dimension the distance of samples, or a vector of where they are; None for 1.
        dims: the dimensions.
        edge_order: how exact the first and the last derivative are.

    Raises:
        ShapeError, DimensionError, UnsupportedDTypeError: the arguments do not fit.
    """
    if self.dtype is uint8:
        raise UnsupportedDTypeError("torch.gradient does not support uint8 input.")
    along = list(range(self.ndim)) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    check(
        spacing is None or len(spacing) == len(along),
        "torch.gradient expected spacing to be unspecified, a scalar, or a list of one element for each dimension "
        f"({len(along)}), but got a list of length {len(spacing or ())}",
    )
    check(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    wrapped = [wrap_dimension(each, self.ndim) for each in along]
    check(len(set(wrapped)) == len(wrapped), f"torch.gradient: a dimension appears multiple times in {along}")
    for each in wrapped:
        size = self.shape[each] if self.ndim else 1
        check(size > edge_order, "torch.gradient expected each dimension size to be at least edge_order+1", got=size)
    parts = zip(wrapped, repeat(1) if spacing is None else spacing, strict=spacing is not None)
    return [
        by_places(self, each, given, edge_order) if isinstance(given, Tensor) else even(self, each, given, edge_order)
        for each, given in parts
    ]


def even(self: Tensor, dim: int, distance: complex, edge_order: int) -> Tensor:
    """The derivative from samples at one distance."""
    count = self.shape[dim]
    one, two, three = (self.narrow(dim, each, 1) for each in (0, 1, min(2, count - 1)))
    third, second, last = (self.narrow(dim, max(count - each, 0), 1) for each in (3, 2, 1))
    if edge_order == 1:
        before, after = two - one, last - second
    else:
        before = -1.5 * one + 2 * two - 0.5 * three
        after = 0.5 * third - 2 * second + 1.5 * last
    center = (self.narrow(dim, 2, count - 2) - self.narrow(dim, 0, count - 2)) / distance / 2
    return cat([before / distance, center, after / distance], dim)


def by_places(self: Tensor, dim: int, places: Tensor, edge_order: int) -> Tensor:
    """The derivative from samples at places.

    Raises:
        ShapeError: there is not one place for each sample.
    """
    count = self.shape[dim]
    check(
        places.ndim == 1,
        "torch.gradient expected each element of spacing to have one dimension, but got an element with "
        f"{places.ndim} dimensions",
    )
    check(
        places.shape[0] == count,
        f"torch.gradient expected as many coordinates as there are samples along dimension {dim} ({count})",
        got=places.shape[0],
    )
    steps = diff(places, 1, 0)
    shape = [1] * self.ndim
    shape[dim] = -1
    near, far = steps[:-1].reshape(shape), steps[1:].reshape(shape)
    terms = zip(second_order(near, far), range(3), strict=True)
    center = sum_of(weight * self.narrow(dim, at, count - 2) for weight, at in terms)
    if edge_order == 1:
        before = (self.narrow(dim, 1, 1) - self.narrow(dim, 0, 1)) / steps[0]
        after = (self.narrow(dim, count - 1, 1) - self.narrow(dim, count - 2, 1)) / steps[-1]
    else:
        before = sum_of(
            w * self.narrow(dim, at, 1) for w, at in zip(at_edge(steps[0], steps[1]), range(3), strict=True)
        )
        weights = zip(at_edge(steps[-1], steps[-2]), range(3), strict=True)
        after = -sum_of(weight * self.narrow(dim, count - 1 - at, 1) for weight, at in weights)
    return cat([before, center, after], dim)


def second_order(near: Tensor, far: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the samples before, at and behind a place count."""
    both = near + far
    return -far / (near * both), (far - near) / (near * far), near / (far * both)


def at_edge(near: Tensor, far: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the first sample, the second and the third count for the derivative at the first."""
    both = near + far
    return -(2.0 * near + far) / (near * both), both / (near * far), -near / (far * both)


def sum_of(terms: Any) -> Any:
    """The sum of three terms, added from the first on."""
    one, two, three = terms
    return one + two + three


def each_dim(self: Tensor, dims: int | Sequence[int] | None) -> int:
    """How many dimensions are meant."""
    return self.ndim if dims is None else 1 if isinstance(dims, int) else len(dims)


@op("aten::gradient.scalarint", variants="function")
def gradient(
    self: Tensor, *, spacing: Scalar | None = None, dim: int | None = None, edge_order: int = 1
) -> list[Tensor]:
    """The derivatives of a function along dimensions, from its values at equal distances.

    Args:
        self: the values.
        spacing: how far they are apart.
        dim: the dimension; all by default.
        edge_order: 2 for derivatives at the edges that are as exact as those between.

    >>> import opdsl
    >>> opdsl.gradient(opdsl.tensor([1.0, 4.0, 9.0, 16.0]))
    [tensor([3., 4., 6., 7.])]
    """
    return gradients(self, None if spacing is None else [spacing] * each_dim(self, dim), dim, edge_order)


@gradient.overload("scalararray", variants="function")
def gradient_scalararray(self: Tensor, *, spacing: Scalar, dim: list[int], edge_order: int = 1) -> list[Tensor]:
    """The derivatives along several dimensions, from values at equal distances."""
    return gradients(self, [spacing] * len(dim), dim, edge_order)


@gradient.overload("array", variants="function")
def gradient_array(self: Tensor, *, dim: list[int], edge_order: int = 1) -> list[Tensor]:
    """The derivatives along several dimensions, from values at the distance 1."""
    return gradients(self, None, dim, edge_order)


@gradient.overload("scalarrayint", variants="function")
def gradient_scalarrayint(
    self: Tensor, *, spacing: list[Scalar], dim: int | None = None, edge_order: int = 1
) -> list[Tensor]:
    """The derivatives from values at distances that each dimension has of its own."""
    return gradients(self, spacing, dim, edge_order)


@gradient.overload("scalarrayarray", variants="function")
def gradient_scalarrayarray(
    self: Tensor, *, spacing: list[Scalar], dim: list[int], edge_order: int = 1
) -> list[Tensor]:
    """The derivatives along several dimensions, from values at distances that each of them has of its own."""
    return gradients(self, spacing, dim, edge_order)


@gradient.overload("tensorarrayint", variants="function")
def gradient_tensorarrayint(
    self: Tensor, *, spacing: list[Tensor], dim: int | None = None, edge_order: int = 1
) -> list[Tensor]:
    """The derivatives from values at places that are given for each dimension."""
    return gradients(self, spacing, dim, edge_order)


@gradient.overload("tensorarray", variants="function")
def gradient_tensorarray(self: Tensor, *, spacing: list[Tensor], dim: list[int], edge_order: int = 1) -> list[Tensor]:
    """The derivatives along several dimensions, from values at places that are given for each."""
    return gradients(self, spacing, dim, edge_order)
