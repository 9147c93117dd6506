"""Constant tensors for gradients."""

from __future__ import annotations

from opdsl.dispatch import current, registry
from opdsl.kernels import fill_, new_tensor
from opdsl.runtime import Tensor, TensorMeta
from opdsl.runtime.geometry import geometry

__all__ = ["filled", "unfilled"]


def unfilled(form: TensorMeta) -> Tensor:
    """Return a contiguous tensor whose elements are not yet written.

    Args:
        form: gives dtype, device and shape.
    """
    if current.get().modes:  # call an operator, so that modes see it
        empty = registry.operator("aten::empty.memory_format").function
        tensor: Tensor = empty(form.shape, dtype=form.dtype, device=form.device)
        return tensor
    return new_tensor(geometry(form.dtype, form.device, form.shape))


def filled(form: TensorMeta, value: float, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return a contiguous tensor filled with a number.

    Args:
        form: gives dtype and device.
        value: of its elements.
        shape: that of ``form`` by default.
    """
    sizes = form.shape if shape is None else shape
    if current.get().modes:  # call an operator, so that modes see it
        tensor: Tensor = registry.operator("aten::full").function(sizes, value, dtype=form.dtype, device=form.device)
        return tensor
    return fill_(new_tensor(geometry(form.dtype, form.device, sizes)), value)
