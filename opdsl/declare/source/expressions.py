"""Python expressions for parts of schemas: annotations, defaults, texts.

Every text of an entry that becomes code is an identifier by the schema's grammar, or a string literal.
"""

from __future__ import annotations

from collections.abc import Iterable

from opdsl.errors import AnnotationError
from opdsl.schema import Alias, Argument, BaseType, ClassType, ListType, OptionalType, Return, Symbol, Type
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.schema.defaults import default_of
from opdsl.schema.model import Default, DefaultValue

SIZED = {
    BaseType.int: "IntList",
    BaseType.SymInt: "SymIntList",
    BaseType.float: "FloatList",
    BaseType.bool: "BoolList",
}
"""Names of types that accept one element or a list of a given size, by the element's type."""

SYMBOL_OWNERS: dict[BaseType, str] = {
    kind: python_type.name
    for kind, python_type in PYTHON_TYPES.items()
    if python_type.symbols and kind is not BaseType.ScalarType
}
"""Names of the classes whose members are written as defaults, by the schema's type."""

REDUCTIONS = frozenset(("Mean", "Sum"))

DTYPES = {
    "bool": "bool_",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "bfloat16": "bfloat16",
    "complex_float": "complex64",
    "complex_double": "complex128",
}
"""Names of dtypes in ``opdsl.runtime``, by their names in schemas."""


def quoted(text: str) -> str:
    r"""Return a text as a Python string literal, in double quotes if that needs no escape.

    >>> print(quoted("a b"), quoted('say "a"'), quoted("\u202e"))
    "a b" 'say "a"' "\u202e"
    """
    literal = ascii(text)
    return f'"{literal[1:-1]}"' if literal[0] == "'" and '"' not in literal and "\\'" not in literal else literal


def listed(texts: Iterable[str]) -> str:
    """Return texts as a Python list of string literals."""
    return f"[{', '.join(map(quoted, texts))}]"


class Expressions:
    """Generator of Python expressions for schema parts, which collects the names to import.

    names: opdsl names that have to be imported.
    classes: custom class types, with the names of the Python classes that represent them.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.classes: dict[str, str] = {}

    def use(self, name: str) -> str:
        """Record that an opdsl name has to be imported, and return it."""
        self.names.add(name)
        return name

    def annotation(self, type: Type, alias: Alias | None = None, name: str | None = None) -> str:
        """Return the annotation that represents a schema type.

        name: the schema's name for the value, if the Python parameter has another one.

        >>> Expressions().annotation(OptionalType(ListType(BaseType.int)))
        'list[int] | None'
        """
        text = self._annotation(type, alias)
        if name is None:
            return text
        marker = f"{self.use('Name')}({quoted(name)})"
        if text.startswith("Annotated[") and not isinstance(type, OptionalType):
            return f"{text[:-1]}, {marker}]"
        return f"{self.use('Annotated')}[{text}, {marker}]"

    def _annotation(self, type: Type, alias: Alias | None) -> str:
        if isinstance(type, OptionalType):
            return f"{self._annotation(type.element, alias)} | None"
        if isinstance(type, ListType):
            return self._list(type, alias)
        if isinstance(type, ClassType):
            return self._class(type)
        name = PYTHON_TYPES[type].name
        if PYTHON_TYPES[type].module:
            self.use(name)
        return name if alias is None else f"{self.use('Annotated')}[{name}, {self._alias(alias)}]"

    def _list(self, type: ListType, alias: Alias | None) -> str:
        plain = f"list[{self._annotation(type.element, alias)}]"
        if type.size is None:
            return plain
        either = SIZED.get(type.element) if isinstance(type.element, BaseType) else None
        inner = plain if either is None else self.use(either)
        return f"{self.use('Annotated')}[{inner}, {self.use('Size')}({type.size})]"

    def _class(self, type: ClassType) -> str:
        text = str(type)
        if text not in self.classes:
            base = "".join(part[:1].upper() + part[1:] for part in text.split(".")[3:]) or "Custom"
            clean = "".join(character for character in base if character.isalnum() or character == "_")
            taken = set(self.classes.values())
            name = f"Class{clean}"
            while name in taken:
                name += "_"
            self.classes[text] = name
        return self.classes[text]

    def _alias(self, alias: Alias) -> str:
        parts = [quoted("|".join(alias.before))]
        if alias.write:
            parts.append("write=True")
        if alias.after:
            parts.append(f"after={quoted('|'.join(alias.after))}")
        return f"{self.use('Alias')}({', '.join(parts)})"

    def returns(self, returns: tuple[Return, ...]) -> str:
        """Return the return annotation; several returns become a tuple."""
        if not returns:
            return "None"
        texts = [self.annotation(returned.type, returned.alias, returned.name) for returned in returns]
        return texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"

    def default(self, argument: Argument) -> str:
        """Return the default of an argument as source; it prints back exactly as the schema has it."""
        default = argument.default
        assert default is not None, "asked of arguments that have one"
        if isinstance(default.value, int) and default.text in REDUCTIONS:
            return f"{self.use('Reduction')}.{default.text}"
        if isinstance(default.value, Symbol):
            return self._symbol(default.value, argument.type, default)
        value = _literal(default.value)
        if _prints_back(default):
            return value
        return f"{self.use('spelled')}({value}, {quoted(default.text)})"

    def _symbol(self, symbol: Symbol, type: Type, default: Default) -> str:
        inside = type.element if isinstance(type, OptionalType) else type
        owner = SYMBOL_OWNERS.get(inside) if isinstance(inside, BaseType) else None
        if owner is not None:
            return f"{self.use(owner)}.{symbol.name}"
        known = DTYPES.get(symbol.name)
        if inside is BaseType.ScalarType and known is not None:
            return self.use(known)
        raise AnnotationError(f"no Python value represents the default {default.text} of type {type}")


def _prints_back(default: Default) -> bool:
    """Return whether the Python value of a default, printed again, gives exactly the text of the schema."""
    return default_of(default.value).text == default.text


def _literal(value: DefaultValue) -> str:
    """Return a value as a Python literal; tuples become lists, since parameters are annotated with lists."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value)
