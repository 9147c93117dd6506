"""Greatest common divisors and least common multiples."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import UNARY
from opdsl.declare import Inplace, formula, op
from opdsl.runtime import ALL_DTYPES, Category, Tensor
from opdsl.scalar.intrinsics import trunc_divide

COMMON: dict[str, Any] = {**UNARY, "inplace": Inplace(tags=())}

INTEGERS = {dtype.name: dtype.itemsize for dtype in ALL_DTYPES if dtype.category is Category.INT}

# Most divisions of Euclid's algorithm for numbers of 64 bits, which successive Fibonacci numbers take.
MOST_TURNS = 92


def gcd_scalar_function(self: Any, other: Any) -> Any:
    """Return the greatest common divisor of two integers by Euclid's algorithm."""
    one, two = abs(self), abs(other)
    for _ in range(MOST_TURNS):
        if two == 0:
            break
        one, two = two, math.fmod(one, two)
    return one


def lcm_scalar_function(self: Any, other: Any) -> Any:
    """Return the least common multiple of two integers; on overflow the result of C, which computes 8 and 16 bits in
    32.
    """
    return abs(trunc_divide(self, gcd_scalar_function(self, other))) * abs(other)


gcd_elements = primitives.elements(gcd_scalar_function, dtypes=tuple(INTEGERS))


@op("aten::gcd", **COMMON)
@formula
def gcd(self: Tensor, other: Tensor) -> Tensor:
    """Return the greatest common divisor of two elements."""
    return gcd_elements(self, other)


@op("aten::lcm", **COMMON)
def lcm(self: Tensor, other: Tensor) -> Tensor:
    """Return the least common multiple of two elements; 0 where an element is 0."""
    ...


lcm_elements = primitives.elements(lambda self, other: abs(lcm_scalar_function(self, other)))
lcm_narrow_elements = primitives.elements(lcm_scalar_function)


@lcm.formula(dtypes=tuple(name for name, size in INTEGERS.items() if size >= 4))
def lcm_wide(self: Tensor, other: Tensor) -> Tensor:
    return lcm_elements(self, other)


@lcm.formula(dtypes=tuple(name for name, size in INTEGERS.items() if size < 4))
def lcm_narrow(self: Tensor, other: Tensor) -> Tensor:
    return lcm_narrow_elements(self, other)
