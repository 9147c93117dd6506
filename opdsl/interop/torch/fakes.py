"""What torch runs in place of a kernel where there is nothing but shapes: the operator's meta function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opdsl.dispatch import KeySet, Operator
from opdsl.interop.torch.kernels import with_default_dtype
from opdsl.interop.torch.tensors import TORCH_DTYPES, stand_in, to_opdsl, to_torch
from opdsl.runtime import Tensor

__all__ = ["fake"]

_META = KeySet("Meta")


def fake(operator: Operator, values: Sequence[Any]) -> Any:
    """Results without elements.

    Args:
        operator: which, functional and no composite.
        values: torch's, in the order of the schema; the tensors are fake or on meta, their sizes may be symbols.

    Raises:
        MissingKernelError: the operator has no meta function.
        OpdslError: the values do not fit.
    """
    with with_default_dtype():
        result = operator.find_in(_META)(*[to_opdsl(each, stand_in) for each in values])
    device = next(_devices(values), None)
    return _made(result, device)


def _devices(values: Sequence[Any]) -> Any:
    for value in values:
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, torch.Tensor):
                yield each.device
            elif isinstance(each, torch.device):
                yield each


def _made(result: Any, device: torch.device | None) -> Any:
    if isinstance(result, Tensor):
        form = result.geometry
        return torch.empty_strided(form.shape, form.strides, dtype=TORCH_DTYPES[form.dtype], device=device)
    if isinstance(result, tuple):
        return tuple(_made(each, device) for each in result)
    if isinstance(result, list):
        return [_made(each, device) for each in result]
    return to_torch(result)
