"""What torch's CPU and CUDA keys run: the operator's own kernel, on the memory of the torch tensors."""

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
    """Whether opdsl and torch both see a CUDA device."""
    if not torch.cuda.is_available():
        return False
    from opdsl.cuda import is_available

    return is_available()


def _where(values: Sequence[Any]) -> tuple[KeySet, AbstractContextManager[object]]:
    """The keys of a call, and what it has to be within: on CUDA, torch's current stream is opdsl's."""
    device = next((value.device for value in spread(values) if isinstance(value, torch.Tensor)), None)
    if device is None or device.type != "cuda":
        return CPU, nullcontext()
    from opdsl.cuda import Stream

    return _CUDA, Stream.of(torch.cuda.current_stream(device), device.index)


def run(operator: Operator, values: Sequence[Any]) -> Any:
    """Run an operator that writes nothing, on the device of its tensors.

    Args:
        operator: which.
        values: torch's, in the order of the schema.

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
        kernel: for these.
        values: see ``run``.
        plans: get one for calls like this; None where it is none that plans serve.
        positional: what torch handed over: the first of the values.
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
        operator, values, plans: see ``run``.
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
    try:  # signals are looked for after a call of a built-in function, so nothing is left set
        if state is current.get():
            return kernel(*arguments)
        with Setting(current, state):
            return kernel(*arguments)
    finally:
        drawn_from.reset(drawn)


def spread(values: Sequence[Any]) -> Iterator[Any]:
    """Values, and those in lists among them."""
    for value in values:
        yield from value if isinstance(value, list | tuple) else (value,)


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    return (value for value in spread(values) if isinstance(value, Tensor))


def _results(result: Any, tensors: Sequence[Tensor]) -> Any:
    """Results as torch's; one that is an argument, as a composite may return it, is copied: no schema says so here."""
    if isinstance(result, Tensor):
        root = storage_root(result)
        converted = to_torch(result)
        return converted.clone() if any(root is tensor for tensor in tensors) else converted
    if isinstance(result, tuple):
        return tuple(_results(element, tensors) for element in result)
    if isinstance(result, list):
        return [_results(element, tensors) for element in result]
    return to_torch(result)
