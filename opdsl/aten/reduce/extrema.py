"""Reductions to the largest or smallest element or its index: ``amax``, ``argmax``, ``max``, ``aminmax``. NaN wins over
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, cast

from opdsl import primitives
from opdsl.aten._shared.entries import documented
from opdsl.aten._shared.scalars import larger, smaller
from opdsl.aten._shared.sharing import shared
from opdsl.aten.pointwise.clamping import maximum, minimum
from opdsl.aten.reduce.sums import restore_dims
from opdsl.declare import Out, formula, forward, op
from opdsl.errors import DimensionError
from opdsl.kernels import check
from opdsl.primitives import Loop
from opdsl.runtime import Tensor, bool_
from opdsl.schema.vocabulary import IntList, Size

# ----------------------------------------------------------------------------------------------------- scalar functions


def earlier(a: float, i: int, b: float, j: int) -> bool:
    """Return whether two elements are equal, or both NaN, and the second one has the smaller index."""
    return (a == b or (a != a and b != b)) and j < i


def first_larger(a: float, i: int, b: float, j: int) -> tuple[float, int]:
    takes_b = b > a or (b != b and a == a) or earlier(a, i, b, j)
    return (b if takes_b else a), (j if takes_b else i)


def first_smaller(a: float, i: int, b: float, j: int) -> tuple[float, int]:
    takes_b = b < a or (b != b and a == a) or earlier(a, i, b, j)
    return (b if takes_b else a), (j if takes_b else i)


# ------------------------------------------------------------------------------------------------------------ gradients


def shared_among_equals(
    grad: Tensor, self: Tensor, result: Tensor, *, dim: tuple[int, ...] | None = None, keepdim: bool = False
) -> Tensor:
    """Return the gradient of an extremum, divided evenly among all elements that equal it."""
    spread, wanted = (restore_dims(reduced, self.ndim, dim, keepdim) for reduced in (grad, result))
    hits = self == wanted
    return hits.to(grad.dtype) * shared(spread, hits.sum(dim or None, True))


def selected_derivative(grad: Tensor, self: Tensor, indices: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Return the gradient of the input of a selection along a dimension: ``grad`` at the selected elements, 0
    elsewhere.
    """
    spread, places = (restore_dims(reduced, self.ndim, (dim,), keepdim) for reduced in (grad, indices))
    return grad.new_zeros(self.shape).scatter_(dim, places, spread)


# ------------------------------------------------------------------------------------------------------------- max, min


def check_positions(name: str, self: Tensor, dim: int | None) -> None:
    """Check that ``argmax`` or ``argmin`` can be computed.

    Raises:
        ShapeError: PyTorch does not support the dtype.
        DimensionError: there are no elements, and no dimension is given.
    """
    check(not self.dtype.is_complex, f"{name}(): does not support complex input")
    check(self.dtype is not bool_, f"{name}(): does not support bool input")
    if dim is None and self.numel() == 0:
        raise DimensionError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")


CORE: dict[str, Any] = {"tags": ("core", "reduction"), "variants": "function, method"}
BOUND: dict[str, Any] = {"variants": "method, function"}
"""Options of ``op`` that several overloads share."""


class ValuesAndIndices(NamedTuple):
    """Elements that were selected along a dimension, and their indices."""

    values: Tensor
    indices: Tensor


class Loops(NamedTuple):
    """Reduction loops for the largest or for the smallest element.

    extrema: returns the extremum.
    of_all: returns the extremum, cast to the dtype of an ``out`` tensor.
    positions: returns its index.
    chosen: returns both.
    """

    extrema: Loop
    of_all: Loop
    positions: Loop
    chosen: Loop


def loops_of(worst: float, better: Callable[..., Any], first: Callable[..., Any]) -> Loops:
    """Return the reduction loops for the largest or for the smallest element.

    Args:
        worst: the initial value: ``-inf`` for the largest element.
        better: a scalar function that returns the better of two elements.
        first: the same for elements with indices; of equal elements it returns the first.
    """
    common: dict[str, Any] = {
        "init": (worst, 0),
        "lift": lambda x, index: (x, index),
        "accumulators": ("value", "index"),
        "in_order": False,
        "needs_elements": True,
    }
    return Loops(
        primitives.fold(better, init=worst, needs_elements=True),
        primitives.fold(better, init=worst, results=("cast",), needs_elements=True),
        primitives.fold(first, finish=lambda value, position, count: position, results=("index",), **common),
        primitives.fold(first, finish=lambda value, position, count: (value, position), **common),
    )


def declare_direction(name: str, most: str, more: str, indices: str, of_two: Any, loops: Loops) -> tuple[Any, ...]:
    """Declare the operators for the largest or for the smallest element, and their gradients.

    Args:
        name: ``max`` or ``min``.
        most, more: words for docstrings: ``largest``, ``larger``.
        indices: the name of the indices in the ``out=`` variant.
        of_two: the pointwise operator of two tensors.
        loops: the reduction loops.

    Returns:
        The operators along dimensions (``amax``), for indices (``argmax``), for both (``max.dim``), and of all
        elements.
    """
    extrema, extrema_of_all, places, choices = loops

    @op(f"aten::a{name}", out=True, **CORE)
    @documented(f"Return the {most} element along dimensions, by default along all; NaN if an element is NaN.")
    @formula
    def along(self: Tensor, dim: Annotated[IntList, Size(1)] = [], keepdim: bool = False) -> Tensor:  # noqa: B006
        return extrema(self, dim, keepdim)

    @op(f"aten::arg{name}", out=Out(f"arg{name}.out"), **CORE)
    @documented(
        f"Return the index of the {most} element along a dimension, or of all in row-major order; the first of equals."
    )
    def positions(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor: ...

    both = Out(f"{name}.dim_{name}", args=(name, indices), precomputed={"dim": {"dim": int}})

    @op(f"aten::{name}.dim", out=both, **CORE)
    @documented(f"Return the {most} elements along a dimension and their indices, the first of equal elements.")
    @formula
    def chosen(self: Tensor, dim: int, keepdim: bool = False) -> ValuesAndIndices:
        return cast("ValuesAndIndices", choices(self, dim, keepdim))

    unary = Out(f"{name}.unary_out")

    @op(f"aten::{name}", tags="reduction", out=unary, **BOUND)
    @documented(f"Return the {most} of all elements.")
    @formula
    def of_all(self: Tensor) -> Tensor:
        return extrema_of_all(self)

    @op(f"aten::{name}.other", tags="pointwise", out=Out(f"{name}.out"), **BOUND)
    @forward(of_two)
    @documented(f"Return the {more} of two elements, like ``{name}imum``.")
    def larger_or_smaller(self: Tensor, other: Tensor) -> Tensor: ...

    for operator in (along, of_all):
        operator.derivative("self")(shared_among_equals)
    chosen.derivative("self")(selected_derivative)
    positions.meta(lambda ctx, self, dim: check_positions(f"arg{name}", self, dim))

    @positions.formula
    def positions_formula(self: Tensor, dim: int | None, keepdim: bool) -> Tensor:
        return places(self, dim, keepdim)

    return along, positions, chosen, of_all


of_largest = loops_of(-math.inf, larger, first_larger)
of_smallest = loops_of(math.inf, smaller, first_smaller)
largest = declare_direction("max", "largest", "larger", "max_values", maximum, of_largest)
smallest = declare_direction("min", "smallest", "smaller", "min_indices", minimum, of_smallest)


# -------------------------------------------------------------------------------------------------------------- aminmax


class SmallestAndLargest(NamedTuple):
    """Result of ``aminmax``."""

    min: Tensor
    max: Tensor


def aminmax_combine(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    return min(a, c), max(b, d)


smallest_and_largest = primitives.fold(
    aminmax_combine,
    init=(math.inf, -math.inf),
    lift=lambda x: (x, x),
    accumulators=("value", "value"),
    needs_elements=True,
)


@op("aten::aminmax", variants="function, method", tags="reduction", out=Out("aminmax.out", args=("min", "max")))
@formula
def aminmax(self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> SmallestAndLargest:
    """Return the smallest and the largest element along a dimension, or of all elements."""
    return cast("SmallestAndLargest", smallest_and_largest(self, dim=dim, keepdim=keepdim))


@aminmax.derivative("self")
def aminmax_derivative(grads, self, min, max, dim, keepdim):
    dims, extrema = None if dim is None else (dim,), zip(grads, (min, max), strict=True)
    one, other = (shared_among_equals(grad, self, extremum, dim=dims, keepdim=keepdim) for grad, extremum in extrema)
    return one + other


@op("aten::_aminmax")
@forward(aminmax, result=(0, 1))
def _aminmax(self: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest and the largest of all elements."""


@_aminmax.overload("dim")
@forward(aminmax, result=(0, 1))
def _aminmax_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the smallest and the largest element along a dimension."""
