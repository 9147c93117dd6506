"""Proofs that computed indices are in bounds, for all sizes that a program serves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opdsl.runtime.symbol import NotLoweredError, Symbol, largest, least, smallest
from opdsl.scalar import ScalarFunction
from opdsl.scalar.intervals import Interval, intervals
from opdsl.scalar.untyped import UntypedNode

__all__ = ["are_inside", "unclamped"]


_EXTREMA = ("maximum", "minimum")


def _is_kept(node: UntypedNode) -> bool:
    """Return whether a node is a conversion to int64, which keeps integer values; narrower types may wrap."""
    return node.op == "convert" and node.value == "int64"


def are_inside(
    function: ScalarFunction,
    positions: Collection[tuple[int, Any]],
    ranges: Mapping[str, Any],
    numbers: Mapping[str, Any],
) -> bool:
    """Return whether all computed indices can be proven to be in bounds.

    Args:
        function: the function whose nodes they are.
        positions: nodes, and the sizes that they index; None for an unknown size.
        ranges: size of each loop index.
        numbers: values of the function's number parameters, by name.
    """
    if not positions:
        return True
    known = {name: Interval(0, size - 1) for name, size in ranges.items()}
    known |= {name: Interval(number, number) for name, number in numbers.items()}
    owners = {
        id(symbol.owner): symbol.owner for symbol in (*ranges.values(), *numbers.values()) if type(symbol) is Symbol
    }
    before = {at: dict(owner.guards) for at, owner in owners.items()}
    try:
        proof = _Proof(function, intervals(function, known, smallest, largest))
        return all(
            size is not None and proof.is_from(node, 0) and proof.is_below(node, size) for node, size in positions
        ) and all(before[at] == owner.guards for at, owner in owners.items())
    except NotLoweredError:
        return False
    finally:
        for at, owner in owners.items():
            owner.guards = before[at]


def unclamped(nodes: Sequence[UntypedNode], at: int, size: Any, numbers: Mapping[str, Any]) -> int | None:
    """Return the node that is clamped into bounds by ``clamp(position, 0, size - 1)``; None if the node is no such
    clamp.

    Args:
        nodes: nodes of a function.
        at: index of the node.
        size: of the dimension.
        numbers: parameters of the function that are integers.
    """

    def followed(node: int) -> int:
        while _is_kept(nodes[node]):
            (node,) = nodes[node].arguments
        return node

    def is_number(node: int, value: Any) -> bool:
        untyped_node = nodes[followed(node)]
        number = untyped_node.value if untyped_node.op == "constant" else numbers.get(str(untyped_node.value))
        return isinstance(number, (int, Symbol)) and _is_at_least(number - value, 0) and _is_at_least(value - number, 0)

    inner = nodes[followed(at)]
    if inner.op != "minimum":
        return None
    for bound, other in (inner.arguments, inner.arguments[::-1]):
        outer = nodes[followed(other)]
        if outer.op == "maximum" and is_number(bound, size - 1):
            for low, position in (outer.arguments, outer.arguments[::-1]):
                if is_number(low, 0):
                    return position
    return None


class _Proof:
    """Prover of bounds of integer nodes, from intervals and from clamping operations."""

    def __init__(self, function: ScalarFunction, bounds: Sequence[Interval]) -> None:
        self.nodes = function.nodes
        self.bounds = bounds

    def is_from(self, at: int, low: int) -> bool:
        """Return whether a node is proven to be at least a number."""
        bound, node = self.bounds[at].low, self.nodes[at]
        if _is_at_least(bound, low):
            return True
        is_handed_on = _is_kept(node) or node.op in _EXTREMA
        flags = [self.is_from(operand, low) for operand in node.arguments if is_handed_on]
        if node.op == "select":
            flags = [self.is_from(operand, low) for operand in node.arguments[1:]]
        if node.op == "remainder":
            return low <= 0 and _is_at_least(self.bounds[node.arguments[1]].low, 1)
        return bool(flags) and (any(flags) if node.op == "maximum" else all(flags))

    def is_below(self, at: int, size: Any) -> bool:
        """Return whether a node is proven to be less than a size."""
        bound, node = self.bounds[at].high, self.nodes[at]
        if bound is not None and _is_at_least(size - 1 - bound, 0):
            return True
        is_handed_on = _is_kept(node) or node.op in _EXTREMA
        answers = [self.is_below(operand, size) for operand in node.arguments if is_handed_on]
        if node.op == "select":
            answers = [self.is_below(operand, size) for operand in node.arguments[1:]]
        if node.op == "remainder":
            low, high = self.bounds[node.arguments[1]]
            return high is not None and _is_at_least(low, 1) and _is_at_least(size - high, 0)
        return bool(answers) and (any(answers) if node.op == "minimum" else all(answers))


def _is_at_least(value: Any, low: int) -> bool:
    if not isinstance(value, int) and type(value) is not Symbol:
        return False
    number = least(int(value) if isinstance(value, bool) else value)
    return number is not None and number >= low
