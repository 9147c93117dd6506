"""Prints scalar graphs as LLVM IR: one internal function for each graph, to be inlined into a loop.

Booleans are ``i1`` inside and ``i8`` (0 or 1) at the function's boundary; complex numbers are two values inside and a
struct of them at the boundary. Everything is printed exactly (floats as
bits), without fast-math flags: what LLVM may not change, the loop's position cannot change either.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from opdsl.scalar.graph import Node, TypedGraph
from opdsl.scalar.lowering import lower, split_rare
from opdsl.scalar.operations import LIBM
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = ["boundary_type", "declarations", "function_ir", "rare_ir"]

_TYPES: Final = {
    ScalarType.BOOL: "i1",
    **{kind: f"i{kind.bits}" for kind in ScalarType if kind.category == INTEGER},
    ScalarType.FLOAT32: "float",
    ScalarType.FLOAT64: "double",
}
_MANGLED: Final = {kind: name.replace("float", "f32").replace("double", "f64") for kind, name in _TYPES.items()}
_BOUNDARY: Final = _TYPES | {
    ScalarType.BOOL: "i8",
    ScalarType.COMPLEX64: "{ float, float }",
    ScalarType.COMPLEX128: "{ double, double }",
}
_PURE: Final = "nounwind willreturn memory(none)"


def boundary_type(kind: str) -> str:
    """The LLVM type in which a value of a scalar type is passed to the function and returned from it.

    kind: a scalar type.
    """
    return _BOUNDARY[ScalarType(kind)]


class Boundary(NamedTuple):
    """The types of a printed function's parameters and results."""

    parameters: tuple[ScalarType, ...]
    results: tuple[ScalarType, ...]


def _boundary(graph: TypedGraph) -> Boundary:
    return Boundary(tuple(kind for _, kind in graph.parameters), graph.result_types)


def function_ir(graph: TypedGraph, name: str) -> str:
    """A graph as LLVM IR.

    graph: what to compute; it is lowered here.
    name: the function's symbol, without ``@``.
    Returns: ``define internal <result> @name(<parameters>)``; several results come as a literal struct. What it calls
    is told by ``declarations``.
    """
    return _Printer(_lowered(graph), _boundary(graph)).function(name)


def declarations(graph: TypedGraph) -> set[str]:
    """The ``declare`` lines that a graph's function needs; modules with several functions want each once.

    graph: the graph that ``function_ir`` is given.
    """
    printer = _Printer(_lowered(graph), _boundary(graph))
    printer.function("unused")
    return printer.declared


def rare_ir(graph: TypedGraph, name: str) -> str | None:
    """A graph's fast variant, for graphs in which something is rare (huge arguments of ``sin``, say).

    A loop over a stretch of elements that first finds ``@name.rare`` false for all of them may call ``@name.fast``,
    which vectorises; otherwise it calls ``function_ir``'s function, which is right for every argument.

    graph: what ``function_ir`` is given; the declarations are the same.
    name: the name that ``function_ir`` is given.
    Returns: ``@name.fast``, with the signature of ``@name``, and ``@name.rare``, with its parameters and result i8 (0
    or 1); None for a graph without such parts.
    """
    parts = split_rare(_lowered(graph))
    if parts is None:
        return None
    fast, rare = parts
    outward = _boundary(graph)
    return "\n".join(
        [
            _Printer(fast, outward).function(f"{name}.fast"),
            _Printer(rare, outward._replace(results=rare.result_types)).function(f"{name}.rare"),
        ]
    )


@lru_cache(maxsize=8)
def _lowered(graph: TypedGraph) -> TypedGraph:
    """Lowered once for ``function_ir`` and ``declarations``."""
    return lower(graph)


class _Printer:
    """Prints one lowered graph.

    boundary: its types as a caller sees them.
    names: how each node is spelled where it is used.
    declared: declarations met so far.
    """

    def __init__(self, graph: TypedGraph, boundary: Boundary) -> None:
        self.graph = graph
        self.boundary = boundary
        self.lines: list[str] = []
        self.names: list[str] = []
        self.declared: set[str] = set()

    def function(self, name: str) -> str:
        """The whole function."""
        kinds = self.boundary.parameters
        parameters = [f"{boundary_type(kind)} %p{at}" for at, kind in enumerate(kinds)]
        inside = [part for at, kind in enumerate(kinds) for part in self.inward(f"%p{at}", kind)]
        self.names.extend(inside)
        for node in self.graph.nodes[len(inside) :]:
            self.names.append(self.node(node))
        results = [boundary_type(kind) for kind in self.boundary.results]
        returned = results[0] if len(results) == 1 else "{ " + ", ".join(results) + " }"
        value = self.result(returned, results)
        head = f"define internal {returned} @{name}({', '.join(parameters)}) alwaysinline nounwind {{"
        return "\n".join([head, *self.lines, f"  ret {returned} {value}", "}"])

    def inward(self, name: str, kind: ScalarType) -> list[str]:
        """A parameter as the values that it is inside."""
        if kind is ScalarType.BOOL:
            return [self.line(f"icmp ne i8 {name}, 0")]
        if kind.category == COMPLEX:
            return [self.line(f"extractvalue {boundary_type(kind)} {name}, {part}") for part in range(2)]
        return [name]

    def result(self, returned: str, types: list[str]) -> str:
        """The value to return."""
        positions = iter(self.graph.results)
        values = [self.outward(kind, positions) for kind in self.boundary.results]
        return values[0] if len(values) == 1 else self.struct(returned, types, values)

    def outward(self, kind: ScalarType, positions: Iterator[int]) -> str:
        """The next result in its boundary type."""
        value = self.names[next(positions)]
        if kind is ScalarType.BOOL:
            return self.line(f"zext i1 {value} to i8")
        if kind.category == COMPLEX:
            return self.struct(boundary_type(kind), [_TYPES[kind.real]] * 2, [value, self.names[next(positions)]])
        return value

    def struct(self, returned: str, types: list[str], values: list[str]) -> str:
        """Several values as one."""
        whole = "poison"
        for at, (kind, value) in enumerate(zip(types, values, strict=True)):
            whole = self.line(f"insertvalue {returned} {whole}, {kind} {value}, {at}")
        return whole

    def line(self, instruction: str) -> str:
        """Add an instruction; the name of its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def node(self, node: Node) -> str:
        """Add a node's instructions; how its value is spelled."""
        if node.op == "constant":
            return _constant(node)
        arguments = [self.names[at] for at in node.arguments]
        kind = self.graph.nodes[node.arguments[0]].type
        printed = _PRINTERS.get(node.op)
        if printed is not None:
            return printed(self, node, kind, arguments)
        return self.library(node, kind, arguments)

    def intrinsic(self, name: str, kind: ScalarType, arguments: list[str], extra: str = "") -> str:
        """A call of an LLVM intrinsic on operands of one type."""
        symbol, operand = f"@llvm.{name}.{_MANGLED[kind]}", _TYPES[kind]
        self.declared.add(
            f"declare {operand} {symbol}({', '.join([operand] * len(arguments))}{', i1' if extra else ''})"
        )
        return self.line(f"call {operand} {symbol}({', '.join(f'{operand} {value}' for value in arguments)}{extra})")

    def library(self, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        """A call of the C library."""
        name, operand = LIBM[node.op] + ("f" if kind is ScalarType.FLOAT32 else ""), _TYPES[kind]
        self.declared.add(f"declare {operand} @{name}({', '.join([operand] * len(arguments))}) {_PURE}")
        return self.line(f"call {operand} @{name}({', '.join(f'{operand} {value}' for value in arguments)}) {_PURE}")


def _constant(node: Node) -> str:
    if node.type.category == BOOL:
        return "true" if node.value else "false"
    if node.type.category == INTEGER:
        return str(node.value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', node.value))[0]:016X}"


Print: TypeAlias = Callable[[_Printer, Node, ScalarType, list[str]], str]


def _binary(floating: str, signed: str, unsigned: str | None = None) -> Print:
    """An instruction by the kind of its operands."""

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        name = floating if kind.category == FLOAT else signed if kind.is_signed else unsigned or signed
        return printer.line(f"{name} {_TYPES[kind]} {arguments[0]}, {arguments[1]}")

    return run


def _intrinsic(name: str) -> Print:
    return lambda printer, node, kind, arguments: printer.intrinsic(name, kind, arguments)


def _extremum(name: str, float_comparison: str) -> Print:
    """The larger or smaller: the first when it is NaN, the second when both are equal."""

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        if kind.category != FLOAT:
            return printer.intrinsic(f"{'s' if kind.is_signed else 'u'}{name}", kind, arguments)
        operand, (first, second) = _TYPES[kind], arguments
        better = printer.line(f"fcmp {float_comparison} {operand} {first}, {second}")
        number = printer.line(f"select i1 {better}, {operand} {first}, {operand} {second}")
        ordered = printer.line(f"fcmp ord {operand} {first}, {first}")
        return printer.line(f"select i1 {ordered}, {operand} {number}, {operand} {first}")

    return run


def _negative(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return printer.line(f"fneg {_TYPES[kind]} {arguments[0]}")
    return printer.line(f"sub {_TYPES[kind]} 0, {arguments[0]}")


def _absolute(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return printer.intrinsic("fabs", kind, arguments)
    return printer.intrinsic("abs", kind, arguments, extra=", i1 false")


def _comparison(floating: str, integer: str) -> Print:
    """Ordered, but for != : NaN differs from everything."""

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        sign = "" if integer in ("eq", "ne") else "s" if kind.is_signed else "u"
        name = f"fcmp {floating}" if kind.category == FLOAT else f"icmp {sign}{integer}"
        return printer.line(f"{name} {_TYPES[kind]} {arguments[0]}, {arguments[1]}")

    return run


def _invert(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    ones = "true" if kind is ScalarType.BOOL else "-1"
    return printer.line(f"xor {_TYPES[kind]} {arguments[0]}, {ones}")


def _select(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    condition, chosen, other = arguments
    operand = _TYPES[node.type]
    return printer.line(f"select i1 {condition}, {operand} {chosen}, {operand} {other}")


def _bitcast(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return printer.line(f"bitcast {_TYPES[kind]} {arguments[0]} to {_TYPES[node.type]}")


def _cast(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """By value; from floats to integers saturating, NaN to 0."""
    source, target = _TYPES[kind], _TYPES[node.type]
    if kind.category == FLOAT and node.type.category == INTEGER:
        symbol = f"@llvm.fpto{'s' if node.type.is_signed else 'u'}i.sat.{_MANGLED[node.type]}.{_MANGLED[kind]}"
        printer.declared.add(f"declare {target} {symbol}({source})")
        return printer.line(f"call {target} {symbol}({source} {arguments[0]})")
    if kind.category == FLOAT:
        name = "fpext" if node.type.bits > kind.bits else "fptrunc"
    elif node.type.category == FLOAT:
        name = "sitofp" if kind.is_signed else "uitofp"
    elif node.type.bits == kind.bits:
        return arguments[0]
    else:
        name = "trunc" if node.type.bits < kind.bits else "sext" if kind.is_signed else "zext"
    return printer.line(f"{name} {source} {arguments[0]} to {target}")


_PRINTERS: Final[dict[str, Print]] = {
    "add": _binary("fadd", "add"),
    "subtract": _binary("fsub", "sub"),
    "multiply": _binary("fmul", "mul"),
    "divide": _binary("fdiv", "sdiv", "udiv"),
    "quotient": _binary("fdiv", "sdiv", "udiv"),
    "fmod": _binary("frem", "srem", "urem"),
    "fma": _intrinsic("fma"),
    "maximum": _extremum("max", "ogt"),
    "minimum": _extremum("min", "olt"),
    "negative": _negative,
    "absolute": _absolute,
    "equal": _comparison("oeq", "eq"),
    "not_equal": _comparison("une", "ne"),
    "less": _comparison("olt", "lt"),
    "less_equal": _comparison("ole", "le"),
    "greater": _comparison("ogt", "gt"),
    "greater_equal": _comparison("oge", "ge"),
    "bitwise_and": _binary("", "and"),
    "bitwise_or": _binary("", "or"),
    "bitwise_xor": _binary("", "xor"),
    "invert": _invert,
    "bits_left": _binary("", "shl"),
    "bits_right": _binary("", "ashr", "lshr"),
    "bits_right_logical": _binary("", "lshr"),
    "select": _select,
    "rare": _select,
    "cast": _cast,
    "bits": _bitcast,
    "from_bits": _bitcast,
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"),
    "sqrt": _intrinsic("sqrt"),
    "copysign": _intrinsic("copysign"),
}
