"""Gradient attributes and methods of tensors, to which ``opdsl.runtime.differentiable`` forwards.

It is loaded when the first tensor requires grad; from then on calls are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from opdsl.autograd.graph import (
    Leaf,
    Node,
    Output,
    Removable,
    add_hook,
    edge_of,
    is_leaf,
    leaf_of,
    refuse_integers,
)
from opdsl.autograd.kernel import record
from opdsl.autograd.passes import backward as backward_of
from opdsl.dispatch import DispatchMode, current, is_inference_mode_enabled
from opdsl.dispatch.layers.differentiation import record_with
from opdsl.errors import ConversionError, DeviceError, GradientError, RequiresGradError
from opdsl.runtime import Creation, Tensor, make_view, take_memory

record_with(record)


def set_requires_grad(tensor: Tensor, value: bool) -> Tensor:
    """Set whether a leaf tensor requires grad, and return it."""
    if tensor.geometry.requires_grad == value:
        return tensor
    if not is_leaf(tensor):
        raise RequiresGradError(
            "you can only change requires_grad flags of leaf variables. "
            "If you want to use a computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    if value:
        refuse_integers(tensor)
        if tensor.geometry.is_inference and not is_inference_mode_enabled():
            raise RequiresGradError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
                "Copy it first: x.clone().requires_grad_()."
            )
    tensor.geometry = tensor.geometry.replace(requires_grad=value)
    if value:
        leaf_of(tensor)
    return tensor


def grad_of(tensor: Tensor) -> Tensor | None:
    """Return a tensor's accumulated or retained gradient (``Tensor.grad``)."""
    _tell_modes(tensor, is_set=False)
    edge = getattr(tensor, "autograd", None)
    if isinstance(edge, Leaf):
        return edge.grad
    return None if not isinstance(edge, Node | Output) else getattr(edge.node, "retained", {}).get(edge.place)


def set_grad(tensor: Tensor, value: object) -> None:
    """Replace a tensor's gradient (``Tensor.grad = value``).

    Raises:
        GradientError: it is no tensor of the same shape, dtype and device.
    """
    if value is not None:
        if not isinstance(value, Tensor):
            raise GradientError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
        if value is tensor:
            raise GradientError("can't assign Variable as its own grad")
        for what in ("shape", "dtype", "device"):
            mine, theirs = getattr(tensor, what), getattr(value, what)
            if mine != theirs:
                raise GradientError(f"assigned grad has {what} {theirs}, but the tensor has {mine}. Convert it first.")
    _tell_modes(tensor, is_set=True)
    edge = edge_of(tensor)
    if edge is None or isinstance(edge, Leaf):
        leaf_of(tensor).grad = value
    else:
        _retained(edge.node)[edge.place] = value


def _tell_modes(tensor: Tensor, *, is_set: bool) -> None:
    for mode in current.get().modes:
        if isinstance(mode, DispatchMode):
            mode.before_gradient_is_used(tensor, is_set=is_set)


def _retained(node: Node) -> dict[int, Tensor | None]:
    if not hasattr(node, "retained"):
        node.retained = {}
    return node.retained


def grad_fn_of(tensor: Tensor) -> Node | None:
    """Return the node that made a tensor (``Tensor.grad_fn``); None for a leaf."""
    edge = edge_of(tensor)
    return None if edge is None or isinstance(edge, Leaf) else edge.node


def output_nr_of(tensor: Tensor) -> int:
    """Return the position of a tensor among its node's results."""
    edge = edge_of(tensor)
    return 0 if edge is None else edge.place


def retains_grad(tensor: Tensor) -> bool:
    """Return whether a tensor that is no leaf retains its gradient."""
    edge = edge_of(tensor)
    return edge is not None and edge.place in getattr(edge.node, "retained", ())


def retain_grad(tensor: Tensor) -> None:
    """Let a tensor that is no leaf retain its gradient in ``grad``."""
    edge = _followed(tensor, "retain_grad()")
    if isinstance(edge, Leaf) or retains_grad(tensor):
        return
    place = edge.place
    kept = _retained(edge.node)
    kept[place] = None

    def keep(gradient: Tensor) -> None:
        present = kept[place]
        kept[place] = gradient if present is None else present + gradient

    add_hook(edge.node, place, keep)


def register_hook(tensor: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Removable:
    """Register a hook that is called with a tensor's gradient."""
    edge = _followed(tensor, "register_hook()")
    return add_hook(edge.node, edge.place, hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable[[Tensor], None]) -> Removable:
    """Register a hook that is called after a leaf's gradient has been accumulated."""
    edge = _followed(tensor, "register a hook")
    if not isinstance(edge, Leaf):
        raise RequiresGradError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    reference_type = ref(tensor)

    def after(*_: object) -> None:
        present = reference_type()
        if present is not None:
            hook(present)

    return add_hook(edge, -1, after)


def forget_history(tensor: Tensor) -> Tensor:
    """Detach a tensor in place: make it a leaf that does not require grad.

    Raises:
        RequiresGradError: it is a view, whose memory shares its history with the base.
    """
    if tensor._is_view():
        raise RequiresGradError("Can't detach views in-place. Use detach() instead.")
    if tensor.geometry.requires_grad:
        tensor.geometry = tensor.geometry.replace(requires_grad=False)
        tensor.autograd = None
    return tensor


def data_of(tensor: Tensor) -> Tensor:
    """Return ``Tensor.data``: a tensor over the same memory, with its own version counter and without history."""
    data = make_view(tensor, tensor.shape, tensor.strides)
    data.geometry = data.geometry.replace(creation=Creation.DATA)
    data._base = tensor
    return data


def set_data(tensor: Tensor, source: object) -> None:
    """Set ``Tensor.data`` (``VariableHooks::set_data`` in PyTorch).

    Raises:
        ConversionError: ``source`` is no tensor.
        DeviceError: one is a meta tensor, and the other is not.
        RequiresGradError: the tensor requires grad, and the dtype of ``source`` has no gradients.
    """
    if not isinstance(source, Tensor):
        raise ConversionError(f"Variable data has to be a tensor, but got {type(source).__name__}")
    form, geometry = tensor.geometry, source.geometry
    if (form.device.type == "meta") != (geometry.device.type == "meta"):
        raise DeviceError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: "
            f"one is on {form.device}, the other on {geometry.device}."
        )
    if form.requires_grad and not (geometry.dtype.is_floating_point or geometry.dtype.is_complex):
        raise RequiresGradError(
            "data set to a tensor that requires gradients must be floating point or complex dtype "
            f"(got {geometry.dtype})"
        )
    take_memory(tensor, source)
    edge = getattr(tensor, "autograd", None)
    if isinstance(edge, Leaf):
        edge.recipe = edge.recipe._replace(results=(tensor.geometry,))


def backward(
    tensor: Tensor, gradient: Tensor | None, retain_graph: bool | None, create_graph: bool, inputs: Any
) -> None:
    """Run ``Tensor.backward``."""
    backward_of(tensor, gradient, retain_graph, create_graph, inputs)


def _followed(tensor: Tensor, what: str) -> Any:
    edge = edge_of(tensor)
    if edge is None:
        raise RequiresGradError(
            f"cannot {what.replace('()', '')} on a tensor that doesn't require gradient. Call requires_grad_() first."
        )
    return edge
