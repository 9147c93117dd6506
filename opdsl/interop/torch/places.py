"""Offsets of fields in torch's tensor objects that compiled code reads, and for which torch has no interface.

They are: the offset of the handle in a Python tensor, and the offsets of dispatch keys and autograd metadata in the
implementation. Each is found by searching for known values in sample tensors.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch

__all__ = ["AUTOGRAD", "HANDLE", "KEYS", "Places", "key_set", "places"]


class Places(NamedTuple):
    """Offsets of fields in tensor objects.

    handle: of the ``at::Tensor`` in a Python tensor, in bytes.
    keys: of the dispatch key set in the implementation that the handle points to, in words.
    autograd: of the pointer to autograd metadata in the implementation, in words; the pointer is null without metadata.
    """

    handle: int
    keys: int
    autograd: int


_WORD = 8
_IMPLEMENTATION_WORDS = 24  # a c10::TensorImpl has no fewer


@functools.cache
def places() -> Places | None:
    """Find the offsets in this torch; return None if they are ambiguous."""
    samples = _samples()
    outer = [_words(id(sample), type(sample).__basicsize__ // _WORD) for sample in samples]
    inner = [_words(sample._cdata, _IMPLEMENTATION_WORDS) for sample in samples]
    handles = _common(outer, [sample._cdata for sample in samples])
    keys = _common(inner, [key_set(sample) for sample in samples])
    follows = [sample.requires_grad for sample in samples]
    autograd = [word for word in range(_IMPLEMENTATION_WORDS) if [numbers[word] != 0 for numbers in inner] == follows]
    numbers = (handles, keys, autograd)
    if any(len(numbers) != 1 for numbers in numbers):
        return None
    return Places(handles[0] * _WORD, keys[0], autograd[0])


def _samples() -> list[torch.Tensor]:
    """Return sample tensors with several key sets and shapes, with and without gradients."""
    shapes: list[tuple[int, ...]] = [(), (3,), (2, 0), (4, 5, 6, 7, 8, 9)]
    plain = [torch.empty(shape, dtype=dtype) for shape in shapes for dtype in (torch.float32, torch.complex128)]
    views = [plain[3].conj(), plain[1].view(1, 1, 1)]
    return [*plain, *(view.detach() for view in views), *(torch.empty(shape, requires_grad=True) for shape in shapes)]


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _common(numbers: Sequence[list[int]], wanted: Sequence[int]) -> list[int]:
    """Return the indices at which every list of words holds its wanted word."""
    count = min(map(len, numbers))
    return [at for at in range(count) if [numbers[at] for numbers in numbers] == list(wanted)]


def key_set(tensor: torch.Tensor) -> int:
    """Return the dispatch key set of a tensor in torch's integer representation."""
    keys: int = torch._C._dispatch_keys(tensor).raw_repr()
    return keys


HANDLE, KEYS, AUTOGRAD = places() or Places(0, 0, 0)
"""What machine code is written with; it is used where ``places`` are known."""
