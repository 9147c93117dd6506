"""How many bytes a tensor holds, for dask, which finds this by the entry point ``dask.sizeof``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from opdsl.runtime import Tensor


class Sizes(Protocol):
    """``dask.sizeof.sizeof``: a function by type."""

    def register(self, kind: type[Tensor]) -> Callable[[Callable[[Tensor], int]], object]:
        """What says how much objects of a type hold."""


def register(sizeof: Sizes) -> None:
    """Let dask know what tensors hold, by which it decides where to compute and what to spill.

    Args:
        sizeof: dask's function.
    """
    sizeof.register(Tensor)(lambda tensor: tensor.nbytes)
