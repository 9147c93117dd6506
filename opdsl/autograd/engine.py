"""Engine of the backward pass: runs nodes newest first, so that a node runs after all nodes that lead to it.

Every edge leads to a node that was made earlier, so the order of creation is a topological order, and no dependencies
need to be counted. There is no recursion, so the length of a chain does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from sys import getrefcount
from typing import Any

from opdsl.autograd.derivative import summed_to
from opdsl.autograd.graph import Edge, Gradient, Leaf, Node, Output, freed
from opdsl.dispatch import current, enable_grad, is_grad_enabled, no_grad
from opdsl.errors import GradientError
from opdsl.runtime import Tensor, TensorMeta, cpu

__all__ = ["execute"]

# Gradients that wait for a node to run: for a node with one result the gradient itself, otherwise a list.
Waiting = dict[Node, Any]

Hook = Callable[..., Any]

_SEQUENCE = attrgetter("sequence")
_RECORDING, _NOT_RECORDING = enable_grad(), no_grad()


def execute(
    roots: Sequence[tuple[Edge, Tensor]],
    *,
    keep_graph: bool,
    create_graph: bool,
    wanted: Sequence[Edge] | None = None,
    accumulates: bool = True,
) -> list[Gradient]:
    """Run a backward pass.

    Args:
        roots: the edges to begin at, with their gradients.
        keep_graph: whether saved values stay for another pass.
        create_graph: whether the gradients are computed so that they can be differentiated again.
        wanted: edges whose gradients are returned; only nodes that lead to these run then.
        accumulates: whether leaves accumulate their gradients.

    Returns:
        For each wanted edge its gradient, None if no path leads to it.

    Raises:
        GraphFreedError: saved values of a node have been freed by an earlier pass.
        SavedTensorChangedError: a tensor that a node saved has been written since.
    """
    with _RECORDING if create_graph else _NOT_RECORDING:
        kind = _CheckedPass if current.get().checking else _Pass
        return kind(keep_graph, None if wanted is None else tuple(wanted), accumulates, roots).run()


class _Pass:
    """State of one backward pass.

    needed: the nodes that lead to wanted edges; None for all.
    captured: gradients of the wanted edges.
    """

    def __init__(
        self,
        keep_graph: bool,
        wanted: tuple[Edge, ...] | None,
        accumulates: bool,
        roots: Sequence[tuple[Edge, Tensor]],
    ) -> None:
        self.keep_graph = keep_graph
        self.wanted = wanted
        self.accumulates = accumulates
        self.waiting: Waiting = {}
        self.heap: list[tuple[int, int, Node]] = []
        self.captured: dict[tuple[Node, int], Gradient] = {}
        self.places = None if wanted is None else _by_node(wanted)
        self.needed = (
            None if wanted is None else _leading_to({node.node for node in wanted}, [e.node for e, _ in roots])
        )
        for edge, gradient in roots:
            self.send(edge, gradient)

    def run(self) -> list[Gradient]:
        """Run waiting nodes, newest first, until none is left, and return the gradients of the wanted edges."""
        heap, waiting = self.heap, self.waiting
        visit, send = self.visit, self.send
        frees, is_plain = not self.keep_graph, self.wanted is None and type(self) is _Pass
        while heap:
            node = heappop(heap)[2]
            gradients = waiting.pop(node)
            recipe = node.recipe
            if len(recipe.results) == 1:
                gradients = (gradients,)
            if not is_plain or node.saved is None or hasattr(node, "hooks"):
                visit(node, gradients)
                continue
            sent = (recipe.run if recipe.consume is None or not frees else recipe.consume)(node, gradients)
            if not node.edges:
                continue
            if frees and recipe.keeps_tensors:
                node.saved = None
            gradient = None
            for edge, gradient in zip(node.edges, sent, strict=True):
                if edge is None or gradient is None:
                    continue
                if isinstance(edge, Output) or edge in waiting:
                    send(edge, gradient)
                    continue
                results = edge.recipe.results
                form, geometry = results[0], gradient.geometry
                if len(results) > 1 or geometry.shape != form.shape or geometry.dtype is not form.dtype:
                    send(edge, gradient)
                    continue
                waiting[edge] = gradient
                heappush(heap, (-edge.sequence, id(edge), edge))
            del gradients, sent, gradient  # a leaf copies gradients that are still referenced
        if self.wanted is None:
            return []
        return [self.captured.get((node.node, node.place)) for node in self.wanted]

    def visit(self, node: Node, gradients: Sequence[Gradient]) -> None:
        """Run one node with its hooks, and send its gradients along its edges."""
        hooks = getattr(node, "hooks", None)
        if hooks is not None:
            gradients = _hooked(node, gradients, hooks)
        if self.places is not None and node in self.places:
            for place in self.places[node]:
                self.captured[node, place] = gradients[place]
            assert self.needed is not None, "both are there or neither"
            if node not in self.needed:
                return
        if isinstance(node, Leaf) and not self.accumulates:
            return
        if node.saved is None:
            raise freed(node)
        recipe = node.recipe
        sent = (recipe.run if recipe.consume is None or self.keep_graph else recipe.consume)(node, gradients)
        if hooks is not None and -1 in hooks:
            sent = _after(sent, gradients, hooks[-1])
        if not self.keep_graph and node.recipe.keeps_tensors:
            node.saved = None
        for edge, gradient in zip(node.edges, sent, strict=True):
            if edge is not None and gradient is not None:
                self.send(edge, gradient)

    def send(self, edge: Edge, gradient: Tensor) -> None:
        """Add a gradient to those that wait at an edge, and enqueue its node."""
        node = edge.node
        if self.needed is not None and node not in self.needed and (self.places is None or node not in self.places):
            return
        form, geometry = node.recipe.results[edge.place], gradient.geometry
        if geometry.shape != form.shape or geometry.dtype is not form.dtype:
            gradient = fitted(gradient, form)
        waiting = self.waiting
        if len(node.recipe.results) == 1:
            if node in waiting:
                waiting[node] = _sum(waiting, node, gradient)
                return
            waiting[node] = gradient
        else:
            if node in waiting:
                present = waiting[node]
                before = present[edge.place]
                present[edge.place] = gradient if before is None else before + gradient
                return
            fresh: list[Gradient] = [None] * len(node.recipe.results)
            fresh[edge.place] = gradient
            waiting[node] = fresh
        heappush(self.heap, (-node.sequence, id(node), node))


# The engine's own references to a waiting gradient: the dictionary's, the name in ``_sum``, getrefcount's argument.
_UNSHARED = 3
# The engine's own references to its array: the tensor's, and the argument of getrefcount.
_UNSHARED_ARRAY = 2


def _sum(waiting: Waiting, node: Node, gradient: Tensor) -> Tensor:
    """Add a gradient to the one that waits at a node, in place if the memory of that is not shared."""
    present: Tensor = waiting[node]
    form = present.geometry
    is_own = getrefcount(present) <= _UNSHARED and present._base is None and form is gradient.geometry
    if not is_own or form.device is not cpu or getrefcount(present.array) > _UNSHARED_ARRAY or is_grad_enabled():
        return present + gradient
    summed: Tensor = present.add_(gradient)
    return summed


class _CheckedPass(_Pass):
    """Backward pass that checks the gradients that derivatives return, and names the derivative in errors."""

    sender: Node | None = None

    def visit(self, node: Node, gradients: Sequence[Gradient]) -> None:
        """See ``_Pass``."""
        self.sender = node
        super().visit(node, gradients)

    def send(self, edge: Edge, gradient: Tensor) -> None:
        """See ``_Pass``.

        Raises:
            GradientError: a derivative returned an object that is no gradient of the argument.
        """
        who = "" if self.sender is None else f"{self.sender.recipe.name}: the derivative: "
        if not isinstance(gradient, Tensor):
            raise GradientError(f"{who}a gradient is {type(gradient).__name__}. Return a tensor, or None for zeros.")
        try:
            super().send(edge, gradient)
        except GradientError as error:
            raise GradientError(f"{who}{error}") from error


def _by_node(edges: Sequence[Edge]) -> Mapping[Node, list[int]]:
    by_node: dict[Node, list[int]] = {}
    for edge in edges:
        by_node.setdefault(edge.node, []).append(edge.place)
    return by_node


def _leading_to(wanted: set[Node], roots: Sequence[Node]) -> set[Node]:
    """Return the nodes, reachable from the roots, that lead to a wanted node."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += [edge.node for edge in node.edges if edge is not None]
    nodes: set[Node] = set()
    leading = set(wanted)
    for node in sorted(seen, key=_SEQUENCE):
        for edge in node.edges:
            if edge is not None and edge.node in leading:
                nodes.add(node)
                leading.add(node)
                break
    return nodes


def _hooked(node: Node, gradients: Sequence[Gradient], hooks: Mapping[int, Sequence[Hook]]) -> list[Gradient]:
    """Return the gradients of results after the users' hooks on results and the node's prehooks."""
    hooked = list(gradients)
    for place, attached in hooks.items():
        for hook in tuple(attached) if place >= 0 else ():
            gradient = hooked[place]
            if gradient is None:
                continue
            replaced = hook(gradient)
            if replaced is not None:
                hooked[place] = _required(node, replaced, gradient)
    for hook in tuple(hooks.get(-2, ())):
        replaced = hook(tuple(hooked))
        if replaced is not None:
            hooked = list(replaced) if isinstance(replaced, tuple) else [replaced]
    return hooked


def _required(node: Node, replaced: object, gradient: Tensor) -> Tensor:
    if not isinstance(replaced, Tensor) or replaced.shape != gradient.shape:
        what = list(replaced.shape) if isinstance(replaced, Tensor) else type(replaced).__name__
        raise GradientError(
            f"a hook at {node.name} returned {what} for a gradient of shape {list(gradient.shape)}. Return a tensor of "
            "that shape, or None to leave the gradient unchanged."
        )
    return replaced


def _after(sent: Sequence[Gradient], gradients: Sequence[Gradient], hooks: Sequence[Hook]) -> Sequence[Gradient]:
    """Return the gradients of arguments after the hooks of the node."""
    for hook in tuple(hooks):
        replaced = hook(tuple(sent), tuple(gradients))
        if replaced is not None:
            sent = replaced if isinstance(replaced, tuple) else (replaced,)
    return sent


def fitted(gradient: Tensor, form: TensorMeta) -> Tensor:
    """Convert a gradient to the shape and dtype of its tensor: sum over broadcast dimensions, cast promoted dtypes
    back.

    Formulas therefore need not handle either (``validate_outputs`` in PyTorch's engine).

    Raises:
        GradientError: the shapes do not broadcast.
    """
    gradient = summed_to(gradient, form.shape)
    return gradient if gradient.dtype is form.dtype else gradient.to(form.dtype)
