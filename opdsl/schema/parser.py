"""Recursive-descent parser of schema texts; the docstring of each rule's function is its grammar.

A schema has only one textual form, which ``str`` of the values prints, so that parsing and printing are inverse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import cache
from typing import NoReturn, TypeVar

from opdsl.errors import SchemaError
from opdsl.schema.alias import Alias, alias_fault, is_alias_name
from opdsl.schema.defaults import resolved
from opdsl.schema.faults import shortened, underlined
from opdsl.schema.invariants import (
    MOST_NESTING,
    check,
    check_relations,
    default_faults,
    name_faults,
    type_faults,
    value_alias_faults,
)
from opdsl.schema.model import Argument, Default, DefaultValue, FunctionSchema, OperatorName, Return, Symbol
from opdsl.schema.torch_spelling import as_torch_prints
from opdsl.schema.types import CLASS_PREFIX, BaseType, ClassType, FormerType, ListType, OptionalType, Type
from opdsl.schema.violation import Violation, violation_error
from opdsl.tracebacks import without_own_frames

WORD = r"[A-Za-z0-9_]+"
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
DOTTED = r"[A-Za-z0-9_.]+"
NUMBER = r"-?(?:inf|nan|(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)(?![A-Za-z0-9_.])"
INTEGER = r"-?(?:0|[1-9][0-9]*)"
STRING = r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'"
LONGEST_NUMBER = 40
LONGEST_GUESS = 64
MOST_PARTS = 256
"""Maximum number of arguments or returns of a schema: no operator has nearly as many, and rules compare them
pairwise.
"""
MOST_CHARACTERS = 1 << 16
"""Maximum length of a schema's text."""
MOST_REMEMBERED = 8192
"""Maximum number of argument and return texts in the cache; schemas repeat few of them very often."""
LONGEST_REMEMBERED = 512

BASE_TYPES: dict[str, Type] = {type.value: type for type in BaseType}
ESCAPES = {"n": "\n", "t": "\t"}
CONSTANTS: dict[str, bool | None] = {"None": None, "True": True, "False": False}

Parsed = TypeVar("Parsed")


def parse_schema(text: str) -> FunctionSchema:
    """Parse ``[namespace::]name[.overload](arguments) -> returns``; ``str`` of the result is the text again.

    Args:
        text: a schema, as native_functions.yaml has it after ``func:``, or as PyTorch prints it, with blanks in lists
            and enumerators as numbers, which ``str`` prints as the file does.

    Returns:
        The schema as a value: ``name``, ``arguments``, ``returns``.

    Raises:
        SchemaError: it breaks the grammar or an invariant; the message shows the text with the fault underlined.

    >>> str(parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"))
    'add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor'
    """
    with without_own_frames():
        return _parsed_schema(text)


def _parsed_schema(text: str) -> FunctionSchema:
    try:
        parsed, violations = examine_schema(text)
        is_other = bool(violations) and as_torch_prints(text) != text
    except SchemaError:
        is_other = isinstance(text, str) and len(text) <= MOST_CHARACTERS and as_torch_prints(text) != text
        if not is_other:
            raise
    if is_other:
        parsed, violations = examine_schema(as_torch_prints(text))
    if violations:
        raise violation_error(parsed, violations)
    return parsed


def examine_schema(text: str, former: Container[str] = ()) -> tuple[FunctionSchema, list[Violation]]:
    """Parse a schema by the grammar, and return it with the violations of rules.

    former: obsolete base types that are accepted as well.

    Raises SchemaError if it breaks the grammar.
    """
    cursor = Cursor(text, former)
    parsed = schema(cursor)
    return parsed, check(parsed) if cursor.has_doubtful_parts else check_relations(parsed)


def parse_operator_name(text: str) -> OperatorName:
    """Parse ``[namespace::]name[.overload]``. Raises SchemaError."""
    name = _whole(text, operator_name)
    for message in name_faults(name):
        Cursor(text).fail(message, 0, len(text), "INV-3")
    return name


def parse_type(text: str) -> Type:
    """Parse a type without alias annotation. Raises SchemaError.

    >>> parse_type("int[2]?")
    OptionalType(element=ListType(element=<BaseType.int: 'int'>, size=2))
    """

    def plain_type(cursor: Cursor) -> Type:
        type, alias = annotated_type(cursor)
        if alias is not None:
            cursor.fail("an alias annotation belongs to an argument or a return", 0, len(text), "INV-6")
        for message in type_faults(type):
            cursor.fail(message, 0, len(text), "INV-5")
        return type

    return _whole(text, plain_type)


def parse_argument(text: str) -> Argument:
    """Parse ``type name[=default]``. Raises SchemaError."""
    parsed = _whole(text, argument)
    for message in _argument_faults(parsed):
        Cursor(text).fail(message, 0, len(text), "argument")
    return parsed


class Cursor:
    """Position of the parser in a text, with the functions that match tokens."""

    __slots__ = ("former", "has_doubtful_parts", "position", "text")

    def __init__(self, text: str, former: Container[str] = ()) -> None:
        if not isinstance(text, str):
            raise SchemaError(f"a schema is text (got {type(text).__name__})", rule="INV-2")
        self.text = text
        self.former = former
        self.position = 0
        self.has_doubtful_parts = False
        if len(text) > MOST_CHARACTERS:
            self.fail(f"a schema has at most {MOST_CHARACTERS} characters (got {len(text)})", 0, 1, "INV-2")

    def accept(self, token: str) -> bool:
        """Advance past ``token`` if it is next, and return whether it was."""
        if self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str, meaning: str, rule: str) -> None:
        """Advance past ``token``, or raise an error if it is not next."""
        if not self.accept(token):
            self.fail(f"expected {token!r} {meaning}", self.position, self.position + 1, rule)

    def match(self, pattern: str) -> str | None:
        """Match ``pattern`` at the current position, advance past the match and return it, or None."""
        match = _compiled(pattern).match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match.group()

    def read(self, pattern: str, what: str, rule: str) -> str:
        """Match ``pattern`` at the current position, advance past the match and return it, or raise an error."""
        start = self.position
        match = self.match(pattern)
        if match is None:
            self.fail(f"expected {what}", start, start + 1, rule)
        return match

    def fail(self, message: str, start: int, end: int, rule: str) -> NoReturn:
        """Raise SchemaError with the part from ``start`` to ``end`` underlined."""
        shown = underlined(self.text, start, end)
        raise SchemaError(f"{shortened(message)} [{rule}]\n{shown}", rule=rule, start=start, end=end)


# -------------------------------------------------------------------------------------------------------- the grammar


def schema(cursor: Cursor) -> FunctionSchema:
    """Parse ``schema = operator_name "(" [arguments] ")" " -> " returns END``."""
    name = operator_name(cursor)
    cursor.expect("(", "after the operator's name", "INV-2")
    positional, keyword_only, out = arguments(cursor)
    cursor.expect(")", "or ', ' after an argument", "INV-2")
    cursor.expect(" -> ", "before the returns", "INV-2")
    values = remembered_returns(cursor)
    _end(cursor)
    return FunctionSchema(name, positional, keyword_only, out, values)


def operator_name(cursor: Cursor) -> OperatorName:
    """Parse ``operator_name = [WORD "::"] WORD ["." WORD]``."""
    first = cursor.read(WORD, "an operator name", "INV-3")
    namespace = None
    if cursor.accept("::"):
        namespace, first = first, cursor.read(WORD, "an operator name after the namespace", "INV-3")
    overload = cursor.read(WORD, "an overload name after the dot", "INV-3") if cursor.accept(".") else ""
    return OperatorName(namespace, first, overload)


Arguments = tuple[tuple[Argument, ...], tuple[Argument, ...], tuple[Argument, ...]]


def arguments(cursor: Cursor) -> Arguments:
    """Parse ``arguments = item {", " item}``, ``item = argument | "*"``, with at most one ``*``, not at the end."""
    positional: list[Argument] = []
    keyword_only: list[Argument] = []
    out: list[Argument] = []
    target = positional
    text = cursor.text
    if text.startswith(")", cursor.position):
        return (), (), ()
    last = text.find(") -> ", cursor.position)
    while True:
        start = cursor.position
        if text.startswith("*", start):
            cursor.position += 1
            if target is not positional:
                cursor.fail("only one * is allowed among the arguments", start, start + 1, "INV-7")
            if not text.startswith(", ", cursor.position):
                cursor.fail("keyword-only arguments have to follow *", start, start + 1, "INV-7")
            target = keyword_only
        else:
            value = remembered_argument(cursor, last)
            if target is not positional:
                target = out if value.is_written else keyword_only
                if out and target is keyword_only:
                    message = f"{value.name} is not written, so it cannot follow the out arguments: put it before them"
                    cursor.fail(message, start, cursor.position, "INV-7")
            target.append(value)
        if len(positional) + len(keyword_only) + len(out) > MOST_PARTS:
            cursor.fail(f"an operator takes at most {MOST_PARTS} arguments", start, cursor.position, "INV-2")
        if not text.startswith(", ", cursor.position):
            return tuple(positional), tuple(keyword_only), tuple(out)
        cursor.position += 2


def remembered_argument(cursor: Cursor, last: int) -> Argument:
    """Parse an argument, or return it from the cache if the same text was parsed before.

    If a comma or the closing parenthesis follows, the rest of the schema does not matter: a dictionary look-up can
    replace parsing.
    """
    start = cursor.position
    if last < 0:
        last = len(cursor.text)
    end = cursor.text.find(", ", start, last)
    if end < 0:
        end = last
    text = cursor.text[start:end]
    known = _arguments.get(text)
    if known is not None:
        cursor.position = end
        return known
    value = argument(cursor)
    if cursor.position != end or any(_argument_faults(value)):
        cursor.has_doubtful_parts = True
    elif _is_kept(text, _arguments) and not cursor.former:
        _arguments[text] = value
    return value


def argument(cursor: Cursor) -> Argument:
    """Parse ``argument = annotated_type " " IDENTIFIER ["=" default]``."""
    type, alias = annotated_type(cursor)
    cursor.expect(" ", "and a name after the argument's type", "INV-2")
    name = cursor.read(IDENTIFIER, "an argument's name", "identifier")
    value = default(cursor, type) if cursor.accept("=") else None
    return Argument(name, type, value, alias)


def annotated_type(cursor: Cursor) -> tuple[Type, Alias | None]:
    """Parse ``annotated_type = base_type ["(" alias ")"] {"?" | "[" [INTEGER] "]"}``."""
    start = cursor.position
    type: Type = base_type(cursor)
    annotation = alias(cursor, start) if cursor.text.startswith("(", cursor.position) else None
    for _ in range(MOST_NESTING + 1):
        if cursor.accept("?"):
            type = OptionalType(type)
        elif cursor.accept("["):
            type = ListType(type, list_size(cursor))
        else:
            return type, annotation
    return cursor.fail("a type is not nested this deep", start, cursor.position, "INV-5")


def base_type(cursor: Cursor) -> BaseType | ClassType:
    """Parse ``base_type = "Tensor" | "int" | ... | "__torch__.torch.classes." DOTTED``."""
    start = cursor.position
    if cursor.accept(CLASS_PREFIX):
        return ClassType(cursor.read(DOTTED, "the name of a custom class", "INV-5"))
    type_name = cursor.read(IDENTIFIER, "a type", "INV-5")
    known = BASE_TYPES.get(type_name)
    if not isinstance(known, BaseType):
        type_name += "*" if cursor.former and cursor.accept("*") else ""
        if type_name in cursor.former:
            return FormerType(type_name)
        cursor.fail(f"{type_name} is no schema type{_meant(type_name)}", start, cursor.position, "INV-5")
    return known


def list_size(cursor: Cursor) -> int | None:
    """Parse ``[INTEGER] "]"``."""
    start = cursor.position
    digits = cursor.match(r"[0-9]+")
    cursor.expect("]", "after a list's size", "INV-5")
    if digits is None:
        return None
    if len(digits) > 9 or digits[0] == "0":
        cursor.fail("a list's size is an integer of at least 1", start, start + len(digits), "INV-5")
    return int(digits)


def alias(cursor: Cursor, type_start: int) -> Alias:
    """Parse ``alias = "(" alias_sets ["!"] [" -> " ("*" | alias_sets)] ")"``."""
    start = cursor.position
    if cursor.text[type_start:start] != "Tensor":
        cursor.fail("an alias annotation has to come right after Tensor", type_start, start + 1, "INV-6")
    cursor.position += 1
    before = alias_sets(cursor)
    write = cursor.accept("!")
    after: str | None = None
    if cursor.accept(" -> "):
        after = "*" if cursor.accept("*") else alias_sets(cursor)
    cursor.expect(")", "after an alias annotation, like (a), (a!), (a|b), (a -> *)", "INV-6")
    annotation = object.__new__(Alias)
    annotation.__attrs_init__(tuple(before.split("|")), write, tuple(after.split("|")) if after else ())
    message = alias_fault(annotation)
    if message is not None:
        cursor.fail(message, start, cursor.position, "INV-6")
    return annotation


def alias_sets(cursor: Cursor) -> str:
    """Parse ``alias_sets = NAME {"|" NAME}``, where a name is a lower-case letter, optionally followed by digits."""
    start = cursor.position
    names = cursor.match(r"[a-z0-9|]+") or ""
    if not all(is_alias_name(name) for name in names.split("|")):
        message = "alias sets have names of one lower-case letter, like (a), (a!), (a|b)"
        cursor.fail(message, start, max(cursor.position, start + 1), "INV-6")
    return names


def default(cursor: Cursor, type: Type) -> Default:
    """Parse ``default = value | "[" [value {"," value}] "]"``."""
    start = cursor.position
    if not cursor.accept("["):
        meaning = value(cursor, type)
        return Default(cursor.text[start : cursor.position], meaning)
    elements: list[DefaultValue] = []
    if not cursor.accept("]"):
        elements.append(value(cursor, type))
        while cursor.accept(","):
            elements.append(value(cursor, type))
        cursor.expect("]", "or ',' without a space in a default list", "INV-1")
    return Default(cursor.text[start : cursor.position], tuple(elements))


def value(cursor: Cursor, type: Type) -> DefaultValue:
    """Parse ``value = "None" | "True" | "False" | NUMBER | STRING | IDENTIFIER``."""
    start = cursor.position
    text = cursor.match(STRING)
    if text is not None:
        return _unescaped(text[1:-1])
    text = cursor.match(NUMBER)
    if text is not None:
        return _number(cursor, text, start)
    word = cursor.read(IDENTIFIER, "a default value", "default-type")
    return CONSTANTS[word] if word in CONSTANTS else resolved(Symbol(word), type)


def remembered_returns(cursor: Cursor) -> tuple[Return, ...]:
    """Parse the returns, or return them from the cache if the same text was parsed before."""
    start = cursor.position
    text = cursor.text[start:]
    known = _returns.get(text)
    if known is not None:
        cursor.position = len(cursor.text)
        return known
    values = returns(cursor)
    if any(fault for one in values for fault in (*type_faults(one.type), *value_alias_faults(one))):
        cursor.has_doubtful_parts = True
    elif cursor.position == len(cursor.text) and _is_kept(text, _returns) and not cursor.former:
        _returns[text] = values
    return values


def returns(cursor: Cursor) -> tuple[Return, ...]:
    """Parse ``returns = return_value | "(" [return_value ", " return_value {", " return_value}] ")"``."""
    start = cursor.position
    if not cursor.accept("("):
        return (return_value(cursor),)
    values: list[Return] = []
    if not cursor.accept(")"):
        values.append(return_value(cursor))
        while cursor.accept(", "):
            values.append(return_value(cursor))
            if len(values) > MOST_PARTS:
                cursor.fail(f"an operator returns at most {MOST_PARTS} values", start, cursor.position, "INV-2")
        cursor.expect(")", "or ', ' after a return", "INV-2")
    if len(values) == 1:
        cursor.fail("a single return is written without parentheses", start, cursor.position, "INV-1")
    return tuple(values)


def return_value(cursor: Cursor) -> Return:
    """Parse ``return_value = annotated_type [" " IDENTIFIER]``."""
    type, alias = annotated_type(cursor)
    name = cursor.read(IDENTIFIER, "a return's name", "identifier") if cursor.accept(" ") else None
    return Return(name, type, alias)


# ------------------------------------------------------------------------------------------------------------ helpers

_arguments: dict[str, Argument] = {}
_returns: dict[str, tuple[Return, ...]] = {}


def _is_kept(text: str, known: Mapping[str, object]) -> bool:
    """Return whether a text may be cached: it is short, and the cache is not full."""
    return len(text) <= LONGEST_REMEMBERED and len(known) < MOST_REMEMBERED


def forget() -> None:
    """Clear the caches of parsed arguments and returns."""
    _arguments.clear()
    _returns.clear()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, since importing the package parses no schema."""
    return re.compile(pattern)


def _whole(text: str, rule: Callable[[Cursor], Parsed]) -> Parsed:
    """Parse a whole text by one rule."""
    cursor = Cursor(text)
    parsed = rule(cursor)
    _end(cursor)
    return parsed


def _end(cursor: Cursor) -> None:
    if cursor.position < len(cursor.text):
        cursor.fail("nothing may follow here", cursor.position, len(cursor.text), "INV-2")


def _argument_faults(argument: Argument) -> list[str]:
    return [*type_faults(argument.type), *value_alias_faults(argument), *default_faults(argument)]


def _number(cursor: Cursor, text: str, start: int) -> int | float:
    """Return the value of an integer or float; spellings of integers that would not print back are errors."""
    if len(text) > LONGEST_NUMBER:
        cursor.fail("a number this long has no meaning", start, cursor.position, "default-type")
    if re.fullmatch(INTEGER, text):
        return int(text)
    if text.lstrip("-").isdigit():
        cursor.fail("an integer has no leading zeros", start, cursor.position, "INV-1")
    return float(text)


def _unescaped(text: str) -> str:
    r"""Return the value of a string literal: a backslash escapes a character, ``\n`` and ``\t`` as in Python."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match.group(1), match.group(1)), text)


def _meant(name: str) -> str:
    """Return a suggestion of the type that was probably meant, as part of an error message."""
    import difflib

    if len(name) > LONGEST_GUESS:
        return ""
    close = difflib.get_close_matches(name, BASE_TYPES, n=1)
    return f": did you mean {close[0]}?" if close else f". Known are {', '.join(BASE_TYPES)}"
