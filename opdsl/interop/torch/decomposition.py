"""Execution of opdsl's composite bodies and derivatives on torch tensors, with each operator replaced by torch's.

A dispatch mode intercepts the operators that a body calls on proxies of torch tensors, and calls the torch operator of
the same name and schema. So autograd, vmap, symbolic shapes and compilation see operators that they know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch

from opdsl.dispatch import DispatchMode, KeySet, Operator, current, unbox
from opdsl.dispatch.state import Guard
from opdsl.interop.torch.calls import Completion
from opdsl.interop.torch.definition import find, target_of
from opdsl.interop.torch.states import is_as_in_torch, state_of_body, within_torch
from opdsl.interop.torch.tensors import geometry_of, proxy, to_opdsl, to_torch, torch_tensor
from opdsl.kernels.definitions.view_kernel import ViewKernel
from opdsl.programs.branches import MaskedBranch, dims_repeated, masked_branch
from opdsl.runtime import Tensor, View
from opdsl.runtime.device import cpu
from opdsl.runtime.scopes import Setting

__all__ = ["AUTOGRAD", "Define", "OnTorch", "completion_of", "decompose", "on_torch"]


class Define(Protocol):
    """Protocol of the callback that defines an operator in torch if torch does not have it yet."""

    def __call__(self, operator: Operator) -> Callable[..., Any]:
        """Define an operator in torch, and return the function that torch code calls for it."""

    def beneath(self, operator: Operator) -> Callable[..., Any]:
        """Define an operator in torch, and return the function that runs it below autograd."""


_CPU, AUTOGRAD = KeySet("CPU"), KeySet("AutogradCPU")


class OnTorch(DispatchMode):
    """Dispatch mode that calls the torch operator in place of every opdsl operator."""

    before_decomposition = True
    keeps_plans = True

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        arguments = unbox(called, args, kwargs)
        state = current.get()
        if find(called.schema) is None and called.is_composite(_CPU):
            with _WITHIN:
                return called.find_in(_CPU)(*arguments)
        device = _device.get()
        values = [_on_device(to_torch(argument), device) for argument in arguments]
        branch = masked_branch.get()
        if branch is not None and branch.takes(called, arguments):
            values = _masked(values, branch)
        if device is not None and _makes_of_sizes(called):
            place = [argument.python_name for argument in called.schema.arguments].index("device")
            values[place] = device if values[place] is None else values[place]
        positional, named = completion_of(called).split(values)
        with nullcontext() if is_as_in_torch(state) else within_torch(called.name, state):
            result = _proxies(called, arguments, _target(called)(*positional, **named))
        if branch is not None:
            branch.gives(called, arguments, result)
        return result

    def plan(self, operator: Any, arguments: tuple[Any, ...]) -> Callable[..., object] | None:
        """Return a plan that calls the torch operator directly, see ``DispatchMode``; None if the call cannot have
        one.
        """
        called: Operator = operator.operator
        state = current.get()
        outside = state.change(modes=())
        is_body = find(called.schema) is None and called.is_composite(_CPU)
        if called.schema.is_mutable or _makes_of_sizes(called) or is_body:
            return None
        if state.modes != (self,):
            return None
        completion, constants = completion_of(called), tuple(to_torch(argument) for argument in arguments)
        names = [argument.python_name for argument in called.schema.arguments]
        places = [names.index(dynamic_name) for dynamic_name in called.dynamic_names]
        # torch's own operators are permanent; registered ones may be removed and registered again.
        target = target_of(called.schema) if called.schema.name.namespace is None else None

        def run(*dynamic: object) -> object:
            if not is_as_in_torch(outside):
                with within_torch(called.name, outside):
                    return run(*dynamic)
            values, device = list(constants), _device.get()
            for place, value in zip(places, dynamic, strict=True):
                values[place] = torch_tensor(value) if type(value) is Tensor else to_torch(value)
            if device is not None:
                values = [_on_device(value, device) for value in values]
            branch = masked_branch.get()
            if branch is not None and branch.takes(called, dynamic):
                values = _masked(values, branch)
            call = target or _target(called)
            if len(values) == completion.positional:
                result = call(*values)
            else:
                positional, named = completion.split(values)
                result = call(*positional, **named)
            output = _proxy(result) if isinstance(result, torch.Tensor) else _converted(result, _proxy)
            if branch is not None:
                branch.gives(called, dynamic, output)
            return output

        return run


_ON_TORCH = OnTorch()
_WITHIN = Guard(_ON_TORCH.state_within, keep=True)
_define: ContextVar[Define | None] = ContextVar("opdsl_define", default=None)
_device: ContextVar[torch.device | None] = ContextVar("opdsl_device_of_factories", default=None)
_completions: WeakKeyDictionary[Operator, Completion] = WeakKeyDictionary()


def completion_of(operator: Operator) -> Completion:
    """Return the helper that completes and splits the arguments of calls of an operator."""
    completion = _completions.get(operator)
    if completion is None:
        completion = _completions[operator] = Completion(operator)
    return completion


def _on_device(value: Any, device: torch.device | None) -> Any:
    """Replace devices, and tensors that a body makes of numbers, by the device of its other tensors, if one is given;
    numbers of no dimension combine with tensors of any device.
    """
    if device is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.to(device) if value.ndim and value.device != device else value
    if isinstance(value, torch.device):
        return device
    return [_on_device(one, device) for one in value] if isinstance(value, list) else value


def _proxy(source: torch.Tensor) -> Tensor:
    """Return a proxy of a torch tensor; of a tensor without elements one on the CPU, where bodies make tensors of
    numbers.
    """
    return proxy(source, None if _device.get() is None else cpu)


def _masked(values: list[Any], branch: MaskedBranch) -> list[Any]:
    """Replace the operands of a call by 0 where a formula's branch is not taken, so that gradients are 0 there."""
    shapes = [value.shape for value in values if isinstance(value, torch.Tensor)]
    whole = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]  # torch has no types there
    for test, outcome in branch.conditions():
        if not isinstance(test, Tensor):
            continue
        holds = torch_tensor(test) if outcome else torch_tensor(test).logical_not()
        extra, repeated = dims_repeated(holds.shape, whole)
        holds = holds.any(repeated, keepdim=True) if repeated else holds
        holds = holds.any(extra) if extra else holds
        values = [_where(holds, value) for value in values]
    return values


def _where(holds: torch.Tensor, value: Any) -> Any:
    """Return an operand with 0 where a condition does not hold; operands without gradients are returned unchanged."""
    has_gradients = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
    return torch.where(holds, value, value.new_zeros(())) if has_gradients else value


def _makes_of_sizes(operator: Operator) -> bool:
    """Return whether an operator is a factory: it takes a device, but no tensor."""
    arguments = operator.schema.arguments
    return any(argument.name == "device" for argument in arguments) and not any(
        "Tensor" in str(argument.type) for argument in arguments
    )


def _target(operator: Operator) -> Callable[..., Any]:
    """Return the torch operator for an operator of opdsl, defining it if torch does not have it yet."""
    define = _define.get()
    assert define is not None, "what is called on torch's tensors is called by on_torch"
    return target_of(operator.schema) or define(operator)


def _proxies(operator: Operator, arguments: tuple[Any, ...], results: Any) -> Any:
    """Convert the results of a torch operator to proxies; a written argument is returned as the tensor that was
    passed.
    """
    known = {}
    for declared, value in zip(operator.schema.arguments, arguments, strict=True):
        if declared.alias is not None and declared.alias.write and isinstance(value, Tensor):
            known[id(value.array)] = value
            value.geometry = geometry_of(value.array, None if _device.get() is None else cpu)
    return _converted(results, lambda value: known[id(value)] if id(value) in known else _proxy(value))


def _converted(value: Any, convert: Callable[[torch.Tensor], Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return convert(value)
    return tuple(_converted(element, convert) for element in value) if isinstance(value, list | tuple) else value


def on_torch(function: Callable[..., Any], values: Sequence[Any], define: Define) -> Any:
    """Run a function of opdsl values on torch values.

    Args:
        function: takes ``values`` converted to opdsl, and returns opdsl values.
        values: torch values.
        define: see ``Define``.

    Returns:
        The result converted to torch: a tensor, a list, or a tuple of them.
    """
    # Fake tensors are on meta here, so that all tensors that the body makes have to be meta tensors, too.
    is_meta = any(isinstance(value, torch.Tensor) and value.device.type == "meta" for value in values)
    device = Setting(_device, torch.device("meta") if is_meta else None)
    with Setting(_define, define), device, Setting(current, _WITHIN.state_within(state_of_body())):
        arguments = [to_opdsl(value, _proxy) for value in values]
        result = function(*arguments)
    return tuple(map(to_torch, result)) if isinstance(result, tuple) else to_torch(result)


def decompose(operator: Operator, values: Sequence[Any], define: Define, keys: KeySet = _CPU) -> Any:
    """Run the body of a composite, or a view, of opdsl on torch tensors.

    Args:
        operator: the operator to run.
        values: torch values, in the order of the schema.
        define: see ``Define``.
        keys: of the kernel that is run.

    Raises:
        UnknownOperatorError: the operator is neither a composite nor a view.
    """
    kernel = operator.find_in(keys)
    if isinstance(kernel, ViewKernel):
        viewed, rest = values[0], [to_opdsl(value, proxy) for value in values[1:]]
        place = kernel.function(View(tuple(viewed.shape), tuple(viewed.stride()), viewed.storage_offset()), *rest)
        return viewed.as_strided(*place)
    return on_torch(kernel, values, define)
