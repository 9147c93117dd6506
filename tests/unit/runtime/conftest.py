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
    array = tensor.view(torch.int16).numpy().view("u2") if tensor.dtype is torch.bfloat16 else tensor.numpy()
    return wrap(array, dtype)


@pytest.fixture
def ours():
    return share
