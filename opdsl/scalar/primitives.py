"""Rules of primitives: the scalar expressions that formulas are built from, and the dtypes in which they compute."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import NamedTuple, TypeAlias

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place, UntypedNode

__all__ = ["Applied", "Expression", "Operand", "Rule", "operation", "scalar_function", "substituted"]


class Operand(NamedTuple):
    """Reference to an operand of an expression by its index."""

    at: int


class Applied(NamedTuple):
    """Operation applied to arguments.

    name: a key of ``OPERATIONS``.
    arguments: its arguments.
    """

    name: str
    arguments: tuple[Expression, ...]


_NOTHING = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])

Expression: TypeAlias = int | float | Operand | Applied


class Rule(NamedTuple):
    """Rule of a primitive: the expression that it computes, and its dtypes.

    expression: an expression of its operands.
    promote: a key of ``opdsl.kernels.iteration.dtypes.PROMOTIONS``.
    keep: indices of operands that take no part in promotion.
    nonzero: indices of operands that must not be 0 if they are integers.
    rounded: indices of operands that, if numbers, are rounded to the 16 bits of the other operands.
    numbers: indices of operands that are numbers, and take no part in promotion either.
    dtypes: the kinds of dtypes that it takes, after promotion; empty for all in which operators
        compute.
    """

    expression: Expression
    promote: str = "default"
    keep: tuple[int, ...] = ()
    nonzero: tuple[int, ...] = ()
    rounded: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()


def operation(name: str) -> Applied:
    """Return an operation applied to its operands in order, as many as it takes.

    >>> operation("atan2")
    Applied(name='atan2', arguments=(Operand(at=0), Operand(at=1)))
    """
    return Applied(name, tuple([Operand(at) for at in range(OPERATIONS[name].arity)]))


def substituted(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Return an expression with its operands replaced by other expressions."""
    if isinstance(expression, Operand):
        return operands[expression.at]
    if isinstance(expression, Applied):
        return Applied(expression.name, tuple([substituted(operand, operands) for operand in expression.arguments]))
    return expression


def scalar_function(expression: Expression, parameters: tuple[str, ...], function: FunctionType) -> ScalarFunction:
    """Convert an expression to a scalar function.

    Args:
        expression: an expression of operands.
        parameters: names of the operands.
        function: the Python function that the expression represents, which errors name.
    """
    tree = ast.Lambda(_NOTHING, ast.Constant(None), lineno=1, col_offset=0)  # a dummy, since its text is not traced
    source = FunctionSource(function, tree, function.__code__.co_firstlineno, 0)
    nodes = [UntypedNode("parameter", (), parameter) for parameter in parameters]

    def add(part: Expression) -> int:
        if isinstance(part, Operand):
            return part.at
        if isinstance(part, Applied):
            node = UntypedNode(part.name, tuple([add(operand) for operand in part.arguments]), None)
        else:
            node = UntypedNode("constant", (), part)
        nodes.append(node)
        return len(nodes) - 1

    results = (add(expression),)
    places = (Place(source, tree),) * len(nodes)
    return ScalarFunction(function.__name__, parameters, {}, tuple(nodes), places, results, source)
