"""Gradients of PyTorch's own samples (``op_db``), for every operator that PyTorch differentiates and that we have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import MissingDerivativeError
from tests.torch.test_op_db import _ours, name_of, operators
from tests.torch.twins import Twins
from tests.torch.twins import theirs as real

# Operators whose gradients are not held against PyTorch's, with the reason.
LEFT_OUT: dict[str, str] = {
    "nn.functional.dropout": "its values are random",
    "nn.functional.alpha_dropout": "its values are random",
    "nn.functional.feature_alpha_dropout.with_train": "its values are random",
    "nn.functional.hardsigmoid": "PyTorch's slope is a sixth in float32",
    "as_strided_scatter": "no formula for what a view with gaps does not show",
    "nextafter": "the language has no derivative of it",
    "angle-complex128": "the language has no derivative of cmath.phase",
    "sgn-complex128": "the language has no derivative of what it is made of",
    "logcumsumexp-complex128": "its formula is that of real numbers",
}

DTYPES = (torch.float64, torch.complex128)


def cases() -> Iterator[Any]:
    for info in operators():
        for dtype in DTYPES:
            name = f"{name_of(info)}-{str(dtype).removeprefix('torch.')}"
            left_out = {name, name_of(info)} & LEFT_OUT.keys()
            if info.supports_autograd and dtype in info.supported_backward_dtypes("cpu") and not left_out:
                yield pytest.param(info, dtype, id=name)


def tensors_in(value: Any) -> Iterator[Any]:
    """All tensors of arguments or results, in order."""
    if isinstance(value, (torch.Tensor, opdsl.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def differentiable(result: Any) -> list[Any]:
    return [each for each in tensors_in(result) if each.requires_grad]


def twins_of(given: Any) -> Any:
    """Our twins of arguments; what requires grad there does so here."""
    with torch.no_grad():
        own = Twins().of(given)
    for mine, other in zip(tensors_in(own), tensors_in(given), strict=True):
        if other.requires_grad:
            mine.requires_grad_()
    return own


def compare(ours: Callable[..., Any], info: Any, sample: Any) -> list[str]:
    """How gradients of one sample differ."""
    given = ((sample.input, *sample.args), sample.kwargs)
    leaves = [each for each in tensors_in(given) if each.requires_grad]
    own = twins_of(given)
    mine = [each for each in tensors_in(own) if each.requires_grad]
    expected = differentiable(info.op(*given[0], **given[1]))
    if not leaves or not expected:
        return []
    try:
        found = differentiable(ours(*own[0], **own[1]))
    except Exception as error:
        return [f"{error!r} for a result"]
    if len(found) != len(expected):
        return [f"{len(found)} results require grad, not {len(expected)}"]
    torch.manual_seed(0)
    seeds = [torch.randn_like(each) for each in expected]
    theirs = torch.autograd.grad(expected, leaves, seeds, allow_unused=True, materialize_grads=True)
    try:
        gradients = opdsl.autograd.grad(found, mine, Twins().of(seeds), allow_unused=True, materialize_grads=True)
    except MissingDerivativeError as error:
        return [str(error)]
    return [text for pair in zip(gradients, theirs, strict=True) for text in differing(*pair)]


def differing(found: opdsl.Tensor, expected: torch.Tensor) -> list[str]:
    """How a gradient differs; seeds are about 1, so that smaller errors than 1e-11 are those of sums that cancel."""
    values = real(found)
    if (values.dtype, values.shape) != (expected.dtype, expected.shape):
        return [f"{values.dtype}{list(values.shape)} for {expected.dtype}{list(expected.shape)}"]
    if torch.allclose(values, expected, rtol=1e-9, atol=1e-11, equal_nan=True):
        return []
    return [f"{values.tolist()} for {expected.tolist()}"[:300]]


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_gradients_agree(info: Any, dtype: torch.dtype) -> None:
    ours = _ours(info)
    assert ours is not None
    wrong: list[str] = []
    torch.manual_seed(0)
    for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
        wrong += compare(ours, info, sample)
    assert wrong == []
