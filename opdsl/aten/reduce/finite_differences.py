"""``gradient``: derivatives of sampled functions, by differences of second order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.aten.reduce.differences import diff
from opdsl.aten.shape.joining import cat
from opdsl.declare import Library, Row
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, uint8, wrap_dimension

lib = Library("aten")


def gradients(
    self: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> list[Tensor]:
    """The derivatives along dimensions, all of them by default.

    Args:
        self: the samples.
        spacing: the distance of samples, or one for each dimension, or vectors of where they are; None for 1.
        dim: the dimension, or several.
        edge_order: how exact the first and the last derivative are.

    Raises:
        ShapeError, DimensionError, UnsupportedDTypeError: the arguments do not fit.
    """
    if self.dtype is uint8:
        raise UnsupportedDTypeError("torch.gradient does not support uint8 input.")
    along = list(range(self.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    given = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(along)
    check(
        len(given) == len(along),
        "torch.gradient expected spacing to be unspecified, a scalar, or a list of one element for each dimension "
        f"({len(along)}), but got a list of length {len(given)}",
    )
    check(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    wrapped = [wrap_dimension(each, self.ndim) for each in along]
    check(len(set(wrapped)) == len(wrapped), f"torch.gradient: a dimension appears multiple times in {along}")
    for each in wrapped:
        size = self.shape[each] if self.ndim else 1
        check(size > edge_order, "torch.gradient expected each dimension size to be at least edge_order+1", got=size)
    return [
        by_places(self, each, step, edge_order) if isinstance(step, Tensor) else even(self, each, step, edge_order)
        for each, step in zip(wrapped, given, strict=True)
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


GRADIENT = """The derivatives of a function along dimensions, from its values at equal distances.

    Args:
        self: the values.
        spacing: how far they are apart.
        dim: the dimension; all by default.
        edge_order: 2 for derivatives at the edges that are as exact as those between.

    >>> import opdsl
    >>> opdsl.gradient(opdsl.tensor([1.0, 4.0, 9.0, 16.0]))
    [tensor([3., 4., 6., 7.])]
    """
EACH = "The derivatives along several dimensions, from values at"
lib.table(
    {
        f"gradient.{overload}(Tensor self, *, {given}int edge_order=1) -> Tensor[]": Row(text, gradients)
        for overload, given, text in (
            ("scalarint", "Scalar? spacing=None, int? dim=None, ", GRADIENT),
            ("scalararray", "Scalar spacing, int[] dim, ", f"{EACH} equal distances."),
            ("array", "int[] dim, ", f"{EACH} the distance 1."),
            (
                "scalarrayint",
                "Scalar[] spacing, int? dim=None, ",
                "The derivatives from values at distances that each dimension has of its own.",
            ),
            ("scalarrayarray", "Scalar[] spacing, int[] dim, ", f"{EACH} distances that each of them has of its own."),
            (
                "tensorarrayint",
                "Tensor[] spacing, int? dim=None, ",
                "The derivatives from values at places that are given for each dimension.",
            ),
            ("tensorarray", "Tensor[] spacing, int[] dim, ", f"{EACH} places that are given for each."),
        )
    },
    variants="function",
)
