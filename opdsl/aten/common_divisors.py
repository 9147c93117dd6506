"""Greatest common divisors and least common multiples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opdsl.aten.entries import UNARY
from opdsl.declare import Inplace, op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import trunc_divide

COMMON: dict[str, Any] = {**UNARY, "device_check": "ExactSame", "inplace": Inplace(tags=())}

# How often Euclid's algorithm divides at most: neighbours among Fibonacci's numbers take longest.
TURNS = {"uint8": 13, "int8": 11, "int16": 23, "int32": 47, "int64": 92}


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


for dtype, turns in TURNS.items():
    gcd.pointwise(dtypes=dtype)(common_divisor(turns))
    lcm.pointwise(dtypes=dtype)(common_multiple(turns, dtype in ("int32", "int64")))
