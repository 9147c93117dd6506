"""Finite differences (``diff``, ``gradient``), trapezoidal integrals (``trapezoid``), covariances (``cov``,
``corrcoef``).

The rules are those of ATen/native/ReduceOps.cpp, Integration.cpp and Correlation.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.aten._shared.checks import holds, real
from opdsl.aten.linalg.matrix_products import mm
from opdsl.aten.pointwise.arithmetic import sub
from opdsl.aten.pointwise.complex_parts import complex_of
from opdsl.aten.pointwise.logical import logical_xor
from opdsl.aten.shape.complex_views import imag as imaginary_parts
from opdsl.aten.shape.complex_views import real as real_parts
from opdsl.aten.shape.joining import cat
from opdsl.declare import forward, op
from opdsl.dispatch.warning import warn
from opdsl.errors import DimensionError, DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, write_out
from opdsl.runtime import Category, Tensor, bool_, uint8, wrap_dimension
from opdsl.schema.vocabulary import Scalar


def check_beside(self: Tensor, other: Tensor | None, place: int) -> None:
    """Check that ``other`` can be concatenated to ``self`` along dimension ``place``. Raises ShapeError: it cannot."""
    if other is None:
        return
    check(other.ndim == self.ndim, "diff expects prepend or append to be the same dimension as input")
    for dim, (ours, theirs) in enumerate(zip(self.shape, other.shape, strict=True)):
        check(
            dim == place or ours == theirs,
            "diff expects the shape of tensor to prepend or append to match that of input except along the "
            f"differencing dimension; input.size({dim}) = {ours}, but got tensor.size({dim}) = {theirs}",
        )


@op("aten::diff", variants="function, method", out=True)
def diff(
    self: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the differences of adjacent elements along a dimension, taken ``n`` times; for bools whether they differ.

    Args:
        self: the elements.
        n: how many times to take differences.
        dim: the dimension.
        prepend, append: tensors that are first concatenated before and after ``self``.
        out: a tensor to write the result into.
    """
    check(self.ndim >= 1, "diff expects input to be at least one-dimensional")
    dimension = wrap_dimension(dim, self.ndim)
    check_beside(self, prepend, dimension)
    check_beside(self, append, dimension)
    check(n >= 0, f"order must be non-negative but got {n}")
    if n == 0:
        return self.clone() if out is None else write_out("aten::diff.out", out, self)
    if prepend is not None or append is not None:
        self = cat([piece for piece in (prepend, self, append) if piece is not None], dimension)
    difference: Any = logical_xor if self.dtype is bool_ else sub
    times = min(n, self.shape[dimension])
    for index in range(times):
        size = self.shape[dimension] - 1
        behind, before = self.narrow(dimension, 1, size), self.narrow(dimension, 0, size)
        self = difference(behind, before, out=out if index == times - 1 else None)
    return self if times or out is None else write_out("aten::diff.out", out, self)


# ----------------------------------------------------------------------------------------------------------- trapezoids


def dimension_of(y: Tensor, dim: int) -> int:
    """Return the dimension of the samples, from the front. Raises DimensionError: there is no such dimension."""
    if y.ndim == 0:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dimension(dim, y.ndim)


def pairs_of(y: Tensor, dim: int) -> Tensor:
    """Return the sums of adjacent elements along a dimension."""
    size = max(y.shape[dim] - 1, 0)
    return y.narrow(dim, 0, size) + y.narrow(dim, y.shape[dim] - size, size)


def widths_of(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the distances between adjacent sample points, in a shape that broadcasts to pairs of samples.

    Raises:
        ShapeError: there is not one point for each sample.
    """
    if x.ndim == 1:
        check(x.shape[0] == y.shape[dim], f"{name}: There must be one `x` value for each sample point")
        x = x.view([x.shape[0] if index == dim else 1 for index in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.view((*(1,) * (y.ndim - x.ndim), *x.shape))
    place = dim - y.ndim
    size = max(x.shape[place] - 1, 0)
    return x.narrow(place, x.shape[place] - size, size) - x.narrow(place, 0, size)


def step_of(name: str, y: Tensor, dx: complex) -> float:
    """Return the distance of samples as a float.

    Raises:
        ShapeError: samples are bools, or the distance is no real number.
    """
    check(y.dtype is not bool_, f"{name}: received a bool input for `y`, but bool is not supported")
    check(not isinstance(dx, (complex, bool)), f"{name}: Currently, we only support dx as a real number.")
    return float(real(dx))


def require_numbers(name: str, y: Tensor, x: Tensor) -> None:
    """Check that samples and points are not bools. Raises ShapeError: they are."""
    check(bool_ not in (y.dtype, x.dtype), f"{name}: received a bool input for `x` or `y`, but bool is not supported")


def without(y: Tensor, dim: int) -> Tensor:
    """Return zeros of the shape of ``y`` without dimension ``dim``."""
    return y.new_zeros((*y.shape[:dim], *y.shape[dim + 1 :]))


@op("aten::trapezoid.x")
def trapezoid(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """Return the integral along a dimension by the trapezoidal rule, of samples ``y`` at the points ``x``."""
    dimension = dimension_of(y, dim)
    if y.shape[dimension] == 0:
        return without(y, dimension)
    require_numbers("trapezoid", y, x)
    return (pairs_of(y, dimension) * widths_of("trapezoid", y, x, dimension)).sum([dimension]) / 2.0


@trapezoid.overload("dx")
def trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
    """Return the integral along a dimension by the trapezoidal rule, of samples at the distance ``dx``."""
    dimension = dimension_of(y, dim)
    if y.shape[dimension] == 0:
        return without(y, dimension)
    step = step_of("trapezoid", y, dx)
    return (y.sum([dimension]) - (y.select(dimension, 0) + y.select(dimension, -1)) * 0.5) * step


@op("aten::trapz.x")
@forward(trapezoid)
def trapz(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """Return ``trapezoid(y, x)``, under its older name."""


@trapz.overload("dx")
@forward(trapezoid_dx)
def trapz_dx(y: Tensor, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Return ``trapezoid(y, dx=dx)``, under its older name."""


@op("aten::cumulative_trapezoid.x")
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cumulative integrals along a dimension by the trapezoidal rule, of samples ``y`` at the points
    ``x``.
    """
    dimension = dimension_of(y, dim)
    require_numbers("cumulative_trapezoid", y, x)
    return (pairs_of(y, dimension) * widths_of("cumulative_trapezoid", y, x, dimension)).cumsum(dimension) / 2.0


@cumulative_trapezoid.overload("dx")
def cumulative_trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
    """Return the cumulative integrals along a dimension by the trapezoidal rule, of samples at the distance ``dx``."""
    step = step_of("cumulative_trapezoid", y, dx)
    dimension = dimension_of(y, dim)
    return (pairs_of(y, dimension) * (step / 2.0)).cumsum(dimension)


# ----------------------------------------------------------------------------------------------------------- covariance


def check_weights(name: str, weights: Tensor, count: int, *, whole: bool) -> None:
    """Check that there is one weight for each observation, and none is negative.

    Raises:
        ShapeError, DTypeError: the weights are invalid.
    """
    check(
        weights.ndim <= 1,
        f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions",
    )
    kind = Category.INT if whole else Category.FLOAT
    if weights.dtype.category is not kind:
        wanted = "integral" if whole else "floating point"
        raise DTypeError(f"cov(): expected {name} to have {wanted} dtype but got {name} with {weights.dtype}")
    check(
        weights.numel() == count,
        f"cov(): expected {name} to have the same numel as there are observations in the input but got "
        f"{weights.numel()} != {count}",
    )
    check(holds(weights >= 0), f"cov(): {name} cannot be negative")


@op("aten::cov", variants="function, method")
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Return the covariance matrix of variables (rows) from their observations (columns).

    Args:
        self: the observations; a vector is one variable.
        correction: is subtracted from the number of observations to get the divisor.
        fweights: how often each observation occurs.
        aweights: the weight of each observation.
    """
    check(
        self.ndim <= 2,
        f"cov(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions",
    )
    check(self.dtype is not bool_, "cov(): bool dtype is not supported for input")
    rows = self.reshape((1, self.numel())) if self.ndim < 2 else self
    count = rows.shape[1]
    weights: Any = None
    if fweights is not None:
        check_weights("fweights", fweights, count, whole=True)
        weights = fweights
    if aweights is not None:
        check_weights("aweights", aweights, count, whole=False)
        weights = aweights if weights is None else weights * aweights
    total: Any = count if weights is None else weights.sum()
    check(weights is None or holds(total != 0), "cov(): weights sum to zero, can't be normalized")
    mean = (rows if weights is None else rows * weights).sum([1])
    mean = mean / total if count or weights is not None else mean / mean.new_zeros(())
    divisor: Any = total - correction
    if aweights is not None and correction != 0:
        divisor = total - correction * (weights * aweights).sum() / total
    if not (holds(divisor > 0) if isinstance(divisor, Tensor) else divisor > 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        divisor = rows.new_zeros(())
    rows = rows - mean.unsqueeze(1)
    product = mm(rows, (rows if weights is None else rows * weights).t().conj())
    covariance: Tensor = product / divisor
    return covariance.squeeze()


@op("aten::corrcoef", variants="function, method")
def corrcoef(self: Tensor) -> Tensor:
    """Return the correlation matrix of variables (rows) from their observations (columns)."""
    check(
        self.ndim <= 2,
        f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions",
    )
    correlations = cov(self)
    if correlations.ndim == 0:
        return correlations / correlations
    variances = correlations.diag()
    deviations = (real_parts(variances) if correlations.is_complex() else variances).sqrt()
    correlations = correlations / deviations.view((-1, 1)) / deviations.view((1, -1))
    if correlations.is_complex():
        return complex_of(real_parts(correlations).clip(-1, 1), imaginary_parts(correlations).clip(-1, 1))
    return correlations.clip(-1, 1)


# ------------------------------------------------------------------------------------------------------------- gradient


def gradients(
    self: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> list[Tensor]:
    """Return the derivatives along dimensions, all of them by default, estimated by finite differences.

    Args:
        self: the samples.
        spacing: the distance of samples, or one for each dimension, or vectors of their coordinates; None for 1.
        dim: the dimension, or several.
        edge_order: the order of accuracy of the first and the last derivative, 1 or 2.

    Raises:
        ShapeError, DimensionError, UnsupportedDTypeError: the arguments do not fit.
    """
    if self.dtype is uint8:
        raise UnsupportedDTypeError("torch.gradient does not support uint8 input.")
    along = list(range(self.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    numbers = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(along)
    check(
        len(numbers) == len(along),
        "torch.gradient expected spacing to be unspecified, a scalar, or a list of one element for each dimension "
        f"({len(along)}), but got a list of length {len(numbers)}",
    )
    check(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    wrapped = [wrap_dimension(number, self.ndim) for number in along]
    check(len(set(wrapped)) == len(wrapped), f"torch.gradient: a dimension appears multiple times in {along}")
    for number in wrapped:
        size = self.shape[number] if self.ndim else 1
        check(size > edge_order, "torch.gradient expected each dimension size to be at least edge_order+1", got=size)
    return [
        by_places(self, number, step, edge_order) if isinstance(step, Tensor) else even(self, number, step, edge_order)
        for number, step in zip(wrapped, numbers, strict=True)
    ]


def even(self: Tensor, dim: int, distance: complex, edge_order: int) -> Tensor:
    """Return the derivative along a dimension from samples at equal distances."""
    count = self.shape[dim]
    one, two, three = (self.narrow(dim, number, 1) for number in (0, 1, min(2, count - 1)))
    third, second, last = (self.narrow(dim, max(count - number, 0), 1) for number in (3, 2, 1))
    if edge_order == 1:
        before, after = two - one, last - second
    else:
        before = -1.5 * one + 2 * two - 0.5 * three
        after = 0.5 * third - 2 * second + 1.5 * last
    center = (self.narrow(dim, 2, count - 2) - self.narrow(dim, 0, count - 2)) / distance / 2
    return cat([before / distance, center, after / distance], dim)


def by_places(self: Tensor, dim: int, places: Tensor, edge_order: int) -> Tensor:
    """Return the derivative along a dimension from samples at given coordinates.

    Raises:
        ShapeError: there is not one coordinate for each sample.
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
    """Return the weights of the previous, this and the next sample in the derivative, from the distances to both
    neighbors.
    """
    both = near + far
    return -far / (near * both), (far - near) / (near * far), near / (far * both)


def at_edge(near: Tensor, far: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weights of the first three samples in the derivative at the first one, from the two distances between
    them.
    """
    both = near + far
    return -(2.0 * near + far) / (near * both), both / (near * far), -near / (far * both)


def sum_of(terms: Any) -> Any:
    """Return the sum of three terms, added from left to right."""
    one, two, three = terms
    return one + two + three


@op("aten::gradient.scalarint", variants="function")
def gradient_scalarint(
    self: Tensor, *, spacing: Scalar | None = None, dim: int | None = None, edge_order: int = 1
) -> list[Tensor]:
    """Return the derivatives of a function along dimensions, estimated from its values at equal distances.

    Args:
        self: the values.
        spacing: the distance between them.
        dim: the dimension; all by default.
        edge_order: 2 for derivatives at the edges that are as accurate as the others.

    >>> import opdsl
    >>> opdsl.gradient(opdsl.tensor([1.0, 4.0, 9.0, 16.0]))
    [tensor([3., 4., 6., 7.])]
    """
    return gradients(self, spacing=spacing, dim=dim, edge_order=edge_order)


@op("aten::gradient.scalararray", variants="function")
def gradient_scalararray(self: Tensor, *, spacing: Scalar, dim: list[int], edge_order: int = 1) -> list[Tensor]:
    """Return the derivatives along several dimensions, estimated from values at equal distances."""
    return gradients(self, spacing=spacing, dim=dim, edge_order=edge_order)


@op("aten::gradient.array", variants="function")
def gradient_array(self: Tensor, *, dim: list[int], edge_order: int = 1) -> list[Tensor]:
    """Return the derivatives along several dimensions, estimated from values at the distance 1."""
    return gradients(self, dim=dim, edge_order=edge_order)


@op("aten::gradient.scalarrayint", variants="function")
def gradient_scalarrayint(
    self: Tensor, *, spacing: list[Scalar], dim: int | None = None, edge_order: int = 1
) -> list[Tensor]:
    """Return the derivatives along dimensions, estimated from values at a distance for each dimension."""
    return gradients(self, spacing=spacing, dim=dim, edge_order=edge_order)


@op("aten::gradient.scalarrayarray", variants="function")
def gradient_scalarrayarray(
    self: Tensor, *, spacing: list[Scalar], dim: list[int], edge_order: int = 1
) -> list[Tensor]:
    """Return the derivatives along several dimensions, estimated from values at a distance for each dimension."""
    return gradients(self, spacing=spacing, dim=dim, edge_order=edge_order)


@op("aten::gradient.tensorarrayint", variants="function")
def gradient_tensorarrayint(
    self: Tensor, *, spacing: list[Tensor], dim: int | None = None, edge_order: int = 1
) -> list[Tensor]:
    """Return the derivatives along dimensions, estimated from values at given coordinates for each dimension."""
    return gradients(self, spacing=spacing, dim=dim, edge_order=edge_order)


@op("aten::gradient.tensorarray", variants="function")
def gradient_tensorarray(self: Tensor, *, spacing: list[Tensor], dim: list[int], edge_order: int = 1) -> list[Tensor]:
    """Return the derivatives along several dimensions, estimated from values at given coordinates for each
    dimension.
    """
    return gradients(self, spacing=spacing, dim=dim, edge_order=edge_order)
