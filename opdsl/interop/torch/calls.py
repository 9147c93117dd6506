"""Completion of the arguments of torch calls: defaults filled in, in the order of the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch

from opdsl.dispatch import Operator
from opdsl.dispatch.binding.arguments import MISSING
from opdsl.dispatch.binding.signature import own_signature
from opdsl.interop.torch.tensors import to_torch

__all__ = ["MEMORY", "NOTHING", "RECORDED", "Completion", "is_watched", "untraced"]

NOTHING, MEMORY, RECORDED = range(3)
"""What a planned call tests: nothing; that tensors are no more than memory; and that autograd does not follow them."""


F = TypeVar("F", bound=Callable[..., object])

_dynamo: Any = torch._C._dynamo.eval_frame
_SKIP = _dynamo._FrameExecStrategy(_dynamo._FrameAction.SKIP, _dynamo._FrameAction.SKIP)


def untraced(function: F) -> F:
    """Mark a kernel so that torch.compile traces neither the function nor its callees."""
    _dynamo.set_code_exec_strategy(function.__code__, _SKIP)
    return function


def is_watched() -> bool:
    """Return whether a dispatch mode or functorch transform intercepts calls."""
    return bool(torch._C._len_torch_dispatch_stack() or torch._C._are_functorch_transforms_active())


class Completion:
    """Helper that completes the arguments of kernel calls, since torch leaves out those at their default.

    Args:
        operator: the operator whose schema is used.

    names: of the schema's arguments, in order.
    positional: number of positional arguments; the others are keyword arguments.
    """

    __slots__ = ("_defaults", "_places", "names", "positional")

    def __init__(self, operator: Operator) -> None:
        schema = operator.schema
        self.names = tuple(argument.name for argument in schema.arguments)
        self.positional = len(schema.positional)
        defaults = {parameter.name: parameter.default for parameter in own_signature(operator).parameters}
        values = [defaults.get(argument.python_name, MISSING) for argument in schema.arguments]
        self._defaults = tuple(None if value is MISSING else to_torch(value) for value in values)
        self._places = {name: index for index, name in enumerate(self.names)}

    def complete(self, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all arguments, in the order of the schema."""
        if not named:
            return (*positional, *self._defaults[len(positional) :])
        values = [*positional, *self._defaults[len(positional) :]]
        for name, value in named.items():
            values[self._places[name]] = value
        return tuple(values)

    def split(self, values: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Split complete arguments into positional and keyword arguments."""
        return values[: self.positional], dict(
            zip(self.names[self.positional :], values[self.positional :], strict=True)
        )
