"""The formulas of all operations that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opdsl.scalar.mathematics import arithmetic, error_function, exponential, logarithm
from opdsl.scalar.mathematics.expression import Expression

__all__ = ["FLOATING", "INTEGERS"]

INTEGERS: Final[dict[str, Callable[..., Expression]]] = arithmetic.INTEGERS

FLOATING: Final[dict[str, Callable[..., Expression]]] = {
    **arithmetic.FLOATING,
    **exponential.FLOATING,
    **logarithm.FLOATING,
    **error_function.FLOATING,
}
