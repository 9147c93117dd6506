"""Implicit derivatives of gamma and Dirichlet distributed random numbers by the parameters of their distributions.

They are the change of a number with the parameter while its quantile stays the same. As in
ATen/native/Distributions.h, they are computed by series for small numbers, saddle point expansions for large
parameters, and rational approximations else.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten.special.gamma_functions import digamma_positive
from opdsl.declare import formula, op
from opdsl.runtime import Tensor

# ---------------------------------------------------------------------------------------------------------------- gamma

RATIONAL = (
    (0.16009398, 0.53487893, 0.040121004),
    (-0.094634809, 0.1298071, -0.0065914022),
    (0.025146376, 0.065735949, -0.0026286047),
    (-0.0030648343, -0.0015649758, -0.0013441777),
    (1.0, 0.16639465, 0.017050642),
    (0.32668115, 0.020070113, -0.0021309326),
    (0.10406089, -0.0035938915, 0.00085092367),
    (0.0014179084, -0.00058392623, -1.5247877e-07),
)
"""Coefficients of a rational function of two variables: each row is a polynomial of ``u``, which is the coefficient of
a power of ``v``; the first four rows are the numerator.
"""


def of_small(alpha: Any, x: Any) -> Any:
    """Return the derivative of a small gamma distributed number ``x`` by its parameter, by a Taylor series."""
    term, below = 1.0, alpha
    one, two = 1.0 / alpha, 1.0 / (alpha * alpha)
    for i in range(1, 6):
        term = term * (-x / i)
        below = below + 1.0
        one, two = one + term / below, two + term / (below * below)
    power = x**alpha
    density = x ** (alpha - 1.0) * math.exp(-x)
    gradient = -((math.log(x) - digamma_positive(alpha)) * (power * one) - power * two) / density
    return 0.0 if gradient != gradient else gradient


def of_large(alpha: Any, x: Any) -> Any:
    """Return the derivative of a gamma distributed number ``x`` by its parameter, if that is large, by Rice's
    expansion.
    """
    above = 1.0 + 24.0 * alpha * (1.0 + 12.0 * alpha)
    rest = 1440.0 * (alpha * alpha) + 6.0 * x * (53.0 - 120.0 * x) - 65.0 * x * x / alpha
    near = above * (rest + alpha * (107.0 + 3600.0 * x)) / (1244160.0 * (alpha * alpha) * (alpha * alpha))
    root = math.sqrt(8.0 * alpha)
    term = (x - alpha - alpha * math.log(x / alpha)) ** -1.5
    both = root / (alpha - x) + (-term if x < alpha else term)
    far = math.log(x / alpha) * both - math.sqrt(2.0 / alpha) * (alpha + x) / ((alpha - x) * (alpha - x))
    stirling = 1.0 + 1.0 / (12.0 * alpha) * (1.0 + 1.0 / (24.0 * alpha))
    return near if 0.9 * alpha <= x and x <= 1.1 * alpha else -stirling * (x * far) / root


def between(alpha: Any, x: Any) -> Any:
    """Return the derivative of any other gamma distributed number ``x`` by its parameter, by a rational
    approximation.
    """
    u, v = math.log(x / alpha), math.log(alpha)
    above, below = 0.0, 0.0
    for k in range(4):
        above = above * v + coefficient(RATIONAL[3 - k], u)
        below = below * v + coefficient(RATIONAL[7 - k], u)
    return math.exp(above / below)


def coefficient(c: Any, u: Any) -> Any:
    return c[0] + u * (c[1] + u * c[2])


# ------------------------------------------------------------------------------------------------------------ dirichlet

ABOVE = (
    (
        (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
        (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
        (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
    ),
    (
        (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
        (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
        (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
    ),
    (
        (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
        (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
        (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
    ),
)
BELOW = (
    (
        (1.0, -0.02924021934, -0.04438342661, 0.007285809825),
        (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
        (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
    ),
    (
        (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
        (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
        (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
    ),
    (
        (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
        (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
        (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
    ),
)


def by_alpha_of_small(x: Any, alpha: Any, beta: Any) -> Any:
    """Return the derivative of a beta distributed number near 0 by the first parameter."""
    factor = digamma_positive(alpha) - digamma_positive(alpha + beta) - math.log(x)
    term = 1.0
    series = 1.0 / alpha * (factor + 1.0 / alpha)
    for i in range(1, 11):
        term = term * ((i - beta) * x / i)
        series = series + term / (alpha + i) * (factor + 1.0 / (alpha + i))
    gradient = x * (1.0 - x) ** -beta * series
    return 0.0 if gradient != gradient else gradient


def by_beta_of_small(x: Any, alpha: Any, beta: Any) -> Any:
    """Return the derivative of a beta distributed number near 0 by the second parameter."""
    factor = digamma_positive(alpha + beta) - digamma_positive(beta)
    term, product, slope = 1.0, 1.0, 0.0
    series = factor / alpha
    for i in range(1, 9):
        term = term * (-x / i)
        slope = slope * (beta - i) + product
        product = product * (beta - i)
        series = series + term / (alpha + i) * (slope + factor * product)
    gradient = -((1.0 - x) ** (1.0 - beta)) * series
    return 0.0 if gradient != gradient else gradient


def by_alpha_of_both_large(x: Any, alpha: Any, beta: Any) -> Any:
    """Return the derivative of a beta distributed number by the first parameter, if both parameters are large."""
    total = alpha + beta
    mean = alpha / total
    std = math.sqrt(alpha * beta / (total + 1.0)) / total
    b2 = beta * beta
    poly = 47.0 * x * b2 * b2 + alpha * (
        (43.0 + 20.0 * (16.0 + 27.0 * beta) * x) * b2 * beta
        + alpha
        * (
            3.0 * (59.0 + 180.0 * beta - 90.0 * x) * b2
            + alpha
            * (
                (453.0 + 1620.0 * beta * (1.0 - x) - 455.0 * x) * beta
                + alpha * (8.0 * (1.0 - x) * (135.0 * beta - 11.0))
            )
        )
    )
    above = (1.0 + 12.0 * alpha) * (1.0 + 12.0 * beta) / (total * total)
    near = above / (1.0 - x) * poly / (12960.0 * alpha * alpha * alpha * b2 * (1.0 + 12.0 * total))
    factor = -x / math.sqrt(2.0 * alpha * beta / total)
    stirling = (
        (1.0 + 1.0 / (12.0 * alpha) + 1.0 / (288.0 * alpha * alpha))
        * (1.0 + 1.0 / (12.0 * beta) + 1.0 / (288.0 * b2))
        / (1.0 + 1.0 / (12.0 * total) + 1.0 / (288.0 * total * total))
    )
    distance = alpha * (x - 1.0) + beta * x
    one = (2.0 * (alpha * alpha) * (x - 1.0) + alpha * beta * (x - 1.0) - x * b2) / (
        math.sqrt(2.0 * alpha / beta) * total**1.5 * distance * distance
    )
    two = 0.5 * math.log(alpha / (total * x))
    three = math.sqrt(8.0 * alpha * beta / total) / distance
    four = (beta * math.log(beta / (total * (1.0 - x))) + alpha * math.log(alpha / (total * x))) ** -1.5
    far = stirling * factor * (one + two * (three + (four if x < mean else -four)))
    return near if mean - 0.1 * std <= x and x <= mean + 0.1 * std else far


def corrected(x: Any, alpha: Any, beta: Any, total: Any) -> Any:
    """Return the derivative of any other beta distributed number by the first parameter: an estimate times a rational
    correction.
    """
    u = math.log(x)
    a = math.log(alpha) - u
    b = math.log(total) - a
    above, below = 0.0, 0.0
    for i in range(3):
        for j in range(3):
            power = u**i * a**j
            p, q = ABOVE[i][j], BELOW[i][j]
            above = above + power * (p[0] + b * (p[1] + b * (p[2] + b * p[3])))
            below = below + power * (q[0] + b * (q[1] + b * (q[2] + b * q[3])))
    return above / below * (x * (digamma_positive(total) - digamma_positive(alpha)) / beta)


def by_parameter(x: Any, alpha: Any, total: Any) -> Any:
    """Return the derivative of a Dirichlet distributed number by its parameter ``alpha``."""
    beta = total - alpha
    boundary = total * x * (1.0 - x)
    rest = by_alpha_of_both_large(x, alpha, beta) if alpha > 6.0 and beta > 6.0 else corrected(x, alpha, beta, total)
    high = -by_beta_of_small(1.0 - x, beta, alpha) if x >= 0.5 and boundary < 0.75 else rest
    return by_alpha_of_small(x, alpha, beta) if x <= 0.5 and boundary < 2.5 else high


_standard_gamma_grad_elements = primitives.elements(
    lambda alpha, x: of_small(alpha, x) if x < 0.8 else of_large(alpha, x) if alpha > 8.0 else between(alpha, x),
    dtypes=("float32", "float64"),
)


@op("aten::_standard_gamma_grad", tags=())
@formula
def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """Return the derivatives of gamma distributed numbers, ``output``, by their parameters ``self``."""
    return _standard_gamma_grad_elements(self, output)


_standard_gamma_grad.non_differentiable("self", "output")


_dirichlet_grad_elements = primitives.elements(by_parameter, dtypes=("float32", "float64"))


@op("aten::_dirichlet_grad", tags=())
@formula
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Return the derivatives of Dirichlet distributed numbers ``x`` by their parameters ``alpha``, whose sums are
    ``total``.
    """
    return _dirichlet_grad_elements(x, alpha, total)


_dirichlet_grad.non_differentiable("x", "alpha", "total")
