"""Torch's operator with the same name as an operator of opdsl, and the arguments of a sample converted to torch."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from opdsl.dispatch import Operator
from opdsl.errors import MissingDependencyError
from opdsl.testing.sample import Sample


class Peer(NamedTuple):
    """Call of a torch operator that corresponds to a sample.

    function: ``torch.add``, or ``torch.ops.aten.add.Tensor`` where Python has no other function for it.
    positional, named: its arguments, over the memory of the sample's.
    """

    function: Any
    positional: tuple[Any, ...]
    named: dict[str, Any]


def peer_of(operator: Operator, sample: Sample) -> Peer | None:
    """Return the corresponding call of torch's operator; None where torch has none of that name.

    Raises:
        MissingDependencyError: torch is not installed.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise MissingDependencyError(
            "torch is not installed, so nothing can be timed beside it. pip install 'opdsl[torch]'"
        ) from error
    to_torch = importlib.import_module("opdsl.interop.torch.tensors").to_torch
    function = _function(torch, operator)
    if function is None:
        return None
    arguments = tuple(to_torch(value) for value in sample.positional)
    return Peer(function, arguments, {key: to_torch(value) for key, value in sample.named.items()})


def _function(torch: Any, operator: Operator) -> Any:
    """Return the torch function that programs call, which has less overhead than ``torch.ops``, or the operator
    itself.
    """
    namespace, name = operator.name.split("::")
    base, _, overload = name.partition(".")
    modules = (torch, torch._C._nn, torch._C._linalg, torch._C._special, torch._C._fft) if namespace == "aten" else ()
    bound = next((getattr(module, base) for module in modules if hasattr(module, base)), None)
    return bound or getattr(getattr(getattr(torch.ops, namespace), base, None), overload or "default", None)
