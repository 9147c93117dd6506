"""Pickling of tensors: views that are pickled together share memory again, as in files that PyTorch saves.

A view is pickled as an offset, shape and strides in the tensor that owns the memory, which pickle writes once.
"""

from __future__ import annotations

import opdsl.runtime.values as values
from opdsl.runtime.dtype import DType
from opdsl.runtime.storage import storage_root
from opdsl.runtime.strides import byte_strides, is_non_overlapping_and_dense
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import view_array, view_geometry


def reduced(tensor: Tensor) -> tuple[object, ...]:
    """Return the reduced form of a tensor, which pickle writes."""
    root, form = storage_root(tensor), tensor.geometry
    offset = None if root is tensor else _offset(root, tensor)
    if offset is None:
        return tensor.__reduce_ex__(2)
    place = (root, form.dtype, form.shape, form.strides, offset, form.requires_grad)
    return _rebuild_view, (*place, form.is_conj, form.is_neg)


def _offset(root: Tensor, view: Tensor) -> int | None:
    """Return the byte offset of a view in its root's elements; None if the view has to be pickled by itself.

    Only the elements of the root are written: a view of memory between or after them would have none. A root that was
    resized may have other memory than its views.
    """
    own, form = root.geometry, view.geometry
    if form.device.type != "cpu" or not is_non_overlapping_and_dense(own.shape, own.strides):
        return None
    offset = values.address(view) - values.address(root)
    last = sum((size - 1) * stride for size, stride in zip(form.shape, form.strides, strict=True))
    end = offset + (last + 1) * form.dtype.itemsize if view.numel() else offset
    return offset if offset >= 0 and end <= root.numel() * own.dtype.itemsize else None


def _rebuild_view(
    root: Tensor,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    requires_grad: bool,
    is_conj: bool = False,
    is_neg: bool = False,
) -> Tensor:
    tensor = Tensor()
    tensor._writes = 0
    tensor._base = root
    tensor.geometry = view_geometry(root.geometry, shape, strides, dtype).replace(is_conj=is_conj, is_neg=is_neg)
    tensor.array = view_array(root.array, shape, byte_strides(strides, dtype.itemsize), offset, dtype.numpy, root)
    return tensor.requires_grad_() if requires_grad else tensor


__all__ = ["reduced"]
