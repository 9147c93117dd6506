"""Kernels of view operators: the result shares memory with ``self``, and plans compute its geometry once."""

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
    """Kernel of a view operator, from a function that computes shape, strides and offset of the view.

    Args:
        function: takes the schema's arguments, with a ``View`` in place of the tensor, and returns a ``View``.
        is_new: whether the result counts as a new tensor and no view, as no other tensor shares its memory.
    """

    __slots__ = ("function", "is_new")

    def __init__(self, function: FunctionType, *, is_new: bool = False) -> None:
        self.function = function
        self.is_new = is_new

    def __call__(self, viewed: Tensor, *arguments: object) -> Tensor:
        """Return the view; exceptions of the function for shapes that do not fit are passed on."""
        view = make_view(viewed, *self._place(viewed, arguments))
        if self.is_new:
            view.geometry = view.geometry.replace(creation=Creation.DETACHED)
        return view

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """Return the kernel for a call with a key set; where it is called as a composite, it is wrapped in autograd."""
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
