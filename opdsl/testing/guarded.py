"""Arrays that end, or begin, where a page lies that nobody may touch: what is read beside them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy

from opdsl.runtime import Tensor, make_view, wrap
from opdsl.runtime.values import host_array

__all__ = ["guarded", "guarded_tensor"]

_PAGE = mmap.PAGESIZE

# Larger tensors are left as they are.
_MOST = 10**6


def guarded(array: numpy.ndarray[Any, Any], *, at_end: bool = True) -> numpy.ndarray[Any, Any]:
    """Return a contiguous copy of an array beside memory that nobody may touch.

    Args:
        array: what is copied. Of one without elements there is no byte that may be read.
        at_end: whether the memory begins where the copy ends, or ends where it begins; there is a page of it on the
            other side, too.

    Raises:
        OSError: the system does not protect pages.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    inside = -(-array.nbytes // _PAGE) * _PAGE
    memory = mmap.mmap(-1, inside + 2 * _PAGE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (begin, begin + _PAGE + inside):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = _PAGE + (inside - array.nbytes if at_end else 0)
    copied: numpy.ndarray[Any, Any] = numpy.ndarray(array.shape, array.dtype, memory, offset)
    copied[...] = array
    return copied


def guarded_tensor(tensor: Tensor, *, at_end: bool = True) -> Tensor:
    """Return a tensor of the same elements and strides in guarded memory; itself where it is large or holds none.

    Args:
        tensor: what is copied.
        at_end: see ``guarded``.
    """
    if tensor.is_meta or tensor.device.type != "cpu" or tensor.numel() > _MOST:
        return tensor
    shape, strides = tensor.shape, tensor.strides
    if tensor.numel() == 0:
        array = guarded(numpy.empty(0, host_array(tensor.detach()).dtype), at_end=at_end)
    else:
        extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        flat = tensor.detach().as_strided((extent,), (1,), tensor.storage_offset())
        array = guarded(host_array(flat), at_end=at_end)
    copied = make_view(wrap(array, tensor.dtype), shape, strides).detach()
    return copied.requires_grad_() if tensor.requires_grad else copied
