"""Tests of ``Tensor.to`` and other conversions, compared with PyTorch's."""

from __future__ import annotations

import pytest
import torch

import opdsl
from opdsl.runtime.storage import version_of

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip
METHODS = ["bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short"]


def both(*shape: int):
    theirs = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
    return opdsl.tensor(theirs.tolist()), theirs


@pytest.mark.parametrize("name", METHODS)
def test_a_method_converts(name: str) -> None:
    ours, theirs = both(2, 3)
    converted, expected = getattr(ours, name)(), getattr(theirs, name)()
    assert (str(converted.dtype).partition(".")[2], converted.tolist()) == (
        str(expected.dtype).partition(".")[2],
        expected.tolist(),
    )


# Calls with `lib` for both packages and `x` of shape (2, 3, 4, 5).
CALLS = {
    "dtype": lambda lib, x: x.to(lib.float64),
    "python type": lambda lib, x: x.to(int),
    "dtype by name": lambda lib, x: x.to(dtype=lib.int32),
    "same dtype": lambda lib, x: x.to(lib.float32),
    "copy": lambda lib, x: x.to(lib.float32, copy=True),
    "copy by place": lambda lib, x: x.to(lib.float32, False, True),
    "device": lambda lib, x: x.to("cpu"),
    "device by name": lambda lib, x: x.to(device="cpu"),
    "device and dtype": lambda lib, x: x.to("cpu", lib.int64),
    "device, dtype by name": lambda lib, x: x.to("cpu", dtype=lib.int64),
    "device, copy": lambda lib, x: x.to("cpu", None, False, True),
    "meta": lambda lib, x: x.to("meta"),
    "meta and dtype": lambda lib, x: x.to("meta", lib.float16),
    "other": lambda lib, x: x.to(lib.ones((1,), dtype=lib.int16)),
    "other by name": lambda lib, x: x.to(tensor=lib.ones((1,), dtype=lib.int16)),
    "other on meta": lambda lib, x: x.to(lib.ones((1,), device="meta")),
    "transposed": lambda lib, x: x.transpose(0, 2).to(lib.float64),
    "expanded": lambda lib, x: x.narrow(0, 0, 1).expand(3, 3, 4, 5).to(lib.float64),
    "channels last": lambda lib, x: x.to(memory_format=lib.channels_last),
    "channels last and dtype": lambda lib, x: x.to(lib.float64, memory_format=lib.channels_last),
    "contiguous format": lambda lib, x: x.to(memory_format=lib.contiguous_format),
    "nothing": lambda lib, x: x.to(None),
    "cpu()": lambda lib, x: x.cpu(),
    "_to_copy": lambda lib, x: lib.ops.aten._to_copy(x, dtype=lib.int8),
    "_to_copy of itself": lambda lib, x: lib.ops.aten._to_copy(x),
    "to.dtype_layout": lambda lib, x: lib.ops.aten.to.dtype_layout(x, device="meta", copy=True),
    "to.device": lambda lib, x: lib.ops.aten.to.device(x, "cpu", lib.bool),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_pytorchs_gives(name: str) -> None:
    ours, theirs = both(2, 3, 4, 5)
    converted, expected = CALLS[name](opdsl, ours), CALLS[name](torch, theirs)
    assert (tuple(converted.shape), converted.strides) == (tuple(expected.shape), expected.stride())
    assert (str(converted.device), str(converted.dtype).partition(".")[2]) == (
        str(expected.device), str(expected.dtype).partition(".")[2]
    )  # fmt: skip
    assert (converted is ours) == (expected is theirs)
    if expected.device.type == "cpu":
        assert converted.tolist() == expected.tolist()
    assert version_of(converted) == expected._version


ERRORS = {
    "no such device": lambda lib, x: x.to("nowhere"),
    "neither device nor dtype": lambda lib, x: x.to(object()),
    "too many": lambda lib, x: x.to("cpu", None, False, True, 1),
    "unknown name": lambda lib, x: x.to("cpu", nope=1),
    "given twice": lambda lib, x: x.to("cpu", device="cpu"),
    "requires_grad": lambda lib, x: x.to("cpu", requires_grad=True),
    "no elements to copy": lambda lib, x: x.to("meta").to("cpu"),
    "a function": lambda lib, x: lib.to(x, lib.float64),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_pytorch_refuses_is_refused(name: str) -> None:
    ours, theirs = both(2)
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch, theirs)
    with pytest.raises(expected.type):
        ERRORS[name](opdsl, ours)
