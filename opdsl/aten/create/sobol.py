"""Operators of ``quasirandom.SobolEngine``, which generates Sobol sequences (ATen/native/SobolEngineOps.cpp).

The next point of a sequence is the exclusive or of the last point and a column of the state: the column of the lowest
bit that is 0 in the index. A later point is reached by the columns of all bits in which the Gray codes of both indices
differ.
"""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.ranges import arange
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, int64
from opdsl.schema import Alias

BITS = 30
"""Number of bits of the numbers in a Sobol sequence."""


def require_state(sobolstate: Tensor, quasi: Tensor, dimension: int, num_generated: int) -> None:
    """Check that the state of a Sobol engine and its last point fit its dimension.

    Raises:
        DTypeError, ShapeError: they do not.
    """
    for name, tensor in (("sobolstate", sobolstate), ("quasi", quasi)):
        if tensor.dtype is not int64:
            raise DTypeError(f"{name} needs to be of type {int64.scalar_type}, got {tensor.dtype.scalar_type}")
    check(sobolstate.shape == (dimension, BITS), f"expected a state of shape {[dimension, BITS]}", got=sobolstate.shape)
    check(quasi.shape == (dimension,), f"expected a point of shape {[dimension]}", got=quasi.shape)
    check(num_generated >= 0, f"expected num_generated >= 0, got {num_generated}")


def gray(number: int) -> int:
    """Return the Gray code of a number."""
    return number ^ (number >> 1)


@op("aten::_sobol_engine_draw")
def _sobol_engine_draw(
    quasi: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int, dtype: DType | None
) -> tuple[Tensor, Tensor]:
    """Return the next ``n`` points of a Sobol sequence, in [0, 1), and the last of them as integers."""
    require_state(sobolstate, quasi, dimension, num_generated)
    check(n >= 0 and num_generated + n < 1 << BITS, f"expected at most {1 << BITS} points", got=num_generated + n)
    wanted = dtype or get_default_dtype()
    if not wanted.is_floating_point:
        raise DTypeError(f"_sobol_engine_draw: expected a floating-point dtype, got {wanted.scalar_type}")
    index: Any = arange(num_generated + 1, num_generated + n + 1, device=quasi.device)
    changed: Any = (index ^ (index >> 1)) ^ gray(num_generated)
    points: Any = quasi.expand((n, dimension))
    for bit in range(BITS):
        column = sobolstate.select(1, bit)
        points = points ^ where(((changed >> bit) & 1).unsqueeze(1) == 1, column, 0)
    last = points.select(0, n - 1).clone() if n else quasi.clone()
    return (points * 2.0**-BITS).to(wanted), last


@op("aten::_sobol_engine_ff_")
def _sobol_engine_ff_(
    self: Tensor[Alias("a", write=True)], n: int, sobolstate: Tensor, dimension: int, num_generated: int
) -> Tensor[Alias("a", write=True)]:
    """Advance the point ``self`` in place by ``n`` points of its Sobol sequence."""
    require_state(sobolstate, self, dimension, num_generated)
    check(n >= 0 and num_generated + n < 1 << BITS, f"expected at most {1 << BITS} points", got=num_generated + n)
    changed = gray(num_generated + n) ^ gray(num_generated)
    for bit in range(BITS):
        if changed >> bit & 1:
            self.bitwise_xor_(sobolstate.select(1, bit))
    return self


@op("aten::_sobol_engine_scramble_")
def _sobol_engine_scramble_(
    self: Tensor[Alias("a", write=True)], ltm: Tensor, dimension: int
) -> Tensor[Alias("a", write=True)]:
    """Scramble the state in place: multiply the bits of each number by its dimension's matrix, modulo 2, whose diagonal
    counts as 1.
    """
    if self.dtype is not int64 or ltm.dtype is not int64:
        raise DTypeError("expected a state and matrices of int64")
    check(self.shape == (dimension, BITS), f"expected a state of shape {[dimension, BITS]}", got=self.shape)
    wanted = (dimension, BITS, BITS)
    check(ltm.shape == wanted, f"expected matrices of shape {list(wanted)}", got=ltm.shape)
    places: Any = arange(BITS - 1, -1, -1, device=self.device)
    bits: Any = (self.unsqueeze(-1) >> places) & 1  # the highest one first
    matrices: Any = where(places == places.unsqueeze(1), 1, ltm)
    products: Any = (matrices.unsqueeze(1) * bits.unsqueeze(2)).sum(-1) & 1
    return self.copy_((products << places).sum(-1))
