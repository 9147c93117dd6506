"""Source of a scalar function: its syntax tree, the names it can see, and errors that underline its text."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable, Container
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.parsing import parsed

__all__ = ["FunctionSource", "function_source"]

# A copy from when this module was loaded: operators may be loaded while a tracer has replaced builtins, as torch.export
# replaces min and max.
_BUILTINS: Final = dict(vars(builtins))

WAY_OUT: Final = (
    'Code that a scalar function does not support can be a kernel: .out_kernel("CPU") and .out_kernel("CUDA").'
)


class FunctionSource:
    """Source of one Python function.

    function: the function itself.
    tree: its syntax tree, a FunctionDef or a Lambda.
    first_line, indent: position of the parsed text in its file.
    """

    def __init__(
        self, function: FunctionType, tree: ast.FunctionDef | ast.Lambda, first_line: int, indent: int
    ) -> None:
        self.function = function
        self.tree = tree
        self.first_line = first_line
        self.indent = indent
        self._closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    @property
    def name(self) -> str:
        """Return the function's name; ``function`` for a lambda without a name."""
        function_name = self.function.__name__ if isinstance(self.tree, ast.Lambda) else self.tree.name
        return function_name if function_name.isidentifier() else "function"

    @property
    def body(self) -> list[ast.stmt]:
        """Return the statements of the function."""
        if isinstance(self.tree, ast.FunctionDef):
            return self.tree.body
        return [ast.copy_location(ast.Return(self.tree.body), self.tree.body)]

    def is_print(self, statement: ast.Expr, names: Container[str]) -> bool:
        """Return whether a statement calls Python's own ``print``.

        statement: a statement of this function.
        names: the local names.
        """
        called = statement.value.func if isinstance(statement.value, ast.Call) else None
        is_name = isinstance(called, ast.Name) and called.id == "print" and "print" not in names
        return is_name and self.outer_name("print", None) is print

    def outer_name(self, name: str, missing: Any) -> Any:
        """Return the value of a name outside the function: in its closure, its module or the builtins.

        name: the name.
        missing: returned if there is no such name (yet).
        """
        if name in self._closure:
            try:
                return self._closure[name].cell_contents
            except ValueError:  # the variable is not assigned yet
                return missing
        return self.function.__globals__.get(name, _BUILTINS.get(name, missing))

    def error(self, node: ast.AST, problem: str, advice: str = WAY_OUT) -> ScalarFunctionError:
        """Return an error that shows the text of ``node`` underlined.

        node: a part of this function's tree, which the error is about.
        problem: the description of the fault.
        advice: how to correct it.
        """
        code = self.function.__code__
        first = getattr(node, "lineno", 1)
        line = self.first_line + first - 1
        text = linecache.getline(code.co_filename, line).rstrip("\n")
        start, end = self._columns(node, first, text)
        shown = text.strip()
        lead = len(text) - len(text.lstrip())
        underline = " " * max(start - lead, 0) + "~" * max(end - start - 1, 0) + "^"
        location = f"{code.co_filename}:{line}: scalar function {self.name}: {problem}"
        return ScalarFunctionError(f"{location}\n    {shown}\n    {underline}\n{advice}")

    def _columns(self, node: ast.AST, first: int, text: str) -> tuple[int, int]:
        """Return the columns of a node on its first line, in characters (syntax trees count bytes)."""
        start = getattr(node, "col_offset", 0) + self.indent
        if getattr(node, "end_lineno", first) == first:
            end = getattr(node, "end_col_offset", start + 1) + self.indent
        else:
            end = len(text.encode())
        data = text.encode()
        return len(data[:start].decode(errors="ignore")), len(data[:end].decode(errors="ignore"))


def function_source(function: Callable[..., Any]) -> FunctionSource:
    """Return the source of a Python function, parsed once.

    function: a plain function or a lambda.
    Raises: ScalarFunctionError if it is not a Python function, or its text is not available.
    """
    if not isinstance(function, FunctionType):
        raise ScalarFunctionError(f"a scalar function is a Python function (got {function!r})")
    tree, first_line, indent = _parse(function.__code__, function.__module__)
    return FunctionSource(function, tree, first_line, indent)


@lru_cache(maxsize=64)  # small, since a tree takes many times the memory of its text
def _parse(code: CodeType, module: str) -> tuple[ast.FunctionDef | ast.Lambda, int, int]:
    lines = linecache.getlines(code.co_filename)
    if not lines or code.co_firstlineno > len(lines):
        raise ScalarFunctionError(
            f"{code.co_filename}:{code.co_firstlineno}: scalar function {code.co_name}: its source text cannot be "
            "read. Write it in a file (or a notebook cell), not in exec() or python -c."
        )
    if code.co_name == "<lambda>":
        return _find_lambda(code, lines), 1, 0
    first = code.co_firstlineno - 1
    indent = len(lines[first]) - len(lines[first].lstrip())
    tree = _parse_block(lines, first, indent)
    if tree is None or tree.name != code.co_name:
        raise ScalarFunctionError(
            f"{code.co_filename}:{code.co_firstlineno}: scalar function {code.co_name}: its source text has changed "
            "since it was loaded. Load the module again."
        )
    return tree, code.co_firstlineno, indent


def _parse_block(lines: list[str], first: int, indent: int) -> ast.FunctionDef | None:
    """Parse the function that begins at line ``first``, without the rest of the file.

    The block ends at the first line with less indentation. A line inside brackets or a string may have less, too: if
    the text up to there has a syntax error, the block goes on.
    """
    for end in range(first + 1, len(lines) + 1):
        if end < len(lines):
            line = lines[end]
            if not line.strip() or len(line) - len(line.lstrip()) > indent:
                continue
        text = "".join(line[indent:] if line[:indent].isspace() else line for line in lines[first:end])
        try:
            statement = parsed(text).body[0]
        except (SyntaxError, IndexError):
            continue
        return statement if isinstance(statement, ast.FunctionDef) else None
    return None


def _find_lambda(code: CodeType, lines: list[str]) -> ast.Lambda:
    """Return the lambda that a code object was compiled from, found by the source positions of its instructions."""
    places = [
        ((index[0], index[2]), (index[1], index[3]))
        for index in code.co_positions()
        if None not in index and index[:1] + index[2:3] != index[1:2] + index[3:]
    ]
    nodes = [
        node
        for node in _lambdas("".join(lines))
        if node.lineno == code.co_firstlineno
        and all(_begin(node.body) <= start and end <= _end(node.body) for start, end in places)
    ]
    if nodes:
        return max(nodes, key=_begin)  # the innermost of nested lambdas
    raise ScalarFunctionError(f"{code.co_filename}:{code.co_firstlineno}: this lambda's source text cannot be found")


@lru_cache(maxsize=1)
def _lambdas(text: str) -> list[ast.Lambda]:
    """Return the lambdas of a module, whose text is parsed once for all lambdas declared one after another."""
    try:
        module = parsed(text)
    except SyntaxError:
        return []
    return [node for node in ast.walk(module) if isinstance(node, ast.Lambda)]


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0
