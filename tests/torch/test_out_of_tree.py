"""Tests of the five out-kernels of ``examples/numpy_backend`` on PyTorch's samples, in every variant that uses them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import opdsl
from opdsl.runtime.device import backends
from tests.torch.twins import Twins, differences

SOURCE = Path(__file__).parents[2] / "examples" / "numpy_backend"
DTYPES = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex64)

# NumPy computes kernels for 16 bits and sums, and rounds and adds in another order.
LOOSE = {torch.float16: 2e-3, torch.float32: 2e-6, torch.complex64: 2e-6, torch.float64: 1e-14}


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    """Register the device of the example package, found by its path, for the tests of this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SOURCE))
        patch.setattr(backends, "_entries", dict(backends._entries))  # no other test has the device
        backends.register("numpy_device", "opdsl_numpy_device", "PrivateUse1")
        kernels = importlib.import_module("opdsl_numpy_device.kernels")
        yield
        kernels.lib.close()
        for name in [module for module in sys.modules if module.startswith("opdsl_numpy_device")]:
            del sys.modules[name]


def there(value: Any) -> Any:
    """Return a value with its tensors moved to the device."""
    if isinstance(value, opdsl.Tensor):
        return value.to("numpy_device")
    if isinstance(value, (list, tuple)):
        return type(value)(there(element) for element in value)
    return {name: there(element) for name, element in value.items()} if isinstance(value, dict) else value


def cases() -> Iterator[Any]:
    for info in op_db:
        if info.name in ("add", "mul", "exp", "sum", "mm"):
            for dtype in sorted(info.dtypes & set(DTYPES), key=str):
                yield pytest.param(info, dtype, id=f"{info.name}-{str(dtype).removeprefix('torch.')}")


def samples(info: Any, dtype: torch.dtype) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], Any, tuple[Any, ...]]]:
    """Yield opdsl's arguments and keywords on the device, the expected result, and PyTorch's arguments."""
    torch.manual_seed(0)
    for sample in info.sample_inputs("cpu", dtype):
        inputs = (sample.input, *sample.args)
        own, named = Twins().of((inputs, sample.kwargs))
        yield there(own), there(named), info.op(*inputs, **sample.kwargs), inputs


def departs(tensor: opdsl.Tensor, expected: torch.Tensor) -> list[str]:
    assert str(tensor.device) == "numpy_device"
    return differences(tensor.cpu(), expected, tolerance=LOOSE.get(expected.dtype), strides=False)


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_functional(info: Any, dtype: torch.dtype) -> None:
    function = getattr(opdsl, info.name)
    wrong = []
    for inputs, named, expected, _ in samples(info, dtype):
        for _ in range(2):  # the call, and its plan
            wrong += departs(function(*inputs, **named), expected)
    assert wrong == []


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_out(info: Any, dtype: torch.dtype) -> None:
    function = getattr(opdsl, info.name)
    wrong = []
    for inputs, named, expected, theirs in samples(info, dtype):
        if info.name == "sum" and len(theirs) == 1 and "dim" not in named:
            continue  # the overload without dimensions has no out=
        kind = opdsl.runtime.to_dtype(str(expected.dtype))
        for shape in ((0,), tuple(expected.shape)):
            out = opdsl.empty(shape, dtype=kind, device="numpy_device")
            assert function(*inputs, **named, out=out) is out
            wrong += departs(out, expected)
    assert wrong == []


@pytest.mark.parametrize(("info", "dtype"), [case for case in cases() if case.values[0].inplace_variant])
def test_in_place(info: Any, dtype: torch.dtype) -> None:
    wrong = []
    for inputs, named, expected, theirs in samples(info, dtype):
        fits = expected.shape == theirs[0].shape and torch.can_cast(expected.dtype, theirs[0].dtype)
        if fits and not any(stride == 0 for stride in theirs[0].stride()):
            target = inputs[0]
            assert getattr(target, f"{info.name}_")(*inputs[1:], **named) is target
            wrong += departs(target, expected.to(theirs[0].dtype))
    assert wrong == []
