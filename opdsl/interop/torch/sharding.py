"""DTensor: the sharding strategies of operators that are registered, derived from their rules.

A strategy says for one dimension of a mesh which placements of arguments and results go together. A cut is ``Shard`` on
both sides, or ``Partial`` results where pieces are combined; what goes through an operator uncombined is ``Partial`` on
both sides. A composite has none: what its body calls is called on DTensors, so that nothing is gathered which the body
by itself would not gather.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor._op_schema import OpSchema, OpStrategy, RuntimeSchemaInfo, TupleStrategy
from torch.distributed.tensor._ops.utils import expand_to_full_mesh_op_strategy

from opdsl.dispatch import Operator
from opdsl.errors import OpdslError
from opdsl.interop.torch.tensors import DTYPES, META, shared, to_opdsl
from opdsl.kernels import new_tensor
from opdsl.runtime import Tensor
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.operators import rule_of_results
from opdsl.sharding.rules import Rule, possible_cuts

__all__ = ["Registered", "attach", "detach", "placements", "strategy_of"]

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

    def complete(self, given: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments of a call, in the order of the schema."""

    def decomposed(self, values: Sequence[Any]) -> Any:
        """What its body makes of torch tensors."""


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
    names = [each.name for each in schema.arguments if each.kwarg_only]
    lists = any(str(each.type).startswith("List[") for each in schema.arguments)
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


def _decomposed(bridge: Registered, overload: object, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a body makes of DTensors."""
    return bridge.decomposed(bridge.complete(given, named))


def strategy_of(operator: Operator, complete: Complete, schema: OpSchema) -> OpStrategy:
    """How a call may be placed, with what it costs to get there.

    Args:
        operator: which.
        complete: completes arguments, as torch hands them over, to those of the operator's schema.
        schema: of DTensor: the call.
    """
    arguments = tuple(map(_without_memory, complete(schema.args_schema, schema.kwargs_schema)))
    rows = placements(rule_of_results(operator), arguments, len(operator.schema.returns))
    given = [*schema.args_strategy, *schema.kwargs_strategy]
    if not any(each.is_shard() for spec in given for each in spec.strategies[0].output_spec.placements):
        # As of aten's operators: what is not cut yet is not cut here.
        rows = [row for row in rows if not any(each.is_shard() for each in row[1])]
    # What writes in torch returns nothing.
    results = len(schema.op._schema.returns)
    return expand_to_full_mesh_op_strategy(
        schema.get_mesh_from_args(),
        schema,
        [[*outputs[:results], *inputs] for outputs, inputs in rows],
        input_index=results,
        inplace_op=schema.is_inplace_op(),
        allow_uneven_sharding=True,
        is_valid_strategy_cb=_fits_mesh,
    )


def placements(rule: Rule, arguments: tuple[Any, ...], results: int) -> list[Row]:
    """Which placements go together over one dimension of a mesh.

    Args:
        rule: of the operator.
        arguments: of a call, in the order of its schema; tensors need no memory.
        results: how many there are.
    """
    count = len(list(tensors_in(arguments)))
    found: list[Row] = [([Replicate()] * results, [Replicate()] * count)]
    for cut in possible_cuts(rule, arguments):
        inputs: list[Placement] = [Replicate() if dim is None else Shard(dim) for dim in cut.inputs]
        if None not in cut.outputs:
            if cut.partial is None:
                found.append(([Shard(dim) for dim in cut.outputs if dim is not None], inputs))
        elif cut.partial is not None:
            reduction = cut.partial.reduction(arguments)
            if reduction is not None:
                found.append(([Partial(reduction)] * results, inputs))
    found += _pending(rule, arguments)
    return found


def _pending(rule: Rule, arguments: tuple[Any, ...]) -> Iterator[Row]:
    try:
        for each in rule.pending(arguments):
            yield _uncombined(each.outputs), _uncombined(each.inputs)
    except (OpdslError, NotImplementedError):
        return


def _uncombined(reductions: Sequence[str | None]) -> list[Placement]:
    return [Replicate() if each is None else Partial(each) for each in reductions]


def _without_memory(value: Any) -> Any:
    """An argument as the rules take it."""
    if isinstance(value, TupleStrategy):
        return tuple(map(_without_memory, value.children))
    if isinstance(value, (list, tuple)):
        return tuple(map(_without_memory, value))
    if not isinstance(value, OpStrategy):
        return to_opdsl(value, shared)
    meta = value.tensor_meta
    made: Tensor = new_tensor(geometry(DTYPES[meta.dtype], META, tuple(map(int, meta.shape))))
    return made


def _fits_mesh(inputs: list[DTensorSpec], outputs: DTensorSpec | tuple[DTensorSpec | None, ...]) -> bool:
    """Whether averages of pieces may be averaged, and every piece has an element that could be the largest."""
    given, made = inputs[0], outputs[0] if isinstance(outputs, tuple) else outputs
    pairs = zip(given.placements, () if made is None else made.placements, strict=False)
    needed = [
        (here.dim, there.reduce_op) for here, there in pairs if isinstance(here, Shard) and isinstance(there, Partial)
    ]
    for dim, reduction in needed:
        size, count = given.shape[dim], given.num_shards_map[dim]
        if reduction == "avg" and size % count:
            return False
        if reduction in ("max", "min") and (count - 1) * -(-size // count) >= size:
            return False
    return True
