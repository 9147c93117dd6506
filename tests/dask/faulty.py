"""Operators with faults, for tests in which worker processes import them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("faulty")


@lib.op
def doubled(self: Tensor, folder: str) -> Tensor:
    """Double the input slowly; the first call in a process writes a file named by the process."""
    ...


@doubled.kernel("CPU")
def doubled_cpu(self: Tensor, folder: str) -> Tensor:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(0.05)
    return self + self


@doubled.kernel("Meta")
def doubled_meta(self: Tensor, folder: str) -> Tensor:
    return opdsl.empty_like(self)


doubled.sharding("ij->ij")


@lib.op
def positive(self: Tensor) -> Tensor: ...


@positive.kernel("CPU")
def positive_cpu(self: Tensor) -> Tensor:
    if (self.numpy() < 0).any():
        raise ValueError("an element is negative")
    return self.clone()


@positive.kernel("Meta")
def positive_meta(self: Tensor) -> Tensor:
    return opdsl.empty_like(self)


positive.sharding("ij->ij")


@lib.op
@formula
def squared(self: Tensor) -> Tensor:
    return self * self
