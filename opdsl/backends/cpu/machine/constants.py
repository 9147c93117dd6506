"""What machine code says about constants: computed when it is printed."""

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
    """The value of an expression of constants; None of others.

    Args:
        scope: what names stand for.
        variables: names of which the function keeps the values.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, _TYPES) else None
    if isinstance(node, ast.Name) and node.id in variables:
        return None
    values: dict[str, Any] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            value = _FUNCTIONS.get(each.id, scope.get(each.id))
            if each.id in variables or not (value in _FUNCTIONS.values() or _is_constant(value)):
                return None
            values[each.id] = value
    found = eval(_compiled(node), values)
    return found if isinstance(found, _TYPES) else None


@functools.lru_cache(maxsize=1024)  # what is unrolled is computed again and again
def _compiled(node: ast.expr) -> CodeType:
    return compile(ast.unparse(node), "<constants of machine code>", "eval")


def _is_constant(value: Any) -> bool:
    """Whether it is a number, a tuple, or a function of them."""
    if isinstance(value, FunctionType):
        return "__machine__" not in value.__dict__
    return isinstance(value, _TYPES) and not isinstance(value, Shared)
