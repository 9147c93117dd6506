"""Widths of integers in scalar graphs: which values are known to fit an unsigned 32-bit word."""

from __future__ import annotations

from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["is_word"]

_WORD = 1 << 32


def is_word(graph: TypedGraph, position: int) -> bool:
    """Return whether the int64 value of a node is known to be in [0, 2**32), by the operations that compute it."""
    node = graph.nodes[position]
    if node.type is not ScalarType.INT64:
        return False
    if node.op == "constant":
        return isinstance(node.value, int) and 0 <= node.value < _WORD
    if node.op == "bitwise_and":  # the bits of one operand that is a word bound the result
        return any(is_word(graph, at) for at in node.arguments)
    if node.op in ("bitwise_or", "bitwise_xor"):
        return all(is_word(graph, at) for at in node.arguments)
    if node.op in ("bits_right", "bits_right_logical"):
        return is_word(graph, node.arguments[0])
    return node.op == "select" and all(is_word(graph, at) for at in node.arguments[1:])
