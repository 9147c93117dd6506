"""Bodies that are one expression of operators: they say what is computed as a formula does, and nothing of how."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from types import FunctionType

from opdsl.runtime import Tensor

PLAIN = (abs, bool, float, int, len, max, min, sum)
"""Functions of Python that numbers in a formula are made with."""


def is_expression(function: FunctionType) -> bool:
    """Whether a function returns one expression in which nothing is called but operators and methods of tensors.

    Functions of ``math``, and those that make numbers of numbers, may stand in it, too.
    """
    function = function.__globals__.get("adapted_function", function)  # what takes fewer arguments is called by ours
    returned = _returned(function)
    if returned is None:
        return False
    known = inspect.getclosurevars(function)
    names = {**known.builtins, **known.globals, **known.nonlocals}
    return all(_is_operator(node.func, names) for node in ast.walk(returned) if isinstance(node, ast.Call))


def _returned(function: FunctionType) -> ast.expr | None:
    """The expression that a function returns, if it does nothing else."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError):  # made from text, or a lambda within other code
        return None
    if not isinstance(tree, ast.FunctionDef):
        return None
    statements = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    only = statements[0] if len(statements) == 1 else None
    return only.value if isinstance(only, ast.Return) else None


def _is_operator(called: ast.expr, names: dict[str, object]) -> bool:
    """Whether what is called is an operator, a method of tensors, or plain."""
    if isinstance(called, ast.Name):
        name = names.get(called.id)
        return hasattr(name, "operator") or name in PLAIN
    if not isinstance(called, ast.Attribute):
        return False
    owner = names.get(called.value.id) if isinstance(called.value, ast.Name) else None
    return owner is math or (owner is None and callable(getattr(Tensor, called.attr, None)))
