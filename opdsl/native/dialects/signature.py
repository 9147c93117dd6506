"""Parser of ``func`` of any age: a lenient grammar without knowledge of types, which prints in today's form.

``signature = name ["." overload] "(" [parameter {"," parameter}] ")" ["->" returns]``, with spaces anywhere.
"""

from __future__ import annotations

from string import ascii_lowercase

import attrs

from opdsl.errors import SchemaError
from opdsl.schema.parser import MOST_PARTS

OPENING, CLOSING = "([{<", ")]}>"
DEEPEST = 16


@attrs.define
class Parameter:
    """Argument or return of a parsed schema.

    base: the type without its suffix, ``IntList``.
    tail: the suffix: question marks and brackets, ``[2]?``.
    alias: the text of the alias annotation, ``a!``.
    name: empty for a return without a name.
    default: the text of the default.
    start, end: its position in the text.
    """

    base: str
    tail: str
    alias: str | None
    name: str
    default: str | None = None
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        alias = "" if self.alias is None else f"({self.alias})"
        name = f" {self.name}" if self.name else ""
        return f"{self.base}{alias}{self.tail}{name}" + ("" if self.default is None else f"={self.default}")

    @property
    def type(self) -> str:
        """Return the type without its annotation."""
        return self.base + self.tail

    @property
    def is_written(self) -> bool:
        """Return whether the alias annotation marks the parameter as written."""
        return self.alias is not None and self.alias.partition("->")[0].rstrip().endswith("!")


@attrs.define
class Signature:
    """Parsed ``func``.

    keyword_only: the arguments after ``*``, including out arguments.
    returns: None if ``func`` has no ``->``.
    is_named: whether the text contained the overload.
    """

    name: str
    overload: str
    positional: list[Parameter]
    keyword_only: list[Parameter]
    returns: list[Parameter] | None
    is_named: bool = False

    def __str__(self) -> str:
        name = f"{self.name}.{self.overload}" if self.overload else self.name
        star = ["*"] if self.keyword_only else []
        arguments = ", ".join([*map(str, self.positional), *star, *map(str, self.keyword_only)])
        returns = ", ".join(map(str, self.returns or ()))
        return f"{name}({arguments}) -> {returns if len(self.returns or ()) == 1 else f'({returns})'}"

    @property
    def arguments(self) -> list[Parameter]:
        """Return all arguments."""
        return self.positional + self.keyword_only

    @property
    def parameters(self) -> list[Parameter]:
        """Return all arguments and returns."""
        return self.arguments + (self.returns or [])

    @property
    def out(self) -> list[Parameter]:
        """Return the out arguments."""
        return [parameter for parameter in self.keyword_only if parameter.is_written]

    @property
    def has_self(self) -> bool:
        """Return whether the operator can be a method, as it has an argument ``self``."""
        return any(parameter.name == "self" for parameter in self.positional)

    def free_letters(self) -> list[str]:
        """Return the letters of alias sets that are not in use."""
        used = "".join(parameter.alias or "" for parameter in self.parameters)
        return [letter for letter in ascii_lowercase if letter not in used]


def parse_signature(text: str) -> Signature:
    """Parse a schema. Raises SchemaError if its parentheses or commas are invalid.

    >>> str(parse_signature("f( IntList[2] x={0,1} ,Tensor?(a!) y)->(Tensor,Tensor  z)"))
    'f(IntList[2] x={0,1}, Tensor(a!)? y) -> (Tensor, Tensor z)'
    """
    opening = text.find("(")
    if opening < 0:
        raise _error("expected '(' after the operator's name", len(text), len(text) + 1)
    closing = _end_of_group(text, opening)
    name, _, overload = text[:opening].strip().partition(".")
    positional: list[Parameter] = []
    keyword_only: list[Parameter] = []
    target = positional
    for start, end in _pieces(text, opening + 1, closing):
        if text[start:end] != "*":
            target.append(_parameter(text, start, end))
        elif target is keyword_only:
            raise _error("only one * may stand among the arguments", start, end)
        else:
            target = keyword_only
    return Signature(name, overload, positional, keyword_only, _returns(text, closing + 1), bool(overload))


def _returns(text: str, start: int) -> list[Parameter] | None:
    """Parse the returns of a schema, from the index after its arguments; None if the text ends there."""
    rest = text[start:].lstrip()
    if not rest:
        return None
    if not rest.startswith("->"):
        raise _error("expected '->' before the returns", start, len(text))
    first = start + text[start:].index("->") + 2
    while text[first : first + 1] == " ":
        first += 1
    last = len(text.rstrip())
    if text.startswith("(", first) and _end_of_group(text, first) == last - 1:
        first, last = first + 1, last - 1
    parameters = [_parameter(text, *piece, is_return=True) for piece in _pieces(text, first, last)]
    return [parameter for parameter in parameters if parameter.base != "void" or parameter.tail]


def _parameter(text: str, start: int, end: int, is_return: bool = False) -> Parameter:
    """Parse ``type name[=default]``; the annotation may follow the suffix of the type."""
    declared, equals, default = _split_default(text[start:end])
    type, name = _split_name(declared.rstrip(), is_return)
    if name.startswith("*"):
        type, name = f"{type}*", name[1:].strip()
    if not type or not (name or is_return):
        raise _error("expected a type and a name", start, end)
    opening = type.find("(")
    alias, behind = None, ""
    if opening >= 0:
        closing = _end_of_group(type, opening, start)
        alias, behind, type = type[opening + 1 : closing].strip(), type[closing + 1 :], type[:opening]
    base, tail = _split_tail("".join(type.split()))
    whole_tail = tail + "".join(behind.split())
    return Parameter(base, whole_tail, alias, name, default.strip() if equals else None, start, end)


def _split_default(text: str) -> tuple[str, str, str]:
    """Split a text at the first equals sign."""
    before, equals, after = text.partition("=")
    return before, equals, after


def _split_name(text: str, is_return: bool) -> tuple[str, str]:
    """Split a text into the type and the name, which comes last; a return may have no name."""
    position = len(text)
    while position and (text[position - 1].isalnum() or text[position - 1] == "_"):
        position -= 1
    before, name = text[:position].rstrip(), text[position:]
    if before.endswith("*") and name:
        return before, name
    if not before or text[position - 1 : position] not in (" ", "\t", ")", "]", "?", "!", ">"):
        return (text, "") if is_return else ("", text)
    return before, name


def _split_tail(type: str) -> tuple[str, str]:
    """Split a type into its base, and the question marks and brackets after it.

    >>> _split_tail("std::array<bool,3>?")
    ('std::array<bool,3>', '?')
    """
    start = type.rfind(">") + 1
    ends = [index for index in (type.find("?", start), type.find("[", start)) if index >= 0]
    end = min(ends, default=len(type))
    return type[:end], type[end:]


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges between commas outside of parentheses, stripped of spaces."""
    pieces: list[tuple[int, int]] = []
    depth, first, quote = 0, start, ""
    for position in range(start, end + 1):
        character = text[position] if position < end else ","
        if quote and position < end:
            is_escaped = text[position - 1] == "\\"
            quote = "" if character == quote and not is_escaped else quote
        elif character in "'\"":
            quote = character
        elif character in OPENING:
            depth += 1
        elif character in CLOSING and not text.startswith("->", position - 1):
            depth -= 1
        elif character == "," and (depth == 0 or position == end):
            piece = text[first:position]
            index = first + len(piece) - len(piece.lstrip())
            pieces.append((index, max(index, first + len(piece.rstrip()))))
            first = position + 1
            if len(pieces) > MOST_PARTS:
                raise _error(f"an operator takes at most {MOST_PARTS} arguments", start, end)
    if len(pieces) == 1 and pieces[0][0] >= pieces[0][1]:
        return []
    for begin, last in pieces:
        if begin >= last:
            raise _error("expected an argument between the commas", min(begin, len(text)), begin + 1)
    return pieces


def _end_of_group(text: str, opening: int, shift: int = 0) -> int:
    """Return the index of the matching closing parenthesis."""
    depth = 0
    for position in range(opening, len(text)):
        character = text[position]
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position
        if depth > DEEPEST:
            break
    raise _error("this parenthesis is not closed", shift + opening, shift + opening + 1)


def _error(message: str, start: int, end: int) -> SchemaError:
    return SchemaError(message, rule="INV-2", start=start, end=max(end, start + 1))
