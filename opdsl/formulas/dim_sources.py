"""Tensors that are read later than they are named."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.errors import DimError
from opdsl.runtime import Tensor, version_of


class Source(NamedTuple):
    """A tensor that is read later than it is named: nobody may write it in between."""

    tensor: Tensor
    version: int

    @classmethod
    def of(cls, tensor: Tensor) -> Source:
        """Remember the version that a tensor has now."""
        return cls(tensor, 0 if tensor.is_inference() else version_of(tensor))

    def require_unchanged(self) -> None:
        """Raise where the tensor has been written since.

        Raises:
            DimError: it has.
        """
        if not self.tensor.is_inference() and version_of(self.tensor) != self.version:
            raise DimError(
                f"a tensor of shape {self.tensor.shape} was written between its read over dims and the use of the "
                "result, which is computed where it is used: a product when it is summed, an expression of a dim "
                "without a size when that has one. Write the tensor after the result is used, or read a clone()."
            )
