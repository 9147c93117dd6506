"""Printer of scalar graphs as C functions, which kernels call; backends subclass ``Dialect`` for their language.

A complex number is two values inside a function, and a structure in its parameters and results. Constants are printed
exactly (floats in hexadecimal). Compiled without contraction to FMA, a function gives the same bits as the CPU's code,
except for the few functions that are left to the math library of the target.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from opdsl.runtime.dtype import DType
from opdsl.scalar.formats import NARROW
from opdsl.scalar.graph import Loop, Node, Number, TypedGraph
from opdsl.scalar.lowering import lower, split_rare
from opdsl.scalar.operations import LIBM
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType
from opdsl.scalar.widths import is_word

__all__ = ["Dialect", "constant_text", "conversions", "function_source", "loaded_kind"]


class Dialect:
    """Spelling of types, casts and functions in a C-like language; the base class spells C with OpenCL's vector types.

    types: C types of values.
    stored: C types of elements in memory, by dtype name, where they differ from those of values.
    unsigned: the unsigned types of 32 and of 64 bits, in which integer arithmetic wraps around.
    suffixes: of 64-bit constants, signed and unsigned.
    single: suffix of the names of math functions of float.
    reference, target, passed: the tokens by which a result is declared as a parameter (``*``), assigned to (``*``) and
        passed as an argument (``&``).
    """

    types: Mapping[ScalarType, str]
    stored: Mapping[str, str]
    unsigned: tuple[str, str]
    suffixes: tuple[str, str]
    single = ""
    reference = "*"
    target = "*"
    passed = "&"

    def stored_type(self, dtype: DType) -> str:
        """Return the C type of an array element in memory."""
        return self.stored.get(dtype.name) or self.types[ScalarType(dtype.name)]

    def head(self, *, inlined: bool) -> str:
        """Return the specifiers in front of a function definition, such as ``static inline``."""
        return "static inline" if inlined else "static __attribute__((noinline))"

    def cast(self, kind: str, text: str) -> str:
        """Return the expression that casts a value to a C type."""
        return f"(({kind})({text}))"

    def same_bits(self, kind: ScalarType, text: str) -> str:
        """Return the expression that reinterprets the bits of a value as another type."""
        return f"as_{self.types[kind]}({text})"

    def float_of_bits(self, kind: ScalarType, word: int) -> str:
        """Return the expression of a float given by its bits, for infinities and NaN, which have no literal."""
        return self.same_bits(kind, f"{word:#x}{'u' if kind is ScalarType.FLOAT32 else self.suffixes[1]}")

    def complex_value(self, kind: ScalarType, real: str, imag: str) -> str:
        """Return the expression of a complex number with a real and an imaginary part."""
        return f"({self.types[kind]}){{{real}, {imag}}}"

    def converted(self, value: str, source: ScalarType, kind: ScalarType) -> str:
        """Return the expression that converts a value to another type as ``Tensor.to`` does; it may call the functions
        of ``conversions``.
        """
        if source is kind:
            return value
        if source.category == COMPLEX and kind.category not in (COMPLEX, BOOL):
            return self.converted(f"({value}).real", source.real, kind)
        if source.category == COMPLEX or (source.category == FLOAT and kind.category == INTEGER):
            return f"{kind.value}_of_{source.value}({value})"
        if kind.category == COMPLEX:
            return self.complex_value(kind, self.converted(value, source, kind.real), "0")
        return f"({value} != 0)" if kind.category == BOOL else self.cast(self.types[kind], value)


def loaded_kind(dtype: DType) -> ScalarType:
    """Return the scalar type of a loaded element: float32 for narrower floats, which exist in memory only."""
    return ScalarType.FLOAT32 if dtype.name in NARROW else ScalarType(dtype.name)


def conversions(to: Dialect, floats: Sequence[ScalarType]) -> list[str]:
    """Return the definitions of the functions that convert complex numbers to other types, and floats to integers.

    Args:
        to: the language.
        floats: the floating-point types that the target supports.
    """
    complexes = [kind for kind in ScalarType if kind.category == COMPLEX and kind.real in floats]
    functions = []
    for source in complexes:
        functions.append((ScalarType.BOOL, source, "value.real != 0 || value.imag != 0"))
        for kind in complexes:
            if kind is not source:
                parts = (to.cast(to.types[kind.real], f"value.{part}") for part in ("real", "imag"))
                functions.append((kind, source, to.complex_value(kind, *parts)))
    for source in floats:
        functions += [(kind, source, _integer_of(to, kind, source)) for kind in ScalarType if kind.category == INTEGER]
    return [
        f"{to.head(inlined=True)} {to.types[kind]} {kind.value}_of_{source.value}({to.types[source]} value) "
        f"{{ return {value}; }}"
        for kind, source, value in functions
    ]


def _integer_of(to: Dialect, kind: ScalarType, source: ScalarType) -> str:
    """Return the expression that converts a float named ``value`` to an integer, with PyTorch's results on x86.

    The float is converted to int64 or int32 first. The smallest integer of that type represents values out of its
    range; the low bits of the result are kept.
    """
    wide = kind.bits == 64 or (not kind.is_signed and kind.bits != 16)
    through = ScalarType.INT64 if wide else ScalarType.INT32
    limit = constant_text(to, float(1 << through.bits - 1), source)
    if kind is ScalarType.UINT64:
        signed, own = f"int64_of_{source.value}", to.types[kind]
        above = f"{to.cast(own, f'{signed}(value - {limit})')} ^ 1{to.suffixes[1]} << 63"
        return f"value >= {limit} ? {above} : {to.cast(own, f'{signed}(value)')}"
    least = constant_text(to, through.bounds[0], through)
    fitting = f"value < {limit} && value > -{limit} ? {to.cast(to.types[through], 'value')} : {least}"
    return to.cast(to.types[kind], fitting)


# The most lines of a function that is declared inline. Kernels contain several calls of a function, and inlining a
# longer one costs more compile time than the calls cost run time.
_MOST_INLINED = 250


def function_source(to: Dialect, graph: TypedGraph, name: str, *, coarse: bool = False) -> str:
    """Return the C source of a function that computes a scalar graph.

    Args:
        to: the language.
        graph: the computation; it is lowered here.
        name: of the function, an identifier.
        coarse: whether its results are rounded to 16 bits, see ``lower``.

    Returns:
        The definition of ``void name(parameters, results)``, results by reference, and of the functions that it calls.
    """
    lowered = lower(graph, coarse=coarse)
    parts = split_rare(lowered)
    if parts is None:
        return _function(to, lowered, graph, name)
    fast, rare = parts
    test = f"{name}_is_rare"
    texts = [
        _function(to, lowered, graph, f"{name}_exact"),
        _function(to, fast, graph, f"{name}_fast"),
        _test(to, rare, graph, test),
    ]
    parameters, results = _parameters(to, graph), [f"result{at}" for at in range(len(graph.results))]
    passed = ", ".join([*(f"p{at}" for at in range(len(parameters))), *results])
    tested = ", ".join(f"p{at}" for at in range(len(parameters)))
    return "\n".join(
        [
            *texts,
            f"{to.head(inlined=True)} void {name}({', '.join([*parameters, *_results(to, graph)])}) {{",
            f"    if ({test}({tested})) {{",
            f"        {name}_exact({passed});",
            "    } else {",
            f"        {name}_fast({passed});",
            "    }",
            "}",
        ]
    )


def _parameters(to: Dialect, graph: TypedGraph) -> list[str]:
    return [f"{to.types[kind]} p{at}" for at, (_, kind) in enumerate(graph.parameters)]


def _results(to: Dialect, graph: TypedGraph) -> list[str]:
    return [f"{to.types[kind]}{to.reference} result{at}" for at, kind in enumerate(graph.result_types)]


def _function(to: Dialect, lowered: TypedGraph, graph: TypedGraph, name: str) -> str:
    """Return the C source of a lowered graph's function, with the signature of the graph before lowering."""
    lines, names = _body(to, lowered, graph)
    numbers = iter(lowered.results)
    stores = [
        f"    {to.target}result{at} = {_outward(to, kind, numbers, names)};"
        for at, kind in enumerate(graph.result_types)
    ]
    inlined = to.head(inlined=len(lines) <= _MOST_INLINED)
    head = f"{inlined} void {name}({', '.join([*_parameters(to, graph), *_results(to, graph)])}) {{"
    return "\n".join([head, *lines, *stores, "}"])


def _test(to: Dialect, lowered: TypedGraph, graph: TypedGraph, name: str) -> str:
    """Return the C source of a function that computes a lowered graph with one bool result, and returns it."""
    lines, names = _body(to, lowered, graph)
    head = f"{to.head(inlined=True)} bool {name}({', '.join(_parameters(to, graph))}) {{"
    return "\n".join([head, *lines, f"    return {names[lowered.results[0]]};", "}"])


def _body(to: Dialect, lowered: TypedGraph, graph: TypedGraph) -> tuple[list[str], list[str]]:
    """Return the statements of a lowered graph, and the expression of each of its nodes."""
    parts = [part for at, (_, kind) in enumerate(graph.parameters) for part in _inward(f"p{at}", kind)]
    lines: list[str] = []
    return lines, _statements(to, lowered, parts, lines)


def _statements(to: Dialect, graph: TypedGraph, texts: list[str], lines: list[str]) -> list[str]:
    """Append the statements of a lowered graph to ``lines``, and return the expression of each node; ``texts`` are
    those of the parameters.
    """
    names = [*texts]
    loops: dict[int, list[str]] = {}
    for position, node in enumerate(graph.nodes[len(texts) :], len(texts)):
        if node.op == "constant":
            assert isinstance(node.value, (bool, int, float, complex)), "constants have numbers"
            names.append(constant_text(to, node.value, node.type))
        elif isinstance(node.value, Loop):
            loops[position] = _loop(to, node.value, [names[at] for at in node.arguments], lines)
            names.append("")
        elif node.op == "item":
            names.append(loops[node.arguments[0]][int(str(node.value))])
        else:
            names.append(f"v{len(lines)}")
            lines.append(f"    const {to.types[node.type]} {names[-1]} = {_expression(to, graph, node, names)};")
    return names


def _loop(to: Dialect, loop: Loop, operands: list[str], lines: list[str]) -> list[str]:
    """Append a loop of a scalar graph to ``lines``, and return the variables of its carried values."""
    count = len(loop.carried)
    first, begin, same = operands[0], operands[1 : count + 1], operands[count + 1 :]
    goes_on, turn = f"v{len(lines)}", f"turn{len(lines)}"
    lines.append(f"    bool {goes_on} = {first};")
    carried: list[str] = []
    for kind, value in zip(loop.carried, begin, strict=True):
        carried.append(f"v{len(lines)}")
        lines.append(f"    {to.types[kind]} {carried[-1]} = {value};")
    most = "" if loop.most is None else f" && {turn} < {loop.most}{to.suffixes[0]}"
    lines.append(f"    for ({to.types[ScalarType.INT64]} {turn} = 0; {goes_on}{most}; ++{turn}) {{")
    names = _statements(to, loop.body, [*carried, *same], lines)
    more, *texts = (names[at] for at in loop.body.results)
    following: list[str] = []  # new values are computed from the old ones before any is assigned
    for kind, value in zip(loop.carried, texts, strict=True):
        following.append(f"v{len(lines)}")
        lines.append(f"    const {to.types[kind]} {following[-1]} = {value};")
    lines.append(f"    {goes_on} = {more};")
    lines.extend(f"    {name} = {value};" for name, value in zip(carried, following, strict=True))
    lines.append("    }")
    return carried


def _inward(name: str, kind: ScalarType) -> list[str]:
    return [f"{name}.real", f"{name}.imag"] if kind.category == COMPLEX else [name]


def _outward(to: Dialect, kind: ScalarType, positions: Iterator[int], names: list[str]) -> str:
    """Return the expression of the next result in its type in the signature; a complex result consumes two nodes."""
    first = names[next(positions)]
    return to.complex_value(kind, first, names[next(positions)]) if kind.category == COMPLEX else first


def constant_text(to: Dialect, value: Number, kind: ScalarType) -> str:
    """Return an exact literal of a number."""
    if kind.category == COMPLEX:
        number = complex(value)
        parts = (constant_text(to, size, kind.real) for size in (number.real, number.imag))
        return to.complex_value(kind, *parts)
    assert not isinstance(value, complex), "only complex types have complex numbers"
    if kind.category == BOOL:
        return "true" if value else "false"
    if kind.category == INTEGER:
        # C has no negative literals, so the smallest integer has to be computed.
        suffix = to.suffixes[kind is ScalarType.UINT64]
        text = f"{value}{suffix}" if value > -(1 << 63) else f"(-9223372036854775807{suffix} - 1)"
        return to.cast(to.types[kind], text)
    return _float_text(to, float(value), kind)


def _float_text(to: Dialect, value: float, kind: ScalarType) -> str:
    if not math.isfinite(value):
        form, bits = ("<f", "<I") if kind is ScalarType.FLOAT32 else ("<d", "<Q")
        (word,) = struct.unpack(bits, struct.pack(form, value))
        return to.float_of_bits(kind, word)
    text = f"{value.hex()}{'f' if kind is ScalarType.FLOAT32 else ''}"
    return f"({text})" if text.startswith("-") else text


def _expression(to: Dialect, graph: TypedGraph, node: Node, names: list[str]) -> str:
    arguments = [names[at] for at in node.arguments]
    kind = graph.nodes[node.arguments[0]].type
    if node.op == "cast" and node.type.category == FLOAT and is_word(graph, node.arguments[0]):
        arguments = [to.cast(to.types[ScalarType.UINT32], *arguments)]  # processors convert words faster than int64
    printed = _PRINTERS.get(node.op)
    if printed is None:
        return _call(LIBM[node.op])(to, node, kind, arguments)
    return printed(to, node, kind, arguments)


Print: TypeAlias = Callable[[Dialect, Node, ScalarType, list[str]], str]


def _unsigned(to: Dialect, kind: ScalarType) -> str:
    """Return the unsigned type in which integers wrap around: signed overflow is undefined in C, and small types are
    promoted to 32 bits anyway.
    """
    return to.unsigned[kind.bits == 64]


def _wrapping(symbol: str) -> Print:
    """Return a printer of a binary arithmetic operator whose integer results wrap around."""

    def run(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        if kind.category != INTEGER:
            return f"{arguments[0]} {symbol} {arguments[1]}"
        first, second = (to.cast(_unsigned(to, kind), operand) for operand in arguments)
        return to.cast(to.types[node.type], f"{first} {symbol} {second}")

    return run


def _plain(symbol: str) -> Print:
    """Return a printer of a binary operator that is applied to the operands without a cast to unsigned."""

    def run(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        return to.cast(to.types[node.type], f"{arguments[0]} {symbol} {arguments[1]}")

    return run


def _call(name: str) -> Print:
    """Return a printer of a call of a math library function; the names of those of float get the suffix
    ``Dialect.single``.
    """

    def run(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        return f"{name}{to.single if kind is ScalarType.FLOAT32 else ''}({', '.join(arguments)})"

    return run


def _modulus(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return (
        _call("fmod")(to, node, kind, arguments) if kind.category == FLOAT else _plain("%")(to, node, kind, arguments)
    )


def _extremum(symbol: str) -> Print:
    """Return a printer of maximum or minimum: the first operand if it is NaN, the second if both are equal."""

    def run(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
        first, second = arguments
        unordered = f"{first} != {first} || " if kind.category == FLOAT else ""
        return f"{unordered}{first} {symbol} {second} ? {first} : {second}"

    return run


def _negative(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return f"-{arguments[0]}"
    return to.cast(to.types[kind], f"0u - {to.cast(_unsigned(to, kind), arguments[0])}")


def _absolute(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    if kind.category == FLOAT:
        return _call("fabs")(to, node, kind, arguments)
    if not kind.is_signed:
        return arguments[0]
    return f"{arguments[0]} < 0 ? {_negative(to, node, kind, arguments)} : {arguments[0]}"


def _invert(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return f"!{arguments[0]}" if kind is ScalarType.BOOL else to.cast(to.types[kind], f"~{arguments[0]}")


def _shift_logically(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """Return the expression of a right shift that fills with zeros: the number is cast to an unsigned type of its
    width.
    """
    unsigned = {8: "unsigned char", 16: "unsigned short"}.get(kind.bits, _unsigned(to, kind))
    return to.cast(to.types[kind], f"{to.cast(unsigned, arguments[0])} >> {arguments[1]}")


def _select(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return f"{arguments[0]} ? {arguments[1]} : {arguments[2]}"


def _same_bits(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    return to.same_bits(node.type, arguments[0])


def _cast(to: Dialect, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """Return the expression of a conversion by value; floats saturate to the range of an integer type, and NaN becomes
    0.
    """
    target = to.types[node.type]
    if kind.category != FLOAT or node.type.category != INTEGER:
        return to.cast(target, arguments[0])
    low, high = (constant_text(to, bound, node.type) for bound in node.type.bounds)
    (text,), source = arguments, to.types[kind]
    above = f"{text} >= ({source}){high} ? {high} : ({target}){text}"
    return f"({text} != {text} ? ({target})0 : {text} <= ({source}){low} ? {low} : {above})"


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
    "approximate_exp2": _call("approximate_exp2"),
    "approximate_divide": _call("approximate_divide"),
}
