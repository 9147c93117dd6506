"""Orthogonal polynomials of a degree that is an operand, too.

Chebyshev's are trigonometric functions within [-1, 1] and hyperbolic ones beyond it (DLMF 18.5, with ``x = cos(t)`` and
``abs(x) = cosh(t)``); those of a low degree, and those of the other families, come from their recurrences (DLMF 18.9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from opdsl.aten.checks import real
from opdsl.aten.comparison import number_beside, where
from opdsl.aten.likes import ones_like
from opdsl.aten.special_functions import UNCHECKED, number_overload
from opdsl.declare import Library, op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check, copy_
from opdsl.runtime import Array, Tensor, cpu, float32, float64
from opdsl.schema.vocabulary import Scalar

lib = Library("opdsl")

FLOATS = ("float32", "float64")
POLYNOMIAL: dict[str, Any] = {**UNCHECKED, "tags": "pointwise"}


class Family(NamedTuple):
    """The overloads of one family."""

    tensors: Any
    number_x: Any
    number_n: Any


def declared(name: str, **options: Any) -> Family:
    """Declare a family for tensors, and for a number as the argument or as the degree."""
    packet = f"special_{name}"

    @op(f"aten::{packet}", **POLYNOMIAL, **options)
    def polynomial(x: Tensor, n: Tensor) -> Tensor: ...

    @polynomial.overload("x_scalar", **number_overload(packet, "x_scalar"))
    def polynomial_of_number(x: Scalar, n: Tensor) -> Tensor: ...

    @polynomial.overload("n_scalar", **number_overload(packet, "n_scalar"))
    def polynomial_of_degree(x: Tensor, n: Scalar) -> Tensor: ...

    polynomial.non_differentiable("x", "n")
    polynomial_of_number.non_differentiable("n")
    polynomial_of_degree.non_differentiable("x")
    return Family(polynomial, polynomial_of_number, polynomial_of_degree)


# ------------------------------------------------------------------------------------------------------- Chebyshev's

# Up to this degree the recurrence is shorter than the functions, and exact for small whole numbers.
DIRECT = 16


class Chebyshev(NamedTuple):
    """A kind of Chebyshev's polynomials: how the first one depends on x, and the values at 1 and at -1 by the degree.

    first: the coefficients of x and of 1 in the polynomial of degree 1.
    shift: what is added to the degree in the angle.
    divides: whether the wave of that angle is divided by that of the first angle, ``shift * t``.
    odd: whether the waves are sines.
    """

    first: tuple[float, float]
    shift: float
    divides: bool
    odd: bool


KINDS = {
    "t": Chebyshev((1.0, 0.0), 0.0, divides=False, odd=False),
    "u": Chebyshev((2.0, 0.0), 1.0, divides=True, odd=True),
    "v": Chebyshev((2.0, -1.0), 0.5, divides=True, odd=False),
    "w": Chebyshev((2.0, 1.0), 0.5, divides=True, odd=True),
}
# What a kind becomes with the other sign of x, up to its sign.
MIRRORED = {"t": "t", "u": "u", "v": "w", "w": "v"}


def low_degree(kind: str) -> Callable[[Any, Any], Any]:
    factor, summand = KINDS[kind].first

    def low_degree_scalar_function(x: Any, degree: Any) -> Any:
        before, now = 1.0, factor * x + summand
        found = before if degree == 0 else now
        for k in range(2, DIRECT + 1):
            before, now = now, 2.0 * x * now - before
            found = now if degree == k else found
        return found

    return low_degree_scalar_function


def within(kind: str) -> Callable[[Any, Any], Any]:
    """Within [-1, 1]: ``cos(n*t)``, ``sin((n + 1)*t) / sin(t)`` and so on."""
    _, shift, divides, odd = KINDS[kind]

    def waves_scalar_function(x: Any, degree: Any) -> Any:
        t = math.acos(x)
        angle = (degree + shift) * t
        wave = math.sin(angle) if odd else math.cos(angle)
        first = (math.sin(shift * t) if odd else math.cos(shift * t)) if divides else 1.0
        return wave / first

    return waves_scalar_function


def beyond(kind: str) -> Callable[[Any, Any], Any]:
    """Beyond 1: hyperbolic functions for the circular ones."""
    _, shift, divides, odd = KINDS[kind]

    def hyperbolic_scalar_function(x: Any, degree: Any) -> Any:
        t = math.acosh(x)
        angle = (degree + shift) * t
        wave = math.sinh(angle) if odd else math.cosh(angle)
        first = (math.sinh(shift * t) if odd else math.cosh(shift * t)) if divides else 1.0
        return wave / first

    return hyperbolic_scalar_function


def at_one(kind: str) -> Callable[[Any], Any]:
    _, shift, divides, odd = KINDS[kind]
    grows = divides and odd

    def edge_scalar_function(degree: Any) -> Any:
        return (degree + shift) / shift if grows else 1.0

    return edge_scalar_function


def chebyshev(kind: str, shifted: bool) -> Callable[[Any, Any], Any]:
    """The scalar function of a kind; shifted ones live on [0, 1]."""
    small, inside, outside = low_degree(kind), within(kind), beyond(kind)
    mirrored = beyond(MIRRORED[kind])
    one, minus_one = at_one(kind), at_one(MIRRORED[kind])

    def chebyshev_scalar_function(x: Any, n: Any) -> Any:
        at = 2.0 * x - 1.0 if shifted else x
        degree = math.trunc(n)
        sign = 1.0 if degree % 2.0 == 0.0 else -1.0
        edge = one(degree) if at > 0 else sign * minus_one(degree)
        far = outside(at, degree) if at > 0 else sign * mirrored(-at, degree)
        high = edge if abs(at) == 1.0 else inside(at, degree) if abs(at) < 1.0 else far
        found = small(at, degree) if degree <= DIRECT else high
        return 0.0 if degree < 0 else found

    return chebyshev_scalar_function


for prefix, shifted in (("", False), ("shifted_", True)):
    for kind in KINDS:
        family = declared(f"{prefix}chebyshev_polynomial_{kind}", out=True)
        function = chebyshev(kind, shifted)
        family.tensors.pointwise(promote="int_to_float", dtypes=FLOATS)(function)
        family.number_x.pointwise(promote="int_to_float", dtypes=FLOATS, wrapped="x")(function)
        family.number_n.pointwise(promote="int_to_float", dtypes=FLOATS, wrapped="n")(function)

# ---------------------------------------------------------------------------------- Hermite's, Laguerre's, Legendre's


class Recurrence(NamedTuple):
    """A family whose degrees are reached one after another.

    first: the polynomial of degree 1.
    step: the polynomial of degree k + 1 from x, k, and those of the degrees k and k - 1.
    most: beyond these degrees, of float32 and float64, there is NaN, as in PyTorch; None for all.
    """

    first: Callable[[Tensor], Tensor]
    step: Callable[[Tensor, int, Tensor, Tensor], Tensor]
    most: tuple[int, int] | None


HERMITE_MOST = (128, 512)
RECURRENCES = {
    "hermite_polynomial_h": Recurrence(
        lambda x: 2 * x, lambda x, k, now, before: 2 * x * now - 2 * k * before, HERMITE_MOST
    ),
    "hermite_polynomial_he": Recurrence(lambda x: x, lambda x, k, now, before: x * now - k * before, HERMITE_MOST),
    "laguerre_polynomial_l": Recurrence(
        lambda x: 1 - x, lambda x, k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1), None
    ),
    "legendre_polynomial_p": Recurrence(
        lambda x: x, lambda x, k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1), None
    ),
}


def climb(recurrence: Recurrence, x: Tensor, degree: Tensor) -> Tensor:
    """The polynomials of all degrees up to the largest; of each element, that of its own."""
    degree = where(degree.abs() < 2.0**63, degree, -1.0)  # what is no int64 has no polynomial
    before, now = ones_like(x), recurrence.first(x)
    found = where(degree < 0, 0.0, where(degree == 0, before, now))
    if recurrence.most is not None:
        most = recurrence.most[x.dtype is float64]
        found, degree = where(degree > most, math.nan, found), where(degree > most, 0.0, degree)
    highest = int(real(degree.max().item())) if degree.numel() else 0
    for k in range(1, highest):
        before, now = now, recurrence.step(x, k, now, before)
        found = where(degree == k + 1, now, found)
    return found


FAMILIES = tuple(RECURRENCES)


@lib.op(variants="function", out=True)
def polynomial_values(x: Tensor, n: Tensor, family: int, most: float) -> Tensor:
    """The polynomials of the elements' own degrees.

    x, n: float32 or float64 (elements). family: its place among ``FAMILIES``. most: beyond this degree there is NaN.
    """
    ...


@polynomial_values.meta
def polynomial_values_meta(ctx, x, n, family, most):
    check(x.ndim == 1 and x.shape == n.shape, "expected as many degrees as numbers, in one dimension", got=x.shape)
    if x.dtype not in (float32, float64) or n.dtype is not x.dtype:
        raise UnsupportedDTypeError(f"not implemented for '{x.dtype.scalar_type}'")
    ctx.set_output(0, x.shape, like=x)


@polynomial_values.out_kernel("CPU")
def polynomial_values_cpu(x, n, family, most, out):
    for i in range(len(out)):
        degree = math.trunc(n[i]) if abs(n[i]) < 2.0**63 else -1
        if degree > most:
            out[i] = math.nan
        elif degree < 1:
            out[i] = degree == 0
        else:
            climb_one(x[i], degree, family, out[i : i + 1])


def climb_one(x: float, degree: int, family: int, found: Array) -> None:
    """The polynomial of a degree of 1 or more; what is kept in ``found`` is rounded to its dtype."""
    found[0] = 1
    one = before = found[0]
    two, k = one + one, one
    found[0] = two * x if family == 0 else one - x if family == 2 else x
    now = found[0]
    for _ in range(degree - 1):
        if family == 0:
            found[0] = two * x * now - two * k * before
        elif family == 1:
            found[0] = x * now - k * before
        elif family == 2:
            found[0] = ((two * k + one - x) * now - k * before) / (k + one)
        else:
            found[0] = ((two * k + one) * x * now - k * before) / (k + one)
        before, now, k = now, found[0], k + one


def declare_recurrence(name: str, recurrence: Recurrence) -> None:
    """Declare a family: the number of steps depends on the operands, so it is written for whole tensors."""
    family = declared(name, out=True, structured_inherits="TensorIteratorBase")

    def polynomial_meta(ctx: Any, x: Tensor, n: Tensor) -> None:
        ctx.build(x, n, promote="int_to_float")
        dtype = ctx.iteration.common
        if dtype not in (float32, float64):
            raise UnsupportedDTypeError(f"\"{name}_cpu\" not implemented for '{dtype.scalar_type}'")

    def polynomial_out_kernel(x: Tensor, n: Tensor, out: Tensor) -> None:
        if out.device is not cpu:
            copy_(out, climb(recurrence, x, n.trunc()))
            return
        at, degree = (each.to(out.dtype).expand(out.shape).reshape((-1,)).contiguous() for each in (x, n))
        most = math.inf if recurrence.most is None else recurrence.most[out.dtype is float64]
        copy_(out, polynomial_values(at, degree, FAMILIES.index(name), float(most)).view(out.shape))

    def number_x_kernel(x: complex, n: Tensor) -> Any:
        return family.tensors(number_beside(x, n), n)

    def number_n_kernel(x: Tensor, n: complex) -> Any:
        return family.tensors(x, number_beside(n, x))

    family.tensors.meta(polynomial_meta)
    family.tensors.out_kernel("CPU", "CUDA", compiled=False)(polynomial_out_kernel)
    family.number_x.kernel("CompositeExplicitAutograd")(number_x_kernel)
    family.number_n.kernel("CompositeExplicitAutograd")(number_n_kernel)


for name, recurrence in RECURRENCES.items():
    declare_recurrence(name, recurrence)
