"""One call of an operator, as a value that can be made anew: operators that write must not change it for the next."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from opdsl.runtime import Tensor
from opdsl.runtime.snapshot import Content, tensors_in


class Sample:
    """Arguments of one call.

    Args:
        positional: positional arguments.
        named: keyword arguments.

    >>> import opdsl
    >>> from opdsl.testing import Sample
    >>> Sample(opdsl.tensor([1.0, 2.0]), 1, alpha=2).call(opdsl.add)
    tensor([3., 4.])
    """

    __slots__ = ("named", "positional")

    def __init__(self, *positional: object, **named: object) -> None:
        self.positional = positional
        self.named = named

    def copy(self) -> Sample:
        """The same call on other memory; tensors that are one object stay one."""
        positional, named = copy.deepcopy((self.positional, self.named))
        return Sample(*positional, **named)

    def call(self, function: Callable[..., Any], **more: object) -> Any:
        """What a function makes of it.

        Args:
            function: takes the arguments.
            more: keyword arguments beside them.
        """
        return function(*self.positional, **self.named, **more)

    def tensors(self) -> list[Tensor]:
        """All tensors, those in lists too, in order."""
        return list(tensors_in((*self.positional, *self.named.values())))

    def __repr__(self) -> str:
        parts = [described(value) for value in self.positional]
        parts += [f"{name}={described(value)}" for name, value in self.named.items()]
        return f"({', '.join(parts)})"


def described(value: object) -> str:
    """An argument in few words: a tensor by its form."""
    if isinstance(value, Tensor):
        plain = "" if value.is_contiguous() else f", strides {list(value.strides)}"
        return f"{value.dtype.name}{list(value.shape)}{plain}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(described(element) for element in value)}]"
    return repr(value)


def difference(content: Content, wanted: Content) -> str:
    """How two tensors differ, in words; empty where they do not."""
    for what, one, other in zip(Content._fields[:-1], content[:-1], wanted[:-1], strict=True):
        if one != other:
            return f"{what} {one} instead of {other}"
    return "other elements" if content.data != wanted.data else ""
