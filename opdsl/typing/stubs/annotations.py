"""Conversion of schema types to annotations in stubs, and comparison of types by the values that they accept.

A type is a tuple of alternatives: ``("int", "Sequence[int]", "None")`` for ``int[2]?``. Callers may pass any sequence
for a list, and a number for a tensor if the operator accepts that.
"""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.declare.source.expressions import DTYPES, REDUCTIONS, SYMBOL_OWNERS, quoted
from opdsl.formulas.dim_binding import FOLDED
from opdsl.schema import Argument, BaseType, ClassType, ListType, OptionalType, Return, Symbol, Type
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.schema.model import DefaultValue

Alternatives = tuple[str, ...]

NUMBER = "Scalar"

# Parameters for dimensions also accept first-class dims; ``...`` denotes all positional dimensions.
_DIMENSION = ("int", "Dim", "Sequence[Dim | EllipsisType]")
_DIMENSIONS = ("int", "Dim", "EllipsisType", "Sequence[int | Dim | EllipsisType]")
_NAMED = {_DIMENSION: "AnyDim", _DIMENSIONS: "AnyDims"}

# Element types of sized lists for which one element may be passed.
_REPEATED = frozenset((BaseType.int, BaseType.SymInt, BaseType.float, BaseType.bool))


def taken(type: Type, *, accepts_number: bool = False, name: str = "") -> Alternatives:
    """Return the alternatives that a caller may pass for a parameter.

    Args:
        type: of the schema.
        accepts_number: whether a number is accepted for a tensor.
        name: of the parameter: where it names dimensions, first-class ones are accepted.

    >>> taken(OptionalType(ListType(BaseType.int, 2)))
    ('int', 'Sequence[int]', 'None')
    """
    if isinstance(type, OptionalType):
        return (*taken(type.element, accepts_number=accepts_number, name=name), "None")
    if name in FOLDED and type is BaseType.int:
        return _DIMENSION
    if name in FOLDED and isinstance(type, ListType) and type.element is BaseType.int:
        return _DIMENSIONS
    if isinstance(type, ListType):
        element = taken(type.element)
        sequence = f"Sequence[{text(element)}]"
        return (*element, sequence) if type.size is not None and type.element in _REPEATED else (sequence,)
    if isinstance(type, ClassType):
        return ("object",)
    alternatives = PYTHON_TYPES[type].accepted
    return (*alternatives, NUMBER) if accepts_number and type is BaseType.Tensor else alternatives


def given(type: Type) -> str:
    """Return the annotation of a result."""
    if isinstance(type, OptionalType):
        return f"{given(type.element)} | None"
    if isinstance(type, ListType):
        return f"list[{given(type.element)}]"
    if isinstance(type, ClassType):
        return "Any"
    return PYTHON_TYPES[type].accepted[0]


def returned(returns: Sequence[Return]) -> str:
    """Return the annotation of an operator's return value, if its returns have no names."""
    if not returns:
        return "None"
    texts = [given(result.type) for result in returns]
    return texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"


def text(alternatives: Alternatives) -> str:
    """Format alternatives as an annotation."""
    for several, name in _NAMED.items():
        if alternatives[: len(several)] == several:
            alternatives = (name, *alternatives[len(several) :])
    return " | ".join(alternatives)


def default(argument: Argument) -> str:
    """Format the default of an argument as an expression."""
    assert argument.default is not None, "asked of arguments that have one"
    value = argument.default.value
    if isinstance(value, int) and argument.default.text in REDUCTIONS:
        return f"Reduction.{argument.default.text}"
    if isinstance(value, Symbol):
        base = argument.type.base
        owner = SYMBOL_OWNERS.get(base) if isinstance(base, BaseType) else None
        return f"{owner}.{value.name}" if owner else DTYPES[value.name]
    return _literal(value)


def _literal(value: DefaultValue) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        return quoted(value)
    # Infinity and NaN have no literal, but the parameter does have a default.
    return "..." if isinstance(value, float) and value - value != 0 else repr(value)


_NUMBERS = ("bool", "int", "float", "complex")


def is_within(narrow: Alternatives, wide: Alternatives) -> bool:
    """Return whether one type accepts every value that another one does.

    >>> is_within(("int", "None"), ("Scalar", "None")), is_within(("Sequence[int]",), ("int",))
    (True, False)
    """
    return all(any(_is_alternative_within(one, other) for other in wide) for one in narrow)


def _is_alternative_within(one: str, other: str) -> bool:
    if one == other or other == "object":
        return True
    one, other = (name.replace(NUMBER, "complex") for name in (one, other))
    if one in _NUMBERS and other in _NUMBERS:
        return _NUMBERS.index(one) <= _NUMBERS.index(other)
    if one.startswith("Sequence[") and other.startswith("Sequence["):
        return is_within(_split(one), _split(other))
    return False


def _split(sequence: str) -> Alternatives:
    return tuple(sequence.removeprefix("Sequence[").removesuffix("]").split(" | "))
