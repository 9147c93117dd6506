"""Composition of the scalar functions of several steps into one, and operators built from the result."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.derived_operators import defined, known_operator
from opdsl.autograd.kernel import derivative_of
from opdsl.dispatch import Operator
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.kernels.definitions.structured import Definition
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dtypes import PRECISION
from opdsl.programs.steps import Call, Expression, Step, names_in
from opdsl.runtime import Tensor, bool_
from opdsl.runtime.symbol import example_value
from opdsl.scalar import ScalarFunction, read
from opdsl.scalar.operations import ROW_FOLDS
from opdsl.scalar.untyped import Place, UntypedNode
from opdsl.schema import FunctionSchema, parse_schema

__all__ = ["Composition", "scalar_call"]


class ScalarCall(NamedTuple):
    """Scalar function that a step of a program applies elementwise, the indices of the step's arguments that it takes,
    and their rounding.

    function: takes elements, and folds of their row.
    places: indices of the call's arguments that it takes.
    narrow: for each of them, whether it is rounded to 16 bits.
    is_narrow: whether results are rounded to 16 bits.
    """

    function: ScalarFunction
    places: tuple[int, ...]
    narrow: tuple[bool, ...]
    is_narrow: bool


def scalar_call(step: Step) -> ScalarCall:
    """Return the scalar function of a pointwise step or of a row step."""
    assert step.call is not None, "a step of a group"
    definition, state = step.call.definition, step.call.state
    if isinstance(definition, RowDefinition):
        function = definition.scalar_function(tuple(definition.parameters[at].name for at in state.places))
        return ScalarCall(function, state.places, (False,) * len(state.places), False)
    narrow = tuple(cast in PRECISION for cast in state.iteration.casts)
    return ScalarCall(state.formula.function, state.formula.places, narrow, state.iteration.result in PRECISION)


def _constant(call: Call, at: int) -> Any:
    """Return an operand of a step; a number as a truth value where the step computes in bool."""
    operand = call.operands[at]
    computes = isinstance(call.definition, PointwiseDefinition) and call.state.iteration.common is bool_
    return bool(operand) if computes and type(operand) is int else operand


def _itself(x: float) -> float:
    """Return ``x``; source of compositions that consist only of folds, which have no source."""
    return x


class Composition:
    """Scalar functions of several steps composed into one graph, from which a fused operator is made.

    tensors: tensors read from outside, by parameter name; number parameters follow them.
    """

    def __init__(self, steps: Sequence[Step], folds: Mapping[str, str]) -> None:
        self.steps = steps
        self.tensors: dict[str, Tensor] = {}
        self._numbers: list[str] = []
        self._given: dict[str, Any] = {}
        self._nodes: list[UntypedNode] = []
        self._places: list[Place] = []
        self._made: dict[str, int] = {}
        functions = (scalar_call(step).function for step in steps if step.name not in folds)
        self._source = next(functions, None) or read(_itself)
        for step in steps:
            function = [self._fold(step, folds[step.name])] if step.name in folds else self._function(step)
            results = zip(step.results, function, strict=True)
            self._made.update({result.name: position for result, position in results if result is not None})

    @property
    def operands(self) -> tuple[Any, ...]:
        """Return the operands with which a program calls the fused step."""
        return tuple(self._given[name] for name in (*self.tensors, *self._numbers))

    def pointwise(self, wanted: Sequence[str], truths: frozenset[int]) -> Operator:
        """Return the fused pointwise operator that computes the wanted results.

        Args:
            wanted: names of the results.
            truths: positions of those that are bool, though other steps compute in another dtype.
        """

        def define(schema: FunctionSchema) -> Definition:
            definition = PointwiseDefinition(schema, schema.name.qualified)
            definition.truths = truths
            definition.without_gradient = self._without_gradient(wanted)
            kept = [name for name, tensor in self.tensors.items() if tensor.dtype is bool_]
            kept = kept if len(kept) < len(self.tensors) else []
            definition.add(self.function(wanted), keep=kept)
            return definition

        return self._operator(wanted, str(sorted(truths)) if truths else "", define)

    def row(self, wanted: Sequence[str], dims: tuple[int, ...], is_row: Sequence[bool]) -> Operator:
        """Return the fused row operator (elements and row reductions) that computes the wanted results.

        Args:
            wanted: names of the results.
            dims: dimensions of a row.
            is_row: for each result, whether it has one element for each row.
        """
        # Other programs share the operator: symbols of this one, whose guards fix their values, mean nothing there.
        dims = tuple(map(example_value, dims))

        def meta(ctx: Any, *arguments: Any) -> tuple[int, ...]:
            tensors = [input for input in arguments if isinstance(input, Tensor)]
            # A bool operand may have the shape of the results, but not their dtype.
            like = max(tensors, key=lambda tensor: (tensor.dtype is not bool_, tensor.ndim))
            shape = broadcast_all(tensor.shape for tensor in tensors)
            row = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
            for index, flag in enumerate(is_row):
                ctx.set_output(index, row if flag else shape, like=like)
            return dims

        def define(schema: FunctionSchema) -> Definition:
            definition = RowDefinition(schema, schema.name.qualified)
            definition.without_gradient = self._without_gradient(wanted)
            definition.add(self.function(wanted), meta=meta, promote="int_to_float")
            return definition

        return self._operator(wanted, repr((dims, is_row)), define)

    def varies(self, name: str) -> bool:
        """Return whether a result depends on elements of tensors, and not only on numbers and folds."""
        waiting = [self._made[name]]
        while waiting:
            node = self._nodes[waiting.pop()]
            if node.op == "parameter" and node.value in self.tensors:
                return True
            waiting += () if node.op in ROW_FOLDS else node.arguments
        return False

    def _without_gradient(self, wanted: Sequence[str]) -> frozenset[str]:
        """Return the tensors to which the separate steps pass no gradient: those that are only compared."""
        reached = set(wanted)
        for step in reversed(self.steps):
            derivative = derivative_of(step.operator)
            schema = step.operator.schema
            flags = [True] * len(step.results) if derivative is None else derivative.differentiable_results(schema)
            if not any(
                flag and result is not None and result.name in reached and result.dtype is not bool_
                for result, flag in zip(step.results, flags, strict=True)
            ):
                continue
            without = frozenset() if derivative is None else derivative.non_differentiable
            names = [argument.python_name for argument in schema.positional]
            operands = {**dict(zip(names, step.operands, strict=False)), **step.options}
            reached |= names_in(tuple(value for name, value in operands.items() if name not in without))
        return frozenset(name for name in self.tensors if self._given[name].text not in reached)

    def _function(self, step: Step) -> list[int]:
        """Add the nodes of a step's scalar function and return those of its results."""
        assert step.call is not None, "a step of a group"
        scalar = scalar_call(step)
        function = scalar.function
        place = function.places[0]
        positions: dict[str, int] = {}
        for name, at, is_narrow in zip(function.parameters, scalar.places, scalar.narrow, strict=True):
            operand = self._operand(_constant(step.call, at), step.call.arguments[at], place)
            positions[name] = self._rounded(operand, is_narrow, place)
        moved: list[int] = []
        for node, place in zip(function.nodes, function.places, strict=True):
            if node.op == "parameter":
                moved.append(positions[str(node.value)])
            else:
                moved.append(self._node(node._replace(arguments=tuple(moved[at] for at in node.arguments)), place))
        return [self._rounded(moved[at], scalar.is_narrow, place) for at in function.results]

    def _rounded(self, position: int, is_narrow: bool, place: Place) -> int:
        """Add a rounding of a node to 16 bits, if its value has such a dtype."""
        return self._node(UntypedNode("rounded", (position,), None), place) if is_narrow else position

    def _fold(self, step: Step, op: str) -> int:
        """Add a row fold and return its node."""
        assert step.call is not None, "a step of a group"
        place = self._source.places[0]
        return self._node(
            UntypedNode(op, (self._operand(step.call.operands[0], step.call.arguments[0], place),), None), place
        )

    def _node(self, node: UntypedNode, place: Place) -> int:
        self._nodes.append(node)
        self._places.append(place)
        return len(self._nodes) - 1

    def _operand(self, operand: Any, value: Any, place: Place) -> int:
        """Return the node of an operand: the result of an earlier step, a parameter, or a constant."""
        if not isinstance(operand, Expression):
            if type(operand) is float and math.isinf(operand):
                # A constant -inf makes LLVM turn the maximum into a branch, which is not vectorized.
                return self._parameter(repr(operand), operand, operand, place)
            return self._node(UntypedNode("constant", (), value if operand is None else operand), place)
        return self._parameter(operand.text, operand, value, place)

    def _parameter(self, text: str, operand: Any, value: Any, place: Place) -> int:
        """Return the node of an operand from outside the fused steps, adding it at first use."""
        if text not in self._made:
            if isinstance(value, Tensor):
                name = f"x{len(self.tensors)}"
                self.tensors[name] = value
            else:
                name = f"number{len(self._numbers)}"
                self._numbers.append(name)
            self._given[name] = operand
            self._made[text] = self._node(UntypedNode("parameter", (), name), place)
        return self._made[text]

    def function(self, wanted: Sequence[str]) -> ScalarFunction:
        """Return the composed scalar function that computes the wanted results from tensors, then numbers."""
        results = tuple(self._made[text] for text in wanted)
        parameters = (*self.tensors, *self._numbers)
        nodes, places, source = tuple(self._nodes), tuple(self._places), self._source.source
        return ScalarFunction(self._name, parameters, {}, nodes, places, results, source)

    @property
    def _name(self) -> str:
        names = (step.name.partition("::")[2].partition(".")[0].strip("_") for step in self.steps)
        return "_".join(dict.fromkeys(names))[:48].strip("_")

    def _operator(self, wanted: Sequence[str], also: str, define: Any) -> Operator:
        """Return the fused operator, defining it unless one with equal functions exists."""
        without = sorted(self._without_gradient(wanted))
        kinds = [(name, str(tensor.dtype)) for name, tensor in self.tensors.items()]
        described = repr((self._nodes, [self._made[text] for text in wanted], kinds, len(self._numbers), also, without))
        digest = hashlib.blake2b(described.encode(), digest_size=8).hexdigest()
        number_type = "float" if any(tensor.dtype.is_floating_point for tensor in self.tensors.values()) else "int"
        arguments = ", ".join(
            [*(f"Tensor {name}" for name in self.tensors), *(f"{number_type} {number}" for number in self._numbers)]
        )
        returns = "Tensor" if len(wanted) == 1 else f"({', '.join(['Tensor'] * len(wanted))})"
        schema = parse_schema(f"fused::{self._name}_{digest}({arguments}) -> {returns}")
        known = known_operator(schema)
        function: Any = known or defined(schema, define(schema), schema.name.qualified, accepts_numbers=False)
        operator: Operator = function.operator
        return operator
