"""Largest and smallest elements, and where they are. NaN is larger than every number and smaller than every number."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from opdsl.aten.pointwise.clamping import maximum, minimum
from opdsl.aten.reduce.sums import restore_dims
from opdsl.declare import Out, forward, op
from opdsl.errors import DimensionError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_
from opdsl.schema.vocabulary import IntList, Size

# --------------------------------------------------------------------------------------------------- scalar functions


def larger(a, b):
    return max(a, b)


def smaller(a, b):
    return min(a, b)


def with_position(x, index):
    return x, index


def earlier(a: float, i: int, b: float, j: int) -> bool:
    """Whether, of two elements that are equally good, the second comes first; NaN are equally good."""
    return (a == b or (a != a and b != b)) and j < i


def first_larger(a, i, b, j):
    takes_b = b > a or (b != b and a == a) or earlier(a, i, b, j)
    return (b if takes_b else a), (j if takes_b else i)


def first_smaller(a, i, b, j):
    takes_b = b < a or (b != b and a == a) or earlier(a, i, b, j)
    return (b if takes_b else a), (j if takes_b else i)


def value_and_position(value, position, count):
    return value, position


def position_alone(value, position, count):
    return position


# --------------------------------------------------------------------------------------------------------- amax, amin


@op("aten::amax", variants="function, method", tags=("core", "reduction"), out=True)
def amax(self: Tensor, dim: Annotated[IntList, Size(1)] = (), keepdim: bool = False) -> Tensor:
    """The largest element along dimensions, along all for none given; NaN where there is one."""
    ...


amax.reduction(init=-math.inf, needs_elements=True)(larger)


@amax.derivative("self")
def extremum_derivative(grad, self, result, dim, keepdim):
    return shared_among_equals(grad, self, result, dim, keepdim)


def shared_among_equals(
    grad: Tensor, self: Tensor, result: Tensor, dim: tuple[int, ...] | None, keepdim: bool
) -> Tensor:
    """The gradient of an extremum, in equal parts to all elements that are it."""
    spread, wanted = (restore_dims(each, self.ndim, dim, keepdim) for each in (grad, result))
    hits = (self == wanted).to(grad.dtype)
    return hits * (spread / hits.sum(dim or None, True))


@op("aten::amin", variants="function, method", tags=("core", "reduction"), out=True)
def amin(self: Tensor, dim: Annotated[IntList, Size(1)] = (), keepdim: bool = False) -> Tensor:
    """The smallest element along dimensions, along all for none given; NaN where there is one."""
    ...


amin.reduction(init=math.inf, needs_elements=True)(smaller)


amin.derivative("self")(extremum_derivative)


# ------------------------------------------------------------------------------------------------------------- aminmax


class SmallestAndLargest(NamedTuple):
    """What ``aminmax`` returns."""

    min: Tensor
    max: Tensor


@op(
    "aten::aminmax",
    variants="function, method",
    tags="reduction",
    device_check="NoCheck",
    out=Out("aminmax.out", args=("min", "max")),
)
def aminmax(self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> SmallestAndLargest:
    """The smallest and the largest element along a dimension, or of all."""
    ...


def twice(x):
    return x, x


@aminmax.reduction(init=(math.inf, -math.inf), lift=twice, accumulators=("value", "value"), needs_elements=True)
def aminmax_combine(a, b, c, d):
    return min(a, c), max(b, d)


@aminmax.derivative("self")
def aminmax_derivative(grads, self, min, max, dim, keepdim):
    dims = None if dim is None else (dim,)
    smallest, largest = (
        shared_among_equals(grad, self, each, dims, keepdim) for grad, each in zip(grads, (min, max), strict=True)
    )
    return smallest + largest


# ------------------------------------------------------------------------------------------------------ argmax, argmin


@op(
    "aten::argmax",
    variants="function, method",
    tags=("core", "reduction"),
    device_check="NoCheck",
    out=Out("argmax.out", device_check="ExactSame"),
)
def argmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The position of the largest element along a dimension, or among all in row-major order; of several the first."""
    ...


@argmax.meta
def argmax_meta(ctx, self, dim):
    check_positions("argmax", self, dim)


def check_positions(name: str, self: Tensor, dim: int | None) -> None:
    """That there is a position to be found.

    Raises:
        ShapeError: of a dtype that PyTorch refuses.
        DimensionError: there are no elements, and no dimension is given.
    """
    check(not self.dtype.is_complex, f"{name}(): does not support complex input")
    check(self.dtype is not bool_, f"{name}(): does not support bool input")
    if dim is None and self.numel() == 0:
        raise DimensionError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")


argmax.reduction(
    init=(-math.inf, 0),
    lift=with_position,
    finish=position_alone,
    accumulators=("value", "index"),
    results=("index",),
    in_order=False,
    needs_elements=True,
)(first_larger)


@op(
    "aten::argmin",
    variants="function, method",
    tags=("core", "reduction"),
    device_check="NoCheck",
    out=Out("argmin.out", device_check="ExactSame"),
)
def argmin(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The position of the smallest element along a dimension, or among all in row-major order; of several the first."""
    ...


@argmin.meta
def argmin_meta(ctx, self, dim):
    check_positions("argmin", self, dim)


argmin.reduction(
    init=(math.inf, 0),
    lift=with_position,
    finish=position_alone,
    accumulators=("value", "index"),
    results=("index",),
    in_order=False,
    needs_elements=True,
)(first_smaller)


# ------------------------------------------------------------------------------------------------------------ max, min


class ValuesAndIndices(NamedTuple):
    """Elements, and where they are along the dimension that they were chosen in."""

    values: Tensor
    indices: Tensor


@op(
    "aten::max.dim",
    variants="function, method",
    tags=("core", "reduction"),
    device_check="NoCheck",
    out=Out("max.dim_max", args=("max", "max_values"), precomputed={"dim": {"dim": int}}),
)
def max_dim(self: Tensor, dim: int, keepdim: bool = False) -> ValuesAndIndices:
    """The largest elements along a dimension and their positions, of several equal ones the first."""
    ...


max_dim.reduction(
    init=(-math.inf, 0),
    lift=with_position,
    finish=value_and_position,
    accumulators=("value", "index"),
    in_order=False,
    needs_elements=True,
)(first_larger)


@max_dim.derivative("self")
def selected_derivative(grad, self, indices, dim, keepdim):
    spread, places = (restore_dims(each, self.ndim, (dim,), keepdim) for each in (grad, indices))
    return grad.new_zeros(self.shape).scatter_(dim, places, spread)


@max_dim.overload(
    "",
    variants="method, function",
    tags="reduction",
    device_check="NoCheck",
    structured=False,
    out=Out("max.unary_out", explicit=True),
)
def max_all(self: Tensor) -> Tensor:
    """The largest of all elements."""
    ...


max_all.reduction(init=-math.inf, results=("cast",), needs_elements=True)(larger)


@max_all.derivative("self")
def extremum_of_all_derivative(grad, self, result):
    return shared_among_equals(grad, self, result, None, False)


@max_dim.overload(
    "other",
    variants="method, function",
    tags="pointwise",
    device_check="NoCheck",
    out=Out("max.out", explicit=True),
)
def max_other(self: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements, as ``maximum``."""
    ...


max_other.forward(maximum)


@op(
    "aten::min.dim",
    variants="function, method",
    tags=("core", "reduction"),
    device_check="NoCheck",
    out=Out("min.dim_min", args=("min", "min_indices"), precomputed={"dim": {"dim": int}}),
)
def min_dim(self: Tensor, dim: int, keepdim: bool = False) -> ValuesAndIndices:
    """The smallest elements along a dimension and their positions, of several equal ones the first."""
    ...


min_dim.reduction(
    init=(math.inf, 0),
    lift=with_position,
    finish=value_and_position,
    accumulators=("value", "index"),
    in_order=False,
    needs_elements=True,
)(first_smaller)


min_dim.derivative("self")(selected_derivative)


@min_dim.overload(
    "",
    variants="method, function",
    tags="reduction",
    device_check="NoCheck",
    structured=False,
    out=Out("min.unary_out", explicit=True),
)
def min_all(self: Tensor) -> Tensor:
    """The smallest of all elements."""
    ...


min_all.reduction(init=math.inf, results=("cast",), needs_elements=True)(smaller)


min_all.derivative("self")(extremum_of_all_derivative)


@min_dim.overload(
    "other",
    variants="method, function",
    tags="pointwise",
    device_check="NoCheck",
    out=Out("min.out", explicit=True),
)
def min_other(self: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements, as ``minimum``."""
    ...


min_other.forward(minimum)


@op("aten::_aminmax", dispatch={"CPU, CUDA": "_aminmax_all"}, autogen="_aminmax.out")
@forward(aminmax, result=(0, 1))
def _aminmax(self: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element."""


@_aminmax.overload("dim", dispatch={"CPU, CUDA": "_aminmax"}, autogen="_aminmax.dim_out")
@forward(aminmax, result=(0, 1))
def _aminmax_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest elements along a dimension."""
