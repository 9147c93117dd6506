"""opdsl's Python on torch tensors: composite bodies and derivatives, each operator that they call being torch's own.

What a body calls comes to a mode, with proxies for tensors, and goes to the torch operator of the same name and schema.
So autograd, vmap, symbolic shapes and compilation see what they know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opdsl.dispatch import DispatchMode, KeySet, Operator, unbox
from opdsl.interop.torch.calls import Completion
from opdsl.interop.torch.tensors import geometry_of, proxy, to_opdsl, to_torch
from opdsl.kernels.view_kernel import ViewKernel
from opdsl.runtime import Tensor, View

__all__ = ["OnTorch", "decompose", "on_torch", "torch_operator"]

# From an operator that torch has not to what torch is to call for it; registration says how.
Define = Callable[[Operator], Callable[..., Any]]

_CPU = KeySet("CPU")


class OnTorch(DispatchMode):
    """Hands every operator that is called to torch.

    Args:
        define: makes the torch operator of one that torch does not have yet.
    """

    before_decomposition = True

    def __init__(self, define: Define) -> None:
        self.define = define

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        arguments = unbox(called, args, kwargs)
        target = torch_operator(called)
        if target is None and called.is_composite(_CPU):
            with self:
                return called.find_in(_CPU)(*arguments)
        target = self.define(called) if target is None else target
        given, named = Completion(called).split([to_torch(each) for each in arguments])
        return _proxies(called, arguments, target(*given, **named))


def _proxies(operator: Operator, arguments: tuple[Any, ...], results: Any) -> Any:
    """What torch returned, as opdsl has it: a written argument is the tensor that was given."""
    known = {}
    for argument, value in zip(operator.schema.arguments, arguments, strict=True):
        if argument.alias is not None and argument.alias.write and isinstance(value, Tensor):
            known[id(value.array)] = value
            value.geometry = geometry_of(value.array)

    def convert(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return known.get(id(value)) or proxy(value)
        return tuple(map(convert, value)) if isinstance(value, list | tuple) else value

    return convert(results)


def torch_operator(operator: Operator) -> Callable[..., Any] | None:
    """The operator of the same name in torch, None where there is none."""
    name = operator.schema.name
    packet = getattr(getattr(torch.ops, name.namespace or "aten"), name.base, None)
    return None if packet is None else getattr(packet, name.overload or "default", None)


def on_torch(function: Callable[..., Any], values: Sequence[Any], define: Define) -> Any:
    """Run a function of opdsl's values on torch's.

    Args:
        function: takes ``values`` as opdsl's, returns opdsl's.
        values: of torch.
        define: see ``OnTorch``.

    Returns:
        The result as torch's: a tensor, a list, or a tuple of them.
    """
    given = [to_opdsl(each, proxy) for each in values]
    with OnTorch(define):
        result = function(*given)
    return tuple(map(to_torch, result)) if isinstance(result, tuple) else to_torch(result)


def decompose(operator: Operator, values: Sequence[Any], define: Define) -> Any:
    """Run a composite or a view of opdsl on torch tensors.

    Args:
        operator: what is called.
        values: torch's, in the order of the schema.
        define: see ``OnTorch``.

    Raises:
        UnknownOperatorError: it is neither.
    """
    kernel = operator.find_in(_CPU)
    if isinstance(kernel, ViewKernel):
        viewed, rest = values[0], [to_opdsl(each, proxy) for each in values[1:]]
        place = kernel.function(View(tuple(viewed.shape), tuple(viewed.stride()), viewed.storage_offset()), *rest)
        return viewed.as_strided(*place)
    return on_torch(kernel, values, define)
