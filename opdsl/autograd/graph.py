"""Backward graph: nodes, the edges between them, and the edges of tensors.

``Tensor.autograd`` is the edge that a tensor's gradient goes to: a ``Leaf``, which keeps it, the ``Node`` of the
operator that made the tensor, or, for one of several results, an ``Output`` of such a node. The graph does not refer to
the tensors that its nodes made, so it is freed with the results.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from opdsl.dispatch import is_grad_enabled
from opdsl.errors import GraphFreedError, RequiresGradError, SavedTensorChangedError
from opdsl.kernels import copy_, new_tensor
from opdsl.kernels.outputs import tensor_over
from opdsl.runtime import Creation, MemoryFormat, Tensor, TensorMeta, version_of
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.strides import strides_for

__all__ = [
    "Edge",
    "Gradient",
    "Leaf",
    "Node",
    "Output",
    "Recipe",
    "edge_of",
    "has_hooks",
    "leaf_of",
    "make_node",
    "next_sequence",
]

# None is an undefined gradient: it denotes zeros, which are not allocated.
Gradient: TypeAlias = "Tensor | None"

# Numbers nodes in order of creation, so that an edge always leads to a smaller number.
next_sequence = count(1).__next__


class Recipe(NamedTuple):
    """Data that the nodes of equal calls share.

    name: the operator's, for messages.
    run: ``run(node, gradients)``: from the gradients of the results to those of ``node.edges``, one for each.
    results: geometries of the results; None for a result that is no tensor.
    keeps_tensors: whether nodes save any, which a pass frees; a graph of nodes that save none can be run again.
    consume: a variant of ``run`` for a pass that frees saved values: it may overwrite them. None to use ``run``.
    """

    name: str
    run: Callable[[Any, Sequence[Gradient]], Sequence[Gradient]]
    results: tuple[Any, ...]
    keeps_tensors: bool = True
    consume: Callable[[Any, Sequence[Gradient]], Sequence[Gradient]] | None = None


class Node:
    """Node of the backward graph, which computes the gradients of an operator's arguments from those of its results.

    There is no ``__init__``: plans make a node for every call inline. Other code calls ``make_node``.

    recipe: its function, and other data shared by equal calls.
    edges: where the gradients of its arguments go; None for nowhere.
    saved: the values that ``run`` needs; None when they have been freed.
    sequence: the node's number in order of creation, so that an edge leads to a smaller number.
    hooks: users' hooks, by position of a result; -1 is after the node itself, -2 before it. The attribute is set with
        the first hook, as few nodes have any. It is no global table, since a hook may refer to the node.
    retained: gradients of results that retain them, by position; set with the first, too.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "recipe", "retained", "saved", "sequence")

    recipe: Recipe
    edges: tuple[Edge | None, ...]
    saved: Any
    sequence: int
    hooks: dict[int, list[Callable[..., Any]]]
    retained: dict[int, Gradient]

    # The position of the result whose edge this is; an ``Output`` has other positions.
    place = 0

    @property
    def node(self) -> Node:
        """Return itself, as the node of an edge."""
        return self

    @property
    def name(self) -> str:
        """Return the name of the operator whose gradients the node computes."""
        return self.recipe.name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Return the nodes that its gradients go to, each with the position of the result."""
        return tuple((None, 0) if edge is None else (edge.node, edge.place) for edge in self.edges)

    def edge_of(self, tensor: Tensor, edge: Edge) -> Edge:
        """Return the current edge of a tensor that this node made; nodes of views may replace it."""
        return edge

    def register_hook(self, hook: Callable[..., Any]) -> Removable:
        """Register ``hook(gradients of the arguments, gradients of the results)``, which is called after this node has
        run.

        Its result, if not None, replaces the gradients of the arguments.
        """
        return add_hook(self, -1, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Removable:
        """Register ``hook(gradients of the results)``, which is called before this node runs, after the hooks of the
        results.

        Its result, if not None, replaces these gradients.
        """
        return add_hook(self, -2, hook)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def make_node(recipe: Recipe, edges: tuple[Edge | None, ...], saved: Any, kind: type[Node] = Node) -> Node:
    """Return a new node with the next sequence number."""
    node = kind()
    node.recipe = recipe
    node.edges = edges
    node.saved = saved
    node.sequence = next_sequence()
    return node


class Output:
    """Edge of a result that is not its operator's first one."""

    __slots__ = ("node", "place")

    def __init__(self, node: Node, place: int) -> None:
        self.node = node
        self.place = place


class Leaf(Node):
    """Node of a tensor that no operator made, which accumulates the tensor's gradient.

    grad: the accumulated gradient.
    """

    __slots__ = ("grad",)

    grad: Tensor | None

    def __init__(self, geometry: TensorMeta) -> None:
        self.recipe = Recipe("a leaf", _accumulate, (geometry,), keeps_tensors=False)
        self.edges = ()
        self.saved = ()
        self.sequence = 0  # so that it runs after all nodes that lead to it
        self.grad = None


_accumulating = held_across_fork(threading.Lock())

# The engine's own references to a gradient: the sequence that passes it, and the names in ``own``.
_UNSHARED = 3


def _accumulate(leaf: Leaf, gradients: Sequence[Gradient]) -> tuple[()]:
    """Add to a leaf's gradient as PyTorch's ``AccumulateGrad`` does: in place, unless under ``create_graph``."""
    if gradients[0] is None:
        return ()
    with _accumulating:
        if is_grad_enabled():
            leaf.grad = gradients[0] if leaf.grad is None else leaf.grad + gradients[0]
        elif leaf.grad is None:
            leaf.grad = own(gradients, leaf.recipe.results[0])
        else:
            leaf.grad.add_(gradients[0])
    return ()


def own(gradients: Sequence[Any], form: TensorMeta) -> Tensor:
    """Return a gradient for a leaf to keep: with the leaf's strides, in memory that is not shared.

    Args:
        gradients: the gradient alone, so that the references to it can be counted.
        form: of the leaf.
    """
    gradient: Tensor = gradients[0]
    is_dense = form.is_non_overlapping_and_dense()
    layout = form.suggested_memory_format() if is_dense else MemoryFormat.contiguous_format
    laid = strides_for(form.shape, layout)
    strides = form.strides if is_dense else laid
    base = gradient._base
    is_unshared = sys.getrefcount(gradient) <= _UNSHARED and (base is None or sys.getrefcount(base) <= _UNSHARED)
    if is_unshared and gradient.strides == strides and not gradient.requires_grad:
        return gradient if base is None else _without_base(gradient, base)
    if strides == laid and not gradient.requires_grad:
        copy: Tensor = gradient.clone(memory_format=layout)
        return copy
    return copy_(new_tensor(form.replace(strides=strides, requires_grad=False, is_view=False)), gradient)


def _without_base(gradient: Tensor, base: Tensor) -> Tensor:
    """Return the only view of a tensor as a tensor of its own, if it shows all of it on the CPU, else unchanged.

    So gradients of one leaf have one geometry, whichever views the steps of a backward pass make, and later calls with
    them find the same plans.
    """
    form = gradient.geometry
    if base._base is not None or base.geometry.numel != form.numel or base.geometry.dtype is not form.dtype:
        return gradient
    own_form = _form_without_base(form)
    return gradient if own_form is None else tensor_over(gradient.array, own_form)


@lru_cache(maxsize=1024)
def _form_without_base(form: TensorMeta) -> TensorMeta | None:
    """Return the geometry of a view that becomes a tensor of its own; None if it cannot become one."""
    if form.device.type != "cpu" or form.is_conj or form.is_neg or not form.is_non_overlapping_and_dense():
        return None
    return form.replace(is_view=False)


Edge: TypeAlias = Node | Output


# ------------------------------------------------------------------------------------------------------------- tensors


def edge_of(tensor: Tensor) -> Edge | None:
    """Return the edge that a tensor's gradient goes to; None for a tensor that requires none.

    The history of a view is rebuilt when its memory has been written through another tensor.
    """
    if not tensor.geometry.requires_grad:
        return None
    edge: Edge | None = getattr(tensor, "autograd", None)
    if tensor.geometry.is_view:
        creation = tensor.geometry.creation
        if creation is not Creation.DEFAULT and not creation.is_apart and tensor._writes != version_of(tensor):
            raise written_view(tensor, edge, "its base or another view of its base has been modified inplace")
        return leaf_of(tensor) if edge is None else edge.node.edge_of(tensor, edge)
    return leaf_of(tensor) if edge is None else edge


def leaf_of(tensor: Tensor) -> Leaf:
    """Return the leaf of a tensor that requires grad, creating it on first use."""
    leaf = getattr(tensor, "autograd", None)
    if not isinstance(leaf, Leaf):
        leaf = tensor.autograd = Leaf(tensor.geometry)
    return leaf


def is_leaf(tensor: Tensor) -> bool:
    """Return whether no operator that autograd recorded has made a tensor."""
    edge = getattr(tensor, "autograd", None)
    return not tensor.geometry.requires_grad or edge is None or isinstance(edge, Leaf)


# --------------------------------------------------------------------------------------------------------------- hooks


class Removable:
    """Handle of a registered hook: ``remove()`` unregisters it."""

    __slots__ = ("_hook", "_hooks")

    def __init__(self, hooks: list[Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self._hook = hook

    def remove(self) -> None:
        """Unregister the hook; a second call does nothing."""
        self._hooks[:] = [hook for hook in self._hooks if hook is not self._hook]

    def __enter__(self) -> Removable:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def add_hook(node: Node, place: int, hook: Callable[..., Any]) -> Removable:
    """Register a hook for a result of a node, or, at -1 and -2, for the node."""
    if not hasattr(node, "hooks"):
        node.hooks = {}
    hooks = node.hooks.setdefault(place, [])
    hooks.append(hook)
    return Removable(hooks, hook)


def has_hooks(node: Node) -> bool:
    """Return whether hooks are registered for a node or its results."""
    return any(getattr(node, "hooks", {}).values())


# --------------------------------------------------------------------------------------------------------- saved values


def freed(node: Node) -> GraphFreedError:
    """Return the error of a second pass through a freed graph."""
    return GraphFreedError(
        f"Trying to backward through the graph a second time: the values that {node.name} saved were freed by the "
        "first backward pass. Specify retain_graph=True when calling .backward() or autograd.grad() the first time."
    )


def changed(node: Node, name: str, tensor: Tensor, version: int) -> SavedTensorChangedError:
    """Return the error of a saved tensor that was written afterwards."""
    return SavedTensorChangedError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: {name}, a "
        f"tensor of shape {list(tensor.shape)} that {node.name} saved, is at version {version_of(tensor)}; expected "
        f"version {version} instead. Compute from a copy (x.clone()), or write before {node.name} is called."
    )


def written_view(tensor: Tensor, edge: Edge | None, what: str) -> RequiresGradError:
    """Return the error of a view that cannot have a history once its memory is written.

    Args:
        tensor: the view.
        edge: its own edge, None if it has none.
        what: how its memory is written.
    """
    creation = tensor.geometry.creation
    has_node = edge is not None and not isinstance(edge, Leaf)
    source = f"Output {edge.place} of {edge.node.name} is a view" if edge is not None and has_node else "A view"
    if creation is Creation.SEVERAL:
        why = (
            " This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. Take a view of the tensor by itself: x[0], x.narrow(...)."
        )
        return RequiresGradError(f"{source} and {what}.{why}")
    mode = "normal mode" if creation is Creation.INFERENCE else "grad mode enabled"
    text = f"{source} of a view which was created" if has_node else f"{source} was created"
    return RequiresGradError(
        f"{text} {creation.value} and {what} in {mode}. Create the view and write to it either both inside this mode "
        "or both outside."
    )


def refuse_integers(tensor: Tensor) -> None:
    """Raise unless a tensor's dtype is floating-point or complex, as others have no gradients.

    Raises:
        RequiresGradError: the tensor has another dtype.
    """
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise RequiresGradError(
            f"only Tensors of floating point and complex dtype can require gradients (got {tensor.dtype}). "
            "Convert it first: x.to(opdsl.float32)."
        )
