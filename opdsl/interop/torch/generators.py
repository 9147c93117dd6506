"""Random numbers of calls from torch: torch's generators give a seed for each draw of an opdsl kernel.

So ``torch.manual_seed`` determines the numbers, and there is no random state besides torch's. Under ``torch.vmap``
draws follow torch: ``randomness="same"`` gives each element of a batch the same numbers, ``"different"`` gives each its
own, and ``"error"`` refuses to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

from opdsl.errors import TorchError
from opdsl.runtime import Device, Generator
from opdsl.runtime.lowering import lowering
from opdsl.runtime.scopes import Setting

__all__ = ["Draws", "TorchGenerator", "drawn_by_default", "outside_of_vmap", "theirs", "under_randomness"]


class TorchGenerator(Generator):
    """Generator for opdsl kernels that draws its seeds from a torch generator.

    Args:
        source: the torch generator.
    """

    __slots__ = ("source",)

    def __init__(self, source: torch.Generator) -> None:
        super().__init__(source.device.type)
        self.source = source

    def advance(self, count: int) -> tuple[int, int]:
        """See ``Generator``: each draw starts a new sequence with its own seed."""
        if lowering.get() is not None:
            return super().advance(count)  # records this call
        return _drawn(str(self.source.device), self.source), 0


class Draws:
    """Record of the seeds drawn by the calls for the elements of one vmap batch.

    Args:
        randomness: of ``torch.vmap``: ``error``, ``same`` or ``different``.

    seeds: the seeds drawn so far, in order.
    """

    def __init__(self, randomness: str) -> None:
        self.randomness = randomness
        self.seeds: list[int] = []
        self._next = 0

    def each_element(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that each call of it starts a new batch element."""

        def call_element(*values: Any) -> Any:
            self._next = 0
            return call(*values)

        return call_element

    def draw(self, fresh: Callable[[], int]) -> int:
        """Return a seed: the one that the first batch element drew at the same point, or a fresh one.

        Raises:
            TorchError: the batch forbids random numbers.
        """
        if self.randomness == "error":
            raise TorchError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        at, self._next = self._next, self._next + 1
        if self.randomness == "different" or at >= len(self.seeds):
            self.seeds.append(fresh())
            return self.seeds[-1]
        return self.seeds[at]


_draws: ContextVar[Draws | None] = ContextVar("opdsl_torch_draws", default=None)

_VMAP_MODE = torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchVmapMode).add(torch._C.DispatchKey.FuncTorchBatched)


def outside_of_vmap() -> Any:
    """Return a context manager that hides the ``vmap`` dispatch keys from torch."""
    return torch._C._ExcludeDispatchKeyGuard(_VMAP_MODE)


@contextmanager
def under_randomness(randomness: str) -> Iterator[Draws]:
    """Return a context manager within which draws follow the randomness mode of a vmap batch and of the batches around
    it.
    """
    outer = _draws.get()
    draws = Draws(randomness)
    if outer is not None:
        draw = draws.draw
        draws.draw = lambda fresh: draw(lambda: outer.draw(fresh))  # type: ignore[method-assign]
    with Setting(_draws, draws):
        yield draws


def _drawn(device: str, source: torch.Generator | None) -> int:
    """Return a seed from a torch generator, or from the default generator of its device."""
    draws = _draws.get()
    return _fresh(device, source) if draws is None else draws.draw(lambda: _fresh(device, source))


def _fresh(device: str, source: torch.Generator | None) -> int:
    with outside_of_vmap():
        return int(torch.empty((), dtype=torch.int64, device=device).random_(generator=source))


def drawn_by_default(device: Device) -> tuple[int, int]:
    """Return the seed and offset for an opdsl kernel that is called without a generator."""
    return _drawn(str(device), None), 0


def theirs(generator: Generator) -> torch.Generator:
    """Return a torch generator that is seeded by an opdsl generator, which advances."""
    if isinstance(generator, TorchGenerator):
        return generator.source
    seed, place = generator.advance(1)
    return torch.Generator(str(generator.device)).manual_seed((seed ^ place * 0x9E3779B97F4A7C15) % (1 << 64))
