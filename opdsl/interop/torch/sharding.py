"""Sharding strategies of registered operators for DTensor, derived from their sharding rules.

A strategy says for one dimension of a mesh which placements of arguments and results are valid together. A cut is
``Shard`` on both sides, or ``Partial`` results where pieces have to be combined; where an operator is linear in pending
reductions, arguments and results are ``Partial``.

DTensor would not redistribute the tensors of calls that write arguments or have keyword-only tensors, so these calls
are placed here (``pieces_call``). A composite has no strategy: its body is run on DTensors, so that only tensors are
gathered which an operator of the body needs whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._collective_utils import redistribute_cost
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._op_schema import OpSchema, OpStrategy, RuntimeSchemaInfo, TupleStrategy
from torch.distributed.tensor._ops.utils import expand_to_full_mesh_op_strategy
from torch.distributed.tensor._redistribute import redistribute_local_tensor

from opdsl.dispatch import Operator
from opdsl.errors import InterchangeError, OpdslError
from opdsl.interop.torch.kernels import spread
from opdsl.interop.torch.tensors import DTYPES, META, shared, to_opdsl
from opdsl.kernels import new_tensor
from opdsl.runtime import Tensor
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.operators import rule_of_results
from opdsl.sharding.rules import Rule, possible_cuts

__all__ = ["Registered", "attach", "detach", "pieces_call", "placements", "strategy_of"]

Complete = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]


class Registered(Protocol):
    """Protocol of an operator registered in torch (``Bridge``)."""

    operator: Operator

    @property
    def overload(self) -> Any:
        """Return the torch operator."""

    @property
    def is_composite(self) -> bool:
        """Return whether the operator's kernel is a body that calls other operators."""

    def complete(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """Return all arguments of a call, in the order of the schema."""

    def decomposed(self, values: Sequence[Any]) -> Any:
        """Run the body of a composite on torch tensors."""

    def call(self, *values: Any) -> Any:
        """Call the torch operator with schema-ordered arguments."""


# For one dimension of a mesh: the placements of the results, then those of the tensors among the arguments.
Row = tuple[list[Placement], list[Placement]]


def attach(bridge: Registered) -> None:
    """Register the sharding strategy of an operator with DTensor."""
    dispatcher: Any = DTensor._op_dispatcher
    overload: Any = bridge.overload
    if bridge.is_composite:
        dispatcher._custom_op_handlers[overload] = partial(_decomposed, bridge)
        return
    schema = overload._schema
    if schema.is_mutable or any(
        argument.kwarg_only and "Tensor" in str(argument.type) for argument in schema.arguments
    ):
        dispatcher._custom_op_handlers[overload] = partial(pieces_call, bridge)
        return
    names = [keyword.name for keyword in schema.arguments if keyword.kwarg_only]
    lists = any(str(argument.type).startswith("List[") for argument in schema.arguments)
    info = RuntimeSchemaInfo(0, names or None, needs_pytree=lists)
    dispatcher.sharding_propagator.register_op_strategy(
        overload, partial(strategy_of, bridge.operator, bridge.complete), info
    )


def detach(overload: Any) -> None:
    """Remove the sharding strategy of an operator from DTensor, if it has one."""
    dispatcher: Any = DTensor._op_dispatcher
    propagator = dispatcher.sharding_propagator
    tables = dispatcher._custom_op_handlers, propagator.op_strategy_funcs, propagator.op_to_schema_info
    if [table.pop(overload) for table in tables if overload in table]:
        propagator.propagate_op_sharding.cache_clear()
        clear: Any = torch._C
        clear._clear_DTensor_sharding_propagator_cache()


def _decomposed(bridge: Registered, overload: object, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run a body on DTensors. Plain tensors that the body creates, such as positions and masks, are taken as
    replicated.
    """
    dispatcher: Any = DTensor._op_dispatcher
    before = dispatcher._allow_implicit_replication
    dispatcher._allow_implicit_replication = True
    try:
        return bridge.decomposed(bridge.complete(positional, named))
    finally:
        dispatcher._allow_implicit_replication = before


def strategy_of(operator: Operator, complete: Complete, schema: OpSchema) -> OpStrategy:
    """Return the possible placements of a call, with the cost of redistribution to each.

    Args:
        operator: the operator.
        complete: completes the arguments that torch passes to those of the operator's schema.
        schema: DTensor's description of the call.
    """
    arguments = tuple(map(_without_memory, complete(schema.args_schema, schema.kwargs_schema)))
    output_specs = [
        op_strategy.strategies[0].output_spec for op_strategy in (*schema.args_strategy, *schema.kwargs_strategy)
    ]
    rows = _rows(operator, arguments, output_specs)
    return expand_to_full_mesh_op_strategy(
        schema.get_mesh_from_args(),
        schema,
        [[*outputs, *inputs] for outputs, inputs in rows],
        input_index=len(operator.schema.returns),
        allow_uneven_sharding=True,
        is_valid_strategy_cb=_fits_mesh,
    )


def _rows(operator: Operator, arguments: tuple[Any, ...], specs: Sequence[DTensorSpec]) -> list[Row]:
    """Return the valid placements of a call. Like aten's strategies, they shard only if some argument is sharded
    already.
    """
    rows = placements(rule_of_results(operator), arguments, len(operator.schema.returns))
    if any(placement.is_shard() for spec in specs for placement in spec.placements):
        return rows
    return [row for row in rows if not any(placement.is_shard() for placement in row[1])]


def placements(rule: Rule, arguments: tuple[Any, ...], results: int) -> list[Row]:
    """Return the placements of results and arguments that are valid together, over one dimension of a mesh.

    Args:
        rule: of the operator.
        arguments: of a call, in the order of its schema; tensors need no memory.
        results: the number of results.
    """
    count = len(list(tensors_in(arguments)))
    rows: list[Row] = [([Replicate()] * results, [Replicate()] * count)]
    for cut in possible_cuts(rule, arguments):
        inputs: list[Placement] = [Replicate() if dim is None else Shard(dim) for dim in cut.inputs]
        if None not in cut.outputs:
            if cut.partial is None:
                rows.append(([Shard(dim) for dim in cut.outputs if dim is not None], inputs))
        elif cut.partial is not None:
            reduction = cut.partial.reduction(arguments)
            if reduction is not None:
                rows.append(([Partial(reduction)] * results, inputs))
    rows += _pending(rule, arguments)
    return rows


def _pending(rule: Rule, arguments: tuple[Any, ...]) -> Iterator[Row]:
    try:
        for pending in rule.pending(arguments):
            yield _uncombined(pending.outputs), _uncombined(pending.inputs)
    except (OpdslError, NotImplementedError):
        return


def _uncombined(reductions: Sequence[str | None]) -> list[Placement]:
    return [Replicate() if reduction is None else Partial(reduction) for reduction in reductions]


def _without_memory(value: Any) -> Any:
    """Convert an argument for the sharding rules, with meta tensors in place of DTensors and of DTensor's
    strategies.
    """
    if isinstance(value, TupleStrategy):
        return tuple(map(_without_memory, value.children))
    if isinstance(value, (list, tuple)):
        return tuple(map(_without_memory, value))
    if not isinstance(value, OpStrategy | DTensor):
        return to_opdsl(value, shared)
    meta: Any = value.tensor_meta if isinstance(value, OpStrategy) else value._spec.tensor_meta
    memory: Tensor = new_tensor(geometry(DTYPES[meta.dtype], META, tuple(map(int, meta.shape))))
    return memory


class Placed(NamedTuple):
    """Placement of the tensors of a call.

    now: the specs of tensor arguments before the call.
    read: the specs that the call needs.
    outputs: the specs of the results, or of the written arguments.
    """

    now: list[DTensorSpec]
    read: list[DTensorSpec]
    outputs: list[DTensorSpec]

    def cost(self, written: Sequence[int]) -> float:
        """Return the cost of redistributing the arguments, and of redistributing written arguments back."""
        there = [redistribute_cost(now, read) for now, read in zip(self.now, self.read, strict=True)]
        back = [redistribute_cost(spec, self.now[at]) for spec, at in zip(self.outputs, written, strict=False)]
        return sum((*there, *back))


def pieces_call(bridge: Registered, overload: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run a call on the local pieces of DTensors, redistributed as the sharding rule requires; written pieces are moved
    back.
    """
    values = bridge.complete(positional, named)
    tensors = _distributed(bridge.operator, values)
    written = _written(bridge.operator, values, tensors)
    results = None if written else bridge.call(*map(_on_meta, values))
    whole = [tensors[at] for at in written] if written else _listed(results)
    placed = _placed(bridge.operator, values, [tensor._spec for tensor in tensors], whole, written)
    pieces = [
        tensor._local_tensor if now.placements == read.placements else _moved(tensor._local_tensor, now, read)
        for tensor, now, read in zip(tensors, placed.now, placed.read, strict=True)
    ]
    taken = iter(pieces)
    local_result = bridge.call(*[_with_pieces(value, taken) for value in values])
    if written:
        for at, wanted in zip(written, placed.outputs, strict=True):
            now, own = placed.now[at], tensors[at]._local_tensor
            if pieces[at] is not own or wanted.placements != now.placements:
                own.copy_(_moved(pieces[at], wanted, now))
        return None
    wholes = [_whole(piece, spec) for piece, spec in zip(_listed(local_result), placed.outputs, strict=True)]
    return wholes[0] if isinstance(local_result, torch.Tensor) else type(local_result)(wholes)


def _distributed(operator: Operator, values: Sequence[Any]) -> list[Any]:
    """Return the tensors among the arguments of a call.

    Raises:
        InterchangeError: a tensor is not a DTensor.
    """
    tensors = [value for value in spread(values) if isinstance(value, torch.Tensor)]
    if not all(isinstance(tensor, DTensor) for tensor in tensors):
        raise InterchangeError(
            f"{operator.name} got mixed torch.Tensor and DTensor. Convert it first: distribute_tensor(tensor, mesh, "
            "[Replicate()])."
        )
    return tensors


def _written(operator: Operator, values: Sequence[Any], tensors: Sequence[Any]) -> list[int]:
    """Return the indices of written tensors among the tensors of a call."""
    pairs = zip(operator.schema.arguments, values, strict=True)
    written = [
        tensor for declared, value in pairs if declared.alias and declared.alias.write for tensor in spread([value])
    ]
    return [at for at, tensor in enumerate(tensors) if any(tensor is other for other in written)]


def _placed(
    operator: Operator, values: Sequence[Any], now: list[DTensorSpec], whole: Sequence[Any], written: Sequence[int]
) -> Placed:
    """Return the placement of a call with the lowest cost.

    Args:
        operator, values: of the call.
        now: the specs of the tensors among the arguments.
        whole: the results or written arguments, as tensors of the whole size.
        written: the indices of written tensors among the tensors.
    """
    mesh = now[0].mesh
    candidates: list[Placed] = []
    for rows in itertools.product(_rows(operator, tuple(map(_without_memory, values)), now), repeat=mesh.ndim):
        read = [_spec(mesh, spec, [row[1][at] for row in rows]) for at, spec in enumerate(now)]
        # The rule of an operator without results has no output placements: outputs are placed as they are read.
        of_results = all(len(row[0]) == len(whole) for row in rows)
        specs = [
            _spec(mesh, tensor, [row[0][at] if of_results else row[1][written[at]] for row in rows])
            for at, tensor in enumerate(whole)
        ]
        if _fits_mesh(read, tuple(specs)):
            candidates.append(Placed(now, read, specs))
    return min(candidates, key=lambda placed: placed.cost(written))


def _spec(mesh: DeviceMesh, source: Any, placed: Sequence[Placement]) -> DTensorSpec:
    """Return the spec of a tensor (or of another spec's tensor) with the given placements."""
    meta = source.tensor_meta if isinstance(source, DTensorSpec) else None
    meta = meta or TensorMeta(torch.Size(source.shape), source.stride(), source.dtype)
    return DTensorSpec(mesh, tuple(placed), tensor_meta=meta)


def _moved(piece: torch.Tensor, now: DTensorSpec, wanted: DTensorSpec) -> torch.Tensor:
    """Redistribute the local piece of this process to other placements."""
    return redistribute_local_tensor(piece, now, wanted) if now.placements != wanted.placements else piece


def _whole(piece: torch.Tensor, spec: DTensorSpec) -> DTensor:
    make: Any = DTensor  # these arguments are untyped
    distributed: DTensor = make(piece, spec, requires_grad=False)
    return distributed


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


def _on_meta(value: Any) -> Any:
    """Replace DTensors in an argument by meta tensors."""
    if isinstance(value, list | tuple):
        return [_on_meta(element) for element in value]
    if not isinstance(value, DTensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _with_pieces(value: Any, pieces: Iterator[torch.Tensor]) -> Any:
    """Replace the DTensors in an argument by the next local pieces."""
    if isinstance(value, list | tuple):
        return [_with_pieces(element, pieces) for element in value]
    return next(pieces) if isinstance(value, DTensor) else value


def _fits_mesh(inputs: list[DTensorSpec], outputs: DTensorSpec | tuple[DTensorSpec | None, ...]) -> bool:
    """Return whether pending reductions are valid: averages need pieces of equal size, maxima and minima nonempty
    pieces.
    """
    input, output = inputs[0], outputs[0] if isinstance(outputs, tuple) else outputs
    pairs = zip(input.placements, () if output is None else output.placements, strict=False)
    needed = [
        (here.dim, there.reduce_op) for here, there in pairs if isinstance(here, Shard) and isinstance(there, Partial)
    ]
    for dim, reduction in needed:
        size, count = input.shape[dim], input.num_shards_map[dim]
        if reduction == "avg" and size % count:
            return False
        if reduction in ("max", "min") and (count - 1) * -(-size // count) >= size:
            return False
    return True
