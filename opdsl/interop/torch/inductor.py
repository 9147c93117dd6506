"""Decompositions of registered operators for inductor: calls of aten that it can fuse.

Inductor looks operators up in a table of decompositions. The entry of a pointwise operator or reduction evaluates its
typed scalar graph with aten operators on tensors; the entry of a formula program calls the operators in its body. Where
aten computes something else (integer division by 0, shifts by more than the number of bits, intermediate rounding to 16
bits, complex numbers), inductor calls the operator itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol

import torch

from opdsl.dispatch import Kernel, Operator, current
from opdsl.formulas.programs import FormulaProgram
from opdsl.interop.torch.fakes import stand_in
from opdsl.interop.torch.states import state_of_call
from opdsl.interop.torch.tensors import TORCH_DTYPES, to_opdsl
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.reduction import ReductionDefinition
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.runtime.dtype import ALL_DTYPES
from opdsl.runtime.scopes import Setting
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import COMPLEX, FLOAT, INTEGER, ScalarType
from opdsl.schema import FunctionSchema

__all__ = ["offer", "withdraw"]

# Inductor's module that is complete last; it imports the tables of decompositions.
_LOWERING = "torch._inductor.lowering"

_DTYPES = {dtype.name: TORCH_DTYPES[dtype] for dtype in ALL_DTYPES}


def _fma(factor: torch.Tensor, value: torch.Tensor, summand: torch.Tensor) -> torch.Tensor:
    """Return ``factor * value + summand``, which inductor's compiler may contract to one rounding."""
    return factor * value + summand


# Operations that aten computes in the same way, for all dtypes but complex ones.
_ALIKE: Mapping[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "fma": _fma,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "negative": torch.neg,
    "absolute": torch.abs,
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "invert": torch.bitwise_not,
    "select": torch.where,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_not": torch.logical_not,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
    "copysign": torch.copysign,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    **{
        name: getattr(torch, name)
        for name in (
            *("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos"),
            *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma"),
        )
    },
}
# Operations that aten computes in the same way for floating-point numbers only.
_ALIKE_FLOATING: Mapping[str, Callable[..., torch.Tensor]] = {
    "floor_divide": partial(torch.div, rounding_mode="floor"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "power": torch.pow,
}
# The reduction by an operation, and its identity.
_FOLDS: Mapping[str, tuple[Callable[..., torch.Tensor], float]] = {
    "add": (torch.sum, 0),
    "maximum": (torch.amax, float("-inf")),
    "minimum": (torch.amin, float("inf")),
}


class Bridge(Protocol):
    """Protocol of an operator registered in torch; see ``opdsl.interop.torch.bridge.Bridge``."""

    schema: FunctionSchema
    operator: Operator

    @property
    def overload(self) -> Callable[..., Any]:
        """Return the torch operator."""

    @property
    def kind(self) -> str:
        """Return the kind of the operator's CPU kernel, such as ``pointwise``."""

    def kernel(self) -> Kernel:
        """Return the CPU kernel that a call runs."""

    def complete(self, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all arguments of a call, in the order of the schema."""

    def decomposed(self, values: Sequence[Any]) -> Any:
        """Run the body of a composite on torch tensors."""


class _OtherMeaningError(Exception):
    """Raised when aten's operators would give other results than opdsl's operator, so that the operator is not
    decomposed.
    """


def offer(bridge: Bridge) -> None:
    """Register a decomposition of an operator with inductor if it has one; called when the operator runs on fake
    tensors.
    """
    if _definition(bridge) is None and not _is_program(bridge):
        return
    _offered[bridge.schema.name.qualified] = bridge
    if _tables():
        _add(bridge)
    elif _AtImport not in map(type, sys.meta_path):
        sys.meta_path.insert(0, _AtImport())


def _add(bridge: Bridge) -> None:
    """Add the decomposition of an operator to inductor's tables."""
    for table in _tables():
        table[bridge.overload] = partial(_decomposed, bridge)
    # Inductor reports a fallback call of an operator with a decomposition as an error, unless it is listed here.
    sys.modules[_LOWERING].FALLBACK_ALLOW_LIST.add(bridge.schema.name.packet)


class _AtImport(MetaPathFinder):
    """Finder that finds no module itself, but adds all decompositions as soon as inductor is imported.

    A program may be exported before: inductor, which then compiles it, reads its tables first.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """Return the specification of inductor's module, with a loader that adds the decompositions."""
        if fullname != _LOWERING:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_add(module: ModuleType) -> None:
            load(module)
            for bridge in tuple(_offered.values()):
                _add(bridge)

        spec.loader.exec_module = load_and_add  # type: ignore[method-assign]
        return spec


def withdraw(bridge: Bridge, overload: Any) -> None:
    """Remove the decomposition of an operator from inductor.

    Args:
        bridge: of the operator, which is about to be removed from torch.
        overload: the torch operator.
    """
    if _offered.pop(bridge.schema.name.qualified, None) is not None:
        for table in _tables():
            table.pop(overload, None)


_offered: dict[str, Bridge] = {}


def _tables() -> list[dict[Any, Callable[..., Any]]]:
    """Return inductor's tables of decompositions: the main one and its copy for random operators; empty if it is not
    loaded.
    """
    module = sys.modules.get("torch._inductor.decomposition")
    if module is None or not hasattr(sys.modules.get(_LOWERING), "FALLBACK_ALLOW_LIST"):
        return []
    return [module.decompositions, module.fast_random_decomps()]


def _definition(bridge: Bridge) -> PointwiseDefinition | ReductionDefinition | None:
    """Return the definition of a pointwise operator or reduction that may be decomposed, or None."""
    kernel = bridge.kernel() if bridge.kind in ("pointwise", "reduction") else None
    definition = kernel.definition if isinstance(kernel, StructuredKernel) else None
    is_plain = isinstance(definition, (PointwiseDefinition, ReductionDefinition)) and not bridge.schema.is_mutable
    return definition if is_plain else None  # type: ignore[return-value]


def _is_program(bridge: Bridge) -> bool:
    """Return whether an operator is a formula with folds or indexed reads, which is decomposed into the calls of its
    body.
    """
    return isinstance(bridge.operator.formula, FormulaProgram) and not bridge.schema.is_mutable


def _decomposed(bridge: Bridge, *positional: Any, **named: Any) -> Any:
    """Compute a call by aten operators; return ``NotImplemented`` where inductor has to call the operator itself."""
    values = bridge.complete(positional, named)
    if _is_program(bridge):
        return bridge.decomposed(values)
    definition = _definition(bridge)
    arguments = tuple(to_opdsl(value, stand_in) for value in values)
    try:
        with Setting(current, state_of_call()):
            if isinstance(definition, PointwiseDefinition):
                return _pointwise(definition, arguments, values)
            if isinstance(definition, ReductionDefinition):
                return _reduction(definition, arguments, values)
    except _OtherMeaningError:
        pass
    return NotImplemented


def _pointwise(definition: PointwiseDefinition, arguments: tuple[Any, ...], values: Sequence[Any]) -> Any:
    prepared = definition.prepare(arguments, ())
    state = prepared.state
    if definition.refuses_numbers(state):
        raise _OtherMeaningError  # opdsl raises for integer division by 0
    function, iteration = state.formula.function, state.iteration
    operands = [*[values[place] for place in state.formula.places], *state.numbers]
    tensors = [operand for operand in operands if isinstance(operand, torch.Tensor)]
    device = tensors[0].device
    full, *others = torch.broadcast_tensors(*tensors)  # type: ignore[no-untyped-call]
    whole = iter((full, *others))
    read: dict[str, torch.Tensor] = {}
    for name, value, cast, kind in zip(
        function.parameters, operands, iteration.casts, iteration.parameters, strict=True
    ):
        dtype = TORCH_DTYPES[kind]
        if cast is not None and not (isinstance(value, torch.Tensor) and TORCH_DTYPES[cast] is value.dtype):
            raise _OtherMeaningError  # rounded to 16 bits first
        is_tensor = isinstance(value, torch.Tensor)
        read[name] = next(whole).to(dtype) if is_tensor else torch.full((), value, dtype=dtype, device=device)
    results = zip(_evaluated(definition.graph(state), read, device), state.dtypes, strict=True)
    outputs = [computed.to(TORCH_DTYPES[dtype]) for computed, dtype in results]
    rank = max(tensor.dim() for tensor in tensors)
    # A result that reads no tensor is a constant of lower rank.
    expanded = [tensor if tensor.dim() == rank else tensor.expand(full.shape).clone() for tensor in outputs]
    return expanded[0] if len(expanded) == 1 else tuple(expanded)


def _reduction(definition: ReductionDefinition, arguments: tuple[Any, ...], values: Sequence[Any]) -> Any:
    prepared = definition.prepare(arguments, ())
    state, source = prepared.state, values[0]
    folding = state.functions
    is_of_one = len(state.places) == 1 and not folding.lifted_numbers and not state.numbers
    if folding.with_index or folding.in_order or not is_of_one or not state.dims:
        raise _OtherMeaningError
    if any(type(size) is int and size == 0 for size in source.shape):
        raise _OtherMeaningError
    parameters = [parameter for parameter, _ in folding.combine.parameters]
    count = len(folding.init)
    ((name, kind),) = folding.lift.parameters
    lifted = _evaluated(folding.lift, {name: source.to(_DTYPES[kind])}, source.device)
    keepdim = len(prepared.specs[0].shape) == source.dim()
    folded: list[torch.Tensor] = []
    for at, (position, init, tensor) in enumerate(zip(folding.combine.results, folding.init, lifted, strict=True)):
        node = folding.combine.nodes[position]
        operands = [folding.combine.nodes[index].value for index in node.arguments]
        fold = _FOLDS.get(node.op)
        wanted = [parameters[at], parameters[at + count]]
        if fold is None or sorted(map(str, operands)) != sorted(wanted) or not _is_identity(init, fold[1], node.type):
            raise _OtherMeaningError
        tensor = tensor.expand(source.shape)
        if node.op == "add":
            folded.append(torch.sum(tensor, state.dims, keepdim, dtype=_DTYPES[node.type]))
        else:
            folded.append(fold[0](tensor, state.dims, keepdim))
    number = 1
    for dim in state.dims:
        number = number * source.shape[dim]
    names = [parameter for parameter, _ in folding.finish.parameters]
    inputs = dict(zip(names, folded, strict=False))
    for tensor in names[count:]:
        inputs[tensor] = torch.full((), number, dtype=torch.int64, device=source.device)
    evaluated = _evaluated(folding.finish, inputs, source.device)
    tensors = [computed.to(TORCH_DTYPES[spec.dtype]) for computed, spec in zip(evaluated, prepared.specs, strict=True)]
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _is_identity(init: Any, wanted: float, kind: ScalarType) -> bool:
    """Return whether an initial accumulator is the identity of a reduction; infinity denotes the bounds of integer
    types.
    """
    if kind.category == INTEGER and wanted:
        return bool(init == (kind.bounds[0] if wanted < 0 else kind.bounds[1])) or bool(init == wanted)
    return bool(init == wanted)


def _evaluated(graph: TypedGraph, read: Mapping[str, torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """Evaluate a typed scalar graph on tensors by aten operators.

    Args:
        graph: typed.
        read: its parameters as tensors of their types.
        device: where constants are created.

    Raises:
        _OtherMeaningError: the graph contains an operation that aten computes differently.
    """
    tensors: list[torch.Tensor] = []
    for node in graph.nodes:
        kinds = [graph.nodes[at].type for at in node.arguments]
        operands = [tensors[at] for at in node.arguments]
        dtype = _DTYPES[node.type]
        if node.type.category == COMPLEX or any(kind.category == COMPLEX for kind in kinds):
            raise _OtherMeaningError
        if node.op == "parameter":
            tensors.append(read[str(node.value)])
        elif node.op == "constant":
            tensors.append(torch.full((), node.value, dtype=dtype, device=device))  # type: ignore[arg-type]
        elif node.op == "cast":
            if kinds[0].category == FLOAT and node.type.category == INTEGER:
                raise _OtherMeaningError  # opdsl saturates
            tensors.append(operands[0].to(dtype))
        elif node.op == "truth":
            tensors.append(operands[0] != 0)
        else:
            function = _ALIKE.get(node.op)
            if function is None and kinds[0].category == FLOAT:
                function = _ALIKE_FLOATING.get(node.op)
            if function is None:
                raise _OtherMeaningError
            tensors.append(function(*operands).to(dtype))
    return [tensors[at] for at in graph.results]
