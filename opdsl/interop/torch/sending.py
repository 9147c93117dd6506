"""Pickling of tensors for other processes in shared memory, by torch's own reductions."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.multiprocessing  # registers reductions of torch tensors
from torch.utils.dlpack import from_dlpack

from opdsl.interop.torch.tensors import shared
from opdsl.runtime import Tensor
from opdsl.runtime.pickling import reduced
from opdsl.runtime.storage import storage_root


def register() -> None:
    """Make queues and pipes of ``multiprocessing`` send CPU tensors in shared memory."""
    ForkingPickler.register(Tensor, _sent)


def _sent(tensor: Tensor) -> tuple[Any, ...]:
    """Return the pickle reduction of a tensor. A view is sent as its position in the tensor that owns the memory, which
    is sent once.
    """
    if storage_root(tensor) is not tensor or not tensor.is_cpu:
        return reduced(tensor)
    return _received, (from_dlpack(tensor.detach()), tensor.requires_grad)


def _received(sent: torch.Tensor, requires_grad: bool) -> Tensor:
    output = shared(sent)
    return output.requires_grad_() if requires_grad else output
