"""Type inference for untyped graphs, giving typed ones.

The rules, in short. Operands promote as PyTorch's dtypes do. A literal is weak: it never widens other operands, and
only raises their category (an integer combined with ``0.5`` becomes floating point). Where floating point is needed and
the operands are not, the type is the kernel's: the promoted type of all parameters, or ``default_float`` if that is not
floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, NamedTuple, Protocol, TypeAlias

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.builder import GraphBuilder, with_results
from opdsl.scalar.formats import FORMATS, NARROW
from opdsl.scalar.graph import Loop, Node, Number, TypedGraph
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType, literal_category, promote, with_category
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["specialise"]


class Literal(NamedTuple):
    """Python number that has no type yet."""

    value: Number


class Value(NamedTuple):
    """Node of the typed graph."""

    position: int
    type: ScalarType


Operand: TypeAlias = Literal | Value


class Refused(Exception):
    """Raised when an operation does not exist for the operand types; converted to a ScalarFunctionError with the
    position.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.advice = advice


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
    missing = [name for name in function.parameters if name not in types]
    if missing:
        raise ScalarFunctionError(
            f"scalar function {function.name}: no type is given for {', '.join(missing)} "
            f"(got {', '.join(types) or 'none'})"
        )
    kinds = [types[name] for name in function.parameters]
    signature = ", ".join(f"{name}: {kind.value}" for name, kind in zip(function.parameters, kinds, strict=True))
    kernel = Kernel(reduce(promote, kinds) if kinds else None, default_float, storage, signature)
    typer = Typer(kernel)
    literals = typer.run(function, types)
    graph = typer.builder.finish(function.name, [typer.settle(literal).position for literal in literals])
    return graph if results is None else with_results(graph, results)


class Kernel(NamedTuple):
    """Context on which types in a function depend besides its operands.

    type: the promoted type of all parameters; None if there are none.
    default_float: the type of floating-point values if no parameter is one.
    storage: the 16-bit type in which the operands of a float32 computation are stored; else None.
    signature: names and types of the parameters, for messages.
    """

    type: ScalarType | None
    default_float: ScalarType
    storage: str | None
    signature: str


class Typer:
    """Builder of a typed graph from untyped nodes.

    kernel: context of the function.
    floating: the kernel's floating-point type.
    storage: the 16-bit type in which the operands of a float32 computation are stored; else None.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.builder = GraphBuilder()
        self.kernel = kernel
        self.storage = kernel.storage
        self.floating = with_category(kernel.type, FLOAT, kernel.default_float)

    def run(self, untyped: Untyped, types: Mapping[str, ScalarType]) -> list[Operand]:
        """Add all nodes of an untyped graph, and return its results."""
        literals: list[Operand] = []
        for name in untyped.parameters:  # so that the graph has unused parameters, too
            self.builder.parameter(name, types[name])
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
        return _RULES[OPERATIONS[node.op].rule](self, node.op, operands)

    def stored(self, op: str, dtype: str, operands: list[Operand]) -> Operand:
        """Add a conversion to a dtype, or an operation on operands that are stored in a 16-bit dtype."""
        before, self.storage = self.storage, dtype if dtype in NARROW else None
        try:
            if op != "convert":
                return _RULES[OPERATIONS[op].rule](self, op, operands)
            value = self.cast(operands[0], ScalarType.FLOAT32 if self.storage else ScalarType(dtype))
            return _rounded(self, "rounded", [value]) if self.storage else value
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
        arguments = tuple(value.position for value in (_truth(self, "truth", [first]), *carried, *values))
        node = Node("loop", arguments, ScalarType.BOOL, Loop(body, untyped.most))
        return Value(self.builder.add(node), ScalarType.BOOL)

    def turn(self, untyped: UntypedLoop, types: Sequence[ScalarType]) -> TypedGraph:
        """Infer the types in one iteration of a loop; its results are at least as wide as the carried values that it
        takes.
        """
        typer = Typer(self.kernel)
        more, *literals = typer.run(untyped, dict(zip(untyped.parameters, types, strict=True)))
        results = [_truth(typer, "truth", [more])]
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

    def node(self, op: str, operands: Sequence[Value], kind: ScalarType) -> Value:
        """Add an operation on typed operands, and return its value."""
        if any(operand.type.category == COMPLEX for operand in operands):
            _check_complex(op)
        return Value(self.builder.node(op, tuple(operand.position for operand in operands), kind), kind)

    def common(self, operands: Sequence[Operand]) -> ScalarType:
        """Return the type to which operands are promoted."""
        strong = [operand.type for operand in operands if isinstance(operand, Value)]
        weak = [literal_category(operand.value) for operand in operands if isinstance(operand, Literal)]
        if strong:
            kind, category = reduce(promote, strong), max(weak, default=BOOL)
            return kind if kind.category >= category else self.lifted(category)
        return self.lifted(max(weak))

    def lifted(self, category: int) -> ScalarType:
        """Return the kernel's type raised to a category."""
        if category == BOOL:
            return ScalarType.BOOL
        return with_category(self.kernel.type, category, self.kernel.default_float)

    def cast(self, operand: Operand, kind: ScalarType) -> Value:
        """Convert an operand to a type."""
        if isinstance(operand, Literal):
            return Value(self.builder.constant(operand.value, kind), kind)
        return Value(self.builder.cast(operand.position, kind), kind)

    def together(self, operands: Sequence[Operand], least: int = BOOL) -> tuple[list[Value], ScalarType]:
        """Convert operands to their common type, which is raised to at least the category ``least``."""
        kind = self.common(operands)
        if kind.category < least:
            kind = self.lifted(least)
        return [self.cast(operand, kind) for operand in operands], kind

    def settle(self, operand: Operand) -> Value:
        """Return an operand as a typed value; a literal takes the kernel's type."""
        return operand if isinstance(operand, Value) else self.cast(operand, self.common([operand]))


def _check_complex(op: str) -> None:
    """Raise an error if an operation does not exist for complex numbers."""
    from opdsl.scalar.mathematics.formulas import COMPLEX as KNOWN

    if op not in KNOWN:
        known = ", ".join(OPERATIONS[text].symbol for text in KNOWN)
        raise Refused(f"`{OPERATIONS[op].symbol}` of complex numbers does not exist", f"There are {known}.")


def _arithmetic(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands)
    if op == "fma" and kind.category != FLOAT:
        return _arithmetic(typer, "add", [_arithmetic(typer, "multiply", [*values[:2]]), values[2]])
    if kind.category == BOOL:
        if op not in _BOOLEAN:
            symbol = OPERATIONS[op].symbol
            raise Refused(f"`{symbol}` of bools does not exist (PyTorch has none)", "Convert with int(...) first.")
        op = _BOOLEAN[op]
    return typer.node(op, values, kind)


_BOOLEAN: Final = {"add": "bitwise_or", "multiply": "bitwise_and", "maximum": "bitwise_or", "minimum": "bitwise_and"}


def _extremum(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add a typed ``max`` or ``min`` node; a literal beyond an integer type's bounds is replaced by the bound."""
    kind = typer.common(operands)
    if kind.category == INTEGER:
        low, high = kind.bounds
        operands = [
            Literal(min(max(int(operand.value.real), low), high)) if isinstance(operand, Literal) else operand
            for operand in operands
        ]
    return _arithmetic(typer, op, operands)


def _absolute(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return typer.node(op, [value], value.type.real)


def _conjugate(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add a typed conjugate; that of a real number is the number itself."""
    value = typer.settle(operands[0])
    return typer.node(op, [value], value.type) if value.type.category == COMPLEX else value


def _floating(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    return typer.node(op, values, kind)


def _trunc_divide(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add a typed truncated quotient; integers never pass through floating point, where they would lose digits.

    A quotient of 16-bit numbers is rounded to 16 bits before it is truncated, as in PyTorch.
    """
    (numerator, divisor), kind = typer.together(operands)
    if kind.category >= FLOAT:
        quotient = _rounded(typer, "rounded", [typer.node("divide", [numerator, divisor], kind)])
        return typer.node("trunc", [quotient], kind)
    divisible = _arithmetic(typer, "subtract", [numerator, _arithmetic(typer, "fmod", [numerator, divisor])])
    return _arithmetic(typer, "floor_divide", [divisible, divisor])


def _power(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add a typed power; for some known exponents it becomes the operations that PyTorch computes instead."""
    (base, exponent), kind = typer.together(operands)
    known = typer.builder.constant_value(exponent.position)
    if kind.category == BOOL and known is not None:
        return base if known else typer.cast(Literal(True), kind)
    if kind.category == BOOL:
        raise Refused("`**` of bools does not exist (PyTorch has none)", "Convert with int(...) first.")
    if kind.category == INTEGER and isinstance(known, int) and known >= 0:
        return _repeated(typer, base, known)
    recipe = _POWERS.get(known) if kind.category >= FLOAT and known is not None else None
    return recipe(typer, base) if recipe else typer.node(op, [base, exponent], kind)


def _repeated(typer: Typer, base: Value, exponent: int) -> Value:
    """Return an integer power as repeated squaring."""
    value: Value | None = None
    while exponent:
        if exponent & 1:
            value = base if value is None else typer.node("multiply", [value, base], base.type)
        exponent >>= 1
        if exponent:
            base = typer.node("multiply", [base, base], base.type)
    return typer.cast(Literal(1), base.type) if value is None else value


def _inverse(typer: Typer, value: Value) -> Value:
    return typer.node("divide", [typer.cast(Literal(1), value.type), value], value.type)


_POWERS: Final[dict[Number, Callable[[Typer, Value], Value]]] = {
    0: lambda typer, base: typer.cast(Literal(1), base.type),
    1: lambda typer, base: base,
    2: lambda typer, base: _repeated(typer, base, 2),
    3: lambda typer, base: _repeated(typer, base, 3),
    0.5: lambda typer, base: typer.node("sqrt", [base], base.type),
    -0.5: lambda typer, base: _inverse(typer, typer.node("sqrt", [base], base.type)),
    -1: _inverse,
    -2: lambda typer, base: _inverse(typer, _repeated(typer, base, 2)),
}


def _comparison(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add a typed comparison; if an integer type cannot hold a literal, the result is a constant instead of a wrapped
    comparison.
    """
    kind = typer.common(operands)
    if kind.category == INTEGER:
        low, high = kind.bounds
        for at, operand in enumerate(operands):
            if isinstance(operand, Literal) and not low <= operand.value.real <= high:
                return _decided(typer, op, literal_first=at == 0, literal_is_larger=operand.value.real > high)
    values, _ = typer.together(operands)
    return typer.node(op, values, ScalarType.BOOL)


def _decided(typer: Typer, op: str, *, literal_first: bool, literal_is_larger: bool) -> Value:
    first_is_larger = literal_first == literal_is_larger
    truth = op == "not_equal" or op.startswith("greater" if first_is_larger else "less")
    return typer.cast(Literal(truth), ScalarType.BOOL)


def _bitwise(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands)
    if kind.category > INTEGER:
        raise Refused(f"`{OPERATIONS[op].symbol}` needs integers or bools (got {kind.value})", "Convert with int(...).")
    return typer.node(op, values, kind)


def _shift(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands)
    if kind.category != INTEGER:
        raise Refused(f"`{OPERATIONS[op].symbol}` needs integers (got {kind.value})", "Convert with int(...).")
    return typer.node(op, values, kind)


def _select(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands[1:])
    return typer.node(op, [_truth(typer, "truth", operands[:1]), *values], kind)


def _truth(typer: Typer, op: str, operands: list[Operand]) -> Value:
    return typer.cast(typer.settle(operands[0]), ScalarType.BOOL)


def _logical(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add typed ``and`` or ``or``: ``a and b`` is ``b if a else a``, as in Python."""
    first, second = operands
    if typer.common(operands) is ScalarType.BOOL:
        return _bitwise(typer, "bitwise_and" if op == "logical_and" else "bitwise_or", operands)
    return _select(typer, "select", [first, second, first] if op == "logical_and" else [first, first, second])


def _logical_not(typer: Typer, op: str, operands: list[Operand]) -> Value:
    return typer.node("invert", [_truth(typer, op, operands)], ScalarType.BOOL)


def _predicate(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    if value.type.category < FLOAT:
        return typer.cast(Literal(op == "isfinite"), ScalarType.BOOL)
    return typer.node(op, [value], ScalarType.BOOL)


def _rounded(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Round a value to the dtype of storage: computations in float32 for a 16-bit dtype are rounded to it,
    others stay.
    """
    value = typer.settle(operands[0])
    if typer.storage is None or value.type is not ScalarType.FLOAT32:
        return value
    return typer.node(f"round_{typer.storage}", [value], value.type)


def _largest(typer: Typer, op: str, operands: list[Operand]) -> Value:
    kind = typer.settle(operands[0]).type.real
    stored = typer.storage if typer.storage and kind is ScalarType.FLOAT32 else kind.value
    return typer.cast(Literal(kind.bounds[1] if kind.category <= INTEGER else FORMATS[stored].largest), kind)


def _neighbour(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    narrow = typer.storage is not None and kind is ScalarType.FLOAT32
    return typer.node(f"{op}_{typer.storage}" if narrow else op, values, kind)


def _part(typer: Typer, op: str, operands: list[Operand]) -> Value:
    """Add the real or imaginary part of a value; for a real number these are the number itself and 0."""
    value = typer.settle(operands[0])
    if value.type.category == COMPLEX:
        return typer.node(op, [value], value.type.real)
    return value if op == "real" else typer.cast(Literal(0), value.type)


def _complex(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    if kind.category == COMPLEX:
        raise Refused("`complex` takes real parts", "Take the parts of complex numbers with .real and .imag.")
    return typer.node(op, values, with_category(kind, COMPLEX, kind))


def _to_integer(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    # 64 bits wide, so that later computations do not wrap as narrower integers would.
    return typer.cast(value, value.type if value.type is ScalarType.UINT64 else ScalarType.INT64)


def _to_floating(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return typer.cast(value, value.type if value.type.category == FLOAT else typer.floating.real)


def _to_double(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return typer.cast(value, ScalarType.COMPLEX128 if value.type.category == COMPLEX else ScalarType.FLOAT64)


def _rounding(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return value if value.type.category < FLOAT else typer.node(op, [value], value.type)


def _row(typer: Typer, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    if value.type.category in (BOOL, COMPLEX):
        is_bool = value.type.category == BOOL
        advice = "Convert with int(...) first." if is_bool else "Fold real and imaginary parts: x.real, x.imag."
        raise Refused(f"`{OPERATIONS[op].symbol}` of {value.type.value} does not exist", advice)
    return typer.node(op, [value], value.type)


def _row_mean(typer: Typer, op: str, operands: list[Operand]) -> Value:
    (value,), _ = typer.together(operands, FLOAT)
    return _row(typer, op, [value])


def _row_count(typer: Typer, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    return typer.node(op, values, kind)


def _row_index(typer: Typer, op: str, operands: list[Operand]) -> Value:
    return typer.node(op, [typer.settle(operands[0])], ScalarType.INT64)


def _lowered(typer: Typer, op: str, operands: list[Operand]) -> Value:
    raise AssertionError(f"{op} is made by lowering only")


_RULES: Final[dict[str, Callable[[Typer, str, list[Operand]], Value]]] = {
    "arithmetic": _arithmetic,
    "extremum": _extremum,
    "absolute": _absolute,
    "conjugate": _conjugate,
    "floating": _floating,
    "trunc_divide": _trunc_divide,
    "power": _power,
    "comparison": _comparison,
    "bitwise": _bitwise,
    "shift": _shift,
    "select": _select,
    "truth": _truth,
    "logical": _logical,
    "logical_not": _logical_not,
    "predicate": _predicate,
    "part": _part,
    "rounded": _rounded,
    "largest": _largest,
    "neighbour": _neighbour,
    "complex": _complex,
    "to_integer": _to_integer,
    "to_floating": _to_floating,
    "to_double": _to_double,
    "rounding": _rounding,
    "convert": _lowered,
    "row": _row,
    "row_mean": _row_mean,
    "row_count": _row_count,
    "row_index": _row_index,
    "lowered": _lowered,
}
