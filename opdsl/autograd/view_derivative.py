"""Derivative of view operators: elements that a view does not show get no gradient.

Views are linear, and the elements that they show depend on geometry alone. If a view shows each element once, in
any order, its gradient is a view of the incoming gradient. Otherwise the gradient is a tensor of zeros, and the
incoming gradient is copied into a view of it; the derivative of that is a view of the gradient. If a view shows
elements several times, their gradients are summed by index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from opdsl.autograd.constants import filled, unfilled
from opdsl.autograd.derivative import Formula
from opdsl.autograd.graph import Gradient, Node, Recipe, edge_of, make_node
from opdsl.dispatch import KeySet, Operator, State, current, is_grad_enabled, no_grad
from opdsl.dispatch.binding.arguments import value_key
from opdsl.dispatch.state import PLAN_LIMIT, Guard
from opdsl.kernels import new_tensor
from opdsl.runtime import Device, Tensor, TensorMeta, has_internal_overlap, int64
from opdsl.runtime.geometry import geometry
from opdsl.runtime.lowering import lowering
from opdsl.schema import FunctionSchema

__all__ = ["ViewDerivative"]

Take = Callable[[Tensor], Any]

META = Device("meta")


class ViewDerivative:
    """Derivative of an operator that returns views of its first argument.

    Args:
        operator: the view operator.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.names = tuple(argument.python_name for argument in operator.schema.arguments)
        self._orders: dict[object, tuple[int, ...] | None] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``."""
        viewed = self.names[0]
        forms = frozenset((viewed,))
        return [Formula((viewed,), self._run, self.names, forms, True, is_traceable=True)] if required else []

    def _known_order(self, take: Take, form: TensorMeta, arguments: tuple[Any, ...]) -> tuple[int, ...] | None:
        """Return the result of ``_order``, cached by the arguments of the call."""
        if lowering.get() is not None:
            return _order(take, form)
        key = form, value_key(arguments)
        if key not in self._orders:
            if len(self._orders) >= PLAN_LIMIT:
                self._orders.clear()
            self._orders[key] = _order(take, form)
        return self._orders.get(key)

    def _run(self, gradients: tuple[Tensor, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> tuple[Tensor]:
        viewed, *rest = self.names
        positional = len(self.operator.schema.positional)
        arguments = [values[name] for name in rest[: positional - 1]]
        named = {name: values[name] for name in rest[positional - 1 :]}

        def take(base: Tensor) -> Any:
            return self.operator.function(base, *arguments, **named)

        form = values[viewed].geometry
        if len(gradients) == 1:
            order = self._known_order(take, form, (*arguments, *named.values()))
            if order is not None:
                return (_moved_back(order, form, gradients[0]),)
        shown = _listed(_shape_of(take, form))
        if any(has_internal_overlap(view.geometry) for view in shown):
            return (_summed(take, filled(form, 0), gradients),)
        # If views show every element, the tensor need not be filled with zeros.
        covers = sum(view.numel() for view in shown) == form.numel
        whole = _like_batches(form, gradients) if current.get().modes else None
        if whole is None:
            whole = unfilled(form) if covers else filled(form, 0)
        return (_spread(self.operator.name, take, whole, gradients),)


def _without_modes(state: State) -> State:
    return state.change(modes=(), include=state.include - KeySet("Python", "PreDispatch"))


_WITHOUT_MODES = Guard(_without_modes, keep=True)


def _shape_of(take: Take, form: TensorMeta) -> Any:
    """Take a view of a meta tensor with a geometry, invisibly to dispatch modes, since the program does not call it."""
    with _WITHOUT_MODES:
        return take(_without_memory(form))


def _order(take: Take, form: TensorMeta) -> tuple[int, ...] | None:
    """Return the dimensions of a view from the outermost to the innermost; None if it does not show each element
    once.
    """
    view = _shape_of(take, form)
    if not isinstance(view, Tensor) or view.dtype is not form.dtype:
        return None
    shape, strides = view.shape, view.strides
    order = tuple(sorted(range(len(shape)), key=lambda dim: (-strides[dim], shape[dim] != 1)))
    expected = 1
    for dim in reversed(order):
        if shape[dim] != 1 and strides[dim] != expected:
            return None
        expected *= shape[dim]
    return order if expected == form.numel and expected else None


def _moved_back(order: tuple[int, ...], form: TensorMeta, gradient: Tensor) -> Tensor:
    """Return the gradient of a view with dimensions in the order of the viewed tensor's."""
    if order != tuple(range(len(order))):
        gradient = gradient.permute(*order)
    return gradient if gradient.shape == form.shape else gradient.reshape(form.shape)


def _without_memory(form: TensorMeta) -> Tensor:
    """Return a contiguous meta tensor."""
    return new_tensor(geometry(form.dtype, META, form.shape))


def _summed(take: Take, whole: Tensor, gradients: Sequence[Tensor]) -> Tensor:
    """Return the gradient of a tensor whose views show elements repeatedly: incoming gradients are added by index."""
    count, shape = whole.numel(), whole.shape
    numbered = whole.new_ones((count,), dtype=int64).cumsum(0).sub(1).view(shape)
    total = whole.view((count,))
    for places, gradient in zip(_listed(take(numbered)), gradients, strict=True):
        total = total.index_add(0, places.reshape((-1,)), gradient.reshape((-1,)))
    return total.view(shape)


def _like_batches(form: TensorMeta, gradients: Sequence[Tensor]) -> Tensor | None:
    """Return zeros that belong to a batch if the gradient does, as under torch's vmap; None if there are several
    gradients, or the layout of the viewed tensor is not the default one.
    """
    if len(gradients) != 1 or not form.is_contiguous():
        return None
    return gradients[0].new_zeros(form.shape, dtype=form.dtype)


def _spread(name: str, take: Take, whole: Tensor, gradients: Sequence[Tensor]) -> Tensor:
    """Copy gradients into views of a tensor of zeros, recorded so that the result can be differentiated."""
    # Dispatch modes record calls themselves, as torch does for its own tensors.
    with nullcontext() if current.get().modes else no_grad():
        for view, gradient in zip(_listed(take(whole)), gradients, strict=True):
            view.copy_(gradient)
    edges = tuple(map(edge_of, gradients))
    if not is_grad_enabled() or all(edge is None for edge in edges):
        return whole

    def back(node: Node, incoming: Sequence[Gradient]) -> Sequence[Gradient]:
        (gradient,) = incoming
        return (None,) * len(edges) if gradient is None else _listed(take(gradient))

    whole.autograd = make_node(Recipe(f"{name} backward", back, (whole.geometry,), keeps_tensors=False), edges, ())
    whole.geometry = whole.geometry.replace(requires_grad=True)
    return whole


def _listed(views: Any) -> list[Tensor]:
    return [views] if isinstance(views, Tensor) else list(views)
