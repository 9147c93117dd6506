"""Factory of tensors for samples: reproducible random elements, in several memory layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy

from opdsl.aten.create.conversions import in_dtype
from opdsl.aten.pointwise.comparison import where_number_self
from opdsl.aten.shape.slicing import slice_tensor
from opdsl.aten.shape.transpositions import transpose
from opdsl.runtime import DType, Tensor, bool_, from_numpy


class Maker:
    """Factory of tensors of one dtype with random elements, the same ones in every run.

    Args:
        dtype: of the tensors.

    >>> import opdsl
    >>> from opdsl.testing import Maker
    >>> make = Maker(opdsl.float32)
    >>> make(2, 3).shape, make.transposed(2, 3).stride()
    ((2, 3), (1, 2))
    """

    __slots__ = ("_random", "dtype")

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self._random = numpy.random.default_rng(0)

    def __call__(self, *shape: int, dtype: DType | None = None) -> Tensor:
        """Return a contiguous tensor of the given sizes."""
        values: Any = self._random.standard_normal(shape) * 3
        kind = dtype or self.dtype
        if kind.is_complex:
            values = values + 1j * self._random.standard_normal(shape)
        elif kind is bool_:
            values = values > 0
        elif not kind.is_signed:
            values = numpy.abs(values)
        return in_dtype(from_numpy(numpy.asarray(values)), kind, copy=True)

    def distinct(self, *shape: int) -> Tensor:
        """Return a contiguous tensor of distinct numbers, as far as the dtype has that many.

        Args:
            shape: its sizes.
        """
        values = self._random.permutation(math.prod(shape)).reshape(shape)
        return in_dtype(from_numpy(values), self.dtype, copy=True)

    def nonzero(self, *shape: int) -> Tensor:
        """Return a contiguous tensor without zeros, for divisors.

        Args:
            shape: its sizes.
        """
        values = self(*shape)
        return where_number_self(values == 0, True, values)

    def transposed(self, *shape: int) -> Tensor:
        """Return a tensor whose first and last dimension are swapped in memory.

        Args:
            shape: its sizes.
        """
        turned = list(shape)
        turned[0], turned[-1] = turned[-1], turned[0]
        transposed: Tensor = transpose(self(*turned), 0, -1)
        return transposed

    def strided(self, *shape: int) -> Tensor:
        """Return a tensor with gaps between its elements.

        Args:
            shape: its sizes.
        """
        base = self(*(2 * size for size in shape))
        for dim in range(len(shape)):
            base = slice_tensor(base, dim, 0, None, 2)
        return base
