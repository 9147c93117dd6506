"""Memory of arrays, by which arguments that overlap are noticed."""

from __future__ import annotations

from typing import NamedTuple


class Memory(NamedTuple):
    """Memory of an array.

    dtype: name of its dtype.
    shape, strides: its sizes, and its strides in bytes.
    address: that of the first element.
    itemsize: bytes of an element.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    itemsize: int

    def overlaps(self, other: Memory) -> bool:
        """Return whether the ranges of addresses of two arrays have a byte in common."""
        if 0 in self.shape or 0 in other.shape:
            return False
        (start, stop), (first, last) = self._range(), other._range()
        return start < last and first < stop

    def _range(self) -> tuple[int, int]:
        """Return the first address, and that after the last element."""
        first = last = self.address
        for size, stride in zip(self.shape, self.strides, strict=True):
            if stride > 0:
                last += (size - 1) * stride
            else:
                first += (size - 1) * stride
        return first, last + self.itemsize

    def repeats_elements(self) -> bool:
        """Return whether two elements may be at one address."""
        if 0 in self.shape:
            return False
        extent = self.itemsize
        for stride, size in sorted(zip(map(abs, self.strides), self.shape, strict=True)):
            if size > 1 and stride < extent:
                return True
            extent += (size - 1) * stride
        return False
