"""Tensors between processes in shared memory, by way of torch's own reductions."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.multiprocessing  # its reductions of torch's tensors
from torch.utils.dlpack import from_dlpack

from opdsl.interop.torch.tensors import shared
from opdsl.runtime import Tensor
from opdsl.runtime.pickling import reduced
from opdsl.runtime.storage import storage_root


def register() -> None:
    """Let queues and pipes of ``multiprocessing`` send tensors on the CPU in shared memory."""
    ForkingPickler.register(Tensor, _sent)


def _sent(tensor: Tensor) -> tuple[Any, ...]:
    """What a process sends of a tensor: of a view where it lies in what owns its memory, which is sent once."""
    if storage_root(tensor) is not tensor or not tensor.is_cpu:
        return reduced(tensor)
    return _received, (from_dlpack(tensor.detach()), tensor.requires_grad)


def _received(sent: torch.Tensor, requires_grad: bool) -> Tensor:
    output = shared(sent)
    return output.requires_grad_() if requires_grad else output
