"""Large blocks of memory: segments of the driver's, which are split for blocks and merge again when these are free."""

from __future__ import annotations

from bisect import bisect_left, insort

__all__ = ["Heap", "segment_size"]

_MEBIBYTE = 1 << 20
# As PyTorch has it: smaller blocks share a segment, larger ones have one that fits them.
_SHARED_SEGMENT = 20 * _MEBIBYTE
_LEAST_OWN_SEGMENT = 10 * _MEBIBYTE
_ROUNDING = 2 * _MEBIBYTE


def segment_size(size: int) -> int:
    """Return how much to ask of the driver for a large block.

    >>> segment_size(3 << 20) >> 20, segment_size(33 << 20) >> 20
    (20, 34)
    """
    return _SHARED_SEGMENT if size < _LEAST_OWN_SEGMENT else -(-size // _ROUNDING) * _ROUNDING


class Chunk:
    """A part of a segment: its neighbours there, and whether nobody has it."""

    __slots__ = ("address", "after", "before", "is_free", "size")

    def __init__(self, address: int, size: int, before: Chunk | None = None, after: Chunk | None = None) -> None:
        self.address = address
        self.size = size
        self.before = before
        self.after = after
        self.is_free = False

    @property
    def is_segment(self) -> bool:
        """Whether it is all of its segment."""
        return self.before is None and self.after is None


class Heap:
    """Segments, and which parts of them are free. Whoever calls it holds a lock."""

    def __init__(self) -> None:
        self._chunks: dict[int, Chunk] = {}
        self._free: list[tuple[int, int]] = []

    def add(self, address: int, size: int, taken: int) -> None:
        """Add a segment, of which the first bytes are taken."""
        chunk = self._chunks[address] = Chunk(address, size)
        self._split(chunk, taken)

    def take(self, size: int) -> int:
        """Return the address of so much memory, of the smallest part that is large enough; 0 where there is none."""
        place = bisect_left(self._free, (size, 0))
        if place == len(self._free):
            return 0
        _, address = self._free.pop(place)
        chunk = self._chunks[address]
        chunk.is_free = False
        self._split(chunk, size)
        return address

    def give(self, address: int, size: int) -> None:
        """Take memory back, which merges with what is free beside it; an address that is not known is a segment."""
        chunk = self._chunks.get(address) or Chunk(address, size)
        self._chunks[address] = chunk
        if chunk.before is not None and chunk.before.is_free:
            self._drop(chunk.before)
            chunk = self._joined(chunk.before, chunk)
        if chunk.after is not None and chunk.after.is_free:
            self._drop(chunk.after)
            chunk = self._joined(chunk, chunk.after)
        chunk.is_free = True
        insort(self._free, (chunk.size, chunk.address))

    def segments(self) -> list[tuple[int, int]]:
        """Remove the segments that are free as a whole, and return their addresses and sizes."""
        whole = [chunk for chunk in self._chunks.values() if chunk.is_free and chunk.is_segment]
        for chunk in whole:
            self._drop(chunk)
            del self._chunks[chunk.address]
        return [(chunk.address, chunk.size) for chunk in whole]

    @property
    def free_bytes(self) -> int:
        """Bytes that are free."""
        return sum(size for size, _ in tuple(self._free))

    def is_split(self, address: int) -> bool:
        """Whether a block that has been put back is a part of a segment."""
        chunk = self._chunks.get(address)
        return chunk is not None and not chunk.is_segment

    @property
    def split_bytes(self) -> int:
        """Free bytes of segments that are not free as a whole."""
        return sum(size for size, address in tuple(self._free) if self.is_split(address))

    def _split(self, chunk: Chunk, size: int) -> None:
        """Free what a taken chunk has beyond a size."""
        if chunk.size == size:
            return
        rest = Chunk(chunk.address + size, chunk.size - size, chunk, chunk.after)
        if chunk.after is not None:
            chunk.after.before = rest
        chunk.after, chunk.size, rest.is_free = rest, size, True
        self._chunks[rest.address] = rest
        insort(self._free, (rest.size, rest.address))

    def _joined(self, chunk: Chunk, after: Chunk) -> Chunk:
        """Two neighbours as one, in no list."""
        chunk.size += after.size
        chunk.after = after.after
        if after.after is not None:
            after.after.before = chunk
        del self._chunks[after.address]
        return chunk

    def _drop(self, chunk: Chunk) -> None:
        """Remove a chunk from those that are free."""
        del self._free[bisect_left(self._free, (chunk.size, chunk.address))]
