"""Free memory of streams, and of what is captured on them."""

from __future__ import annotations

from typing import Any

from opdsl.backends.cuda.driver import Driver, installed
from opdsl.backends.cuda.finalization import Queue, finalize_last

__all__ = ["CapturePool", "Pool"]


class Pool(dict[int, list[int]]):
    """Addresses of free memory by size, which what is queued on one stream may use at once."""

    __slots__ = ("__weakref__",)

    @property
    def bytes(self) -> int:
        """How much there is."""
        return sum(size * len(waiting) for size, waiting in tuple(self.items()))

    def put(self, address: int, size: int) -> None:
        """Keep the memory of a block that has died."""
        waiting = self.get(size)
        if waiting is None:
            waiting = self.setdefault(size, [])
        waiting.append(address)

    def give_to_driver(self, api: Driver, stream: int) -> None:
        """Give all of it back, in the order of a stream."""
        for waiting in tuple(self.values()):
            for _ in range(len(waiting)):
                try:
                    address = waiting.pop()
                except IndexError:  # another thread takes from the same list
                    break
                api.free(address, stream)


class CapturePool(Pool):
    """Memory that a captured graph uses in each run: nobody else gets it while the graph, or a block of it, is there.

    Args:
        stream: which is captured.

    held: blocks from outside that are captured, by address.
    """

    __slots__ = ("held", "stream")

    def __init__(self, stream: Queue) -> None:
        super().__init__()
        self.stream = stream
        self.held: dict[int, Any] = {}

    def take_over(self, other: Pool) -> None:
        """Take the free memory of another pool of the same stream."""
        for size, waiting in other.items():
            self.setdefault(size, []).extend(waiting)
        other.clear()

    def __del__(self) -> None:
        if installed() is not None:
            finalize_last(1, self._release)

    def _release(self) -> None:
        """Give the memory back; blocks that have died together with the pool have put theirs here by now."""
        api = installed()
        if api is None or not self:
            return
        if self.stream.is_captured():
            finalize_last(0, self._release)
            return
        api.activate(self.stream.index)
        self.give_to_driver(api, self.stream.handle)
