"""Printer of scalar graphs as LLVM IR: one internal function for each graph, to be inlined into a loop.

Functions may be printed for vectors, too, with an element in each lane. A loop then runs until it has ended for all
lanes, and lanes in which it has ended keep their values.

Booleans are ``i1`` inside and ``i8`` (0 or 1) at the function's boundary; complex numbers are two values inside and a
struct of them at the boundary. Constants are printed exactly (floats as bits), and no instruction has fast-math flags,
so that the result of an element does not depend on its position in a loop.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from opdsl.backends.cpu.casts import bitcast, cast
from opdsl.backends.cpu.interruptions import allowed_again, allowed_at_first
from opdsl.scalar.graph import Loop, Node, TypedGraph
from opdsl.scalar.lowering import lower, split_loops, split_rare
from opdsl.scalar.operations import LIBM
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = [
    "boundary_type",
    "declarations",
    "function_ir",
    "lanes_for",
    "lanes_ir",
    "rare_ir",
    "vector_ir",
    "vectorises",
]

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
    """Return the LLVM type in which a value of a scalar type is passed to a function and returned from it.

    Args:
        kind: a scalar type.
    """
    return _BOUNDARY[ScalarType(kind)]


class Boundary(NamedTuple):
    """Types of a function's parameters and results."""

    parameters: tuple[ScalarType, ...]
    results: tuple[ScalarType, ...]


def _boundary(graph: TypedGraph) -> Boundary:
    return Boundary(tuple(kind for _, kind in graph.parameters), graph.result_types)


def function_ir(graph: TypedGraph, name: str) -> str:
    """Return the LLVM IR of a function that computes a scalar graph.

    Args:
        graph: the computation; it is lowered here.
        name: the function's symbol, without ``@``.

    Returns:
        ``define internal <result> @name(<parameters>)``; several results are a literal struct. ``declarations`` returns
        the declarations of the functions that it calls.
    """
    return _Printer(_lowered(graph), _boundary(graph)).function(name)


def vector_ir(graph: TypedGraph, name: str, lanes: int) -> str:
    """Return the LLVM IR of a function that computes a scalar graph for vectors, with an element in each lane.

    Args:
        graph: real, without loops; it is lowered here.
        name: the function's symbol, without ``@``.
        lanes: of a vector.
    """
    return _Printer(_lowered(graph), _boundary(graph), lanes).function(name)


def declarations(graph: TypedGraph, vector_lanes: int = 1) -> set[str]:
    """Return the ``declare`` lines that a graph's function needs; a module with several functions must have each line
    once.

    Args:
        graph: the graph that ``function_ir`` is given.
        vector_lanes: the number of lanes that ``vector_ir`` is given.
    """
    lines: set[str] = set()
    for lanes in {1, vector_lanes, lanes_for(graph)}:
        printer = _Printer(_lowered(graph), _boundary(graph), lanes)
        printer.function("unused")
        lines |= printer.declared
    return lines


def vectorises(graph: TypedGraph) -> bool:
    """Return whether LLVM can vectorize a graph's function: it has no loops and calls only intrinsics, not the C
    library.
    """
    has_loops = any(isinstance(node.value, Loop) for node in graph.nodes)
    return not has_loops and all("@llvm." in line for line in declarations(graph))


# The width of the widest registers, and the operations that have no vector instructions.
_REGISTER_BITS = 512
_ONE_BY_ONE = frozenset({"quotient", "fmod", *LIBM})


def lanes_for(graph: TypedGraph) -> int:
    """Return the number of elements to compute at once for a graph with loops, or 1 if that does not pay.

    Args:
        graph: the graph that ``function_ir`` is given.
    """
    if any(kind.category == COMPLEX for kind in (*(kind for _, kind in graph.parameters), *graph.result_types)):
        return 1
    nodes = list(_repeated(_lowered(graph), 1))
    if not nodes or any(node.op in _ONE_BY_ONE for node in nodes):
        return 1
    return _REGISTER_BITS // max(node.type.bits for node in nodes)


def _repeated(graph: TypedGraph, turns: int | None) -> Iterator[Node]:
    """Yield the nodes in a graph's loops, and its own if ``turns`` is not 1; a loop of one iteration is a branch."""
    if turns != 1:
        yield from graph.nodes
    for node in graph.nodes:
        if isinstance(node.value, Loop):
            yield from _repeated(node.value.body, node.value.most)


def lanes_ir(graph: TypedGraph, name: str) -> str:
    """Return the LLVM IR of a graph's vector function ``@name.lanes``, for ``lanes_for`` elements, and of two scalar
    ones.

    ``@name.costly`` returns whether a loop of the graph runs for an element (i8, 0 or 1), and ``@name.cheap`` computes
    the elements for which none does. For a graph with rare cases all three belong to ``@name.fast``.

    Args:
        graph, name: as for ``function_ir``; the declarations are the same.
    """
    lowered, outward, lanes = _lowered(graph), _boundary(graph), lanes_for(graph)
    parts = split_rare(lowered)
    if parts is not None:
        lowered, name = parts[0], f"{name}.fast"
    cheap, costly = split_loops(lowered)
    return "\n".join(
        [
            _Printer(lowered, outward, lanes).function(f"{name}.lanes"),
            _Printer(cheap, outward).function(f"{name}.cheap"),
            _Printer(costly, outward._replace(results=costly.result_types)).function(f"{name}.costly"),
        ]
    )


def rare_ir(graph: TypedGraph, name: str) -> str | None:
    """Return the LLVM IR of the fast variant of a graph with rare cases (huge arguments of ``sin``, say), or None.

    A loop over a block of elements for which ``@name.rare`` is false may call ``@name.fast``, which LLVM vectorizes.
    Other loops call the function of ``function_ir``, which handles every argument.

    Args:
        graph: as for ``function_ir``; the declarations are the same.
        name: as for ``function_ir``.

    Returns:
        ``@name.fast``, with the signature of ``@name``, and ``@name.rare``, with its parameters and result i8 (0 or 1);
        None for a graph without rare cases.
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
    """Return a lowered graph; cached, because ``function_ir`` and ``declarations`` both need it."""
    return lower(graph)


class _Printer:
    """Printer of one lowered graph as an LLVM function.

    boundary: the types in the function's signature.
    lanes: how many elements are computed at once.
    block: the label of the current basic block.
    mask: with several lanes, the value that says in which lanes the current loop goes on.
    allowed: the value that says whether no signal has stopped an inner loop of the current body.
    declared: the declarations that are needed so far.
    """

    def __init__(self, graph: TypedGraph, boundary: Boundary, lanes: int = 1) -> None:
        self.graph = graph
        self.boundary = boundary
        self.lanes = lanes
        self.lines: list[str] = []
        self.block = "entry"
        self.mask: str | None = None
        self.allowed = "true"
        self.declared: set[str] = set()

    def function(self, name: str) -> str:
        """Return the text of the whole function."""
        kinds = self.boundary.parameters
        parameters = [f"{self.many(boundary_type(kind))} %p{at}" for at, kind in enumerate(kinds)]
        inside = [part for at, kind in enumerate(kinds) for part in self.inward(f"%p{at}", kind)]
        names = self.values(self.graph, inside)
        results = [self.many(boundary_type(kind)) for kind in self.boundary.results]
        returned = results[0] if len(results) == 1 else "{ " + ", ".join(results) + " }"
        value = self.result(returned, results, names)
        head = f"define internal {returned} @{name}({', '.join(parameters)}) alwaysinline nounwind {{\nentry:"
        return "\n".join([head, *self.lines, f"  ret {returned} {value}", "}"])

    def values(self, graph: TypedGraph, texts: list[str]) -> list[str]:
        """Emit the instructions of a graph's nodes, and return the operand text of each node, given that of the
        parameters.
        """
        names: list[str | list[str]] = [*texts]
        for node in graph.nodes[len(texts) :]:
            if isinstance(node.value, Loop):
                names.append(self.loop(node.value, [str(names[at]) for at in node.arguments]))
            elif node.op == "item":
                names.append(names[node.arguments[0]][int(str(node.value))])
            else:
                kind = graph.nodes[node.arguments[0]].type if node.arguments else node.type
                names.append(self.node(node, kind, [str(names[at]) for at in node.arguments]))
        return names  # type: ignore[return-value]  # lists belong to loops, which only items use

    def loop(self, loop: Loop, operands: list[str]) -> list[str]:
        """Emit a loop, and return its carried values after the last iteration."""
        count = len(loop.carried)
        first, begin, same = operands[0], operands[1 : count + 1], operands[count + 1 :]
        boolean, outer = self.type(ScalarType.BOOL), self.mask
        if outer is not None:
            first = self.line(f"and {boolean} {outer}, {first}")
        label = f"loop{len(self.lines)}"
        some, begins, outside = self.any(first), allowed_at_first(self, loop), self.allowed
        some = self.both(some, begins)
        before, self.allowed = self.block, "true"
        self.lines.append(f"  br i1 {some}, label %{label}, label %{label}_end\n{label}:")
        self.block = label
        kinds = [self.type(kind) for kind in loop.carried]
        # Placeholders of phi nodes, whose operands are known at the end of the loop.
        going, turn = self.line(""), self.line("")
        carried = [self.line("") for _ in kinds]
        self.mask = going if self.lanes > 1 else None
        more, *lines = self.results(loop.body, [*carried, *same])
        if self.lanes > 1:
            lines = [
                self.line(f"select {boolean} {going}, {kind} {new}, {kind} {old}")
                for kind, new, old in zip(kinds, lines, carried, strict=True)
            ]
            more = self.line(f"and {boolean} {going}, {more}")
        self.mask = outer
        following = self.line(f"add i64 {turn}, 1")
        allowed = self.both(self.allowed, allowed_again(self, loop, following))
        again = self.both(self.any(more), allowed)
        if loop.most is not None:
            again = self.both(again, self.line(f"icmp ult i64 {following}, {loop.most}"))
        ends = zip((boolean, "i64", *kinds), (first, "0", *begin), (more, following, *lines), strict=True)
        for name, (kind, start, end) in zip((going, turn, *carried), ends, strict=True):
            self.lines[int(name[2:])] = f"  {name} = phi {kind} [ {start}, %{before} ], [ {end}, %{self.block} ]"
        latch, self.block = self.block, f"{label}_end"
        self.lines.append(f"  br i1 {again}, label %{label}, label %{label}_end\n{label}_end:")
        kinds, begin, lines = ["i1", *kinds], [begins, *begin], [allowed, *lines]
        answer, *last = [
            self.line(f"phi {kind} [ {start}, %{before} ], [ {end}, %{latch} ]")
            for kind, start, end in zip(kinds, begin, lines, strict=True)
        ]
        self.allowed = outside if allowed == "true" else self.both(outside, answer)
        return last

    def results(self, graph: TypedGraph, texts: list[str]) -> list[str]:
        """Emit the instructions of a nested graph, and return its results."""
        names = self.values(graph, texts)
        return [names[at] for at in graph.results]

    def both(self, one: str, other: str) -> str:
        """Emit the conjunction of two booleans."""
        return one if other == "true" else other if one == "true" else self.line(f"and i1 {one}, {other}")

    def any(self, flags: str) -> str:
        """Emit a reduction that says whether a boolean holds in any lane."""
        if self.lanes == 1:
            return flags
        operand, symbol = self.type(ScalarType.BOOL), f"@llvm.vector.reduce.or.v{self.lanes}i1"
        self.declared.add(f"declare i1 {symbol}({operand})")
        return self.line(f"call i1 {symbol}({operand} {flags})")

    def many(self, kind: str) -> str:
        """Return the LLVM vector type for all lanes of an element type."""
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"

    def type(self, kind: ScalarType) -> str:
        """Return the LLVM type of a value inside the function."""
        return self.many(_TYPES[kind])

    def mangled(self, kind: ScalarType) -> str:
        """Return the spelling of a value's type in the name of an intrinsic."""
        return _MANGLED[kind] if self.lanes == 1 else f"v{self.lanes}{_MANGLED[kind]}"

    def constant(self, kind: str, text: str) -> str:
        """Return a constant of a type, repeated for each lane."""
        return text if self.lanes == 1 else f"<{', '.join([f'{kind} {text}'] * self.lanes)}>"

    def inward(self, name: str, kind: ScalarType) -> list[str]:
        """Emit the conversion of a parameter to the values that represent it inside the function."""
        if kind is ScalarType.BOOL:
            return [self.line(f"icmp ne {self.many('i8')} {name}, {self.constant('i8', '0')}")]
        if kind.category == COMPLEX:
            return [self.line(f"extractvalue {boundary_type(kind)} {name}, {part}") for part in range(2)]
        return [name]

    def result(self, returned: str, types: list[str], names: list[str]) -> str:
        """Emit the conversion of the graph's results to the value that the function returns."""
        texts = iter([names[at] for at in self.graph.results])
        values = [self.outward(kind, texts) for kind in self.boundary.results]
        return values[0] if len(values) == 1 else self.struct(returned, types, values)

    def outward(self, kind: ScalarType, texts: Iterator[str]) -> str:
        """Emit the conversion of the next result to its type at the boundary."""
        value = next(texts)
        if kind is ScalarType.BOOL:
            return self.line(f"zext {self.many('i1')} {value} to {self.many('i8')}")
        if kind.category == COMPLEX:
            return self.struct(boundary_type(kind), [_TYPES[kind.real]] * 2, [value, next(texts)])
        return value

    def struct(self, returned: str, types: list[str], values: list[str]) -> str:
        """Emit a struct of several values."""
        whole = "poison"
        for at, (kind, value) in enumerate(zip(types, values, strict=True)):
            whole = self.line(f"insertvalue {returned} {whole}, {kind} {value}, {at}")
        return whole

    def line(self, instruction: str) -> str:
        """Append an instruction, and return the name of its result."""
        register = f"%v{len(self.lines)}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def node(self, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        """Emit the instructions of a node for operands of type ``kind``, and return the operand text of its value."""
        if node.op == "constant":
            return self.constant(_TYPES[node.type], _constant(node))
        printed = _PRINTERS.get(node.op)
        if printed is not None:
            return printed(self, node, kind, arguments)
        return self.library(node, kind, arguments)

    def intrinsic(self, name: str, kind: ScalarType, arguments: list[str], extra: str = "") -> str:
        """Emit a call of an LLVM intrinsic on operands of one type."""
        symbol, operand = f"@llvm.{name}.{self.mangled(kind)}", self.type(kind)
        self.declared.add(
            f"declare {operand} {symbol}({', '.join([operand] * len(arguments))}{', i1' if extra else ''})"
        )
        return self.line(f"call {operand} {symbol}({', '.join(f'{operand} {value}' for value in arguments)}{extra})")

    def library(self, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        """Emit a call of a C library function, once for each lane."""
        routine, operand = LIBM[node.op] + ("f" if kind is ScalarType.FLOAT32 else ""), _TYPES[kind]
        self.declared.add(f"declare {operand} @{routine}({', '.join([operand] * len(arguments))}) {_PURE}")
        if self.lanes == 1:
            return self.line(f"call {operand} @{routine}({_listed(operand, arguments)}) {_PURE}")
        vector, line = self.type(kind), "poison"
        for lane in range(self.lanes):
            lines = [self.line(f"extractelement {vector} {argument}, i32 {lane}") for argument in arguments]
            value = self.line(f"call {operand} @{routine}({_listed(operand, lines)}) {_PURE}")
            line = self.line(f"insertelement {vector} {line}, {operand} {value}, i32 {lane}")
        return line


def _listed(operand: str, arguments: list[str]) -> str:
    return ", ".join(f"{operand} {value}" for value in arguments)


def _constant(node: Node) -> str:
    if node.type.category == BOOL:
        return "true" if node.value else "false"
    if node.type.category == INTEGER:
        return str(node.value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', node.value))[0]:016X}"


Print: TypeAlias = Callable[[_Printer, Node, ScalarType, list[str]], str]


def _binary(floating: str, signed: str, unsigned: str | None = None) -> Print:
    """Return a printer of a binary instruction that depends on whether operands are floats, signed or unsigned
    integers.
    """

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        instruction = floating if kind.category == FLOAT else signed if kind.is_signed else unsigned or signed
        return printer.line(f"{instruction} {printer.type(kind)} {arguments[0]}, {arguments[1]}")

    return run


def _intrinsic(name: str) -> Print:
    return lambda printer, node, kind, arguments: printer.intrinsic(name, kind, arguments)


def _rounding(name: str) -> Print:
    """Return a printer of a rounding function, with a redundant copysign because LLVM would round float16 element by
    element.
    """

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        rounded = printer.intrinsic(name, kind, arguments)
        return printer.intrinsic("copysign", kind, [rounded, *arguments])

    return run


def _extremum(name: str, float_comparison: str) -> Print:
    """Return a printer of maximum or minimum: the first operand if it is NaN, the second if both are equal."""

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        if kind.category != FLOAT:
            return printer.intrinsic(f"{'s' if kind.is_signed else 'u'}{name}", kind, arguments)
        operand, (first, second) = printer.type(kind), arguments
        better = printer.line(f"fcmp {float_comparison} {operand} {first}, {second}")
        boolean = printer.type(ScalarType.BOOL)
        number = printer.line(f"select {boolean} {better}, {operand} {first}, {operand} {second}")
        ordered = printer.line(f"fcmp ord {operand} {first}, {first}")
        return printer.line(f"select {boolean} {ordered}, {operand} {number}, {operand} {first}")

    return run


def _negative(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return printer.line(f"fneg {printer.type(kind)} {arguments[0]}")
    return printer.line(f"sub {printer.type(kind)} {printer.constant(_TYPES[kind], '0')}, {arguments[0]}")


def _absolute(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return printer.intrinsic("fabs", kind, arguments)
    return printer.intrinsic("abs", kind, arguments, extra=", i1 false")


def _comparison(floating: str, integer: str) -> Print:
    """Return a printer of a comparison: with NaN it is false, except that != is true."""

    def run(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        sign = "" if integer in ("eq", "ne") else "s" if kind.is_signed else "u"
        instruction = f"fcmp {floating}" if kind.category == FLOAT else f"icmp {sign}{integer}"
        return printer.line(f"{instruction} {printer.type(kind)} {arguments[0]}, {arguments[1]}")

    return run


def _invert(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    ones = "true" if kind is ScalarType.BOOL else "-1"
    return printer.line(f"xor {printer.type(kind)} {arguments[0]}, {printer.constant(_TYPES[kind], ones)}")


def _select(printer: _Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    condition, chosen, other = arguments
    operand = printer.type(node.type)
    return printer.line(f"select {printer.type(ScalarType.BOOL)} {condition}, {operand} {chosen}, {operand} {other}")


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
    "cast": cast,
    "bits": bitcast,
    "from_bits": bitcast,
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "round": _rounding("rint"),
    "sqrt": _intrinsic("sqrt"),
    "copysign": _intrinsic("copysign"),
}
