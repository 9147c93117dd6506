"""Base class of tensors: the data attributes, without methods, for modules that cannot import ``tensor``."""

from __future__ import annotations

from typing import Any, Self

from opdsl.runtime.geometry import TensorMeta


class TensorBase:
    """Base class of tensors, with their data attributes.

    There is no ``__init__``, since it would cost more than the rest of a small operator's call. Code that makes a
    tensor sets ``array``, ``geometry``, ``_writes`` and ``_base``.

    array: the elements, a ``numpy.ndarray`` in the storage dtype for the CPU; absent, or a ``MetaArray``, on meta.
    geometry: dtype, device, shape, strides and flags.
    _writes: the number of writes to the memory, for a tensor that counts them (see ``version_of``); for a view, the
        count when it got its autograd history, which is checked if its creation is not the default.
    _base: for a view, the tensor that owns the memory, which is no view; for a detached tensor or one from ``data``,
        the tensor with which it shares memory. None for a tensor that owns its memory.
    _memory: the array of the whole memory, for an owner that was changed to show only a part; absent from others.
    autograd: data of ``opdsl.autograd``; absent until it is needed.
    kept: a tensor over the same memory by which the node that made this tensor counts writes, even after this tensor is
        gone; absent from other tensors.
    """

    __slots__ = ("__weakref__", "_base", "_memory", "_writes", "array", "autograd", "geometry", "kept")

    array: Any
    geometry: TensorMeta
    _writes: int
    _base: Self | None
    _memory: Any
    autograd: Any
    kept: Self
