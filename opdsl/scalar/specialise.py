"""Type inference for untyped graphs, giving typed ones.

The rules, in short. Operands promote as PyTorch's dtypes do. A literal is weak: it never widens other operands, and
only raises their category (an integer combined with ``0.5`` becomes floating point). Where floating point is needed and
the operands are not, the type is the kernel's: the promoted type of all parameters, or ``default_float`` if that is not
floating point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Protocol

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.builder import with_results
from opdsl.scalar.formats import NARROW
from opdsl.scalar.graph import Loop, Node, TypedGraph
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.typed_builder import Kernel, Literal, Operand, Refused, TypedBuilder, Value
from opdsl.scalar.types import INTEGER, ScalarType, literal_category, promote
from opdsl.scalar.typing_rules import RULES, rounded, truth
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["specialise"]


class Untyped(Protocol):
    """Protocol of an untyped graph: that of a function, or of a loop in it."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters."""

    @property
    def nodes(self) -> tuple[UntypedNode, ...]:
        """Return the nodes."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the position of each node in the source text."""

    @property
    def results(self) -> tuple[int, ...]:
        """Return the positions of the results in the graph."""


class UntypedFunction(Untyped, Protocol):
    """Protocol of an untyped function; see ``opdsl.scalar.function.ScalarFunction``."""

    name: str


def specialise(
    function: UntypedFunction,
    types: Mapping[str, ScalarType],
    results: Sequence[str] | None,
    default_float: ScalarType,
    storage: str | None,
) -> TypedGraph:
    """Infer the types of a function for given parameter types; see ``ScalarFunction.specialise``."""
    missing = [parameter for parameter in function.parameters if parameter not in types]
    if missing:
        raise ScalarFunctionError(
            f"scalar function {function.name}: no type is given for {', '.join(missing)} "
            f"(got {', '.join(types) or 'none'})"
        )
    kinds = [types[parameter] for parameter in function.parameters]
    signature = ", ".join(
        f"{parameter}: {kind.value}" for parameter, kind in zip(function.parameters, kinds, strict=True)
    )
    kernel = Kernel(reduce(promote, kinds) if kinds else None, default_float, storage, signature)
    typer = Typer(kernel)
    literals = typer.run(function, types)
    graph = typer.builder.finish(function.name, [typer.settle(literal).position for literal in literals])
    return graph if results is None else with_results(graph, results)


class Typer(TypedBuilder):
    """Builder of a typed graph from untyped nodes."""

    def run(self, untyped: Untyped, types: Mapping[str, ScalarType]) -> list[Operand]:
        """Add all nodes of an untyped graph, and return its results."""
        literals: list[Operand] = []
        for parameter in untyped.parameters:  # so that the graph has unused parameters, too
            self.builder.parameter(parameter, types[parameter])
        for node, index in zip(untyped.nodes, untyped.places, strict=True):
            operands = [literals[at] for at in node.arguments]
            try:
                literals.append(self.add(node, operands, types))
            except Refused as refusal:
                problem = f"for ({self.kernel.signature}), {refusal}"
                raise index.source.error(index.node, problem, refusal.advice) from None
        return [literals[at] for at in untyped.results]

    def add(self, node: UntypedNode, operands: list[Operand], types: Mapping[str, ScalarType]) -> Operand:
        """Add an untyped node, and return its typed value."""
        if isinstance(node.value, UntypedLoop):
            return self.loop(node.value, operands)
        if node.op == "item":
            return self.item(operands[0], node.value)
        if node.op == "constant":
            assert node.value is not None
            assert not isinstance(node.value, str)
            return Literal(node.value)
        if node.op == "parameter":
            kind = types[str(node.value)]
            return Value(self.builder.parameter(str(node.value), kind), kind)
        if isinstance(node.value, str):
            return self.stored(node.op, node.value, operands)
        return RULES[OPERATIONS[node.op].rule](self, node.op, operands)

    def stored(self, op: str, dtype: str, operands: list[Operand]) -> Operand:
        """Add a conversion to a dtype, or an operation on operands that are stored in a 16-bit dtype."""
        before, self.storage = self.storage, dtype if dtype in NARROW else None
        try:
            if op != "convert":
                return RULES[OPERATIONS[op].rule](self, op, operands)
            value = self.cast(operands[0], ScalarType.FLOAT32 if self.storage else ScalarType(dtype))
            return rounded(self, "rounded", [value]) if self.storage else value
        finally:
            self.storage = before

    def loop(self, untyped: UntypedLoop, operands: Sequence[Operand]) -> Value:
        """Add a loop, after widening the types of its carried values until an iteration no longer widens them."""
        count = len(untyped.results) - 1
        first, *rest = operands
        values = [self.settle(literal) for literal in rest[count:]]
        types = [self.carried(literal) for literal in rest[:count]]
        while True:
            body = self.turn(untyped, [*types, *(value.type for value in values)])
            wider = [promote(*pair) for pair in zip(types, body.result_types[1:], strict=True)]
            if wider == types:
                break
            types = wider
        carried = [self.cast(literal, kind) for literal, kind in zip(rest[:count], types, strict=True)]
        arguments = tuple(value.position for value in (truth(self, "truth", [first]), *carried, *values))
        node = Node("loop", arguments, ScalarType.BOOL, Loop(body, untyped.most))
        return Value(self.builder.add(node), ScalarType.BOOL)

    def turn(self, untyped: UntypedLoop, types: Sequence[ScalarType]) -> TypedGraph:
        """Infer the types in one iteration of a loop; its results are at least as wide as the carried values that it
        takes.
        """
        typer = Typer(self.kernel)
        more, *literals = typer.run(untyped, dict(zip(untyped.parameters, types, strict=True)))
        results = [truth(typer, "truth", [more])]
        for literal, kind in zip(literals, types, strict=False):
            wide = (
                typer.common([literal, Value(0, kind)]) if isinstance(literal, Literal) else promote(literal.type, kind)
            )
            results.append(typer.cast(literal, wide))
        return typer.builder.finish("turn", [result.position for result in results])

    def carried(self, operand: Operand) -> ScalarType:
        """Return the type in which a loop first carries a value; integer literals are carried as int64."""
        if isinstance(operand, Literal) and literal_category(operand.value) == INTEGER:
            return ScalarType.INT64
        return self.settle(operand).type

    def item(self, loop: Operand, place: object) -> Value:
        """Return the final value of something that a loop carries."""
        assert isinstance(loop, Value) and isinstance(place, int), "items are of loops"
        node = self.builder.nodes[loop.position]
        assert isinstance(node.value, Loop), "items are of loops"
        kind = node.value.carried[place]
        return Value(self.builder.add(Node("item", (loop.position,), kind, place)), kind)
