"""The arguments of a call of a torch operator, completed to those of its schema."""

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
    """A function that torch calls as a kernel: torch.compile shall compile neither it nor what it calls."""
    _dynamo.set_code_exec_strategy(function.__code__, _SKIP)
    return function


def is_watched() -> bool:
    """Whether modes or transforms want to see what is called."""
    return bool(torch._C._len_torch_dispatch_stack() or torch._C._are_functorch_transforms_active())


class Completion:
    """Completes the arguments that torch hands to a kernel: it leaves out what is at its default.

    Args:
        operator: whose schema it is.

    names: of the schema's arguments, in order.
    positional: how many of them have a place; the others are given by name.
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
        """All arguments, in the order of the schema."""
        if not named:
            return (*positional, *self._defaults[len(positional) :])
        values = [*positional, *self._defaults[len(positional) :]]
        for name, value in named.items():
            values[self._places[name]] = value
        return tuple(values)

    def split(self, values: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Complete arguments as those of a call: with a place, and by name."""
        return values[: self.positional], dict(
            zip(self.names[self.positional :], values[self.positional :], strict=True)
        )
