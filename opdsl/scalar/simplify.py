"""Simplification of nodes when they are added: constant folding, and identities that hold for every value.

Nothing here changes an IEEE result: ``x + 0.0`` is not ``x`` (it is 0.0 for -0.0), ``x * 0.0`` is not 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Final, Protocol, TypeAlias

from opdsl.scalar.graph import Node, Number
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = ["simplify"]


class Builder(Protocol):
    """Protocol of a graph builder, which holds the nodes so far and adds new ones: see
    ``opdsl.scalar.builder.GraphBuilder``.
    """

    nodes: list[Node]

    def constant(self, value: Number, kind: ScalarType) -> int:
        """Add a constant of the given type, and return its position."""

    def constant_value(self, position: int) -> Number | None:
        """Return the number at a position if it is a constant, else None."""

    def node(self, op: str, arguments: tuple[int, ...], kind: ScalarType) -> int:
        """Add an operation on operands of the right types, and return its position."""


Rule: TypeAlias = Callable[[Builder, tuple[int, ...], ScalarType], "int | None"]

# Operations whose result is exactly determined, so that constant folding gives the result of every backend.
_EXACT: Final = frozenset(
    [
        "cast",
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "absolute",
        "maximum",
        "minimum",
        "fma",
        "floor",
        "ceil",
        "trunc",
        "round",
        "sqrt",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
        "shift_left",
        "shift_right",
        "select",
        "isnan",
        "isinf",
        "isfinite",
        "copysign",
        "bits",
        "from_bits",
        "bits_left",
        "bits_right",
        "bits_right_logical",
        "floor_divide",
        "remainder",
        "fmod",
    ]
)


def simplify(builder: Builder, op: str, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    """Return the position of a node that has the value of an operation, or None if the operation has to be added.

    builder: holds the arguments, and takes the constants that folding gives.
    op, arguments, kind: the operation that is about to be added.
    """
    if op in _EXACT and kind.category != COMPLEX and all(builder.nodes[at].op == "constant" for at in arguments):
        return _fold(builder, op, arguments, kind)
    rule = _RULES.get(op)
    return rule(builder, arguments, kind) if rule else None


def _fold(builder: Builder, op: str, arguments: tuple[int, ...], kind: ScalarType) -> int:
    from opdsl.scalar.interpreter import apply  # imported late: the interpreter is needed only for folding

    nodes = [builder.nodes[at] for at in arguments]
    return builder.constant(apply(op, [node.value for node in nodes], [node.type for node in nodes], kind), kind)


def _is(builder: Builder, position: int, value: float) -> bool:
    constant_value = builder.constant_value(position)
    return (
        constant_value is not None
        and constant_value == value
        and copysign(1.0, constant_value.real) == copysign(1.0, value)
    )


def _add(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    neutral = 0 if kind.category == INTEGER else -0.0
    for one, other in (arguments, arguments[::-1]):
        if kind.category in (INTEGER, FLOAT) and _is(builder, one, neutral):
            return other
    return None


def _subtract(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    if kind.category in (INTEGER, FLOAT) and _is(builder, arguments[1], 0.0):
        return arguments[0]
    same = arguments[0] == arguments[1] and kind.category == INTEGER
    return builder.constant(0, kind) if same else None


def _multiply(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    if kind.category == COMPLEX:
        return None
    for one, other in (arguments, arguments[::-1]):
        if _is(builder, one, 1):
            return other
        if kind.category == INTEGER and _is(builder, one, 0):
            return one
        if kind.category == FLOAT and _is(builder, one, -1):
            return builder.node("negative", (other,), kind)
    return None


def _fma(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    first, second, addend = arguments
    for one, other in ((first, second), (second, first)):
        if kind.category != COMPLEX and _is(builder, one, 1):
            return builder.node("add", (other, addend), kind)
    return None


def _divide(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    return arguments[0] if kind.category != COMPLEX and _is(builder, arguments[1], 1) else None


def _involution(op: str) -> Rule:
    """Return a rule for operations that are their own inverse: ``op(op(x))`` is ``x``."""

    def rule(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
        node = builder.nodes[arguments[0]]
        return node.arguments[0] if node.op == op else None

    return rule


def _idempotent(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    return arguments[0] if arguments[0] == arguments[1] else None


def _logic(absorbing: bool) -> Rule:
    """Return a rule for and/or, in which the bool ``absorbing`` decides the result, and the other bool returns the
    other operand.
    """

    def rule(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
        if kind.category == BOOL:
            for one, other in (arguments, arguments[::-1]):
                value = builder.constant_value(one)
                if value is not None:
                    return one if value is absorbing else other
        return _idempotent(builder, arguments, kind)

    return rule


def _select(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    condition, chosen, other = arguments
    value = builder.constant_value(condition)
    if value is not None:
        return chosen if value else other
    if chosen == other:
        return chosen
    if kind.category == BOOL and builder.constant_value(chosen) is True and builder.constant_value(other) is False:
        return condition
    node = builder.nodes[condition]
    if node.op == "invert":
        return builder.node("select", (node.arguments[0], other, chosen), kind)
    return None


def _rare(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    condition, slow, fast = arguments
    value = builder.constant_value(condition)
    return None if value is None else slow if value else fast


def _not_equal(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    first, second = arguments
    if builder.nodes[first].type.category == BOOL and builder.constant_value(second) is False:
        return first
    return None


def _absolute(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    node = builder.nodes[arguments[0]]
    if node.op == "absolute" or not kind.is_signed:
        return arguments[0]
    return builder.node("absolute", node.arguments, kind) if node.op == "negative" else None


def _rounding(builder: Builder, arguments: tuple[int, ...], kind: ScalarType) -> int | None:
    node = builder.nodes[arguments[0]]
    whole = node.op in _ROUNDINGS or (node.op == "cast" and builder.nodes[node.arguments[0]].type.category < FLOAT)
    return arguments[0] if whole else None


_ROUNDINGS: Final = frozenset({"floor", "ceil", "trunc", "round"})

_RULES: Final[dict[str, Rule]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "fma": _fma,
    "divide": _divide,
    "negative": _involution("negative"),
    "invert": _involution("invert"),
    "maximum": _idempotent,
    "minimum": _idempotent,
    "bitwise_and": _logic(False),
    "bitwise_or": _logic(True),
    "select": _select,
    "rare": _rare,
    "not_equal": _not_equal,
    "absolute": _absolute,
    **dict.fromkeys(_ROUNDINGS, _rounding),
}
