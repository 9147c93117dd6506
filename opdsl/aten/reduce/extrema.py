"""Largest and smallest elements, and where they are. NaN is larger than every number and smaller than every number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from opdsl.aten._shared.scalars import larger, smaller
from opdsl.aten._shared.sharing import shared
from opdsl.aten.pointwise.clamping import maximum, minimum
from opdsl.aten.reduce.sums import restore_dims
from opdsl.declare import Library, Out, Row, forward, op
from opdsl.errors import DimensionError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_

lib = Library("aten")

# --------------------------------------------------------------------------------------------------- scalar functions


def earlier(a: float, i: int, b: float, j: int) -> bool:
    """Whether, of two elements that are equally good, the second comes first; NaN are equally good."""
    return (a == b or (a != a and b != b)) and j < i


def first_larger(a: float, i: int, b: float, j: int) -> tuple[float, int]:
    takes_b = b > a or (b != b and a == a) or earlier(a, i, b, j)
    return (b if takes_b else a), (j if takes_b else i)


def first_smaller(a: float, i: int, b: float, j: int) -> tuple[float, int]:
    takes_b = b < a or (b != b and a == a) or earlier(a, i, b, j)
    return (b if takes_b else a), (j if takes_b else i)


# ----------------------------------------------------------------------------------------------------------- gradients


def shared_among_equals(
    grad: Tensor, self: Tensor, result: Tensor, *, dim: tuple[int, ...] | None = None, keepdim: bool = False
) -> Tensor:
    """The gradient of an extremum, in equal parts to all elements that are it."""
    spread, wanted = (restore_dims(each, self.ndim, dim, keepdim) for each in (grad, result))
    hits = self == wanted
    return hits.to(grad.dtype) * shared(spread, hits.sum(dim or None, True))


def selected_derivative(grad: Tensor, self: Tensor, indices: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The gradient of elements that were taken along a dimension."""
    spread, places = (restore_dims(each, self.ndim, (dim,), keepdim) for each in (grad, indices))
    return grad.new_zeros(self.shape).scatter_(dim, places, spread)


# ------------------------------------------------------------------------------------------------------------ max, min


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


FREE: dict[str, Any] = {"device_check": "NoCheck"}
CORE: dict[str, Any] = {"tags": ("core", "reduction"), "variants": "function, method"}
BOUND: dict[str, Any] = {"variants": "method, function", **FREE}
"""What the entries say alike."""


def rows_of(name: str, most: str, more: str, indices: str) -> dict[str, Row]:
    """The operators of a direction: along dimensions, positions, both along one, of all elements, and of two tensors.

    Args:
        name: ``max`` or ``min``.
        most, more: what documents them: ``largest``, ``larger``.
        indices: what the ``out=`` variant calls positions.
    """
    along = Out(f"{name}.dim_{name}", args=(name, indices), precomputed={"dim": {"dim": int}})
    return {
        f"a{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor": Row(
            f"The {most} element along dimensions, along all for none given; NaN where there is one.", out=True, **CORE
        ),
        f"arg{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor": Row(
            f"The position of the {most} element along a dimension, or among all in row-major order; of several the "
            "first.",
            out=Out(f"arg{name}.out", device_check="ExactSame"),
            **FREE,
            **CORE,
        ),
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)": Row(
            f"The {most} elements along a dimension and their positions, of several equal ones the first.",
            out=along,
            **FREE,
            **CORE,
        ),
        f"{name}(Tensor self) -> Tensor": Row(
            f"The {most} of all elements.",
            tags="reduction",
            structured=False,
            out=Out(f"{name}.unary_out", explicit=True),
            **BOUND,
        ),
        f"{name}.other(Tensor self, Tensor other) -> Tensor": Row(
            f"The {more} of two elements, as ``{name}imum``.",
            tags="pointwise",
            out=Out(f"{name}.out", explicit=True),
            **BOUND,
        ),
    }


def attach_extrema(operators: Any, worst: float, better: Callable[..., Any], first: Callable[..., Any]) -> None:
    """Attach what computes the operators of a direction that fold, and their gradients.

    Args:
        operators: those of ``rows_of``.
        worst: what every element is at least as good as.
        better, first: the better one of two elements; and of two with positions, the first of equal ones.
    """
    along, positions, chosen, of_all, _ = operators
    along.reduction(init=worst, needs_elements=True)(better)
    of_all.reduction(init=worst, results=("cast",), needs_elements=True)(better)
    for each in (along, of_all):
        each.derivative("self")(shared_among_equals)
    positions.meta(lambda ctx, self, dim: check_positions(positions.schema.name.base, self, dim))
    common = {
        "lift": lambda x, index: (x, index),
        "accumulators": ("value", "index"),
        "in_order": False,
        "needs_elements": True,
    }
    positions.reduction(init=(worst, 0), finish=lambda value, position, count: position, results=("index",), **common)(
        first
    )
    chosen.reduction(init=(worst, 0), finish=lambda value, position, count: (value, position), **common)(first)
    chosen.derivative("self")(selected_derivative)


largest = lib.table(rows_of("max", "largest", "larger", "max_values"))
smallest = lib.table(rows_of("min", "smallest", "smaller", "min_indices"))
attach_extrema(largest.values(), -math.inf, larger, first_larger)
attach_extrema(smallest.values(), math.inf, smaller, first_smaller)
largest["max.other"].forward(maximum)
smallest["min.other"].forward(minimum)


# ------------------------------------------------------------------------------------------------------------- aminmax


class ValuesAndIndices(NamedTuple):
    """Elements, and where they are along the dimension that they were chosen in."""

    values: Tensor
    indices: Tensor


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


@aminmax.reduction(
    init=(math.inf, -math.inf), lift=lambda x: (x, x), accumulators=("value", "value"), needs_elements=True
)
def aminmax_combine(a, b, c, d):
    return min(a, c), max(b, d)


@aminmax.derivative("self")
def aminmax_derivative(grads, self, min, max, dim, keepdim):
    dims, extrema = None if dim is None else (dim,), zip(grads, (min, max), strict=True)
    one, other = (shared_among_equals(grad, self, each, dim=dims, keepdim=keepdim) for grad, each in extrema)
    return one + other


@op("aten::_aminmax", dispatch={"CPU, CUDA": "_aminmax_all"}, autogen="_aminmax.out")
@forward(aminmax, result=(0, 1))
def _aminmax(self: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element."""


@_aminmax.overload("dim", dispatch={"CPU, CUDA": "_aminmax"}, autogen="_aminmax.dim_out")
@forward(aminmax, result=(0, 1))
def _aminmax_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest elements along a dimension."""
