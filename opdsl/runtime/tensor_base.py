"""What every tensor holds, without its methods: all that modules beneath ``tensor`` need to know of one."""

from __future__ import annotations

from typing import Any, Self

from opdsl.runtime.geometry import TensorMeta


class TensorBase:
    """The members of a tensor.

    There is no ``__init__`` on purpose: it would cost more than the rest of a small operator's call. Whoever makes a
    tensor sets ``array``, ``geometry``, ``_writes`` and ``_base``.

    array: the elements, a ``numpy.ndarray`` in the storage dtype for the CPU; absent, or a ``MetaArray``, on meta.
    geometry: dtype, device, shape, strides and flags.
    _writes: how often the memory has been written, of a tensor that counts it (see ``version_of``); of a view the
        count when it got its history, which is looked at where it was made in another way than by default.
    _base: the tensor that a view is a view of, itself none; of one that is detached, or data, what it shares memory
        with. None for a tensor that owns its memory.
    _memory: the array of all memory of a tensor that owns it and has been made to show less; absent from others.
    autograd: what ``opdsl.autograd`` keeps; absent until it does.
    kept: the tensor over the same memory by which the node that made this one counts its writes, also when this one is
        gone; absent where there is none.
    """

    __slots__ = ("__weakref__", "_base", "_memory", "_writes", "array", "autograd", "geometry", "kept")

    array: Any
    geometry: TensorMeta
    _writes: int
    _base: Self | None
    _memory: Any
    autograd: Any
    kept: Self
