"""Registration of the size of tensors in bytes with dask, which loads this module by the entry point
``dask.sizeof``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from opdsl.runtime import Tensor


class Sizes(Protocol):
    """Type of ``dask.sizeof.sizeof``, a function that dispatches on the type of its argument."""

    def register(self, kind: type[Tensor]) -> Callable[[Callable[[Tensor], int]], object]:
        """Return a decorator that registers the function that computes the size of objects of a type."""


def register(sizeof: Sizes) -> None:
    """Register the size of tensors in bytes with dask, which uses it to choose a worker and to decide when to spill.

    Args:
        sizeof: dask's function.
    """
    sizeof.register(Tensor)(lambda tensor: tensor.nbytes)
