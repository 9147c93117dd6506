"""Tests of torch's operators on tensors of opdsl, with PyTorch's samples (``op_db``).

Every operator that a sample reaches is called with the arguments with which the sample reaches it.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import opdsl
from opdsl.errors import OpdslError
from opdsl.interop.torch import wrap
from tests.torch.twins import Twins, differences

common = pytest.importorskip("torch.testing._internal.common_methods_invocations")

FULL = "OPDSL_TEST_FULL" in os.environ
SAMPLES = 20 if FULL else 1
CALLS = 20 if FULL else 2
DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bfloat16) if FULL else (torch.float32,)

# Operators whose results are uninitialized memory.
ARBITRARY = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "_ctc_loss"}

# Operators whose results have layouts and dtypes that opdsl lacks.
REFUSED = {"_to_sparse", "hash_tensor"}

calls: Counter[str] = Counter()


class Held(TorchDispatchMode):
    """Torch dispatch mode that also runs each operator that torch calls on tensors of opdsl, and compares the results.

    faults: descriptions of the differences.
    seen: the operators with their arguments, for differentiation.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.seen: list[tuple[Any, Any, Any]] = []
        self.keeps = keeps

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator in both libraries, unless it was called often enough."""
        kwargs = kwargs or {}
        calls[str(func), self.keeps] += 1
        if calls[str(func), self.keeps] > CALLS or any(map(is_sparse, args)) or func._schema.name[6:] in REFUSED:
            return func(*args, **kwargs)
        if self.keeps:
            self.seen.append((func, copied(args), copied(kwargs)))
            return func(*args, **kwargs)
        twins = Twins()
        mine, named = twins.of(args), twins.of(kwargs)
        state = torch.get_rng_state()
        expected = func(*args, **kwargs)
        after = torch.get_rng_state()
        torch.set_rng_state(state)
        tolerance = float("inf") if func._schema.name[6:] in ARBITRARY else 0.0
        self.faults += [f"{func}: {difference}" for difference in self.compare(func, mine, named, expected, tolerance)]
        for one, two in ((mine, args), (tuple(named.values()), tuple(kwargs.values()))):
            self.faults += [
                f"{func}, arguments: {tensor_difference}" for tensor_difference in tensor_differences(one, two)
            ]
        torch.set_rng_state(after)
        return expected

    def compare(self, func: Any, mine: Any, named: Mapping[str, Any], expected: Any, tolerance: float) -> list[str]:
        """Return the differences of opdsl's result, or its error."""
        try:
            return differences(wrap(func)(*mine, **named), expected, tolerance=tolerance)
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]


def is_sparse(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is not torch.strided


def copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value))
    return {name: copied(element) for name, element in value.items()} if isinstance(value, dict) else value


def tensor_differences(mine: Any, expected: Any) -> list[str]:
    """Return the differences between the tensors of two lists of arguments."""
    if isinstance(expected, torch.Tensor):
        return differences(mine, expected, tolerance=0.0)
    if isinstance(expected, list | tuple):
        return [text for one, two in zip(mine, expected, strict=True) for text in tensor_differences(one, two)]
    return []


def samples(entry: Any) -> Iterator[Any]:
    for dtype in DTYPES:
        if dtype in entry.supported_dtypes("cpu"):
            for index, sample in enumerate(entry.sample_inputs("cpu", dtype)):
                if index == SAMPLES:
                    break
                yield sample


# jiterator has no CPU kernels.
ENTRIES = {
    info.formatted_name: info
    for info in common.op_db[:: 1 if FULL else 4]
    if not info.formatted_name.startswith("jiterator")
}


@pytest.mark.parametrize("name", ENTRIES)
def test_what_op_db_reaches_gives_what_torch_gives(name: str) -> None:
    entry = ENTRIES[name]
    mode = Held()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples(entry):
            with mode:
                entry.op(sample.input, *sample.args, **sample.kwargs)
    assert mode.faults == []


def differentiable(value: Any) -> Any:
    """Return arguments whose floating-point and complex tensors require grad."""
    if isinstance(value, torch.Tensor):
        return value.requires_grad_() if value.is_floating_point() or value.is_complex() else value
    return type(value)(map(differentiable, value)) if isinstance(value, list | tuple) else value


def leaves(value: Any) -> list[Any]:
    """Return the tensors of results or arguments that require grad."""
    if isinstance(value, torch.Tensor | opdsl.Tensor):
        return [value] if value.requires_grad else []
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, list | tuple) else []


# Torch's messages for missing derivatives, and for those of eigenvectors, whose phases are free.
UNDIFFERENTIATED = re.compile("is not implemented|not differentiable|Autograd not support dtype|it is ill-defined")

# Operators with random results, and those for whose gradients torch warns.
NOT_DIFFERENTIATED = {"_ctc_loss", "bernoulli", "multinomial", "normal"}


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.supports_autograd])
def test_gradients_are_those_of_torch(name: str) -> None:
    entry = ENTRIES[name]
    mode = Held(keeps=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples(entry):
            with mode:
                entry.op(sample.input, *sample.args, **sample.kwargs)
        faults = [
            f"{func}: {text}" for func, args, kwargs in mode.seen for text in gradient_differences(func, args, kwargs)
        ]
    assert faults == []


def gradient_differences(func: Any, args: Any, kwargs: Any) -> list[str]:
    if func._schema.is_mutable or func._schema.name[6:] in NOT_DIFFERENTIATED:
        return []
    inputs = differentiable(args)
    mine = Twins().of(inputs)
    for one, two in zip(leaves(inputs), tensors_of(mine, inputs), strict=True):
        two.requires_grad_(one.requires_grad)
    if not leaves(inputs):
        return []  # no differentiable argument
    state = torch.get_rng_state()
    expected = refused = None
    try:
        expected = gradients(torch, func, inputs, kwargs)
    except RuntimeError as error:
        assert UNDIFFERENTIATED.search(str(error)), f"{func}: {error}"
        refused = error
    torch.set_rng_state(state)
    try:
        result = gradients(opdsl, wrap(func), mine, Twins().of(kwargs))
    except OpdslError as error:
        return [] if refused else [f"{type(error).__name__}: {error}"]
    if refused:
        return [f"differentiated, where torch says: {refused}"]
    return differences(result, expected, tolerance=1e-5, strides=False)


def gradients(lib: Any, function: Any, inputs: Any, kwargs: Any) -> list[Any] | None:
    """Return the gradients of a call's results by its arguments, or None if no result requires grad."""
    results = leaves(function(*inputs, **kwargs))
    seeds = [lib.ones_like(result) for result in results]
    return list(lib.autograd.grad(results, leaves(inputs), seeds, allow_unused=True)) if results else None


def tensors_of(mine: Any, inputs: Any) -> list[Any]:
    """Return the tensors of opdsl whose counterparts in torch require grad."""
    if isinstance(inputs, torch.Tensor):
        return [mine] if inputs.requires_grad else []
    if isinstance(inputs, list | tuple):
        return [tensor for one, two in zip(mine, inputs, strict=True) for tensor in tensors_of(one, two)]
    return []
