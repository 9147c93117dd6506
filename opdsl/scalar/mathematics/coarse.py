"""Formulas of float32 functions whose results are rounded to 16 bits: processors of graphics have instructions that
approximate powers of two and quotients, with errors of a few units in the last place of float32.

Errors are below 2**-15 of the result, an eighth of a unit in the last place of float16. Results of exp below 2**-126
become 0. Values that are compared or rounded to integers are computed exactly, since there a small error makes a large
one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Final

from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.mathematics.coefficients import TABLES
from opdsl.scalar.mathematics.exponential import LOG2_E
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select
from opdsl.scalar.types import FLOAT, INTEGER

__all__ = ["COARSE", "compared", "has_steps"]

_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
_STEPS = frozenset({"floor", "ceil", "trunc", "round", "floor_divide", "remainder", "fmod", "ieee_remainder", "bits"})


def compared(graph: TypedGraph) -> set[int]:
    """Return the nodes of a graph that comparisons depend on."""
    known: set[int] = set()
    for node in graph.nodes:
        if node.op in _COMPARISONS:
            known.update(node.arguments)
    for at in range(len(graph.nodes) - 1, -1, -1):
        if at in known:
            known.update(graph.nodes[at].arguments)
    return known


def has_steps(graph: TypedGraph) -> bool:
    """Return whether a graph rounds floating-point numbers to integers, so that its operands have to be exact."""
    return any(
        node.op in _STEPS or (node.op == "cast" and node.type.category == INTEGER)
        for node in graph.nodes
        if node.arguments and graph.nodes[node.arguments[0]].type.category == FLOAT
    )


def exp(x: Expression) -> Expression:
    """Return e**x."""
    return exp2(x * LOG2_E)


def exp2(x: Expression) -> Expression:
    """Return 2**x."""
    return x.apply("approximate_exp2")


def expm1(x: Expression) -> Expression:
    """Return e**x - 1: a polynomial near 0, where the difference would cancel."""
    near = fma(fma(x, 1 / 6, 0.5), x, 1.0) * x
    return select(abs(x) < 0.03, near, exp(x) - 1.0)


def tanh(x: Expression) -> Expression:
    """Return the hyperbolic tangent: a polynomial near 0, ``1 - 2 / (e**(2*a) + 1)`` elsewhere."""
    a = abs(x)
    far = 1.0 - divide(x.constant(2.0), exp2(a * (2 * LOG2_E)) + 1.0)
    square = x * x
    near = fma(fma(square, 2 / 15, -1 / 3), square, 1.0) * x
    return select(a < 0.125, near, far.copysign(x))


def _power_of_two(a: Expression) -> Expression:
    """Return 1 - erf(a) for a that is not negative: two to the power of a polynomial, which goes on to 0."""
    return exp2(polynomial(a, TABLES["erfc_coarse"]["float32"]) * a)


def erf(x: Expression) -> Expression:
    """Return the error function: its series near 0, where the difference would cancel."""
    a, square = abs(x), x * x
    near = fma(polynomial(square, (1 / 10, -1 / 3)), square, 1.0) * (x * (2 / sqrt(pi)))
    return select(a < 0.25, near, (1.0 - _power_of_two(a)).copysign(x))


def erfc(x: Expression) -> Expression:
    """Return the complementary error function."""
    far = _power_of_two(abs(x))
    return select(x < 0.0, 2.0 - far, far)


def divide(x: Expression, y: Expression) -> Expression:
    """Return the quotient."""
    return x.apply("approximate_divide", y)


COARSE: Final[dict[str, Callable[..., Expression]]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "tanh": tanh,
    "erf": erf,
    "erfc": erfc,
    "divide": divide,
}
