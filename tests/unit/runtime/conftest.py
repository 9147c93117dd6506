"""Fixture that wraps PyTorch tensors as opdsl tensors over the same memory."""

from __future__ import annotations

import numpy
import pytest
import torch

from opdsl.runtime import to_dtype, wrap


def share(tensor: torch.Tensor):
    """Return an opdsl tensor over the memory of a PyTorch CPU tensor."""
    dtype = to_dtype(str(tensor.dtype))
    if tensor.numel() == 0:  # PyTorch drops the strides of an empty tensor in a conversion to NumPy.
        steps = [stride * dtype.itemsize for stride in tensor.stride()]
        return wrap(numpy.ndarray(tuple(tensor.shape), dtype.numpy, numpy.empty(0), 0, steps), dtype)
    stored = {1: torch.uint8, 2: torch.uint16}[dtype.itemsize] if dtype.is_encoded else tensor.dtype
    return wrap(tensor.view(stored).numpy(), dtype)


@pytest.fixture
def ours():
    return share
