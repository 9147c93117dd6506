"""Arguments of one call of an operator, which can be copied, so that an operator that writes does not change the
sample.
"""

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
        """Return a deep copy of the arguments; tensors that are one object stay one object."""
        positional, named = copy.deepcopy((self.positional, self.named))
        return Sample(*positional, **named)

    def call(self, function: Callable[..., Any], **more: object) -> Any:
        """Return the result of a function called with the arguments of this sample.

        Args:
            function: takes the arguments.
            more: further keyword arguments.
        """
        return function(*self.positional, **self.named, **more)

    def tensors(self) -> list[Tensor]:
        """Return all tensors among the arguments, including those in lists, in order."""
        return list(tensors_in((*self.positional, *self.named.values())))

    def __repr__(self) -> str:
        parts = [described(value) for value in self.positional]
        parts += [f"{name}={described(value)}" for name, value in self.named.items()]
        return f"({', '.join(parts)})"


def described(value: object) -> str:
    """Return a short description of an argument: dtype, shape and strides for a tensor."""
    if isinstance(value, Tensor):
        plain = "" if value.is_contiguous() else f", strides {list(value.strides)}"
        return f"{value.dtype.name}{list(value.shape)}{plain}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(described(element) for element in value)}]"
    return repr(value)


def difference(content: Content, wanted: Content) -> str:
    """Return the difference of two tensors in words; an empty string if they are equal."""
    for what, one, other in zip(Content._fields[:-1], content[:-1], wanted[:-1], strict=True):
        if one != other:
            return f"{what} {one} instead of {other}"
    return "other elements" if content.data != wanted.data else ""
