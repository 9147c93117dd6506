"""Five out-kernels, which are all that the device computes.

Each is registered for the ``out=`` operator alone. Before it is called, opdsl checks shapes, promotes dtypes and
allocates outputs, so that the kernel only fills ``out``. The functional, the in-place and the ``out=`` operator, and
every composite that calls them, run on it.
"""

from __future__ import annotations

from typing import Any

import numpy

from opdsl import DType, Library, Tensor, bfloat16
from opdsl.errors import UnsupportedDTypeError

KEY = "PrivateUse1"

Number = bool | int | float | complex
Operand = Tensor | Number  # PyTorch accepts a Python number in place of a tensor of add and mul

lib = Library("numpy_device")


@lib.impl("aten::add.out", KEY)
def add(self: Tensor, other: Operand, alpha: Number, out: Tensor) -> None:
    """``self + alpha * other``"""
    how: Any = {"dtype": out.dtype.numpy, "casting": "unsafe"}
    scaled = values(other) if alpha == 1 else numpy.multiply(values(other), values(alpha), **how)
    numpy.add(values(self), scaled, out=values(out), **how)


@lib.impl("aten::mul.out", KEY)
def mul(self: Tensor, other: Operand, out: Tensor) -> None:
    """``self * other``"""
    numpy.multiply(values(self), values(other), out=values(out), dtype=out.dtype.numpy, casting="unsafe")


@lib.impl("aten::exp.out", KEY)
def exp(self: Tensor, out: Tensor) -> None:
    """``e ** self``"""
    numpy.exp(values(self), out=values(out), dtype=out.dtype.numpy, casting="unsafe")


@lib.impl("aten::sum.IntList_out", KEY)
def total(self: Tensor, dim: tuple[int, ...] | None, keepdim: bool, dtype: DType | None, out: Tensor) -> None:
    """Compute the sum over dimensions, or over all if ``dim`` is None or empty; a 0-d tensor accepts dimension 0."""
    axes = dim if dim and self.ndim else None
    numpy.sum(values(self), axis=axes, dtype=out.dtype.numpy, out=values(out), keepdims=keepdim)


@lib.impl("aten::mm.out", KEY)
def mm(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    """Compute the product of two matrices."""
    numpy.matmul(values(self), values(mat2), out=values(out))


def values(operand: Operand) -> Any:
    """Return the array of a tensor, or a Python number as a 0-d array, which wraps where a dtype cannot represent it.

    Raises:
        UnsupportedDTypeError: NumPy has no bfloat16; opdsl stores it in uint16.
    """
    if not isinstance(operand, Tensor):
        return numpy.asarray(operand)
    if operand.dtype is bfloat16:
        raise UnsupportedDTypeError("numpy_device computes no bfloat16. Convert it first: x.float().")
    return operand.array
