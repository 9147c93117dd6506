"""Tracing of the expressions of a scalar function."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, TypeAlias

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.calls import bind, callee, plain_function
from opdsl.scalar.functions import FUNCTIONS, STATIC, Fold
from opdsl.scalar.source import WAY_OUT, FunctionSource
from opdsl.scalar.symbols import Choice, Graph, Indexable, Optional, Sizes, Symbol, describe, is_value
from opdsl.scalar.untyped import Place

__all__ = ["Evaluation", "Unusable"]

_FROZEN: Final = (
    "Global names in a scalar function are read once, when it is declared, and have to be numbers, strings or "
    "functions. Pass tensors, and values that may change, as arguments of the operator."
)

_BINARY: Final[dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.Pow: ("power", operator.pow),
    ast.BitAnd: ("bitwise_and", operator.and_),
    ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor),
    ast.LShift: ("shift_left", operator.lshift),
    ast.RShift: ("shift_right", operator.rshift),
}
_UNARY: Final[dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]]] = {
    ast.USub: ("negative", operator.neg),
    ast.Invert: ("invert", operator.invert),
    ast.Not: ("logical_not", operator.not_),
}
_COMPARE: Final[dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne),
    ast.Lt: ("less", operator.lt),
    ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt),
    ast.GtE: ("greater_equal", operator.ge),
    ast.Is: ("", operator.is_),
    ast.IsNot: ("", operator.is_not),
    ast.In: ("", lambda item, container: item in container),
    ast.NotIn: ("", lambda item, container: item not in container),
}

Inline: TypeAlias = Callable[[FunctionSource, Mapping[str, Any]], Any]


class Unusable:
    """Value of a name after paths join that do not agree on it; using the name is an error."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


class Evaluation:
    """Evaluator of expressions in one call of a function.

    graph: takes the nodes.
    source: the function; for errors, and for the names around it.
    names: local names, shared with the statements.
    inline: traces a called function.
    """

    def __init__(self, graph: Graph, source: FunctionSource, names: dict[str, Any], inline: Inline) -> None:
        self.graph = graph
        self.source = source
        self.names = names
        self.inline = inline

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression: a symbol, a number, or another Python value that is known while
        tracing.
        """
        run = _EXPRESSIONS.get(type(node))
        if run is None:
            spoken = type(node).__name__
            raise self.source.error(node, f"it cannot contain {_SPOKEN.get(spoken, f'an expression of kind {spoken}')}")
        return run(self, node)

    def number(self, node: ast.expr) -> Any:
        """Return the value of an expression that has to be a symbol or a number."""
        value = self.evaluate(node)
        if not is_value(value):
            raise self.no_number(value, node)
        return value

    def no_number(self, value: object, node: ast.AST) -> ScalarFunctionError:
        """Return the error for a value that has to be a number and is not."""
        is_own = value is None or isinstance(value, (str, tuple, Sizes, Choice))
        return self.source.error(node, f"{describe(value)} is not a number", WAY_OUT if is_own else _FROZEN)

    def condition(self, node: ast.expr) -> Symbol | bool:
        """Return the truth value of an expression, as a bool or a symbol."""
        value = self.evaluate(node)
        if isinstance(value, Symbol):
            return self.add("truth", (value,), node)
        if isinstance(value, Choice):
            raise self.source.error(node, f"{value!r} is neither true nor false", "Compare it with ==.")
        return bool(value)

    def sequence(self, node: ast.expr) -> tuple[Any, ...]:
        """Return the items of a sequence that is known while tracing."""
        value = self.evaluate(node)
        if isinstance(value, (tuple, list, range)):
            return tuple(value)
        raise self.source.error(
            node, f"{describe(value)} cannot be looped over", "Loop over a range or a tuple with known bounds."
        )

    def add(self, op: str, operands: Sequence[Any], node: ast.AST) -> Symbol:
        """Add a node, and return its symbol."""
        return self.graph.add(op, operands, Place(self.source, node))

    def compute(self, function: Callable[..., Any], operands: Sequence[Any], node: ast.AST) -> Any:
        """Call a Python function on values that are known while tracing; an exception becomes an error with the source
        position.
        """
        try:
            return function(*operands)
        except Exception as error:
            raise self.source.error(
                node, f"this constant raises {type(error).__name__}: {error}", "Mend it."
            ) from error

    def operate(self, op: str, function: Callable[..., Any], operands: Sequence[Any], node: ast.AST) -> Any:
        """Add a node for an operation if an operand depends on a parameter, else return Python's result."""
        if not any(isinstance(operand, (Symbol, Sizes, Choice)) for operand in operands):
            return self.compute(function, operands, node)
        for operand in operands:
            if not is_value(operand):
                raise self.no_number(operand, node)
        return self.add(op, operands, node)


def _constant(evaluation: Evaluation, node: ast.Constant) -> Any:
    return node.value


def _name(evaluation: Evaluation, node: ast.Name) -> Any:
    value = evaluation.names.get(node.id, evaluation)
    if value is evaluation:
        value = evaluation.source.outer_name(node.id, evaluation)
    if value is evaluation:
        raise evaluation.source.error(
            node,
            f"the name {node.id!r} is not defined",
            "Use a parameter, a local name, or a global name that is defined when the function is declared: it keeps "
            "the value that it has then.",
        )
    if isinstance(value, Unusable):
        raise evaluation.source.error(
            node, f"{node.id!r} cannot be used here: {value.problem}", "Assign it on all paths."
        )
    return _plain(value)


def _plain(value: Any) -> Any:
    """Convert NumPy scalars to Python numbers; return other values unchanged."""
    item = getattr(value, "item", None)
    return item() if item is not None and getattr(value, "shape", None) == () else value


def _attribute(evaluation: Evaluation, node: ast.Attribute) -> Any:
    value = evaluation.evaluate(node.value)
    if isinstance(value, Symbol):
        if node.attr in ("real", "imag"):
            return evaluation.add(node.attr, (value,), node)
        raise evaluation.source.error(node, f"a number has no attribute {node.attr!r} here")
    if isinstance(value, Indexable) and node.attr == "shape":
        return value.shape
    attribute = getattr(value, node.attr, evaluation)
    is_plain = isinstance(value, (ModuleType, type, bool, int, float, complex))
    if attribute is evaluation or not (is_plain or node.attr in getattr(value, "_fields", ())):
        raise evaluation.source.error(
            node, f"{describe(value)} has no {node.attr!r} that is known when this is declared"
        )
    return _plain(attribute)


def _binary(evaluation: Evaluation, node: ast.BinOp) -> Any:
    if type(node.op) not in _BINARY:
        raise evaluation.source.error(node, "a scalar function cannot multiply matrices")
    op, function = _BINARY[type(node.op)]
    return evaluation.operate(op, function, (evaluation.evaluate(node.left), evaluation.evaluate(node.right)), node)


def _unary(evaluation: Evaluation, node: ast.UnaryOp) -> Any:
    if isinstance(node.op, ast.UAdd):
        return evaluation.number(node.operand)
    op, function = _UNARY[type(node.op)]
    return evaluation.operate(op, function, (evaluation.evaluate(node.operand),), node)


def _logical(evaluation: Evaluation, node: ast.BoolOp) -> Any:
    """Evaluate ``and`` or ``or``; a known operand may decide early, as in Python."""
    op, decides = ("logical_and", False) if isinstance(node.op, ast.And) else ("logical_or", True)
    logical = evaluation.evaluate(node.values[0])
    for part in node.values[1:]:
        if isinstance(logical, Symbol):
            logical = evaluation.add(op, (logical, evaluation.number(part)), node)
        elif bool(logical) is decides:
            return logical
        else:
            logical = evaluation.evaluate(part)
    return logical


def _comparison(evaluation: Evaluation, node: ast.Compare) -> Any:
    operands = [evaluation.evaluate(part) for part in (node.left, *node.comparators)]
    comparison: Any = True
    for kind, first, second in zip(node.ops, operands[:-1], operands[1:], strict=True):
        one = _compare(evaluation, kind, first, second, node)
        if isinstance(comparison, Symbol) and isinstance(one, Symbol):
            comparison = evaluation.add("logical_and", (comparison, one), node)
        elif comparison is True or one is False:
            comparison = one
    return comparison


def _compare(evaluation: Evaluation, kind: ast.cmpop, first: Any, second: Any, node: ast.Compare) -> Any:
    op, function = _COMPARE[type(kind)]
    symbolic = isinstance(first, Symbol) or isinstance(second, Symbol)
    if isinstance(first, Choice) or isinstance(second, Choice):
        decides = {ast.Is: operator.eq, ast.IsNot: operator.ne}.get(type(kind), function)
        return evaluation.compute(decides, (first, second), node)
    if symbolic and (second is None or first is None):
        for operand in (first, second):
            if isinstance(operand, Optional):
                operand.choice.__eq__(None)
        return isinstance(kind, (ast.IsNot, ast.NotEq))  # a number is never None
    if symbolic and not op:
        raise evaluation.source.error(
            node, "`is` and `in` need values that are known when this is declared", "Compare with ==."
        )
    return evaluation.operate(op, function, (first, second), node)


def _conditional(evaluation: Evaluation, node: ast.IfExp) -> Any:
    condition = evaluation.condition(node.test)
    if not isinstance(condition, Symbol):
        return evaluation.evaluate(node.body if condition else node.orelse)
    return _choose(evaluation, condition, evaluation.evaluate(node.body), evaluation.evaluate(node.orelse), node)


def _choose(evaluation: Evaluation, condition: Symbol, chosen: Any, other: Any, node: ast.AST) -> Any:
    if isinstance(chosen, tuple) and isinstance(other, tuple) and len(chosen) == len(other):
        return tuple(_choose(evaluation, condition, *pair, node) for pair in zip(chosen, other, strict=True))
    for value in (chosen, other):
        if not is_value(value):
            raise evaluation.no_number(value, node)
    return evaluation.add("select", (condition, chosen, other), node)


def _tuple(evaluation: Evaluation, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
    return tuple(evaluation.evaluate(part) for part in node.elts)


def _subscript(evaluation: Evaluation, node: ast.Subscript) -> Any:
    value, index = evaluation.evaluate(node.value), evaluation.evaluate(node.slice)
    if isinstance(value, Sizes):
        return value.read(evaluation.graph, index, Place(evaluation.source, node))
    if isinstance(value, Symbol) or isinstance(index, Symbol):
        advice = "Write a formula over dims: x[n, places[n]]." if evaluation.graph.has_rows else WAY_OUT
        raise evaluation.source.error(node, "a scalar function sees one element, and cannot index", advice)
    return _plain(evaluation.compute(operator.getitem, (value, index), node))


def _slice(evaluation: Evaluation, node: ast.Slice) -> slice:
    parts = [None if part is None else evaluation.evaluate(part) for part in (node.lower, node.upper, node.step)]
    if any(isinstance(part, Symbol) for part in parts):
        raise evaluation.source.error(node, "a scalar function cannot slice by what depends on a parameter")
    return slice(*parts)


def _call(evaluation: Evaluation, node: ast.Call) -> Any:
    function = evaluation.evaluate(node.func)
    arguments: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            arguments.extend(evaluation.sequence(argument.value))
        else:
            arguments.append(evaluation.evaluate(argument))
    keywords = {_keyword(evaluation, keyword): evaluation.evaluate(keyword.value) for keyword in node.keywords}
    fold = FUNCTIONS.get(function) if _hashable(function) else None
    if fold is not None:
        return _known_call(evaluation, function, fold, arguments, keywords, node)
    plain = plain_function(function)
    if plain is not None:
        source = callee(plain)
        values = evaluation.compute(lambda: bind(source, arguments, keywords), (), node)
        return evaluation.inline(source, values)
    if _hashable(function) and function in STATIC and not any(isinstance(value, Symbol) for value in arguments):
        result = evaluation.compute(lambda: function(*arguments, **keywords), (), node)
        return result if is_value(result) or isinstance(result, (str, range)) else tuple(result)
    spoken = ast.unparse(node.func)
    raise evaluation.source.error(node, f"it cannot call {spoken}")


def _known_call(
    evaluation: Evaluation, function: Any, fold: Fold, arguments: list[Any], keywords: dict[str, Any], node: ast.Call
) -> Any:
    """Evaluate a call of a function of ``math`` or a builtin function."""
    if not any(isinstance(value, Symbol) for value in (*arguments, *keywords.values())):
        return evaluation.compute(lambda: function(*arguments, **keywords), (), node)
    problem = fold.problem(len(arguments), keywords)
    if problem:
        raise evaluation.source.error(node, problem, "See the list of functions in opdsl.scalar.")
    for value in arguments:
        if not is_value(value):
            raise evaluation.no_number(value, node)
    return fold.build(lambda op, *operands: evaluation.add(op, operands, node), *arguments)


def _keyword(evaluation: Evaluation, keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise evaluation.source.error(keyword.value, "it cannot pass a dictionary with **", "Name the arguments.")
    return keyword.arg


def _hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None and not isinstance(value, (tuple, Symbol))


_EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Evaluation, Any], Any]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _logical,
    ast.Compare: _comparison,
    ast.IfExp: _conditional,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
}
_SPOKEN: Final = {
    "ListComp": "a list comprehension",
    "GeneratorExp": "a generator expression",
    "Dict": "a dict",
    "Set": "a set",
    "Lambda": "a lambda; define a function next to this one and call it",
    "JoinedStr": "a formatted string",
    "NamedExpr": "an assignment expression; assign on a separate line",
    "Await": "await",
    "Yield": "yield",
}
