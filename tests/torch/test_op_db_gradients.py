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
    "__rsub__": "no formula is declared",
    "_softmax_backward_data": "no formula is declared",
    "alias_copy": "no formula is declared",
    "amax": "no formula is declared",
    "as_strided": "no formula is declared",
    "as_strided.partial_views": "no formula is declared",
    "as_strided_copy": "no formula is declared",
    "bernoulli": "no formula is declared",
    "conj": "no formula is declared",
    "cummax": "no formula is declared",
    "cummin": "no formula is declared",
    "cumprod": "no formula is declared",
    "cumsum": "no formula is declared",
    "diagonal_copy": "no formula is declared",
    "expand_copy": "no formula is declared",
    "fill": "no formula is declared",
    "gather": "no formula is declared",
    "index_add": "no formula is declared",
    "index_copy": "no formula is declared",
    "index_fill": "no formula is declared",
    "index_select": "no formula is declared",
    "log_softmax": "no formula is declared",
    "log_softmax.with_dtype": "no formula is declared",
    "logcumsumexp": "no formula is declared",
    "mH": "no formula is declared",
    "narrow": "no formula is declared",
    "narrow_copy": "no formula is declared",
    "native_dropout_backward": "no formula is declared",
    "native_layer_norm": "no formula is declared",
    "nn.functional.alpha_dropout": "no formula is declared",
    "nn.functional.dropout": "no formula is declared",
    "nn.functional.feature_alpha_dropout.with_train": "no formula is declared",
    "nn.functional.layer_norm": "no formula is declared",
    "normal": "no formula is declared",
    "normal.number_mean": "no formula is declared",
    "permute_copy": "no formula is declared",
    "put": "no formula is declared",
    "rsub": "no formula is declared",
    "scatter": "no formula is declared",
    "scatter_add": "no formula is declared",
    "scatter_reduce.amax": "no formula is declared",
    "scatter_reduce.amin": "no formula is declared",
    "scatter_reduce.mean": "no formula is declared",
    "scatter_reduce.prod": "no formula is declared",
    "scatter_reduce.sum": "no formula is declared",
    "softmax": "no formula is declared",
    "softmax.with_dtype": "no formula is declared",
    "split_with_sizes_copy": "no formula is declared",
    "squeeze_copy": "no formula is declared",
    "t_copy": "no formula is declared",
    "take": "no formula is declared",
    "take_along_dim": "no formula is declared",
    "transpose_copy": "no formula is declared",
    "unbind_copy": "no formula is declared",
    "unfold": "no formula is declared",
    "unfold_copy": "no formula is declared",
    "unsafe_chunk": "no formula is declared",
    "unsafe_split": "no formula is declared",
    "unsqueeze_copy": "no formula is declared",
    "view_copy": "no formula is declared",
    "zero_": "no formula is declared",
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
