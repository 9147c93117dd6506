"""Greatest common divisors and least common multiples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opdsl.aten.entries import UNARY
from opdsl.declare import Inplace, op
from opdsl.runtime import ALL_DTYPES, Category, Tensor
from opdsl.scalar.intrinsics import trunc_divide

COMMON: dict[str, Any] = {**UNARY, "device_check": "ExactSame", "inplace": Inplace(tags=())}

INTEGERS = [each for each in ALL_DTYPES if each.category is Category.INT]


def most_turns(largest: int) -> int:
    """How often Euclid's algorithm divides at most: neighbours among Fibonacci's numbers take longest."""
    number, following, turns = 1, 1, 1
    while following <= largest:
        number, following, turns = following, number + following, turns + 1
    return turns


def common_divisor(turns: int) -> Callable[[Any, Any], Any]:
    """Euclid's algorithm in a number of turns."""

    def gcd_scalar_function(self: Any, other: Any) -> Any:
        one, two = abs(self), abs(other)
        for _ in range(turns):
            rest = math.fmod(one, two) if two != 0 else two
            one, two = (two if two != 0 else one), rest
        return one

    return gcd_scalar_function


def common_multiple(turns: int, is_wide: bool) -> Callable[[Any, Any], Any]:
    """The product without the common divisor; where it overflows, as C computes it: 8 and 16 bits in 32."""
    divisor = common_divisor(turns)

    def lcm_scalar_function(self: Any, other: Any) -> Any:
        product = abs(trunc_divide(self, divisor(self, other))) * abs(other)
        return abs(product) if is_wide else product

    return lcm_scalar_function


@op("aten::gcd", **COMMON)
def gcd(self: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor."""
    ...


@op("aten::lcm", **COMMON)
def lcm(self: Tensor, other: Tensor) -> Tensor:
    """The least common multiple; 0 where an element is 0."""
    ...


for dtype in INTEGERS:
    turns = most_turns(1 << 8 * dtype.itemsize - dtype.is_signed)
    gcd.pointwise(dtypes=dtype.name)(common_divisor(turns))
    lcm.pointwise(dtypes=dtype.name)(common_multiple(turns, dtype.itemsize >= 4))
