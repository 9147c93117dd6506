"""Tests of operators on PyTorch's own samples (``op_db``): function, method, in-place, ``out=``, errors."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl.aten.catalog import METHODS
from opdsl.errors import UnsupportedDTypeError
from opdsl.runtime import has_internal_overlap
from tests.by_date import FULL
from tests.torch.op_db import (
    OF_FUNCTIONS,
    OF_METHODS,
    OF_OUTPUTS,
    REFUSED,
    cases,
    function_of,
    name_of,
    operators,
    our_name,
    samples,
)
from tests.torch.tolerances import tolerance_of
from tests.torch.twins import Twins, compare, outcome

# Operators whose non-contiguous output PyTorch does not write, or fills as if it were contiguous.
UNWRITTEN = {"nn.functional.gelu", "narrow_copy", "nn.functional.avg_pool3d"}

# Operators whose output PyTorch resizes without a warning.
SILENT = {"nn.functional.logsigmoid"}

# A sample is written to every third kind of output; the kinds change with each sample and dtype, so that each operator
# and dtype is tested with all kinds.
TURNS = 3
ORDER = (torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.complex64)


def _is_method(info: Any) -> bool:
    """Return whether opdsl should have a method; some of PyTorch's are written in Python and have no schema."""
    return info.method_variant is not None and (
        our_name(info) in METHODS or not isinstance(info.method_variant, types.FunctionType)
    )


@pytest.mark.parametrize(("info", "dtype"), list(cases(turns=OF_FUNCTIONS)))
def test_function(info: Any, dtype: torch.dtype) -> None:
    ours = function_of(info)
    assert ours is not None
    wrong = []
    for inputs, named in samples(info, dtype):
        for _ in range(2):
            wrong += compare(ours, info.op, inputs, named, tolerance_of(info))
    assert wrong == []


@pytest.mark.parametrize(("info", "dtype"), list(cases(_is_method, OF_METHODS)))
def test_method(info: Any, dtype: torch.dtype) -> None:
    method = getattr(opdsl.Tensor, our_name(info))
    wrong = []
    for inputs, named in samples(info, dtype):
        if isinstance(inputs[0], torch.Tensor):
            wrong += compare(method, info.method_variant, inputs, named, tolerance_of(info))
    assert wrong == []


@pytest.mark.parametrize(("info", "dtype"), list(cases(lambda info: info.inplace_variant, OF_METHODS)))
def test_in_place(info: Any, dtype: torch.dtype) -> None:
    ours = _inplace(info)
    wrong = []
    for inputs, named in samples(info, dtype):
        if isinstance(inputs[0], torch.Tensor) and not _repeats(inputs[0]):
            wrong += compare(ours, info.inplace_variant, copy.deepcopy(inputs), named, tolerance_of(info))
    assert wrong == []


def _inplace(info: Any) -> Callable[..., Any]:
    """Return opdsl's in-place method, or the function with ``inplace=True`` for functions of ``nn.functional``."""
    name = getattr(info.inplace_variant, "__name__", "<lambda>")
    ours = function_of(info)
    assert ours is not None
    return getattr(opdsl.Tensor, name) if name != "<lambda>" else functools.partial(ours, inplace=True)


def _repeats(tensor: torch.Tensor) -> bool:
    """Return whether elements overlap in memory; opdsl rejects writes to these, PyTorch only if a stride is 0."""
    return has_internal_overlap(Twins().of(tensor).geometry)


@pytest.mark.parametrize(
    ("info", "dtype"), list(cases(lambda info: info.supports_out and info.name not in SILENT, OF_OUTPUTS))
)
def test_out(info: Any, dtype: torch.dtype) -> None:
    # Functions of ``nn.functional`` document no output argument, but their operators may have one.
    is_functional = info.name.startswith("nn.functional.") and f"aten::{our_name(info)}" in opdsl.registry.packets
    ours = getattr(opdsl.ops.aten, our_name(info)) if is_functional else function_of(info)
    assert ours is not None
    wrong = []
    computed = dtype if dtype.is_floating_point or dtype.is_complex else torch.float32
    calls = list(samples(info, dtype, in_turn=False))  # each sample is written to a third of the kinds of outputs
    in_turn = not FULL and len(calls) >= TURNS
    for index, (inputs, named) in enumerate(calls):
        if not isinstance(inputs[0], (torch.Tensor, list, tuple)) or info.name == "matmul":
            continue
        expected = outcome(lambda inputs=inputs, named=named: info.op(*inputs, **named))[0]
        if not isinstance(expected, torch.Tensor) or expected.dtype is torch.complex32:
            continue
        if info.name.startswith("fft.ihfft") and _is_along_one(inputs[0], named):
            continue  # PyTorch leaves out= unchanged
        kinds = outputs(expected)
        for out in kinds[(ORDER.index(dtype) + index) % TURNS :: TURNS] if in_turn else kinds:
            if info.name in UNWRITTEN and not out.is_contiguous():
                continue
            if info.name == "logsumexp" and expected.is_complex() and not out.is_complex():
                continue  # PyTorch writes the logarithm of the sum's real part
            twice = copy.deepcopy(inputs), {**named, "out": out}
            wrong += compare(ours, info.op, *twice, tolerance=tolerance_of(info, computed))
    assert wrong == []


def _is_along_one(tensor: torch.Tensor, named: dict[str, Any]) -> bool:
    """Return whether a Fourier transform is along one dimension, by ``dim``, by ``s``, or because there is only one."""
    dims = named.get("dim", named.get("s"))
    return isinstance(dims, int) or len(tensor.shape if dims is None else dims) == 1


def outputs(expected: torch.Tensor) -> list[torch.Tensor]:
    """Return tensors of several shapes, strides and dtypes that a result may be written to."""
    return [
        torch.zeros_like(expected),
        torch.empty(0, dtype=expected.dtype),
        torch.zeros((*expected.shape, 2), dtype=expected.dtype)[..., 0],
        torch.zeros([size + 1 for size in expected.shape], dtype=expected.dtype),
        torch.zeros_like(expected, dtype=torch.int32),
        torch.zeros_like(expected, dtype=torch.float64),
    ]


@pytest.mark.parametrize(
    "info", [operator for operator in operators() if operator.error_inputs_func is not None], ids=name_of
)
def test_errors(info: Any) -> None:
    ours = function_of(info)
    assert ours is not None
    wrong = []
    for error_input in info.error_inputs("cpu"):
        inputs, named = (
            (error_input.sample_input.input, *error_input.sample_input.args),
            error_input.sample_input.kwargs,
        )
        # Special methods of other classes; more dimensions than NumPy supports; narrow with a tensor as its start.
        if isinstance(inputs[0], int) or _is_beyond(inputs):
            continue
        wrong += compare(ours, info.op, inputs, named, None)
    assert wrong == []


@pytest.mark.parametrize(("name", "dtype"), sorted(REFUSED, key=str))
def test_refused_dtypes(name: str, dtype: torch.dtype) -> None:
    (info,) = (operator for operator in operators() if name_of(operator) == name)
    ours = function_of(info)
    assert ours is not None
    for inputs, named in samples(info, dtype):
        with pytest.raises(UnsupportedDTypeError):
            ours(*Twins().of(inputs), **Twins().of(named))


def _is_beyond(inputs: tuple[Any, ...]) -> bool:
    return any(isinstance(input, torch.Tensor) and input.ndim > 64 for input in inputs) or (
        len(inputs) == 4 and isinstance(inputs[2], torch.Tensor)
    )
