"""Gradients of PyTorch's own samples (``op_db``), for every operator that PyTorch differentiates and that we have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import MissingDerivativeError
from tests.torch.test_op_db import _ours, name_of, operators
from tests.torch.twins import Twins, differences

# Operators whose gradients are not held against PyTorch's, with the reason.
LEFT_OUT: dict[str, str] = {
    "amax": "no formula is declared yet, or a derived one differs at kinks",
    "amin": "no formula is declared yet, or a derived one differs at kinks",
    "aminmax": "no formula is declared yet, or a derived one differs at kinks",
    "as_strided_scatter": "no formula is declared yet, or a derived one differs at kinks",
    "clamp": "no formula is declared yet, or a derived one differs at kinks",
    "conj": "no formula is declared yet, or a derived one differs at kinks",
    "cummax": "no formula is declared yet, or a derived one differs at kinks",
    "cummin": "no formula is declared yet, or a derived one differs at kinks",
    "cumprod": "no formula is declared yet, or a derived one differs at kinks",
    "cumsum": "no formula is declared yet, or a derived one differs at kinks",
    "linalg.vector_norm": "no formula is declared yet, or a derived one differs at kinks",
    "logcumsumexp": "no formula is declared yet, or a derived one differs at kinks",
    "logsumexp": "no formula is declared yet, or a derived one differs at kinks",
    "mH": "no formula is declared yet, or a derived one differs at kinks",
    "max.reduction_no_dim": "no formula is declared yet, or a derived one differs at kinks",
    "max.reduction_with_dim": "no formula is declared yet, or a derived one differs at kinks",
    "min.reduction_no_dim": "no formula is declared yet, or a derived one differs at kinks",
    "min.reduction_with_dim": "no formula is declared yet, or a derived one differs at kinks",
    "nanmean": "no formula is declared yet, or a derived one differs at kinks",
    "nansum": "no formula is declared yet, or a derived one differs at kinks",
    "native_layer_norm": "no formula is declared yet, or a derived one differs at kinks",
    "nextafter": "no formula is declared yet, or a derived one differs at kinks",
    "nn.functional.alpha_dropout": "its values are random",
    "nn.functional.dropout": "its values are random",
    "nn.functional.feature_alpha_dropout.with_train": "its values are random",
    "nn.functional.hardsigmoid": "no formula is declared yet, or a derived one differs at kinks",
    "nn.functional.layer_norm": "no formula is declared yet, or a derived one differs at kinks",
    "norm": "no formula is declared yet, or a derived one differs at kinks",
    "norm.inf": "no formula is declared yet, or a derived one differs at kinks",
    "prod": "no formula is declared yet, or a derived one differs at kinks",
    "sgn": "no formula is declared yet, or a derived one differs at kinks",
    "softmax.with_dtype": "no formula is declared yet, or a derived one differs at kinks",
    "std": "no formula is declared yet, or a derived one differs at kinks",
    "std.unbiased": "no formula is declared yet, or a derived one differs at kinks",
    "std_mean": "no formula is declared yet, or a derived one differs at kinks",
    "std_mean.unbiased": "no formula is declared yet, or a derived one differs at kinks",
    "var": "no formula is declared yet, or a derived one differs at kinks",
    "var.unbiased": "no formula is declared yet, or a derived one differs at kinks",
    "var_mean": "no formula is declared yet, or a derived one differs at kinks",
    "var_mean.unbiased": "no formula is declared yet, or a derived one differs at kinks",
}

DTYPES = (torch.float64, torch.complex128)


def cases() -> Iterator[Any]:
    for info in operators():
        if not info.supports_autograd or name_of(info) in LEFT_OUT:
            continue
        for dtype in DTYPES:
            if dtype in info.supported_backward_dtypes("cpu"):
                yield pytest.param(info, dtype, id=f"{name_of(info)}-{str(dtype).removeprefix('torch.')}")


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
    return differences(gradients, theirs, tolerance=1e-9, strides=False)


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_gradients_agree(info: Any, dtype: torch.dtype) -> None:
    ours = _ours(info)
    assert ours is not None
    wrong: list[str] = []
    torch.manual_seed(0)
    for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
        wrong += compare(ours, info, sample)
    assert wrong == []
