"""Row functions that read their row at places which differ within it, as ``x[n - 1 - row_index(x)]``.

The places of a read are a row function of their own; what is there is gathered, and is one tensor more of the function
that is left. So bounds are looked at, and gradients go back, as those of any gathering.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from opdsl.autograd.derived_operators import defined, free_name, known_operator
from opdsl.declare.declaration import Declaration
from opdsl.declare.kernels import register_plain
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.dispatch.plans.traceable import is_traceable, traceable
from opdsl.errors import PositionError
from opdsl.generated import function_from_source
from opdsl.kernels.definitions.cases import CasesDefinition
from opdsl.kernels.definitions.common import CommonKernel
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.kernels.definitions.row_places import places_elsewhere, require_counted
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Tensor, int64
from opdsl.scalar import ScalarFunction
from opdsl.scalar.composing import Composer
from opdsl.scalar.growing_graph import varying
from opdsl.scalar.untyped import UntypedNode
from opdsl.schema import parse_schema

__all__ = ["attach_reading"]

Operator = Callable[..., Any]

_last_steps: weakref.WeakKeyDictionary[RowDefinition, dict[tuple[str, ...], Operator]] = weakref.WeakKeyDictionary()


def attach_reading(declaration: Declaration, definition: RowDefinition | CasesDefinition) -> None:
    """Compute an operator by gathering what its row function reads.

    Args:
        declaration: of the operator.
        definition: of the row function.
    """
    names = ", ".join(each.name for each in definition.parameters)
    text = f"def reading({names}):\n    return computed({names})\n"
    namespace = {"computed": partial(_computed, definition), "__name__": __name__}
    function = function_from_source("reading", text, namespace, title=f"reads of {declaration.name}")
    for operator in declaration.operators.values():  # the shape function's, which made no kernels yet
        for key, kernels in operator.registrations.items():
            for kernel in kernels:
                if isinstance(kernel, (StructuredKernel, CommonKernel)):
                    declaration.library.registry.deregister(operator, key, kernel)
    declaration.definition = None
    register_plain(declaration, traceable(function), COMPOSITE_KEY)


def _computed(definition: RowDefinition | CasesDefinition, *arguments: Any) -> Any:
    """The results of a call."""
    values = {each.name: value for each, value in zip(definition.parameters, arguments, strict=True)}
    own = definition.cases[definition.case(values)][1] if isinstance(definition, CasesDefinition) else definition
    state = own.prepare(arguments, ()).state
    present = tuple(own.parameters[at].name for at in state.places)
    function = own.scalar_function(present)
    reads: dict[str, Tensor] = {}
    for at in places_elsewhere(function):
        require_counted(function, at, math.prod(state.shape[dim] for dim in state.dims))
        given = [*reads.values(), *(values[name] for name in present)]
        found = _places(own, function, at, [*reads, *present])(*given, list(state.dims))
        row, _ = function.nodes[at].arguments
        name = free_name(f"read{len(reads)}", values)
        try:
            read = _gathered(values[str(function.nodes[row].value)], found, state.shape, state.dims)
        except PositionError as error:
            source, node = function.places[at]
            problem = f"{str(error).rpartition(': ')[2]}, that of the row"
            advice = "Keep it inside, by min and max, or by % of the row's length."
            raise PositionError(str(source.error(node, problem, advice))) from None
        reads = {name: read, **reads}
        function = _with_parameter(function, at, name)
    return _last(own, function, present, tuple(reads))(*reads.values(), *arguments)


def _gathered(source: Tensor, places: Tensor, shape: Sequence[int], dims: Sequence[int]) -> Tensor:
    """What rows have at places; ``dims`` are neighbours, or none."""
    first = dims[0] if dims else len(shape)
    count = math.prod(shape[dim] for dim in dims)
    flat = (*shape[:first], count, *shape[first + len(dims) :])
    at = places.expand(shape).reshape(flat)
    return source.expand(shape).reshape(flat).gather(first, at).reshape(shape)


# ------------------------------------------------------------------------------------------------ parts of a function


def _with_parameter(function: ScalarFunction, at: int, name: str) -> ScalarFunction:
    """A function with a parameter more, for a tensor, in the place of a node; tensors come first."""
    nodes = list(function.nodes)
    nodes[at] = UntypedNode("parameter", (), name)
    parameters = (name, *function.parameters)
    return ScalarFunction(
        function.name, parameters, {}, tuple(nodes), function.places, function.results, function.source
    )


def _part(function: ScalarFunction, results: Sequence[int], *, as_integers: bool) -> ScalarFunction:
    """The function of some of the nodes of another one, of all of its parameters."""
    needed = {at for at, node in enumerate(function.nodes) if node.op == "parameter"}
    waiting = list(results)
    while waiting:
        at = waiting.pop()
        if at not in needed:
            needed.add(at)
            waiting += function.nodes[at].arguments
    graph = Composer(function.source)
    moved: dict[int, int] = {}
    for at in sorted(needed):
        node = function.nodes[at]
        given = (moved[each] for each in node.arguments)
        moved[at] = graph.add(node.op, *given, value=node.value, place=function.places[at])
    found = [moved[at] for at in results]
    if as_integers:
        found = [graph.add("to_integer", at) for at in found]
    return graph.finish(function.name, function.parameters, found)


# --------------------------------------------------------------------------------------------------------- operators


def _places(own: RowDefinition, function: ScalarFunction, at: int, names: Sequence[str]) -> Operator:
    """The operator of the places at which a node reads: of arguments by name, then the dimensions of a row."""
    _, place = function.nodes[at].arguments
    part = _part(function, [place], as_integers=True)
    types = {each.python_name: str(each.type).removesuffix("?") for each in own.schema.arguments}
    typed = {name: types.get(name, "Tensor") for name in names}
    of_row = part.results[0] not in varying(part, [name for name, kind in typed.items() if kind == "Tensor"])
    arguments = [*(f"{kind} {name}" for name, kind in typed.items()), f"int[] {free_name('row', names)}"]

    @traceable
    def meta(ctx: Any, *given: Any) -> Sequence[int]:
        *_, dims = given
        shape = broadcast_all(each.shape for each in given if isinstance(each, Tensor))
        row = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        ctx.set_output(0, row if of_row else shape, like=given[0], dtype=int64)
        return tuple(dims)

    return _operator(own, "places", part, arguments, "Tensor", meta)


def _last(own: RowDefinition, function: ScalarFunction, present: tuple[str, ...], reads: tuple[str, ...]) -> Operator:
    """The operator of what is left: of all arguments, then of what has been read."""
    known = _last_steps.setdefault(own, {})
    if present not in known:
        given = (*own.schema.positional, *own.schema.keyword_only)
        arguments = [*(f"Tensor {name}" for name in reads), *(f"{each.type} {each.python_name}" for each in given)]
        returns = [str(each.type) for each in own.schema.returns]

        def meta(ctx: Any, *values: Any) -> object:
            return own.meta(ctx, *values[len(reads) :])

        known[present] = _operator(
            own,
            "last",
            _part(function, function.results, as_integers=False),
            arguments,
            returns[0] if len(returns) == 1 else f"({', '.join(returns)})",
            traceable(meta) if is_traceable(own.meta) else meta,
            is_own=True,
        )
    return known[present]


def _operator(
    own: RowDefinition,
    what: str,
    function: ScalarFunction,
    arguments: Sequence[str],
    returns: str,
    meta: Callable[..., object],
    *,
    is_own: bool = False,
) -> Operator:
    """An operator of a row function.

    Args:
        own: what it is a part of.
        what: part of its name.
        function: the row function.
        arguments, returns: of its schema.
        meta: its shape function.
        is_own: whether that is another one for each definition.
    """
    signature = f"({', '.join(arguments)}) -> {returns}"
    described = repr((own.name, signature, function.nodes, function.results, own.promote)).encode()
    digest = hashlib.blake2b(described, digest_size=6).hexdigest()
    stem = own.name.partition("::")[2].replace(".", "_").strip("_")
    name = f"derived::{stem}_{what}_{digest}"
    schema = parse_schema(name + signature)
    known = known_operator(schema)
    serial = 2
    while known is not None and is_own:
        schema = parse_schema(f"{name}_{serial}{signature}")
        known = known_operator(schema)
        serial += 1
    if known is not None:
        return known
    definition = RowDefinition(schema, own.name)
    definition.add(function, meta=meta, promote=own.promote)
    return defined(schema, definition, own.name, accepts_numbers=False)
