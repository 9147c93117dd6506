"""Prints scalar graphs as CUDA C++: one ``__device__`` function for each graph, to be called in a kernel.

The text stands on ``prelude.cuh``. Complex numbers are two values inside and a ``Complex`` at the boundary. Everything
is printed exactly (floats in hexadecimal); compiled without contraction, ``--fmad=false``, it gives the bits that the
CPU's code gives, but for the few functions that are left to the mathematics library of the target.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from opdsl.backends.cuda.storage import VALUE_TYPES
from opdsl.scalar.graph import Loop, Node, Number, TypedGraph
from opdsl.scalar.lowering import lower, split_rare
from opdsl.scalar.operations import LIBM
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = ["constant_text", "function_source"]


# Operations of a function that is copied to where it is called. Kernels call one several times over, and a longer one
# costs more in compiling than a call does in running.
_MOST_INLINED = 250


def function_source(graph: TypedGraph, name: str) -> str:
    """A graph as CUDA C++.

    Args:
        graph: what to compute; it is lowered here.
        name: of the function, an identifier.

    Returns:
        The definition of ``void name(parameters, results)``, results by reference, and of what it calls.
    """
    lowered = lower(graph)
    parts = split_rare(lowered)
    if parts is None:
        return _function(lowered, graph, name)
    fast, rare = parts
    test = f"{name}_is_rare"
    texts = [
        _function(lowered, graph, f"{name}_exact"),
        _function(fast, graph, f"{name}_fast"),
        _test(rare, graph, test),
    ]
    given, found = _parameters(graph), [f"result{at}" for at in range(len(graph.results))]
    passed = ", ".join([*(f"p{at}" for at in range(len(given))), *found])
    tested = ", ".join(f"p{at}" for at in range(len(given)))
    return "\n".join(
        [
            *texts,
            f"__device__ inline void {name}({', '.join([*given, *_results(graph)])}) {{",
            f"    if ({test}({tested})) {{",
            f"        {name}_exact({passed});",
            "    } else {",
            f"        {name}_fast({passed});",
            "    }",
            "}",
        ]
    )


def _parameters(graph: TypedGraph) -> list[str]:
    return [f"{VALUE_TYPES[kind]} p{at}" for at, (_, kind) in enumerate(graph.parameters)]


def _results(graph: TypedGraph) -> list[str]:
    return [f"{VALUE_TYPES[kind]}& result{at}" for at, kind in enumerate(graph.result_types)]


def _function(lowered: TypedGraph, graph: TypedGraph, name: str) -> str:
    """A lowered graph as a function with the boundary of the one that it comes from."""
    lines, names = _body(lowered, graph)
    inlined = "inline" if len(lines) <= _MOST_INLINED else "__noinline__"
    found = iter(lowered.results)
    stores = [f"    result{at} = {_outward(kind, found, names)};" for at, kind in enumerate(graph.result_types)]
    head = f"__device__ {inlined} void {name}({', '.join([*_parameters(graph), *_results(graph)])}) {{"
    return "\n".join([head, *lines, *stores, "}"])


def _test(lowered: TypedGraph, graph: TypedGraph, name: str) -> str:
    """A lowered graph with one result, a bool, as a function that returns it."""
    lines, names = _body(lowered, graph)
    head = f"__device__ inline bool {name}({', '.join(_parameters(graph))}) {{"
    return "\n".join([head, *lines, f"    return {names[lowered.results[0]]};", "}"])


def _body(lowered: TypedGraph, graph: TypedGraph) -> tuple[list[str], list[str]]:
    """The statements of a lowered graph, and how each of its nodes is spelled."""
    given = [part for at, (_, kind) in enumerate(graph.parameters) for part in _inward(f"p{at}", kind)]
    lines: list[str] = []
    return lines, _statements(lowered, given, lines)


def _statements(graph: TypedGraph, given: list[str], lines: list[str]) -> list[str]:
    """Add the statements of a lowered graph to lines; how each of its nodes is spelled, ``given`` parameters."""
    names = [*given]
    loops: dict[int, list[str]] = {}
    for position, node in enumerate(graph.nodes[len(given) :], len(given)):
        if node.op == "constant":
            assert isinstance(node.value, (bool, int, float, complex)), "constants have numbers"
            names.append(constant_text(node.value, node.type))
        elif isinstance(node.value, Loop):
            loops[position] = _loop(node.value, [names[at] for at in node.arguments], lines)
            names.append("")
        elif node.op == "item":
            names.append(loops[node.arguments[0]][int(str(node.value))])
        else:
            names.append(f"v{len(lines)}")
            lines.append(f"    const {VALUE_TYPES[node.type]} {names[-1]} = {_expression(graph, node, names)};")
    return names


def _loop(loop: Loop, operands: list[str], lines: list[str]) -> list[str]:
    """Add a loop to lines; where what it carried is found behind it."""
    count = len(loop.carried)
    first, begin, same = operands[0], operands[1 : count + 1], operands[count + 1 :]
    goes_on, turn = f"v{len(lines)}", f"turn{len(lines)}"
    lines.append(f"    bool {goes_on} = {first};")
    carried: list[str] = []
    for kind, value in zip(loop.carried, begin, strict=True):
        carried.append(f"v{len(lines)}")
        lines.append(f"    {VALUE_TYPES[kind]} {carried[-1]} = {value};")
    most = "" if loop.most is None else f" && {turn} < {loop.most}LL"
    lines.append(f"    for (long long {turn} = 0; {goes_on}{most}; ++{turn}) {{")
    names = _statements(loop.body, [*carried, *same], lines)
    more, *found = (names[at] for at in loop.body.results)
    following: list[str] = []  # all are read before one is written
    for kind, value in zip(loop.carried, found, strict=True):
        following.append(f"v{len(lines)}")
        lines.append(f"    const {VALUE_TYPES[kind]} {following[-1]} = {value};")
    lines.append(f"    {goes_on} = {more};")
    lines.extend(f"    {name} = {value};" for name, value in zip(carried, following, strict=True))
    lines.append("    }")
    return carried


def _inward(name: str, kind: ScalarType) -> list[str]:
    return [f"{name}.real", f"{name}.imag"] if kind.category == COMPLEX else [name]


def _outward(kind: ScalarType, positions: Iterator[int], names: list[str]) -> str:
    """The next result in its boundary type."""
    first = names[next(positions)]
    return f"{{{first}, {names[next(positions)]}}}" if kind.category == COMPLEX else first


def constant_text(value: Number, kind: ScalarType) -> str:
    """A number as C++, exactly."""
    if kind.category == COMPLEX:
        number = complex(value)
        return f"{{{constant_text(number.real, kind.real)}, {constant_text(number.imag, kind.real)}}}"
    assert not isinstance(value, complex), "only complex types have complex numbers"
    if kind.category == BOOL:
        return "true" if value else "false"
    if kind.category == INTEGER:
        # C++ has no negative literals, so the smallest long long cannot be written as one.
        suffix = "ULL" if kind is ScalarType.UINT64 else "LL"
        text = f"{value}{suffix}" if value > -(1 << 63) else "(-9223372036854775807LL - 1)"
        return f"static_cast<{VALUE_TYPES[kind]}>({text})"
    return _float_text(float(value), kind)


def _float_text(value: float, kind: ScalarType) -> str:
    if not math.isfinite(value):
        form, bits = ("<f", "<I") if kind is ScalarType.FLOAT32 else ("<d", "<Q")
        (word,) = struct.unpack(bits, struct.pack(form, value))
        return f"same_bits<{VALUE_TYPES[kind]}>({word:#x}u{'' if kind is ScalarType.FLOAT32 else 'll'})"
    text = f"{value.hex()}{'f' if kind is ScalarType.FLOAT32 else ''}"
    return f"({text})" if text.startswith("-") else text


def _expression(graph: TypedGraph, node: Node, names: list[str]) -> str:
    arguments = [names[at] for at in node.arguments]
    kind = graph.nodes[node.arguments[0]].type
    printed = _PRINTERS.get(node.op)
    if printed is None:
        return _call(LIBM[node.op])(node, kind, arguments)
    return printed(node, kind, arguments)


Print: TypeAlias = Callable[[Node, ScalarType, list[str]], str]


def _unsigned(kind: ScalarType) -> str:
    """The type in which integers wrap: signed ones may not overflow in C++, and small ones are widened anyway."""
    return "unsigned long long" if kind.bits == 64 else "unsigned"


def _wrapping(symbol: str) -> Print:
    """An operator of two numbers; integers wrap."""

    def run(node: Node, kind: ScalarType, arguments: list[str]) -> str:
        if kind.category != INTEGER:
            return f"{arguments[0]} {symbol} {arguments[1]}"
        first, second = (f"static_cast<{_unsigned(kind)}>({each})" for each in arguments)
        return f"static_cast<{VALUE_TYPES[node.type]}>({first} {symbol} {second})"

    return run


def _plain(symbol: str) -> Print:
    """An operator of two values, in their own type."""

    def run(node: Node, kind: ScalarType, arguments: list[str]) -> str:
        return f"static_cast<{VALUE_TYPES[node.type]}>({arguments[0]} {symbol} {arguments[1]})"

    return run


def _call(name: str) -> Print:
    """A function of the mathematics library; those of float end in f."""

    def run(node: Node, kind: ScalarType, arguments: list[str]) -> str:
        return f"{name}{'f' if kind is ScalarType.FLOAT32 else ''}({', '.join(arguments)})"

    return run


def _modulus(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return _call("fmod")(node, kind, arguments) if kind.category == FLOAT else _plain("%")(node, kind, arguments)


def _extremum(symbol: str) -> Print:
    """The larger or smaller: the first when it is NaN, the second when both are equal."""

    def run(node: Node, kind: ScalarType, arguments: list[str]) -> str:
        first, second = arguments
        unordered = f"{first} != {first} || " if kind.category == FLOAT else ""
        return f"{unordered}{first} {symbol} {second} ? {first} : {second}"

    return run


def _negative(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return f"-{arguments[0]}"
    return f"static_cast<{VALUE_TYPES[kind]}>(0u - static_cast<{_unsigned(kind)}>({arguments[0]}))"


def _absolute(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return _call("fabs")(node, kind, arguments)
    if not kind.is_signed:
        return arguments[0]
    return f"{arguments[0]} < 0 ? {_negative(node, kind, arguments)} : {arguments[0]}"


def _invert(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return f"!{arguments[0]}" if kind is ScalarType.BOOL else f"static_cast<{VALUE_TYPES[kind]}>(~{arguments[0]})"


def _shift_logically(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """Zeros come in: the number is taken as an unsigned one of its own width."""
    unsigned = {8: "unsigned char", 16: "unsigned short"}.get(kind.bits, _unsigned(kind))
    return f"static_cast<{VALUE_TYPES[kind]}>(static_cast<{unsigned}>({arguments[0]}) >> {arguments[1]})"


def _select(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return f"{arguments[0]} ? {arguments[1]} : {arguments[2]}"


def _same_bits(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return f"same_bits<{VALUE_TYPES[node.type]}>({arguments[0]})"


def _cast(node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """By value; from floats to integers saturating, NaN to 0."""
    target = VALUE_TYPES[node.type]
    if kind.category != FLOAT or node.type.category != INTEGER:
        return f"static_cast<{target}>({arguments[0]})"
    low, high = (constant_text(bound, node.type) for bound in node.type.bounds)
    return f"saturating<{target}>({arguments[0]}, {low}, {high})"


_PRINTERS: Final[dict[str, Print]] = {
    "add": _wrapping("+"),
    "subtract": _wrapping("-"),
    "multiply": _wrapping("*"),
    "divide": _plain("/"),
    "quotient": _plain("/"),
    "fmod": _modulus,
    "fma": _call("fma"),
    "maximum": _extremum(">"),
    "minimum": _extremum("<"),
    "negative": _negative,
    "absolute": _absolute,
    "equal": _plain("=="),
    "not_equal": _plain("!="),
    "less": _plain("<"),
    "less_equal": _plain("<="),
    "greater": _plain(">"),
    "greater_equal": _plain(">="),
    "bitwise_and": _plain("&"),
    "bitwise_or": _plain("|"),
    "bitwise_xor": _plain("^"),
    "invert": _invert,
    "bits_left": _wrapping("<<"),
    "bits_right": _plain(">>"),
    "bits_right_logical": _shift_logically,
    "select": _select,
    "rare": _select,
    "cast": _cast,
    "bits": _same_bits,
    "from_bits": _same_bits,
    "floor": _call("floor"),
    "ceil": _call("ceil"),
    "trunc": _call("trunc"),
    "round": _call("rint"),
    "sqrt": _call("sqrt"),
    "copysign": _call("copysign"),
}
