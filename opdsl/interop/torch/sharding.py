"""DTensor: the sharding strategies of operators that are registered, derived from their rules.

A strategy says for one dimension of a mesh which placements of arguments and results go together. A cut is ``Shard`` on
both sides, or ``Partial`` results where pieces are combined; what goes through an operator uncombined is ``Partial`` on
both sides.

Calls that write arguments, and those with keyword-only tensors, which DTensor would not redistribute, are placed here
(``pieces_call``). A composite has no placements: what its body calls is called on DTensors, so that nothing is gathered
which the body by itself would not gather.
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
    """An operator that torch has (``Bridge``)."""

    operator: Operator

    @property
    def overload(self) -> Any:
        """What torch calls."""

    @property
    def is_composite(self) -> bool:
        """Whether its kernel is a body that calls other operators."""

    def complete(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments of a call, in the order of the schema."""

    def decomposed(self, values: Sequence[Any]) -> Any:
        """What its body makes of torch tensors."""

    def call(self, *values: Any) -> Any:
        """The torch operator, called with schema-ordered arguments."""


# Of one dimension of a mesh: the placements of the results, then those of the tensors among the arguments.
Row = tuple[list[Placement], list[Placement]]


def attach(bridge: Registered) -> None:
    """Let DTensor know how calls of an operator are cut."""
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
    names = [argument.name for argument in schema.arguments if argument.kwarg_only]
    lists = any(str(argument.type).startswith("List[") for argument in schema.arguments)
    info = RuntimeSchemaInfo(0, names or None, needs_pytree=lists)
    dispatcher.sharding_propagator.register_op_strategy(
        overload, partial(strategy_of, bridge.operator, bridge.complete), info
    )


def detach(overload: Any) -> None:
    """Take back what ``attach`` did, if it did."""
    dispatcher: Any = DTensor._op_dispatcher
    propagator = dispatcher.sharding_propagator
    tables = dispatcher._custom_op_handlers, propagator.op_strategy_funcs, propagator.op_to_schema_info
    if [table.pop(overload) for table in tables if overload in table]:
        propagator.propagate_op_sharding.cache_clear()
        clear: Any = torch._C
        clear._clear_DTensor_sharding_propagator_cache()


def _decomposed(bridge: Registered, overload: object, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a body makes of DTensors; the tensors that it makes itself, positions and masks, are the same everywhere."""
    dispatcher: Any = DTensor._op_dispatcher
    before = dispatcher._allow_implicit_replication
    dispatcher._allow_implicit_replication = True
    try:
        return bridge.decomposed(bridge.complete(positional, named))
    finally:
        dispatcher._allow_implicit_replication = before


def strategy_of(operator: Operator, complete: Complete, schema: OpSchema) -> OpStrategy:
    """How a call may be placed, with what it costs to get there.

    Args:
        operator: which.
        complete: completes arguments, as torch hands them over, to those of the operator's schema.
        schema: of DTensor: the call.
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
    """The placements of a call, those aside that cut what is not cut yet: as of aten's operators."""
    rows = placements(rule_of_results(operator), arguments, len(operator.schema.returns))
    if any(placement.is_shard() for spec in specs for placement in spec.placements):
        return rows
    return [row for row in rows if not any(placement.is_shard() for placement in row[1])]


def placements(rule: Rule, arguments: tuple[Any, ...], results: int) -> list[Row]:
    """Which placements go together over one dimension of a mesh.

    Args:
        rule: of the operator.
        arguments: of a call, in the order of its schema; tensors need no memory.
        results: how many there are.
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
    """An argument as the rules take it."""
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
    """Where the tensors of a call are, and where they have to be for it.

    now, read: the tensors among the arguments, before the call and for it.
    outputs: what the call makes: its results, or what it writes.
    """

    now: list[DTensorSpec]
    read: list[DTensorSpec]
    outputs: list[DTensorSpec]

    def cost(self, written: Sequence[int]) -> float:
        """Return what it costs to get there, and to bring back what is written."""
        there = [redistribute_cost(now, read) for now, read in zip(self.now, self.read, strict=True)]
        back = [redistribute_cost(spec, self.now[at]) for spec, at in zip(self.outputs, written, strict=False)]
        return sum((*there, *back))


def pieces_call(bridge: Registered, overload: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run a call on the pieces of DTensors, placed as the operator's rule has it; what is written is written there."""
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
    """The tensors among the arguments of a call.

    Raises:
        InterchangeError: one is no DTensor.
    """
    tensors = [value for value in spread(values) if isinstance(value, torch.Tensor)]
    if not all(isinstance(tensor, DTensor) for tensor in tensors):
        raise InterchangeError(
            f"{operator.name} got torch.Tensor beside DTensor. Convert it first: "
            "distribute_tensor(tensor, mesh, [Replicate()])."
        )
    return tensors


def _written(operator: Operator, values: Sequence[Any], tensors: Sequence[Any]) -> list[int]:
    """The places, among the tensors of a call, of those that it writes."""
    pairs = zip(operator.schema.arguments, values, strict=True)
    written = [
        tensor for argument, value in pairs if argument.alias and argument.alias.write for tensor in spread([value])
    ]
    return [at for at, tensor in enumerate(tensors) if any(tensor is other for other in written)]


def _placed(
    operator: Operator, values: Sequence[Any], now: list[DTensorSpec], whole: Sequence[Any], written: Sequence[int]
) -> Placed:
    """The placements of a call that cost least.

    Args:
        operator, values: of the call.
        now: the specs of the tensors among the arguments.
        whole: what the call makes, as tensors of the whole.
        written: the places of what is written among the tensors.
    """
    mesh = now[0].mesh
    candidates: list[Placed] = []
    for rows in itertools.product(_rows(operator, tuple(map(_without_memory, values)), now), repeat=mesh.ndim):
        read = [_spec(mesh, spec, [row[1][at] for row in rows]) for at, spec in enumerate(now)]
        # The rule of an operator that returns nothing says nothing of what it writes: that lies as it is read.
        of_results = all(len(row[0]) == len(whole) for row in rows)
        specs = [
            _spec(mesh, tensor, [row[0][at] if of_results else row[1][written[at]] for row in rows])
            for at, tensor in enumerate(whole)
        ]
        if _fits_mesh(read, tuple(specs)):
            candidates.append(Placed(now, read, specs))
    return min(candidates, key=lambda placed: placed.cost(written))


def _spec(mesh: DeviceMesh, source: Any, placed: Sequence[Placement]) -> DTensorSpec:
    """The spec of a tensor, or one like another, with placements."""
    meta = source.tensor_meta if isinstance(source, DTensorSpec) else None
    meta = meta or TensorMeta(torch.Size(source.shape), source.stride(), source.dtype)
    return DTensorSpec(mesh, tuple(placed), tensor_meta=meta)


def _moved(piece: torch.Tensor, now: DTensorSpec, wanted: DTensorSpec) -> torch.Tensor:
    """A piece of this process, placed in another way."""
    return redistribute_local_tensor(piece, now, wanted) if now.placements != wanted.placements else piece


def _whole(piece: torch.Tensor, spec: DTensorSpec) -> DTensor:
    make: Any = DTensor  # which says nothing of these arguments
    distributed: DTensor = make(piece, spec, requires_grad=False)
    return distributed


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


def _on_meta(value: Any) -> Any:
    """An argument with a meta tensor in place of a DTensor."""
    if isinstance(value, list | tuple):
        return [_on_meta(element) for element in value]
    if not isinstance(value, DTensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _with_pieces(value: Any, pieces: Iterator[torch.Tensor]) -> Any:
    """An argument with the next pieces in place of its DTensors."""
    if isinstance(value, list | tuple):
        return [_with_pieces(element, pieces) for element in value]
    return next(pieces) if isinstance(value, DTensor) else value


def _fits_mesh(inputs: list[DTensorSpec], outputs: DTensorSpec | tuple[DTensorSpec | None, ...]) -> bool:
    """Whether averages of pieces may be averaged, and every piece has an element that could be the largest."""
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
