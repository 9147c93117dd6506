"""Suggestions for users of removed decorators: their scalar functions, rewritten as the source of a ``@formula``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from opdsl.declare.declaration import Declaration
from opdsl.errors import ScalarFunctionError
from opdsl.scalar.source import function_source

__all__ = ["formula_text"]

_CALLS: Mapping[str, str] = {"max": "opdsl.maximum", "min": "opdsl.minimum", "math.fabs": "abs", "round": "opdsl.round"}
_MODULES: Mapping[str, str] = {"math": "opdsl", "cmath": "opdsl"}
_ROWS: Mapping[str, str] = {"row_sum": "sum", "row_mean": "mean", "row_max": "amax", "row_min": "amin"}
_TYPES: Mapping[str, str] = {"int": "int64", "float": "float64", "bool": "bool"}
_FOLDS: Mapping[str, str] = {
    "a + b": "sum", "a * b": "prod", "max(a, b)": "amax", "min(a, b)": "amin", "a or b": "any", "a and b": "all",
}  # fmt: skip


class _AsTensors(ast.NodeTransformer):
    """Rewriter of scalar functions into operator code: ``math.exp(x)`` becomes ``opdsl.exp(x)``, ``max``
    ``opdsl.maximum``.

    Args:
        names: new names of the function's parameters.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Rename a parameter."""
        return ast.copy_location(_expression(self.names.get(node.id, node.id)), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace the call of a function of numbers by the call of an operator."""
        arguments: list[ast.expr] = [self.visit(arg) for arg in node.args]
        called = ast.unparse(node.func)
        if called in _ROWS:
            return _expression(f"({ast.unparse(arguments[0])}).{_ROWS[called]}(-1, keepdim=True)")
        if called in _TYPES:
            return _expression(f"({ast.unparse(arguments[0])}).to(opdsl.{_TYPES[called]})")
        module, dot, name = called.rpartition(".")
        named = _CALLS.get(called, f"{_MODULES.get(module, module)}{dot}{name}")
        if called not in ("max", "min"):
            return ast.Call(_expression(named), arguments, node.keywords)
        call, *rest = sorted(arguments, key=lambda expression: isinstance(expression, ast.Constant))
        for expression in rest:
            clamped = ast.Attribute(call, f"clamp_{'min' if called == 'max' else 'max'}", ast.Load())
            is_number = isinstance(expression, ast.Constant)
            call = (
                ast.Call(clamped, [expression], [])
                if is_number
                else ast.Call(_expression(named), [call, expression], [])
            )
        return call


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _WithMargins(ast.NodeTransformer):
    """Rewriter of reads that may be out of bounds: ``x[i - 1]`` becomes ``x.outside(0.0)[i - 1]``.

    Args:
        margins: the padding value of each tensor, by name.
    """

    def __init__(self, margins: Mapping[str, object]) -> None:
        self.margins = margins

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        """Rewrite a read of a tensor that has a padding value."""
        self.generic_visit(node)
        subscripted = node.value
        if isinstance(subscripted, ast.Name) and self.margins.get(subscripted.id) is not None:
            node.value = _expression(f"{subscripted.id}.outside({self.margins[subscripted.id]!r})")
        return node


def _statements(function: object, names: Mapping[str, str]) -> list[ast.stmt]:
    """Return the statements of a scalar function as operator code."""
    body = function_source(_read(function)).body
    written: list[ast.stmt] = [_AsTensors(names).visit(copy.deepcopy(statement)) for statement in body]
    return written


def _read(function: object) -> FunctionType:
    """Return ``function`` if it is a Python function, whose source can be read.

    Raises:
        ScalarFunctionError: it is no Python function.
    """
    if not isinstance(function, FunctionType):
        raise ScalarFunctionError(f"{function!r} has no text")
    return function


class _Attached:
    """Use of a removed decorator: its function and options, with methods that write the equivalent formula body.

    Args:
        declaration: the declaration that the decorator was used on.
        function: the decorated function.
        options: options of the decorator.
    """

    def __init__(self, declaration: Declaration, function: FunctionType, options: Mapping[str, Any]) -> None:
        self.function = function
        self.options = options
        arguments = declaration.main.schema.arguments
        self.names = [argument.python_name for argument in arguments]
        self.tensors = [argument.python_name for argument in arguments if str(argument.type).startswith("Tensor")]

    def by_place(self) -> list[ast.stmt]:
        """Return the formula body of a function that took the operator's arguments by position."""
        taken = [name for name in self.names if name not in self._listed("when")]
        return _statements(self.function, dict(zip(_parameters(self.function), taken, strict=False)))

    def by_name(self) -> list[ast.stmt]:
        """Return the formula body of a function that took the operator's arguments by name."""
        return _statements(self.function, {})

    def folded(self) -> list[ast.stmt]:
        """Return the formula body of a reduction: a built-in fold such as ``sum``, or ``opdsl.fold`` of the function
        itself.
        """
        value, lines = self._lifted()
        combine = ast.unparse(_statements(self.function, dict(zip(_parameters(self.function), "ab", strict=False)))[-1])
        known = {ast.unparse(_AsTensors({}).visit(_expression(text))): fold for text, fold in _FOLDS.items()}
        fold = known.get(combine.removeprefix("return "))
        along = "dim, keepdim" if "keepdim" in self.names else "dim" if "dim" in self.names else ""
        function_name = self.function.__name__
        called = (
            f"({value}).{fold}({along})" if fold else f"opdsl.fold({function_name}, {self._init()}, {value}, over=dim)"
        )
        finish = self.options.get("finish")
        if finish is None:
            return [*lines, *_lines(f"return {called}")]
        total, ending = _parameters(finish)[0], _statements(finish, {})
        counts = any(isinstance(node, ast.Name) and node.id == "count" for line in ending for node in ast.walk(line))
        counted = _lines(f"count = {self._first()}.numel() // {total}.numel()") if counts else []
        return [*lines, *_lines(f"{total} = {called}"), *counted, *ending]

    def scanned(self) -> list[ast.stmt]:
        """Return the formula body of a scan: a call of ``opdsl.scan`` with its step and initial values."""
        value, lines = self._lifted()
        parameters = _parameters(self.function)
        step = ast.unparse(_statements(self.function, {})[-1]).removeprefix("return ")
        values = ", ".join([name for name in parameters[1:] if name in self.names] or [value])
        text = f"opdsl.scan(lambda {', '.join(parameters)}: {step}, {self._init()}, {values}, along=dim)"
        return [*lines, *_lines(f"return {text}")]

    def placed(self) -> list[ast.stmt]:
        """Return the formula body of an indexed function, which computes elements from their indices, over dims."""
        at, over = self._listed("at"), self._listed("over")
        dims = [one for one in (*at, *over) if one != "..."]
        margin: Any = self.options.get("margin")
        margins = margin if isinstance(margin, dict) else dict.fromkeys(self.tensors, margin)
        *lines, last = [_WithMargins(margins).visit(line) for line in _statements(self.function, {})]
        value = ast.unparse(last).removeprefix("return ")
        fold = {"sum": "sum", "max": "amax", "min": "amin"}.get(str(self.options.get("fold")))
        folded = f"({value}).{fold}(({', '.join(over)},))" if fold else f"({value})"
        named = f"{', '.join(dims)} = opdsl.dims({len(dims)})"
        return [*_lines(named), *lines, *_lines(f"return {folded}.order({', '.join(at)})")]

    def drawn(self) -> list[ast.stmt]:
        """Return the formula body of a function of random numbers."""
        draws = [name for name in _parameters(self.function) if name not in self.names]
        return [*_lines("\n".join(f"{name} = opdsl.rand_like(self)" for name in draws)), *self.by_name()]

    def _lifted(self) -> tuple[str, list[ast.stmt]]:
        """Return the expression that a reduction folds for each element, and the statements before it."""
        lift = self.options.get("lift")
        if lift is None:
            return self._first(), []
        *lines, last = _statements(lift, dict(zip(_parameters(lift), self.tensors, strict=False)))
        return ast.unparse(last).removeprefix("return "), lines

    def _first(self) -> str:
        if not self.tensors:
            raise ScalarFunctionError("the operator has no tensor")
        return self.tensors[0]

    def _init(self) -> str:
        return repr(self.options.get("init")).replace("inf", "opdsl.inf")

    def _listed(self, name: str) -> tuple[str, ...]:
        option = self.options.get(name, ())
        if not isinstance(option, Iterable):
            raise ScalarFunctionError(f"{name}={option!r} names nothing")
        return (option,) if isinstance(option, str) else tuple(option)


def _parameters(function: object) -> tuple[str, ...]:
    code = _read(function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _lines(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _as_function(function_def: ast.FunctionDef) -> None:
    """Rewrite an in-place random declaration as a functional one with ``inplace=True``."""
    function_def.name = function_def.name.rstrip("_")
    function_def.args.kwonlyargs = [
        parameter for parameter in function_def.args.kwonlyargs if parameter.arg != "generator"
    ]
    function_def.args.kw_defaults = function_def.args.kw_defaults[: len(function_def.args.kwonlyargs)]
    function_def.args.args[0].annotation = function_def.returns = _expression("Tensor")
    function_def.decorator_list = [_expression("lib.op(inplace=True)"), *function_def.decorator_list[1:]]


_WRITERS: Mapping[str, Callable[[_Attached], list[ast.stmt]]] = {
    "pointwise": _Attached.by_place,
    "reduction": _Attached.folded,
    "scan": _Attached.scanned,
    "row": _Attached.by_name,
    "indexed": _Attached.placed,
    "random": _Attached.drawn,
}
"""Writers of the bodies of formulas, by the names of decorators."""


def formula_text(declaration: Declaration, name: str, function: object, options: Mapping[str, Any]) -> str:
    """Return source that declares an operator as a formula, to show in an error; only a sketch if the function is
    unreadable.

    Args:
        declaration: of the operator.
        name: name of the decorator: a key of ``opdsl.primitives.LOOPS``.
        function: the decorated function; only the source of a Python function can be read.
        options: options of the decorator.
    """
    declared = declaration.function
    try:
        tree = function_source(declared).tree
        if not isinstance(tree, ast.FunctionDef):
            raise ScalarFunctionError("it is no declaration")
        formula = copy.deepcopy(tree)
        formula.decorator_list = [*formula.decorator_list, _expression("formula")]
        if name == "random":
            _as_function(formula)
        docstring = formula.body[:1] if ast.get_docstring(tree) else []
        formula.body = [*docstring, *_WRITERS[name](_Attached(declaration, _read(function), options))]
        return ast.unparse(ast.fix_missing_locations(formula))
    except (ScalarFunctionError, SyntaxError, ValueError):
        return f"@lib.op\n@formula\ndef {declared.__name__}(...):\n    return ...  # operator code"
