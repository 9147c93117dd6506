"""Backward passes that users start: ``backward`` accumulates into leaves, ``grad`` returns gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.autograd.constants import filled
from opdsl.autograd.engine import execute
from opdsl.autograd.graph import Edge, Leaf, edge_of
from opdsl.dispatch import DispatchMode, current, enable_grad, no_grad
from opdsl.errors import GradientError, RequiresGradError
from opdsl.runtime import Tensor

__all__ = ["backward", "grad"]

Tensors = Tensor | Sequence[Tensor]


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Compute the gradients of the leaves that tensors depend on, and add them to the leaves' ``grad``.

    Args:
        tensors: the tensors to differentiate.
        grad_tensors: their own gradients, each of its tensor's shape; None means 1 for a tensor with one element.
        retain_graph: whether another pass may follow; by default as ``create_graph``.
        create_graph: whether the gradients can be differentiated again.
        inputs: the leaves to accumulate into; all by default.

    Raises:
        GradientError: a gradient is missing or does not fit; a tensor does not require grad.
        GraphFreedError: an earlier pass has freed the graph.
        SavedTensorChangedError: a tensor that a formula needs has been written.

    >>> import opdsl
    >>> x = opdsl.tensor([3.0], requires_grad=True)
    >>> opdsl.autograd.backward([x * x, x])
    >>> x.grad
    tensor([7.])
    """
    modes = _modes()
    if modes and inputs is None and not create_graph:
        seeds = None if grad_tensors is None else _given(grad_tensors)
        if any(mode.backward(_listed(tensors), seeds) for mode in modes):
            return
    roots = _roots(_listed(tensors), grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        execute(roots, keep_graph=keep, create_graph=create_graph)
        return
    leaves = _listed(inputs)
    if not leaves:
        raise GradientError("backward: inputs is empty. Name the tensors to accumulate into, or omit inputs=.")
    gradients = execute(
        roots, keep_graph=keep, create_graph=create_graph, wanted=[_edge(leaf) for leaf in leaves], accumulates=False
    )
    with enable_grad() if create_graph else no_grad():
        for tensor, gradient in zip(leaves, gradients, strict=True):
            edge = _edge(tensor)
            if isinstance(edge, Leaf):
                edge.recipe.run(edge, (gradient,))
            elif gradient is not None:
                tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of the sum of outputs with respect to inputs; no leaf's ``grad`` changes.

    Args:
        outputs: the tensors to differentiate.
        inputs: the tensors to differentiate by; leaves or not.
        grad_outputs: the outputs' own gradients; None means 1 for an output with one element.
        retain_graph: whether another pass may follow; by default as ``create_graph``.
        create_graph: whether the gradients can be differentiated again.
        allow_unused: whether an input that no output depends on gives None; otherwise it is an error.
        materialize_grads: whether such an input gives zeros instead.

    Returns:
        A gradient for each input.

    Raises:
        GradientError: an input is not used, a gradient is missing or does not fit.

    >>> import opdsl
    >>> x = opdsl.tensor([3.0], requires_grad=True)
    >>> (first,) = opdsl.autograd.grad(x * x * x, x, create_graph=True)
    >>> opdsl.autograd.grad(first, x)
    (tensor([18.]),)
    """
    if materialize_grads and allow_unused is False:
        raise GradientError(
            "grad: materialize_grads=True gives zeros for unused inputs, so allow_unused cannot be False."
        )
    wanted = _listed(inputs)
    tensors = None if create_graph else _found_by_modes(_listed(outputs), wanted, grad_outputs)
    if tensors is None:
        roots = _roots(_listed(outputs), grad_outputs)
        tensors = execute(
            roots,
            keep_graph=create_graph if retain_graph is None else retain_graph,
            create_graph=create_graph,
            wanted=[_edge(input) for input in wanted],
            accumulates=False,
        )
    if materialize_grads:
        return tuple(
            filled(input.geometry, 0) if gradient is None else gradient
            for input, gradient in zip(wanted, tensors, strict=True)
        )
    if not allow_unused and any(gradient is None for gradient in tensors):
        place = next(at for at, gradient in enumerate(tensors) if gradient is None)
        raise GradientError(
            f"One of the differentiated Tensors appears to not have been used in the graph (inputs[{place}], of shape "
            f"{list(wanted[place].shape)}). Set allow_unused=True if this is the desired behavior."
        )
    return tuple(tensors)


def _modes() -> list[DispatchMode]:
    return [mode for mode in current.get().modes if isinstance(mode, DispatchMode)]


def _found_by_modes(
    outputs: list[Tensor], inputs: list[Tensor], gradients: Tensor | Sequence[Tensor | None] | None
) -> Sequence[Tensor | None] | None:
    """Return the gradients that a dispatch mode computes, or None."""
    for mode in _modes():
        computed = mode.gradients_of(outputs, inputs, None if gradients is None else _given(gradients))
        if computed is not None:
            return computed
    return None


def _listed(tensors: Tensors) -> list[Tensor]:
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for tensor in listed:
        if not isinstance(tensor, Tensor):
            raise GradientError(
                f"gradients are computed with respect to tensors (got {type(tensor).__name__}). Pass a tensor or a "
                "list of tensors."
            )
    return listed


def _edge(tensor: Tensor) -> Edge:
    edge = edge_of(tensor)
    if edge is None:
        raise RequiresGradError(
            "One of the differentiated Tensors does not require grad "
            f"(one of shape {list(tensor.shape)}). Call requires_grad_() on it before computing with it."
        )
    return edge


def _given(gradients: Tensor | Sequence[Tensor | None]) -> list[Tensor | None]:
    return [gradients] if isinstance(gradients, Tensor) else list(gradients)


def _roots(tensors: Sequence[Tensor], gradients: Tensor | Sequence[Tensor | None] | None) -> list[tuple[Edge, Tensor]]:
    seeds = [None] * len(tensors) if gradients is None else _given(gradients)
    if len(seeds) != len(tensors):
        raise GradientError(
            f"got {len(tensors)} tensors and {len(seeds)} gradients. Pass one gradient for each tensor."
        )
    return [_root(root, gradient) for root, gradient in zip(tensors, seeds, strict=True)]


def _root(root: Tensor, gradient: Tensor | None) -> tuple[Edge, Tensor]:
    edge = edge_of(root)
    if edge is None:
        raise RequiresGradError(
            f"a tensor of shape {list(root.shape)} does not require grad and does not have a grad_fn. "
            "Compute it from tensors that require grad, with opdsl.is_grad_enabled()."
        )
    if gradient is None:
        if root.numel() != 1:
            raise GradientError(
                f"grad can be implicitly created only for scalar outputs (got shape {list(root.shape)}). "
                "Sum it first, or give its own gradient: y.backward(opdsl.ones_like(y))."
            )
        if not root.dtype.is_floating_point:
            raise GradientError(
                f"grad can be implicitly created only for real scalar outputs but got {root.dtype}. Give a gradient."
            )
        return edge, root.new_ones(root.shape)
    if gradient.shape != root.shape:
        raise GradientError(
            f"Mismatch in shape: the gradient has a shape of {list(gradient.shape)} and the tensor has a shape of "
            f"{list(root.shape)}. Give a gradient of the tensor's shape."
        )
    if gradient.dtype.is_complex != root.dtype.is_complex:
        raise GradientError(
            "For complex Tensors, both the tensor and its gradient are required to be complex "
            f"(got {gradient.dtype} for {root.dtype})."
        )
    return edge, gradient
