"""Thread-safe parsing of Python text to syntax trees."""

from __future__ import annotations

import ast
from typing import Literal, overload

__all__ = ["parsed"]

# Threads seldom parse at once, and then only a few of some thousand trees fail.
_ATTEMPTS = 32


@overload
def parsed(text: str) -> ast.Module: ...
@overload
def parsed(text: str, mode: Literal["eval"]) -> ast.Expression: ...
def parsed(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """Parse a text as ``ast.parse`` does.

    Python 3.11 counts the depth of a tree in one variable for all threads, and raises SystemError if another thread has
    parsed meanwhile (python/cpython#106905): then the text is parsed again.

    Raises:
        SyntaxError: the text is not valid Python.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:
            continue
    return ast.parse(text, mode=mode)
