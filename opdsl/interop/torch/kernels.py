"""Kernels for torch's CPU and CUDA keys: they run an opdsl kernel on the memory of torch tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from opdsl.dispatch import Kernel, KeySet, Operator, current
from opdsl.interop.torch.generators import drawn_by_default
from opdsl.interop.torch.states import state_of_python
from opdsl.interop.torch.tensors import shared, to_opdsl, to_torch, torch_tensor
from opdsl.runtime import Tensor
from opdsl.runtime.generator import drawn_from
from opdsl.runtime.scopes import Setting
from opdsl.runtime.storage import storage_root

if TYPE_CHECKING:
    from opdsl.interop.torch.plans import Plans

__all__ = ["CPU", "has_cuda", "run", "run_on_cpu", "run_writing", "spread"]

CPU, _CUDA = KeySet("CPU"), KeySet("CUDA")


@cache
def has_cuda() -> bool:
    """Return whether opdsl and torch both find a CUDA device."""
    if not torch.cuda.is_available():
        return False
    from opdsl.cuda import is_available

    return is_available()


def _where(values: Sequence[Any]) -> tuple[KeySet, AbstractContextManager[object]]:
    """Return the dispatch keys of a call and a context manager for it, which makes torch's current CUDA stream
    opdsl's.
    """
    device = next((value.device for value in spread(values) if isinstance(value, torch.Tensor)), None)
    if device is None or device.type != "cuda":
        return CPU, nullcontext()
    from opdsl.cuda import Stream

    return _CUDA, Stream.of(torch.cuda.current_stream(device), device.index)


def run(operator: Operator, values: Sequence[Any]) -> Any:
    """Run a functional operator on the device of its tensors.

    Args:
        operator: the operator.
        values: torch values, in the order of the schema.

    Returns:
        New torch tensors.

    Raises:
        OpdslError: the values do not fit.
    """
    keys, place = _where(values)
    with place:
        return run_on_cpu(operator.find_in(keys), values)


def run_on_cpu(
    kernel: Kernel, values: Sequence[Any], plans: Plans | None = None, positional: Sequence[Any] = ()
) -> Any:
    """Run a kernel on the memory of torch tensors.

    Args:
        kernel: for the device of the tensors.
        values: see ``run``.
        plans: the plans of the operator, which may learn one for calls like this; None for an operator without plans.
        positional: the arguments that torch passed: the leading ones of ``values``.
    """
    arguments = tuple([to_opdsl(value, shared) for value in values])
    result = _call(kernel, arguments)
    if plans is not None:
        plans.learn(kernel, positional, values, arguments)
    if (
        isinstance(result, Tensor)
        and result._base is None
        and not any(argument is result or type(argument) is tuple for argument in arguments)
    ):
        return torch_tensor(result)
    return _results(result, list(_tensors(arguments)))


def run_writing(operator: Operator, values: Sequence[Any], plans: Plans | None = None) -> None:
    """Run an operator that writes its arguments; outputs that it resizes are resized in torch, too.

    Args:
        operator: see ``run``.
        values: see ``run``.
        plans: see ``run_on_cpu``.
    """
    keys, place = _where(values)
    with place:
        arguments = tuple(to_opdsl(value, shared) for value in values)
        before = [tensor.geometry for tensor in _tensors(arguments)]
        kernel = operator.find_in(keys)
        _call(kernel, arguments)
        theirs = [value for value in spread(values) if isinstance(value, torch.Tensor)]
        for source, ours, form in zip(theirs, _tensors(arguments), before, strict=True):
            if ours.geometry is not form:
                source.resize_(ours.shape).as_strided_(ours.shape, ours.stride()).copy_(to_torch(ours))
    if plans is not None:
        plans.learn(kernel, values, values, arguments)


def _call(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    state = state_of_python()
    drawn = drawn_from.set(drawn_by_default)
    try:  # signal handlers run after calls of built-in functions: finally resets the generator if one raises
        if state is current.get():
            return kernel(*arguments)
        with Setting(current, state):
            return kernel(*arguments)
    finally:
        drawn_from.reset(drawn)


def spread(values: Sequence[Any]) -> Iterator[Any]:
    """Yield values, and the elements of lists and tuples among them."""
    for value in values:
        yield from value if isinstance(value, list | tuple) else (value,)


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    return (value for value in spread(values) if isinstance(value, Tensor))


def _results(result: Any, tensors: Sequence[Tensor]) -> Any:
    """Convert results to torch. A result that is an argument, as a composite may return it, is copied, since the schema
    declares no alias.
    """
    if isinstance(result, Tensor):
        root = storage_root(result)
        converted = to_torch(result)
        return converted.clone() if any(root is tensor for tensor in tensors) else converted
    if isinstance(result, tuple):
        return tuple(_results(element, tensors) for element in result)
    if isinstance(result, list):
        return [_results(element, tensors) for element in result]
    return to_torch(result)
