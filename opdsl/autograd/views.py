"""History of views and of in-place writes: which gradients change when memory is written that several tensors share.

The history of shared memory belongs to the base tensor of the views, their owner. A view's node remembers the owner's
edge at the time of the view; when the owner has another edge, the view's node is rebuilt as a piece of the owner.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Sequence
from sys import getrefcount
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy

from opdsl.autograd.constants import filled
from opdsl.autograd.graph import (
    Edge,
    Gradient,
    Node,
    Recipe,
    edge_of,
    is_leaf,
    make_node,
    written_view,
)
from opdsl.dispatch import is_grad_enabled
from opdsl.errors import GradientError, RequiresGradError
from opdsl.kernels import new_tensor
from opdsl.runtime import Creation, Tensor, TensorMeta, cpu, from_numpy, has_internal_overlap

__all__ = ["ViewNode", "check_writable", "owner_of", "set_history", "view_node"]


class ViewNode(Node):
    """Node of a view, which remembers the history of the viewed memory when the view was taken.

    owner: weak reference to the tensor that the view was taken of.
    history: that tensor's edge at that time; None when it required no grad.
    """

    __slots__ = ("history", "owner")

    owner: ref[Tensor]
    history: Edge | None

    def edge_of(self, tensor: Tensor, edge: Edge) -> Edge:
        """See ``Node``: rebuilds the edge if the history of the view's owner has changed since."""
        owner = self.owner()
        if owner is None or getattr(owner, "autograd", None) is self.history:
            return edge
        piece_node = tensor.autograd = _piece_node(owner, tensor)
        return piece_node


class Piece(NamedTuple):
    """Position of a view in the memory of its owner.

    owner: the owner's geometry.
    shape, strides, offset: of the view, in elements from the owner's first one.
    is_conj, is_neg: whether the view shows the conjugates or the negatives of the owner's elements.
    """

    owner: TensorMeta
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    is_conj: bool = False
    is_neg: bool = False

    def taken(self, whole: Tensor) -> Tensor:
        """Return the view of a tensor that has the owner's memory layout; if the view shows an element several times,
        all of its occurrences but one are set to 0.
        """
        taken = self._turned(whole.as_strided(self.shape, self.strides, self.offset + whole.storage_offset()))
        if not self.repeats:
            return taken
        is_first = numpy.zeros(taken.numel(), bool)
        is_first[numpy.unique(self.places, return_index=True)[1]] = True
        return taken * from_numpy(is_first.reshape(self.shape)).to(taken.device)

    def put(self, whole: Tensor, piece: Tensor) -> Tensor:
        """Return a copy of a tensor of the owner's shape, with the elements of the piece replaced.

        Elements that the piece shows several times get the sum.
        """
        memory, piece = self.laid_out(whole), self._turned(piece)
        if not self.repeats:
            return memory.as_strided_scatter(piece, self.shape, self.strides, self.offset + memory.storage_offset())
        places = from_numpy(self.places).to(piece.device)
        flat = memory.as_strided((memory.numel(),), (1,), memory.storage_offset())
        output = flat.index_fill(0, places, 0).index_add(0, places, piece.reshape(-1))
        return output.as_strided(self.owner.shape, self.owner.strides)

    def _turned(self, piece: Tensor) -> Tensor:
        """Conjugate and negate a gradient as the view does its elements, which converts between piece and owner both
        ways.
        """
        piece = piece.conj() if self.is_conj else piece
        return piece._neg_view() if self.is_neg else piece

    @property
    def repeats(self) -> bool:
        """Return whether the view shows some elements several times."""
        return has_internal_overlap(self.owner.replace(shape=self.shape, strides=self.strides))

    @property
    def places(self) -> numpy.ndarray[Any, Any]:
        """Return the indices, in the owner's memory, of the elements that the view shows."""
        memory = numpy.arange(math.prod(self.owner.shape))[self.offset :]
        steps = tuple(stride * memory.itemsize for stride in self.strides)
        return numpy.lib.stride_tricks.as_strided(memory, self.shape, steps, writeable=False).reshape(-1)

    def laid_out(self, whole: Tensor) -> Tensor:
        """Return a tensor of the owner's shape with the owner's strides, copied if necessary."""
        if whole.strides == self.owner.strides:
            return whole
        output = new_tensor(whole.geometry.replace(strides=self.owner.strides, requires_grad=False, is_view=False))
        return output.copy_(whole)


def _piece(owner: Tensor, view: Tensor) -> Piece:
    if not owner.geometry.is_non_overlapping_and_dense() or owner.dtype is not view.dtype:
        raise GradientError(
            f"gradients of views of a tensor with strides {list(owner.strides)} for shape {list(owner.shape)} that are "
            "written in place are not supported: its memory has gaps or shows another dtype. Write a copy: x.clone()."
        )
    own, shown = owner.geometry, view.geometry
    offset = view.storage_offset() - owner.storage_offset()
    bits = own.is_conj is not shown.is_conj, own.is_neg is not shown.is_neg
    return Piece(own, shown.shape, shown.strides, offset, *bits)


def owner_of(tensor: Tensor) -> Tensor | None:
    """Return the base tensor of a view; None for a tensor that is no view, or was detached."""
    return tensor._base if tensor.geometry.is_tracked_view else None


def view_node(recipe: Recipe, edges: tuple[Edge | None, ...], saved: object, viewed: Tensor) -> ViewNode:
    """Return a new node for views of a tensor that requires grad.

    Args:
        recipe, saved: of the operator that made the views.
        edges: of ``viewed``, and of the operator's other differentiable arguments.
        viewed: the tensor that they were taken of, perhaps a view itself.
    """
    node = make_node(recipe, edges, saved, ViewNode)
    assert isinstance(node, ViewNode), "as made"
    result = owner_of(viewed)
    owner = viewed if result is None else result
    node.owner = ref(owner)
    node.history = getattr(owner, "autograd", None)
    return node


def _piece_node(owner: Tensor, view: Tensor) -> ViewNode:
    """Return a new node for a view as a piece of its owner."""
    edge = edge_of(owner)
    assert edge is not None, "the owner of a view with a history requires grad"
    return view_node(
        Recipe("aten::as_strided", _piece_backward, (view.geometry,), keeps_tensors=False),
        (edge,),
        _piece(owner, view),
        owner,
    )


def _piece_backward(node: Node, gradients: Sequence[Gradient]) -> tuple[Gradient]:
    (gradient,) = gradients
    piece: Piece = node.saved
    if gradient is None:
        return (None,)
    return (piece.put(filled(piece.owner, 0), gradient),)


# ------------------------------------------------------------------------------------------------------------- writing


def check_writable(tensor: Tensor) -> None:
    """Raise if writing a tensor in place would lose its gradient (``check_inplace`` in PyTorch).

    Raises:
        RequiresGradError: it is a leaf that requires grad, a view of one, a view that was taken under ``no_grad`` or
            in inference mode, or one of several views that an operator made.
    """
    owner = owner_of(tensor)
    if owner is not None and tensor.geometry.creation is not Creation.DEFAULT:
        raise written_view(tensor, getattr(tensor, "autograd", None), "is being modified inplace")
    if not tensor.geometry.requires_grad:
        return
    for what, operand in (("a view of a leaf Variable", owner), ("a leaf Variable", tensor)):
        if operand is not None and is_leaf(operand):
            raise RequiresGradError(
                f"{what} that requires grad is being used in an in-place operation. "
                "Write it under opdsl.no_grad(), or compute from it out of place."
            )


def set_history(tensor: Tensor, node: Node, *, has_own_edge: bool) -> None:
    """Set the history of a tensor that an operator has written in place to the operator's node.

    If the tensor is a view, its owner gets a node that replaces the written piece of its gradient, and the view becomes
    a piece of the owner again.

    Args:
        tensor: the written tensor.
        node: of the operator that wrote it.
        has_own_edge: whether the first of the node's edges is that of the tensor as it was before.
    """
    owner = owner_of(tensor)
    if owner is None:
        _take_up(tensor, node)
        return
    piece = _piece(owner, tensor)
    before = edge_of(owner)
    form = owner.geometry.replace(requires_grad=True)
    others = node.edges[1:] if has_own_edge else node.edges
    written = make_node(
        Recipe(node.name, _write_backward, (form,), node.recipe.keeps_tensors),
        (before, *others),
        (node, piece, has_own_edge),
    )
    _take_up(owner, written, views=1)
    tensor.geometry = tensor.geometry.replace(requires_grad=True)
    if not isinstance(getattr(tensor, "autograd", None), ViewNode):  # a ViewNode rebuilds itself on access
        tensor.autograd = _piece_node(owner, tensor)


# The engine's own references to a gradient (the sequence, the name, the argument of getrefcount), and to its array.
_UNSHARED_GRADIENT, _UNSHARED_ARRAY = 3, 2


def _write_backward(node: Node, gradients: Sequence[Gradient]) -> tuple[Gradient, ...]:
    """Compute the gradients of an owner whose piece was written: the operator transforms the piece's gradient only."""
    (gradient,) = gradients
    inner: Node
    piece: Piece
    inner, piece, has_own_edge = node.saved
    if gradient is None:
        return (None,) * len(node.edges)
    is_unshared = getrefcount(gradient) <= _UNSHARED_GRADIENT and gradient._base is None
    is_unshared &= gradient.geometry.device is cpu and getrefcount(gradient.array) <= _UNSHARED_ARRAY
    whole = piece.laid_out(gradient)
    sent = tuple(inner.recipe.run(inner, (piece.taken(whole).clone(),)))
    own, others = (sent[0], sent[1:]) if has_own_edge else (None, sent)
    if is_grad_enabled() or piece.repeats:
        return (piece.put(whole, filled(gradient.geometry, 0, piece.shape) if own is None else own), *others)
    if whole is gradient and not is_unshared:
        whole = whole.clone()
    taken = piece.taken(whole)
    taken.zero_() if own is None else taken.copy_(own)
    return (whole, *others)


def _take_up(base: Tensor, node: Node, views: int = 0) -> None:
    """Set a tensor's history. If the tensor had none, set the history of its views as well; a search for views is
    skipped if the tensor has no more than ``views`` of them, which the caller handles.
    """
    followed = base.geometry.requires_grad
    base.autograd = node
    base.geometry = base.geometry.replace(requires_grad=True)
    if followed:
        return
    for view in _views_of(base, views):
        if owner_of(view) is None:
            continue
        if view.dtype is base.dtype and not view.geometry.requires_grad:
            view.geometry = view.geometry.replace(requires_grad=True)
            if view.geometry.creation is Creation.DEFAULT:
                view.autograd = _piece_node(base, view)
            else:
                view._writes = -1  # its history cannot be rebuilt


def _views_of(base: Tensor, known: int) -> list[Tensor]:
    """Return the views of a tensor; an empty list if there are no more than ``known``.

    No list of views is kept, and few tensors have any. Young objects of the garbage collector are searched first, since
    a search through all objects is slow.
    """
    most = _most_views(base)
    if most <= known:
        return []
    views: list[Tensor] = []
    for generation in _YOUNG:
        views += _of_base(base, gc.get_objects(generation))
        if len(views) >= most:
            return views
    return _of_base(base, gc.get_referrers(base))


def _of_base(base: Tensor, objects: Iterable[Any]) -> list[Tensor]:
    """Return the views of a tensor among objects; ``isinstance`` is avoided, as weak proxies raise for it."""
    return [owner for owner in objects if issubclass(type(owner), Tensor) and getattr(owner, "_base", None) is base]


def _most_views(tensor: Tensor) -> float:
    """Return an upper bound of the number of a tensor's views: each of them refers to its memory."""
    if type(tensor.array) is not numpy.ndarray:
        return math.inf
    array, base = _references(tensor)
    return array - _UNSHARED[0] + max(base - _UNSHARED[1], 0)


# Generations of the garbage collector that have few objects.
_YOUNG = (0, 1)


def _references(holder: Tensor | _Holder) -> tuple[int, int]:
    """Return the reference counts of an array and of its base."""
    array = holder.array
    base = array.base
    return getrefcount(array), 0 if base is None else getrefcount(base)


class _Holder(NamedTuple):
    array: numpy.ndarray[Any, Any]


# The reference counts without any views, as this Python counts them.
_UNSHARED: Final = _references(_Holder(numpy.empty(2)[1:]))
