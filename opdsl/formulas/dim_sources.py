"""Record of tensors whose reads are deferred, to detect writes in between."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.errors import DimError
from opdsl.runtime import Tensor, version_of


class Source(NamedTuple):
    """Tensor whose read is deferred, with its version at the time; it must not be written in between."""

    tensor: Tensor
    version: int

    @classmethod
    def of(cls, tensor: Tensor) -> Source:
        """Return a record of a tensor with its current version."""
        return cls(tensor, 0 if tensor.is_inference() else version_of(tensor))

    @property
    def is_unchanged(self) -> bool:
        """Return whether the tensor has not been written since its read was recorded."""
        return self.tensor.is_inference() or version_of(self.tensor) == self.version

    def require_unchanged(self) -> None:
        """Raise an error if the tensor has been written since its read was recorded.

        Raises:
            DimError: it has been written.
        """
        if not self.is_unchanged:
            raise DimError(
                f"a tensor of shape {self.tensor.shape} was written between its read over dims and the use of the "
                "result, which is only computed when it is used: a product when it is summed, an expression of a dim "
                "without a size when that has one. Write to the tensor after the result is used, or read a clone()."
            )
