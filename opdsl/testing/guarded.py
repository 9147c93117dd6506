"""Arrays next to protected memory pages, so that an out-of-bounds access of a kernel crashes the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy

from opdsl.runtime import Tensor, make_view, wrap
from opdsl.runtime.values import host_array

__all__ = ["guarded", "guarded_tensor"]

_PAGE = mmap.PAGESIZE

# Maximum number of elements; larger tensors are not copied.
_MOST = 10**6


def guarded(array: numpy.ndarray[Any, Any], *, at_end: bool = True) -> numpy.ndarray[Any, Any]:
    """Copy an array to memory between two protected pages, directly at one of them.

    Args:
        array: the array to copy. For an array without elements no byte may be read.
        at_end: whether the copy ends at the following page; otherwise it begins at the end of the preceding page.

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
    """Copy a tensor to guarded memory, with its strides; return the tensor itself if it is large or not in CPU memory.

    Args:
        tensor: the tensor to copy.
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
