"""Where torch keeps what machine code reads of its tensors, for which it has no interface.

Where in a Python tensor its handle lies, and where behind that its dispatch keys and what autograd knows. Each place is
found by looking for known values in tensors that have them.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch

__all__ = ["AUTOGRAD", "HANDLE", "KEYS", "Places", "key_set", "places"]


class Places(NamedTuple):
    """Where things lie.

    handle: the ``at::Tensor`` in a Python tensor, in bytes.
    keys: the dispatch key set in what the handle points to, in words.
    autograd: the pointer to what autograd knows of a tensor, there too; null where it knows nothing.
    """

    handle: int
    keys: int
    autograd: int


_WORD = 8
_IMPLEMENTATION_WORDS = 24  # a c10::TensorImpl has no fewer


@functools.cache
def places() -> Places | None:
    """Where torch keeps things; None where that is not clear."""
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
    """Tensors of several key sets, with and without gradients, of several shapes."""
    shapes: list[tuple[int, ...]] = [(), (3,), (2, 0), (4, 5, 6, 7, 8, 9)]
    plain = [torch.empty(shape, dtype=dtype) for shape in shapes for dtype in (torch.float32, torch.complex128)]
    views = [plain[3].conj(), plain[1].view(1, 1, 1)]
    return [*plain, *(view.detach() for view in views), *(torch.empty(shape, requires_grad=True) for shape in shapes)]


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _common(numbers: Sequence[list[int]], wanted: Sequence[int]) -> list[int]:
    """Where in every list of words the wanted one of it stands."""
    count = min(map(len, numbers))
    return [at for at in range(count) if [numbers[at] for numbers in numbers] == list(wanted)]


def key_set(tensor: torch.Tensor) -> int:
    """The dispatch keys of a tensor, as torch holds them."""
    keys: int = torch._C._dispatch_keys(tensor).raw_repr()
    return keys


HANDLE, KEYS, AUTOGRAD = places() or Places(0, 0, 0)
"""What machine code is written with; it is used where ``places`` are known."""
