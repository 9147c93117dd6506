"""Detection of operator bodies that consist of one expression, which are counted as declarative."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from types import FunctionType

from opdsl.runtime import Tensor

PLAIN = (abs, bool, float, int, len, max, min, sum)
"""Python functions that compute numbers in a formula."""


def is_expression(function: FunctionType) -> bool:
    """Return whether a function only returns one expression that calls nothing but operators and tensor methods.

    Functions of ``math``, and those that compute numbers from numbers, are allowed, too.
    """
    function = function.__globals__.get("adapted_function", function)  # unwrap a generated adapter
    returned = _returned(function)
    if returned is None:
        return False
    known = inspect.getclosurevars(function)
    names = {**known.builtins, **known.globals, **known.nonlocals}
    return all(_is_operator(node.func, names) for node in ast.walk(returned) if isinstance(node, ast.Call))


def _returned(function: FunctionType) -> ast.expr | None:
    """Return the expression that a function returns, or None if it does anything else."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError):  # generated code, or a lambda within other code
        return None
    if not isinstance(tree, ast.FunctionDef):
        return None
    statements = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    only = statements[0] if len(statements) == 1 else None
    return only.value if isinstance(only, ast.Return) else None


def _is_operator(called: ast.expr, names: dict[str, object]) -> bool:
    """Return whether a called expression is an operator, a tensor method, or an allowed function of Python."""
    if isinstance(called, ast.Name):
        name = names.get(called.id)
        return hasattr(name, "operator") or name in PLAIN
    if not isinstance(called, ast.Attribute):
        return False
    owner = names.get(called.value.id) if isinstance(called.value, ast.Name) else None
    return owner is math or (owner is None and callable(getattr(Tensor, called.attr, None)))
