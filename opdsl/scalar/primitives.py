"""Rules of primitives: the scalar operations that formulas bottom out in, and the dtypes that they compute in."""

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
    """The operand at a position."""

    at: int


class Applied(NamedTuple):
    """An operation and its arguments.

    name: a key of ``OPERATIONS``.
    arguments: of it.
    """

    name: str
    arguments: tuple[Expression, ...]


_NOTHING = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])

Expression: TypeAlias = int | float | Operand | Applied


class Rule(NamedTuple):
    """Rule of a primitive: what it computes, and in which dtypes.

    expression: of its operands.
    promote: a key of ``opdsl.kernels.iteration.dtypes.PROMOTIONS``.
    keep: the positions of operands that take no part in promotion.
    nonzero: the positions of operands that must not be 0 where they are integers.
    rounded: the positions of operands of which numbers are rounded to the 16 bits of the tensors beside them.
    numbers: the positions of operands that are numbers, and take no part in promotion either.
    dtypes: the kinds of dtypes that it takes, after promotion; none for all.
    """

    expression: Expression
    promote: str = "default"
    keep: tuple[int, ...] = ()
    nonzero: tuple[int, ...] = ()
    rounded: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()


def operation(name: str) -> Applied:
    """Return an operation on as many operands as it takes.

    >>> operation("atan2")
    Applied(name='atan2', arguments=(Operand(at=0), Operand(at=1)))
    """
    return Applied(name, tuple([Operand(at) for at in range(OPERATIONS[name].arity)]))


def substituted(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Return an expression with others in the places of its operands."""
    if isinstance(expression, Operand):
        return operands[expression.at]
    if isinstance(expression, Applied):
        return Applied(expression.name, tuple([substituted(argument, operands) for argument in expression.arguments]))
    return expression


def scalar_function(expression: Expression, parameters: tuple[str, ...], function: FunctionType) -> ScalarFunction:
    """Return the scalar function of an expression.

    Args:
        expression: of operands.
        parameters: names of these.
        function: the one whose body it is, which errors name.
    """
    tree = ast.Lambda(_NOTHING, ast.Constant(None), lineno=1, col_offset=0)  # of its text nothing has to be read
    source = FunctionSource(function, tree, function.__code__.co_firstlineno, 0)
    nodes = [UntypedNode("parameter", (), name) for name in parameters]

    def add(part: Expression) -> int:
        if isinstance(part, Operand):
            return part.at
        if isinstance(part, Applied):
            node = UntypedNode(part.name, tuple([add(argument) for argument in part.arguments]), None)
        else:
            node = UntypedNode("constant", (), part)
        nodes.append(node)
        return len(nodes) - 1

    results = (add(expression),)
    places = (Place(source, tree),) * len(nodes)
    return ScalarFunction(function.__name__, parameters, {}, tuple(nodes), places, results, source)
