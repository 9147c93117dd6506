"""Gradients of torch operators on opdsl tensors: torch records the call, and a node of opdsl's graph wraps the
recording.

The backward pass of such a node runs torch's backward pass, which torch records in turn if higher-order gradients are
wanted; the result is the next node, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import ref

import torch

from opdsl.autograd.graph import Edge, Gradient, Node, Output, Recipe, edge_of, freed, make_node
from opdsl.autograd.kernel import check_written
from opdsl.autograd.views import set_history, view_node
from opdsl.dispatch import Operator, is_grad_enabled
from opdsl.dispatch.guards import below_autograd
from opdsl.interop.torch.crossing import Crossing, flattened
from opdsl.interop.torch.refusals import refused
from opdsl.runtime import Creation, Tensor, storage_root, version_of
from opdsl.runtime.lowering import lowering
from opdsl.runtime.scopes import Setting
from opdsl.runtime.strides import is_non_overlapping_and_dense
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["record", "recording_of"]

# ``call(crossing, arguments)`` calls torch; returns its result, and the result converted to opdsl.
Call = Callable[[Crossing, tuple[Any, ...]], tuple[Any, Any]]


class Watched(NamedTuple):
    """Torch tensor that may be saved for backward, with the version of the opdsl tensor that it represents.

    theirs: the torch tensor.
    root: weak reference to the owner of the memory; once it is dead, opdsl cannot write the memory any more.
    version: of the opdsl tensor when it was saved.
    """

    theirs: torch.Tensor
    root: ref[Tensor]
    version: int


class Recorded(NamedTuple):
    """Part of torch's autograd graph that one call recorded.

    leaves: the leaves of torch's graph, in the order of ``edges``.
    edges: the edges of opdsl's graph that receive the gradients of the leaves.
    outputs: for each result the torch tensor; None for a result without gradient.
    watched: the tensors that torch may have saved.
    """

    leaves: tuple[torch.Tensor, ...]
    edges: tuple[Edge | None, ...]
    outputs: tuple[torch.Tensor | None, ...]
    watched: tuple[Watched, ...]


class _Entering(torch.autograd.Function):
    """Autograd function from a leaf to a tensor over the same memory that may be written in place; its gradient is the
    leaf's.
    """

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, make: Callable[[], torch.Tensor]) -> torch.Tensor:
        return make()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0], None


class RecordedCrossing(Crossing):
    """Converter whose torch tensors require grad if their opdsl tensors do.

    Args:
        written: the tensors that the call writes.

    leaves, edges: for each tensor that requires grad, by its id.
    """

    __slots__ = ("_versions", "edges", "leaves", "written")

    def __init__(self, written: Sequence[Tensor] = ()) -> None:
        super().__init__()
        self.written = {id(tensor) for tensor in written}
        self.leaves: dict[int, torch.Tensor] = {}
        self.edges: dict[int, Edge | None] = {}
        self._versions: list[tuple[Tensor, int]] = []

    def alias(self, source: Tensor) -> torch.Tensor:
        """See ``Crossing``: returns a leaf of torch's graph, or for a written tensor the result of ``_Entering`` of the
        leaf.
        """
        alias = super().alias(source)
        self._versions.append((source, version_of(source)))
        if not source.geometry.requires_grad:
            return alias
        leaf = self.leaves[id(source)] = alias.requires_grad_()
        self.edges[id(source)] = edge_of(source)
        if id(source) not in self.written:
            return leaf
        again: torch.Tensor = _Entering.apply(leaf, lambda: Crossing.alias(self, source))  # type: ignore[no-untyped-call]
        return again

    def watch(self, results: Sequence[tuple[Tensor, torch.Tensor]]) -> tuple[Watched, ...]:
        """Return the tensors that torch may have saved: arguments with their versions before the call, written ones and
        results with those after it.
        """
        before = [
            (self._theirs[id(tensor)], tensor, version)
            for tensor, version in self._versions
            if id(tensor) not in self.written
        ]
        after = [(theirs, ours, version_of(ours)) for ours, theirs in results]
        return tuple(Watched(theirs, ref(storage_root(ours)), version) for theirs, ours, version in (*before, *after))


@contextmanager
def _recording() -> Iterator[None]:
    with torch.inference_mode(False), torch.enable_grad():
        yield


class Recording:
    """Recorder of one call, from the Autograd keys down to the kernel that calls torch.

    A dispatch mode in between may call the operator again, or return a result itself: nothing is recorded then.

    Args:
        operator: the operator of opdsl that wraps torch's.
        arguments: of the call, in the order of the schema; some tensor among them requires grad.
    """

    def __init__(self, operator: Operator, arguments: tuple[Any, ...]) -> None:
        self.operator = operator
        self.written = [
            tensor
            for declared, value in zip(operator.schema.arguments, arguments, strict=True)
            if declared.alias is not None and declared.alias.write
            for tensor in flattened(value)
            if isinstance(tensor, Tensor)
        ]
        self.crossing = RecordedCrossing(self.written)
        self.answer: tuple[Any, Any] | None = None

    def run(self, call: Call, arguments: tuple[Any, ...]) -> Any:
        """Call torch with recording enabled.

        Args:
            call: ``call(crossing, arguments)`` returns torch's result, and the result converted to opdsl.
            arguments: of the call.
        """
        with _recording():
            self.answer = call(self.crossing, arguments)
        return self.answer[1]

    def attach(self) -> None:
        """Attach autograd nodes to the results."""
        if self.answer is None:
            return
        theirs, ours = (list(flattened(side)) for side in self.answer)
        # A written argument need not be among the results.
        returned = {id(tensor) for tensor in ours}
        rest = [tensor for tensor in self.written if id(tensor) not in returned]
        theirs += map(self.crossing.tensor, rest)
        _Attachment(self.operator, self.crossing, [*ours, *rest], theirs).attach()


_current: ContextVar[Recording | None] = ContextVar("recording", default=None)


def recording_of(name: str) -> Recording | None:
    """Return the active recording if it belongs to the operator of that name and has no result yet, else None."""
    recording = _current.get()
    return recording if recording is not None and recording.operator.name == name and recording.answer is None else None


def record(operator: Operator, beneath: Callable[..., object], arguments: tuple[Any, ...]) -> object:
    """Run the kernel of a torch operator with recording enabled, and attach autograd nodes to its results.

    Args:
        operator: the operator of opdsl that wraps torch's.
        beneath: its kernel below autograd.
        arguments: of the call, in the order of the schema; some tensor among them requires grad.
    """
    if lowering.get() is not None:
        raise NotLoweredError("torch records a call")
    check_written(operator, arguments)
    recording = Recording(operator, arguments)
    with Setting(_current, recording), below_autograd():
        results = beneath(*arguments)
    recording.attach()
    return results


class _Attachment:
    """Helper that attaches autograd nodes to the results of a call.

    There is one node for each written argument, one for all views of an argument, and one for all other results.

    Args:
        operator, crossing: of the call.
        ours, theirs: the results in opdsl and in torch, including written arguments.
    """

    def __init__(
        self, operator: Operator, crossing: RecordedCrossing, ours: Sequence[Any], theirs: Sequence[Any]
    ) -> None:
        self.operator = operator
        self.crossing = crossing
        self.ours = ours
        self.theirs = theirs
        tensors = [
            (mine, torch_tensor) for mine, torch_tensor in zip(ours, theirs, strict=True) if isinstance(mine, Tensor)
        ]
        self.watched = crossing.watch(tensors)

    def attach(self) -> None:
        """Attach nodes to all results."""
        groups: dict[Tensor | None, list[int]] = {}
        for index, (mine, torch_tensor) in enumerate(zip(self.ours, self.theirs, strict=True)):
            if not isinstance(mine, Tensor):
                continue
            viewed = self.crossing.viewed(torch_tensor)
            if id(mine) in self.crossing.written:
                self._attach_written(mine, torch_tensor)
            elif viewed is not None and viewed.requires_grad and not torch_tensor.requires_grad:
                mine.geometry = mine.geometry.replace(creation=Creation.DETACHED)
            elif torch_tensor.requires_grad and mine is not viewed:
                groups.setdefault(viewed, []).append(index)
        for viewed, places in groups.items():
            outputs = tuple(output if index in places else None for index, output in enumerate(self.theirs))
            self._attach_made(viewed, outputs)

    def _attach_written(self, mine: Tensor, output: torch.Tensor) -> None:
        if output.requires_grad:
            # The leaf of the written tensor comes first.
            leaves = sorted(self.crossing.leaves, key=lambda number: number != id(mine))
            node = self._node((mine.geometry,), leaves, (output,))
            set_history(mine, node, has_own_edge=id(mine) in self.crossing.leaves)

    def _attach_made(self, viewed: Tensor | None, outputs: tuple[torch.Tensor | None, ...]) -> None:
        forms = tuple(result.geometry if isinstance(result, Tensor) else None for result in self.ours)
        edge = None if viewed is None else self.crossing.edges.get(id(viewed))
        if viewed is None or edge is None:
            node = self._node(forms, list(self.crossing.leaves), outputs)
        else:
            saved = Recorded((self.crossing.leaves[id(viewed)],), (edge,), outputs, self.watched)
            node = view_node(Recipe(self.operator.name, _backward, forms), (edge,), saved, viewed)
            if len(self.ours) > 1 or self.operator.returns_list:
                self._are_several()
        _give(node, self.ours, outputs)

    def _are_several(self) -> None:
        for mine in self.ours:
            if isinstance(mine, Tensor):
                mine.geometry = mine.geometry.replace(creation=Creation.SEVERAL)
                mine._writes = version_of(mine)

    def _node(self, forms: tuple[Any, ...], leaves: Sequence[int], outputs: tuple[torch.Tensor | None, ...]) -> Node:
        edges = tuple(self.crossing.edges[leaf] for leaf in leaves)
        starts = tuple(self.crossing.leaves[leaf] for leaf in leaves)
        return make_node(
            Recipe(self.operator.name, _backward, forms), edges, Recorded(starts, edges, outputs, self.watched)
        )


def _give(node: Node, ours: Sequence[Any], outputs: Sequence[torch.Tensor | None]) -> None:
    """Set the autograd history of results."""
    for index, (mine, output) in enumerate(zip(ours, outputs, strict=True)):
        if output is not None:
            mine.geometry = mine.geometry.replace(requires_grad=True)
            mine.autograd = node if index == 0 else Output(node, index)


# ------------------------------------------------------------------------------------------------------------ backward


def _backward(node: Node, gradients: Sequence[Gradient]) -> Sequence[Gradient]:
    """Compute the gradients of the arguments from those of the results, by torch's backward pass.

    Raises:
        GraphFreedError: an earlier pass has freed torch's recording.
        SavedTensorChangedError: a tensor that torch saved has been written since.
    """
    saved: Recorded | None = node.saved
    if saved is None:
        raise freed(node)
    pairs = zip(saved.outputs, gradients, strict=True)
    present = [(out, gradient) for out, gradient in pairs if out is not None and gradient is not None]
    if not present:
        return (None,) * len(saved.leaves)
    _count_writes(saved.watched)
    follows = is_grad_enabled()
    crossing = RecordedCrossing() if follows else Crossing()
    with _recording(), refused(node.name):
        raw = torch.autograd.grad(
            [out for out, _ in present],
            saved.leaves,
            [crossing.value(gradient) for _, gradient in present],
            create_graph=follows,
            retain_graph=True,  # until the node frees it
            allow_unused=True,
        )
        tensors = [_own(crossing, gradient) for gradient in raw]
        results = [None if gradient is None else crossing.result(gradient) for gradient in tensors]
    if isinstance(crossing, RecordedCrossing):
        _follow(node, crossing, saved, results, tensors)
    return results


def _own(crossing: Crossing, gradient: torch.Tensor | None) -> torch.Tensor | None:
    """Return a gradient in memory that it does not share, since the receiver may write it."""
    if gradient is None or crossing.is_argument(gradient):
        return gradient
    if crossing.viewed(gradient) is None and is_non_overlapping_and_dense(gradient.shape, gradient.stride()):
        return gradient
    return gradient.clone(memory_format=torch.contiguous_format)


def _follow(
    node: Node,
    crossing: RecordedCrossing,
    saved: Recorded,
    results: Sequence[Gradient],
    tensors: Sequence[torch.Tensor | None],
) -> None:
    """Attach a node to gradients, for higher-order gradients."""
    outputs = tuple(
        tensor if tensor is not None and tensor.requires_grad and not crossing.is_argument(tensor) else None
        for tensor in tensors
    )
    if not any(output is not None for output in outputs):
        return
    forms = tuple(None if result is None else result.geometry for result in results)
    pairs = [
        (mine, tensor) for mine, tensor in zip(results, tensors, strict=True) if mine is not None and tensor is not None
    ]
    leaves = (*saved.leaves, *crossing.leaves.values())
    edges = (*saved.edges, *crossing.edges.values())
    watched = (*saved.watched, *crossing.watch(pairs))
    backward_node = make_node(
        Recipe(f"{node.name} backward", _backward, forms), edges, Recorded(leaves, edges, outputs, watched)
    )
    _give(backward_node, results, outputs)


def _count_writes(watched: Sequence[Watched]) -> None:
    """Increment torch's version counters of tensors that opdsl has written since, so that torch refuses to use saved
    values.

    A second backward pass increments them again, which changes nothing.
    """
    for theirs, root, version in watched:
        alive = root()
        if alive is not None and alive._version != version:
            torch.autograd.graph.increment_version(theirs)
