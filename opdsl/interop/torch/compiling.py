"""Backend ``opdsl`` of ``torch.compile``: runs graphs of ATen operators as programs on torch's memory.

Dynamo traces the model and guards it; AOTAutograd makes functional graphs of it, one for the forward and one for the
backward pass. Nodes whose operators opdsl has become programs, which are optimized, fused and lowered before the first
call. The others stay nodes of the graph, which torch runs; so do operators that draw random numbers.
"""

from __future__ import annotations

import logging
import operator as arithmetic
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import attrs
import torch
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

from opdsl.aten.catalog import PACKETS
from opdsl.interop.torch.pieces import NotRunHereError, Piece, reshape_views
from opdsl.interop.torch.reading import operator_of
from opdsl.interop.torch.tensors import DTYPES
from opdsl.runtime.permanent import kept_forever

__all__ = ["CompiledGraph", "compiled_graphs", "make_backend"]

_log = logging.getLogger("opdsl.interop.torch")

_FUSED = "opdsl_"


@attrs.define(eq=False)
class CompiledGraph:
    """Description of a graph that ``torch.compile`` has compiled with this backend.

    kind: ``inference``, ``forward`` or ``backward``.
    programs: the programs that opdsl runs.
    left: the operators that torch runs, each with the reason.
    """

    kind: str
    programs: tuple[Any, ...] = ()
    left: Mapping[str, str] = attrs.field(factory=dict)

    def __str__(self) -> str:
        steps = sum(len(program.steps) for program in self.programs)
        lines = [f"{self.kind}: {len(self.programs)} programs of {steps} steps"]
        return "\n".join([*lines, *(f"torch runs {name}: {reason}" for name, reason in self.left.items())])


_graphs: WeakValueDictionary[int, CompiledGraph] = WeakValueDictionary()
_numbers = count()


def compiled_graphs() -> tuple[CompiledGraph, ...]:
    """See ``opdsl.interop.torch.compiled_graphs``."""
    return tuple(graph for _, graph in sorted(_graphs.items()))


@kept_forever
def make_backend() -> Callable[..., Any]:
    """Return the function that ``torch.compile`` calls with a graph of dynamo."""
    return aot_autograd(
        fw_compiler=partial(_compiled, "forward"),
        bw_compiler=partial(_compiled, "backward"),
        inference_compiler=partial(_compiled, "inference"),
        decompositions=_decompositions(),
        partition_fn=partial(min_cut_rematerialization_partition, compiler="inductor"),
    )


@cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """Return decompositions for operators that opdsl lacks, or that read elements in a way that opdsl cannot run."""
    lacking = {
        target: function
        for target, function in dict(core_aten_decompositions()).items()
        if isinstance(target, torch._ops.OpOverload)
        and target.namespace == "aten"
        and target._opname not in PACKETS
        and "attention" not in target._opname  # torch has fused kernels for attention
    }
    return {**lacking, torch.ops.aten.embedding_dense_backward.default: _embedding_dense_backward}


def _embedding_dense_backward(
    grad: torch.Tensor, indices: torch.Tensor, rows: int, padding: int, scale_by_frequency: bool
) -> torch.Tensor:
    """Compute the gradient of an embedding table. The forward pass has checked all indices already."""
    if scale_by_frequency:
        return NotImplemented  # type: ignore[no-any-return]
    grads = grad.reshape((indices.numel(), grad.shape[-1]))
    if padding >= 0:
        grads = torch.where((indices.reshape(-1) != padding).unsqueeze(1), grads, 0)
    return torch.index_add(grad.new_zeros((rows, grads.shape[1])), 0, indices.reshape(-1), grads)


def _compiled(kind: str, graph: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
    """Compile a graph of AOTAutograd to a callable.

    Args:
        kind: ``inference``, ``forward`` or ``backward``.
        graph: graph module whose nodes are calls of ATen operators.
        examples: fake tensors and numbers; the nodes' metadata says more, so that they are not used.
    """
    left = {node: reason for node in graph.graph.nodes if (reason := _reason(node))}
    while True:
        graph_module, faulty = _divided(graph, left)
        if not faulty:
            break
        left |= faulty
    pieces = [child for child in graph_module.children() if isinstance(child, Piece)]
    named = {_name(node): reason for node, reason in left.items() if reason is not _SIZE}
    described = CompiledGraph(kind, tuple(program for piece in pieces for program in piece.programs), named)
    _graphs[next(_numbers)] = described
    graph_module.meta["opdsl"] = described  # lives as long as the graph does
    _log.debug("%s", described)
    return _boxed(graph_module)


def _boxed(graph_module: torch.fx.GraphModule) -> Callable[..., Any]:
    """Wrap a graph module for AOTAutograd, which passes a list of arguments that is emptied so that tensors are freed
    early.
    """
    forward = graph_module.forward

    def call(values: list[Any]) -> Any:
        inputs = tuple(values)
        values.clear()
        return forward(*inputs)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _divided(
    graph: torch.fx.GraphModule, left: Mapping[torch.fx.Node, str]
) -> tuple[torch.fx.GraphModule, dict[torch.fx.Node, str]]:
    """Replace the nodes that opdsl can run by pieces; return the graph module, and the nodes that turn out to need
    torch.

    Args:
        graph: not modified.
        left: its nodes that torch is to run, each with the reason.
    """
    copied: dict[torch.fx.Node, torch.fx.Node] = {}
    other = torch.fx.Graph()
    returned = other.graph_copy(graph.graph, copied)
    other.output(returned)
    reshape_views(copied[node] for node in left)
    graph_module = torch.fx.GraphModule(graph, other)
    originals = {copy.name: node for node, copy in copied.items()}
    parts = _parts(graph_module.graph, {copied[node] for node in left})
    fuse_by_partitions(graph_module, [dict.fromkeys(part) for part in parts], prefix=_FUSED, always_return_tuple=True)
    for child, module in list(graph_module.named_children()):
        if not (child.startswith(_FUSED) and isinstance(module, torch.fx.GraphModule)):
            continue
        try:
            piece = Piece(module)
        except NotRunHereError as error:
            # If no node is known to be the cause, torch runs the whole piece.
            names = error.names or {node.name for node in module.graph.nodes if node.op == "call_function"}
            blamed = [_source(originals[name]) for name in names & originals.keys()]
            taken = [user for node in blamed for user in node.users if user.target is arithmetic.getitem]
            return graph_module, dict.fromkeys([*blamed, *taken], str(error))
        setattr(graph_module, child, piece)
    graph_module.recompile()
    return graph_module, {}


def _parts(graph: torch.fx.Graph, left: set[torch.fx.Node]) -> list[list[torch.fx.Node]]:
    """Partition the nodes that opdsl runs, such that parts do not depend on each other cyclically.

    Args:
        graph: in topological order.
        left: nodes that torch runs.
    """
    depths: dict[torch.fx.Node, int] = {}
    parts: dict[int, list[torch.fx.Node]] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            depths[node] = -1
            continue
        is_left = node in left or node.op != "call_function"
        # A part of depth 2k follows the nodes that torch runs at depth 2k - 1.
        depth = max((depths[input_node] for input_node in node.all_input_nodes), default=-1)
        depth = max(depth, 0 if not is_left else -1)
        if (is_left and depth >= 0 and depth % 2 == 0) or (not is_left and depth % 2):
            depth += 1
        depths[node] = depth
        if not is_left:
            parts.setdefault(depth, []).append(node)
    return [part for part in parts.values() if any(map(_computes, part))]


def _computes(node: torch.fx.Node) -> bool:
    """Return whether a node does more than create a view."""
    return isinstance(node.target, torch._ops.OpOverload) and not node.target.is_view


def _source(node: torch.fx.Node) -> torch.fx.Node:
    """Return the node whose results a ``getitem`` node selects from, or the node itself."""
    source = node.args[0] if node.target is arithmetic.getitem else node
    assert isinstance(source, torch.fx.Node), "a call of getitem"
    return source


_SIZE = "a size"


def _reason(node: torch.fx.Node) -> str:
    """Return the reason why torch has to run a node; an empty string if opdsl can run it."""
    if node.op != "call_function":
        return ""
    if node.target is arithmetic.getitem:
        return _reason(_source(node))
    if not isinstance(node.target, torch._ops.OpOverload):
        return (
            _SIZE
            if isinstance(node.meta.get("val"), (int, torch.SymInt, torch.SymFloat, torch.SymBool))
            else "no operator of ATen's"
        )
    fake_result = node.meta.get("val")
    listed = list(fake_result) if isinstance(fake_result, (tuple, list)) else [fake_result]
    if fake_result is None or not all(result is None or isinstance(result, torch.Tensor) for result in listed):
        return _SIZE
    if torch.Tag.nondeterministic_seeded in node.target.tags and not _drops_nothing(node):
        return "it draws torch's random numbers"
    if torch.Tag.dynamic_output_shape in node.target.tags or torch.Tag.data_dependent_output in node.target.tags:
        return "elements decide its sizes"
    if node.target._schema.is_mutable:
        return "it writes an argument"
    if operator_of(node.target) is None:
        return "opdsl has no such operator"
    fake_inputs = [input_node.meta.get("val") for input_node in node.all_input_nodes]
    for fake in (*listed, *fake_inputs):
        for tensor in fake if isinstance(fake, (tuple, list)) else (fake,):
            if isinstance(tensor, torch.Tensor) and not _is_memory(tensor):
                return f"it computes with {tensor.dtype} on {tensor.device}, {tensor.layout}"
    return ""


def _drops_nothing(node: torch.fx.Node) -> bool:
    """Return whether a call has a dropout probability of 0, so that it does not use its random numbers."""
    named = {argument.name: argument.default_value for argument in node.target._schema.arguments}  # type: ignore[union-attr]
    named |= dict(zip(named, node.args, strict=False)) | node.kwargs
    return bool(named.get("dropout_p", 1) == 0)


def _is_memory(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and tensor.dtype in DTYPES
        and not (tensor.is_conj() or tensor.is_neg())
    )


def _name(node: torch.fx.Node) -> str:
    target: Any = _source(node).target
    return str(target.name()) if isinstance(target, torch._ops.OpOverload) else str(target)  # type: ignore[no-untyped-call]
