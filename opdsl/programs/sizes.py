"""Expressions of sizes as trees of a closed set of node types: parsed, checked, printed and evaluated only here.

Every expression in a program passes through these trees before it becomes Python, so that no text of a file does.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from opdsl.runtime.symbol import largest, smallest

__all__ = [
    "FUNCTIONS",
    "Asked",
    "Binary",
    "Called",
    "Group",
    "Name",
    "Number",
    "SizeSyntaxError",
    "Spelling",
    "Tree",
    "Unary",
    "computed",
    "names_of",
    "parts_of",
    "read",
    "written",
]

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "max": max,
    "min": min,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "repr": repr,
}
"""Functions that expressions may call."""

# The same functions for symbols, where no guard decides which is larger.
_COMPUTING: Final = {**FUNCTIONS, "max": largest, "min": smallest}

# Limits of expressions. Python itself parses at most 200 nested parentheses.
_MOST_CHARACTERS: Final = 20_000
_MOST_LEVELS: Final = 90
_MOST_HEIGHT: Final = 200
_MOST_DIGITS: Final = 400


class SizeSyntaxError(ValueError):
    """Raised when a text is no expression of sizes; the message names the position."""


@attrs.frozen
class Name:
    """Reference to a size, a number or a tensor by its name."""

    name: str


@attrs.frozen
class Number:
    """Numeric constant."""

    value: int | float


@attrs.frozen
class Spelling:
    """Number as ``repr`` writes it: a guard compares the text of a pinned number with it."""

    text: str


@attrs.frozen
class Unary:
    """Operation ``-`` or ``not`` of an operand."""

    sign: str
    operand: Tree


@attrs.frozen
class Binary:
    """Arithmetic, a comparison, ``and`` or ``or`` of two operands."""

    sign: str
    left: Tree
    right: Tree


@attrs.frozen
class Called:
    """Call of one of ``FUNCTIONS``."""

    function: str
    operands: tuple[Tree, ...]


@attrs.frozen
class Asked:
    """Query of a tensor's metadata: a size, a stride or the storage offset.

    tensor: its name.
    what: ``"storage_offset"``, ``"shape"`` or ``"stride"``.
    dim: dimension of a shape or stride.
    """

    tensor: str
    what: str
    dim: int = 0


@attrs.frozen
class Group:
    """Expression in parentheses, which are kept so that a parsed text prints unchanged."""

    inner: Tree


Tree = Name | Number | Spelling | Unary | Binary | Called | Asked | Group

# Precedence as in Python. Comparisons cannot be chained, since chains have another meaning in Python.
_STRENGTHS: Final = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "is"), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": 8,
}
_NOT, _COMPARISON, _MINUS, _POWER = 3, 4, 7, 8
_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
}
_TOKEN: Final = re.compile(
    r" *(?:(?P<number>[0-9][0-9.]*(?:e[+-]?[0-9]+)?)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|'(?P<spelling>[-+.()a-zA-Z0-9]*)'"
    r"|(?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%<>()\[\].,]))"
)


def read(text: str) -> Tree:
    """Parse an expression.

    Raises:
        SizeSyntaxError: it is no expression, or too long.

    >>> read("(s1 + 1) // 2")
    Binary(sign='//', left=Group(inner=Binary(sign='+', left=Name(name='s1'), ...
    """
    return _Parser(text).whole()


class _Parser:
    """Operator-precedence parser of one text; every parenthesis is one level deeper."""

    def __init__(self, text: str) -> None:
        if len(text) > _MOST_CHARACTERS:
            raise SizeSyntaxError(f"an expression of {len(text)} characters (at most {_MOST_CHARACTERS})")
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        end = len(text.rstrip(" "))
        place = 0
        while place < end:
            token = _TOKEN.match(text, place)
            if token is None:
                raise SizeSyntaxError(f"unexpected {text[place : place + 20]!r} at character {place}")
            self.tokens.append((token.lastgroup or "", token[token.lastgroup or 0]))
            place = token.end()
        self.tokens.append(("end", ""))
        self.place = 0
        self.level = 0

    def whole(self) -> Tree:
        """Parse the whole text as one expression."""
        tree = self._expression(0)
        if self.tokens[self.place][0] != "end":
            raise self._unexpected()
        height, layer = 0, [tree]
        while layer:
            height += 1
            layer = [part for node in layer for part in parts_of(node)]
        if height > _MOST_HEIGHT:
            raise SizeSyntaxError(f"{height} operands are chained (at most {_MOST_HEIGHT})")
        return tree

    def _unexpected(self) -> SizeSyntaxError:
        kind, token = self.tokens[self.place]
        return SizeSyntaxError("it ends too early" if kind == "end" else f"unexpected {token!r}")

    def _take(self, *wanted: str) -> bool:
        """Skip the next tokens if they are the given ones, and return whether they are."""
        following = [token for kind, token in self.tokens[self.place : self.place + len(wanted)] if kind != "spelling"]
        if following != list(wanted):
            return False
        self.place += len(wanted)
        return True

    def _expect(self, *wanted: str) -> None:
        if not self._take(*wanted):
            raise self._unexpected()

    def _expression(self, least: int) -> Tree:
        """Parse an expression of operators that bind at least as strongly as ``least``."""
        self.level += 1
        if self.level > _MOST_LEVELS:
            raise SizeSyntaxError(f"it is nested deeper than {_MOST_LEVELS} levels")
        left = self._prefixed(least)
        while True:
            kind, sign = self.tokens[self.place]
            strength = _STRENGTHS.get(sign, -1) if kind in ("sign", "word") else -1
            if strength < least or strength < 0:
                break
            self.place += 1
            right = self._expression(_MINUS if strength == _POWER else strength + 1)
            left = Binary(sign, left, right)
            if strength == _COMPARISON and _STRENGTHS.get(self.tokens[self.place][1]) == _COMPARISON:
                raise SizeSyntaxError("comparisons are chained")
            if strength == _POWER and self.tokens[self.place][1] == "**":
                raise SizeSyntaxError("powers are chained")
        self.level -= 1
        return left

    def _prefixed(self, least: int) -> Tree:
        if self._take("-"):
            return Unary("-", self._expression(_MINUS))
        if self.tokens[self.place] == ("word", "not") and least <= _NOT:
            self.place += 1
            return Unary("not", self._expression(_NOT))
        return self._atom()

    def _atom(self) -> Tree:
        kind, token = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return Number(_number(token))
        if kind == "spelling":
            return Spelling(token)
        if (kind, token) == ("sign", "("):
            inner = self._expression(0)
            self._expect(")")
            return Group(inner)
        if kind == "word" and token not in ("and", "or", "not", "is"):
            return self._named(token)
        self.place -= 1
        raise self._unexpected()

    def _named(self, name: str) -> Tree:
        """Parse an expression that begins with a name: the name, a call, or a query of a tensor."""
        if name in ("True", "False"):
            return Number(name == "True")
        if name == "math" and self._take("."):
            name = f"math.{self.tokens[self.place][1]}"
            self.place += 1
            if name not in FUNCTIONS or self.tokens[self.place][1] != "(":
                raise SizeSyntaxError(f"{name} is none of {', '.join(FUNCTIONS)}")
        if self._take("("):
            if name not in FUNCTIONS:
                raise SizeSyntaxError(f"{name} is called, which is none of {', '.join(FUNCTIONS)}")
            operands = [self._expression(0)]
            while self._take(","):
                operands.append(self._expression(0))
            self._expect(")")
            if (len(operands) > 1) != (name in ("max", "min")):
                raise SizeSyntaxError(f"{name} of {len(operands)} operands")
            return Called(name, tuple(operands))
        if self._take(".", "storage_offset", "(", ")"):
            return Asked(name, "storage_offset")
        if self._take(".", "shape", "["):
            return self._of_dim(name, "shape")
        if self._take(".", "stride", "(", ")", "["):
            return self._of_dim(name, "stride")
        return Name(name)

    def _of_dim(self, name: str, what: str) -> Tree:
        kind, token = self.tokens[self.place]
        if kind != "number" or not token.isdecimal() or len(token) > 3:
            raise self._unexpected()
        self.place += 1
        self._expect("]")
        return Asked(name, what, int(token))


def _number(token: str) -> int | float:
    if len(token) > _MOST_DIGITS:
        raise SizeSyntaxError(f"a number of {len(token)} characters (at most {_MOST_DIGITS})")
    try:
        return int(token) if token.isdecimal() else float(token)
    except ValueError as error:
        raise SizeSyntaxError(f"{token!r} is no number") from error


def written(tree: Tree) -> str:
    """Print an expression as text, which parses to an equal tree.

    >>> written(read("max(s1,2)*( -s2 )"))
    'max(s1, 2) * (-s2)'
    """
    match tree:
        case Name(name):
            return name
        case Number(value):
            return "1e999" if value == math.inf else repr(value)
        case Spelling(text):
            return repr(text)
        case Unary(sign, operand):
            return f"{sign}{' ' * (sign == 'not')}{written(operand)}"
        case Binary(sign, left, right):
            return f"{written(left)} {sign} {written(right)}"
        case Called(function, operands):
            return f"{function}({', '.join(map(written, operands))})"
        case Asked(tensor, "storage_offset"):
            return f"{tensor}.storage_offset()"
        case Asked(tensor, what, dim):
            return f"{tensor}.{what}{'()' * (what == 'stride')}[{dim}]"
        case Group(inner):
            return f"({written(inner)})"


def names_of(tree: Tree) -> frozenset[str]:
    """Return the names that an expression reads."""
    if isinstance(tree, Name):
        return frozenset((tree.name,))
    if isinstance(tree, Asked):
        return frozenset((tree.tensor,))
    return frozenset().union(*map(names_of, parts_of(tree)))


def parts_of(tree: Tree) -> Sequence[Tree]:
    """Return the operands of a node."""
    match tree:
        case Unary(_, operand) | Group(operand):
            return (operand,)
        case Binary(_, left, right):
            return left, right
        case Called(_, operands):
            return operands
        case _:
            return ()


def computed(tree: Tree, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression.

    Args:
        tree: the expression.
        values: numbers and tensors by name.
    """
    match tree:
        case Name(name):
            return values[name]
        case Number(value):
            return value
        case Spelling(text):
            return text
        case Group(inner):
            return computed(inner, values)
        case Unary(sign, operand):
            value = computed(operand, values)
            return -value if sign == "-" else not value
        case Binary("and", left, right):
            return computed(left, values) and computed(right, values)
        case Binary("or", left, right):
            return computed(left, values) or computed(right, values)
        case Binary(sign, left, right):
            return _BINARY[sign](computed(left, values), computed(right, values))
        case Called(function, operands):
            return _COMPUTING[function](*[computed(operand, values) for operand in operands])
        case Asked(tensor, "storage_offset"):
            return values[tensor].storage_offset()
        case Asked(tensor, what, dim):
            return (values[tensor].shape if what == "shape" else values[tensor].stride())[dim]
