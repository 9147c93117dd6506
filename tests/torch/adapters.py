"""Adapters that call opdsl where op_db calls a method or a lambda instead of a function of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import opdsl

functional = opdsl.nn.functional


def _method(name: str) -> Callable[..., Any]:
    """Return a function that calls a method, for operators that have no function."""
    return lambda self, *inputs, **named: getattr(self, name)(*inputs, **named)


def _of_a_copy(name: str) -> Callable[..., Any]:
    """Return a function that calls an in-place method on a copy."""
    return lambda self, *inputs, **named: getattr(self.clone(), name)(*inputs, **named)


def _max_pool2d_backward(
    self: Any, kernel_size: Any, stride: Any = (), return_indices: bool = True, **named: Any
) -> Any:
    inputs = {"padding": 0, "dilation": 1, "ceil_mode": False, **named}
    out, indices = opdsl.ops.aten.max_pool2d_with_indices(self, kernel_size, stride or kernel_size, **inputs)
    grad = opdsl.ones_like(out)
    return opdsl.ops.aten.max_pool2d_with_indices_backward(
        grad, self, kernel_size, stride or kernel_size, *inputs.values(), indices
    )


CONVERSIONS = "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short"

# Adapters by the name in op_db.
ADAPTED: dict[str, Callable[..., Any]] = {
    # op_db passes `self`, or the weight, first.
    "where": lambda self, condition, other, **named: opdsl.where(condition, self, other, **named),
    "polygamma": lambda self, n, **named: opdsl.polygamma(n, self, **named),
    "special.polygamma": lambda self, n, **named: opdsl.special.polygamma(n, self, **named),
    "broadcast_shapes": lambda *shapes: torch.Size(opdsl.broadcast_shapes(*shapes)),
    "einsum": lambda tensors, equation: opdsl.einsum(equation, *tensors),
    "nn.functional.embedding": lambda weight, indices, **named: functional.embedding(indices, weight, **named),
    "nn.functional.embedding_bag": lambda weight, indices, *inputs, **named: functional.embedding_bag(
        indices, weight, *inputs, **named
    ),
    **{name: _of_a_copy(name) for name in ("zero_", "resize_", "resize_as_")},
    **{name: _method(f"{name}_") for name in ("cauchy", "exponential", "geometric", "log_normal", "uniform")},
    **{name: _method(name) for name in (*CONVERSIONS, "sum_to_size")},
    "max_pool2d_with_indices_backward": _max_pool2d_backward,
}
