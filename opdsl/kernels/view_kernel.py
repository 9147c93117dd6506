"""Kernels whose result shares memory with ``self`` and depends on geometry alone, so that a plan need not compute it."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.runtime import Tensor
from opdsl.runtime.viewing import array_viewer, take_view, view_geometry
from opdsl.runtime.views import View

ViewFunction = Callable[..., View]


class ViewKernel:
    """A kernel made of a function from a tensor's shape and strides, and the other arguments, to a view.

    Args:
        function: takes the schema's arguments, the viewed tensor first; reads its geometry only.
        operator: the operator's qualified name.
    """

    __slots__ = ("function", "operator")

    def __init__(self, function: ViewFunction, operator: str) -> None:
        self.function = function
        self.operator = operator

    def __call__(self, viewed: Tensor, *arguments: object) -> Tensor:
        """The view. What the function raises for shapes that do not fit passes through."""
        return take_view(viewed, self.function(viewed, *arguments))

    def plan(self, arguments: tuple[object, ...]) -> Callable[[Tensor], Tensor] | None:
        """Makes the same view of every tensor of one geometry."""
        viewed, *rest = arguments
        if not isinstance(viewed, Tensor) or not viewed.is_cpu:
            return None
        view = self.function(viewed, *rest)
        form = view_geometry(viewed.geometry, view.shape, view.strides)
        viewer = array_viewer(viewed.array, view)

        if viewed._base is None:

            def plan(viewed: Tensor) -> Tensor:
                made = Tensor()
                made.array = viewer(viewed.array)
                made.geometry = form
                made._version = 0
                made._base = viewed
                return made

            return plan

        def plan_of_view(viewed: Tensor) -> Tensor:
            made = Tensor()
            made.array = viewer(viewed.array)
            made.geometry = form
            made._version = 0
            made._base = viewed._base
            return made

        return plan_of_view
