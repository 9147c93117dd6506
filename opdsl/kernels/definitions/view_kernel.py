"""Kernels whose result shares memory with ``self`` and depends on geometry alone: a plan need not compute it."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

from opdsl.dispatch.keys import AUTOGRAD_KEYS, KeySet
from opdsl.dispatch.layers.differentiation import OperatorAutograd
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.operator import Operator
from opdsl.errors import KernelError
from opdsl.runtime import Creation, Tensor, View, make_view, view_of


class ViewKernel(Kernel):
    """A kernel made of a function from where a tensor's elements lie, and the other arguments, to where a view's do.

    Args:
        function: takes the schema's arguments, a ``View`` in place of the tensor.
        is_new: whether the result counts as a tensor of its own, since nothing else refers to what it shows.
    """

    __slots__ = ("function", "is_new")

    def __init__(self, function: FunctionType, *, is_new: bool = False) -> None:
        self.function = function
        self.is_new = is_new

    def __call__(self, viewed: Tensor, *arguments: object) -> Tensor:
        """The view. What the function raises for shapes that do not fit passes through."""
        view = make_view(viewed, *self._place(viewed, arguments))
        if self.is_new:
            view.geometry = view.geometry.replace(creation=Creation.DETACHED)
        return view

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """The kernel for a call with that key set: where it serves as a composite, autograd comes before it."""
        below = keys - AUTOGRAD_KEYS
        return self if below == keys else OperatorAutograd(operator, below)

    @property
    def kind(self) -> str:
        """See ``Kernel``."""
        return "view"

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Kernel``."""
        return (self.function,)

    def _place(self, viewed: Tensor, arguments: Sequence[object]) -> View:
        place = self.function(view_of(viewed), *arguments)
        if not isinstance(place, View):
            raise KernelError(
                f"the view kernel {self.function.__name__} returned {type(place).__name__}. Return a View: "
                "view.narrow(...), or opdsl.runtime.View(shape, strides, offset)."
            )
        return place
