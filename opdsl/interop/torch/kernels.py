"""What torch's CPU key runs: the operator's own kernel, on the memory of the torch tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opdsl.dispatch import Kernel, KeySet, Operator, current
from opdsl.dispatch.state import Guard
from opdsl.errors import KernelError
from opdsl.interop.torch.plans import Plans
from opdsl.interop.torch.tensors import DTYPES, shared, to_opdsl, to_torch
from opdsl.runtime import Tensor
from opdsl.runtime.tensor import storage_root

__all__ = ["run", "run_writing", "with_default_dtype"]

_CPU = KeySet("CPU")


def with_default_dtype() -> Guard:
    """Calls within it have torch's default dtype."""
    default = DTYPES[torch.get_default_dtype()]
    return Guard(lambda state: state.change(default_dtype=default))


def run(operator: Operator, values: Sequence[Any], plans: Plans | None = None, given: Sequence[Any] = ()) -> Any:
    """Run an operator that writes nothing.

    Args:
        operator: which.
        values: torch's, in the order of the schema.
        plans: get one for calls like this; None where it is none that plans serve.
        given: what torch handed over: the first of the values.

    Returns:
        New torch tensors.

    Raises:
        OpdslError: the values do not fit.
    """
    arguments = tuple(to_opdsl(each, shared) for each in values)
    kernel = operator.find_in(_CPU)
    result = _call(kernel, arguments)
    results = _results(operator, result, list(_tensors(arguments)))
    if plans is not None:
        plans.make(kernel, given, arguments)
    return results


def run_writing(operator: Operator, values: Sequence[Any], plans: Plans | None = None) -> None:
    """Run an operator that writes its arguments; outputs that it resizes are resized in torch, too.

    Args:
        operator, values, plans: see ``run``.
    """
    given = tuple(to_opdsl(each, shared) for each in values)
    before = [each.geometry for each in _tensors(given)]
    kernel = operator.find_in(_CPU)
    _call(kernel, given)
    sources = [each for value in values for each in (value if isinstance(value, list) else (value,))]
    theirs = [each for each in sources if isinstance(each, torch.Tensor)]
    for source, ours, form in zip(theirs, _tensors(given), before, strict=True):
        if ours.geometry is not form:
            source.resize_(ours.shape).as_strided_(ours.shape, ours.stride()).copy_(to_torch(ours))
    if plans is not None:
        plans.make(kernel, values, given)


def _call(kernel: Kernel, given: tuple[Any, ...]) -> Any:
    if torch.get_default_dtype() is torch.float32 and current.get().default_dtype.name == "float32":
        return kernel(*given)
    with with_default_dtype():
        return kernel(*given)


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Tensor):
                yield each


def _results(operator: Operator, result: Any, given: Sequence[Tensor]) -> Any:
    if isinstance(result, Tensor):
        root = storage_root(result)
        if any(root is each for each in given):
            raise KernelError(
                f"{operator.name}: the result is an argument, or a view of one, but {operator.schema} says that it is "
                'not. Return a clone, or declare it: Tensor[Alias("a")].'
            )
        return to_torch(result)
    if isinstance(result, tuple):
        return tuple(_results(operator, each, given) for each in result)
    if isinstance(result, list):
        return [_results(operator, each, given) for each in result]
    return to_torch(result)
