"""Heap for large memory blocks: segments from the driver are split into blocks, and free neighbors merge again."""

from __future__ import annotations

from bisect import bisect_left, insort

__all__ = ["Heap", "segment_size"]

_MEBIBYTE = 1 << 20
# The sizes of PyTorch: smaller blocks share a segment, a larger one gets its own segment.
_SHARED_SEGMENT = 20 * _MEBIBYTE
_LEAST_OWN_SEGMENT = 10 * _MEBIBYTE
_ROUNDING = 2 * _MEBIBYTE


def segment_size(size: int) -> int:
    """Return how many bytes to request from the driver for a large block of the given size.

    >>> segment_size(3 << 20) >> 20, segment_size(33 << 20) >> 20
    (20, 34)
    """
    return _SHARED_SEGMENT if size < _LEAST_OWN_SEGMENT else -(-size // _ROUNDING) * _ROUNDING


class Chunk:
    """Part of a segment, taken or free, with links to its neighbors in the segment."""

    __slots__ = ("address", "after", "before", "is_free", "size")

    def __init__(self, address: int, size: int, before: Chunk | None = None, after: Chunk | None = None) -> None:
        self.address = address
        self.size = size
        self.before = before
        self.after = after
        self.is_free = False

    @property
    def is_segment(self) -> bool:
        """Return whether the chunk covers its whole segment."""
        return self.before is None and self.after is None


class Heap:
    """Heap of segments with a best-fit list of free chunks. It is not thread-safe: the caller holds a lock."""

    def __init__(self) -> None:
        self._chunks: dict[int, Chunk] = {}
        self._free: list[tuple[int, int]] = []

    def add(self, address: int, size: int, taken: int) -> None:
        """Add a segment of which the first ``taken`` bytes are in use."""
        chunk = self._chunks[address] = Chunk(address, size)
        self._split(chunk, taken)

    def take(self, size: int) -> int:
        """Return the address of ``size`` bytes from the smallest free chunk that is large enough; 0 if there
        is none.
        """
        place = bisect_left(self._free, (size, 0))
        if place == len(self._free):
            return 0
        _, address = self._free.pop(place)
        chunk = self._chunks[address]
        chunk.is_free = False
        self._split(chunk, size)
        return address

    def give(self, address: int, size: int) -> None:
        """Free memory and merge it with free neighbors; an address that is not known is added as a segment."""
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
        """Remove the segments that are entirely free, and return their addresses and sizes."""
        whole = [chunk for chunk in self._chunks.values() if chunk.is_free and chunk.is_segment]
        for chunk in whole:
            self._drop(chunk)
            del self._chunks[chunk.address]
        return [(chunk.address, chunk.size) for chunk in whole]

    @property
    def free_bytes(self) -> int:
        """Return the number of free bytes."""
        return sum(size for size, _ in tuple(self._free))

    def is_split(self, address: int) -> bool:
        """Return whether the chunk at an address is only a part of its segment."""
        chunk = self._chunks.get(address)
        return chunk is not None and not chunk.is_segment

    @property
    def split_bytes(self) -> int:
        """Return the number of free bytes in segments that are partly in use."""
        return sum(size for size, address in tuple(self._free) if self.is_split(address))

    def _split(self, chunk: Chunk, size: int) -> None:
        """Shrink a taken chunk to ``size`` bytes and free the rest."""
        if chunk.size == size:
            return
        rest = Chunk(chunk.address + size, chunk.size - size, chunk, chunk.after)
        if chunk.after is not None:
            chunk.after.before = rest
        chunk.after, chunk.size, rest.is_free = rest, size, True
        self._chunks[rest.address] = rest
        insort(self._free, (rest.size, rest.address))

    def _joined(self, chunk: Chunk, after: Chunk) -> Chunk:
        """Merge a chunk with its neighbor, and return the merged chunk, which is not in the list of free ones."""
        chunk.size += after.size
        chunk.after = after.after
        if after.after is not None:
            after.after.before = chunk
        del self._chunks[after.address]
        return chunk

    def _drop(self, chunk: Chunk) -> None:
        """Remove a chunk from the list of free chunks."""
        del self._free[bisect_left(self._free, (chunk.size, chunk.address))]
