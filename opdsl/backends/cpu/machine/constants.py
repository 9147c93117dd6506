"""Constant folding for machine code: evaluates expressions of constants at compile time."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping
from types import CodeType, FunctionType
from typing import Any

from opdsl.backends.cpu.machine.language import Shared

_FUNCTIONS = {"range": range, "len": len, "min": min, "max": max, "tuple": tuple}
_TYPES = (bool, int, float, tuple, range, bytes)


def known(node: ast.expr, scope: Mapping[str, Any], variables: Collection[str]) -> Any:
    """Return the value of a constant expression, or None for any other expression.

    Args:
        node: the expression.
        scope: values of global names.
        variables: names of the function's local variables.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, _TYPES) else None
    if isinstance(node, ast.Name):
        value = None if node.id in variables else scope.get(node.id)
        return value if isinstance(value, _TYPES) else None
    values: dict[str, Any] = {}
    for name in _names(node):
        value = _FUNCTIONS.get(name, scope.get(name))
        if name in variables or not (name in _FUNCTIONS or _is_constant(value)):
            return None
        values[name] = value
    folded = eval(_compiled(node), values)
    return folded if isinstance(folded, _TYPES) else None


@functools.lru_cache(maxsize=4096)  # subexpressions are looked up again after the whole
def _names(node: ast.AST) -> tuple[str, ...]:
    """Return the names in an expression."""
    if isinstance(node, ast.Name):
        return (node.id,)
    return tuple(name for part in ast.iter_child_nodes(node) for name in _names(part))


@functools.lru_cache(maxsize=1024)  # unrolled code is evaluated many times
def _compiled(node: ast.expr) -> CodeType:
    return compile(ast.unparse(node), "<constants of machine code>", "eval")


def _is_constant(value: Any) -> bool:
    """Return whether a value is a number, a tuple, or a plain Python function of these."""
    if isinstance(value, FunctionType):
        return "__machine__" not in value.__dict__
    return isinstance(value, _TYPES) and not isinstance(value, Shared)
