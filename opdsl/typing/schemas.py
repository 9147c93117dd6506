"""Conversion of mypy's types to a schema, for an operator that is declared in another module or read from mypy's cache.

mypy keeps neither alias sets nor defaults, but names, order, types, and which arguments have a default.
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy.nodes import ArgKind, Var
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    UnionType,
    flatten_nested_unions,
    get_proper_type,
)

from opdsl.schema import (
    Argument,
    BaseType,
    ClassType,
    Default,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
)
from opdsl.schema import Type as SchemaType
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.typing.annotations import LISTS, TENSORS

BASES: dict[str, SchemaType] = {
    **{python_type.fullname: kind for kind, python_type in PYTHON_TYPES.items()},
    **dict.fromkeys(TENSORS, BaseType.Tensor),
    "builtins.complex": BaseType.Scalar,
}
"""Schema types of classes, by full name."""


def schema_of(
    name: str, names: Sequence[str], kinds: Sequence[ArgKind], types: Sequence[Type], result: Type
) -> FunctionSchema:
    """Build a schema from mypy's types of a declared function.

    Args:
        name: of the function.
        names, kinds, types: of its parameters.
        result: its return type.
    """
    arguments = [
        Argument(text, schema_type(type), Default("...", None) if kind.is_optional() else None)
        for text, kind, type in zip(names, kinds, types, strict=True)
    ]
    positional = tuple(parameter for parameter, kind in zip(arguments, kinds, strict=True) if not kind.is_named())
    named = tuple(parameter for parameter, kind in zip(arguments, kinds, strict=True) if kind.is_named())
    return FunctionSchema(OperatorName(None, name, ""), positional, named, (), _returns(result))


def schema_type(type: Type) -> SchemaType:
    """Return the schema type of an analyzed type; a ``ClassType`` for classes that schemas do not have."""
    kind = get_proper_type(type)
    if isinstance(kind, UnionType):
        return _of_union(kind)
    if not isinstance(kind, Instance):
        return ClassType("Any" if isinstance(kind, AnyType) else str(kind))
    fullname = kind.type.fullname
    if fullname in LISTS and kind.args:
        return ListType(schema_type(kind.args[0]))
    return BASES.get(fullname, ClassType(fullname))


def _of_union(union: UnionType) -> SchemaType:
    items = [get_proper_type(nested_union) for nested_union in flatten_nested_unions(union.items)]
    present = [schema_type(item) for item in items if not isinstance(item, NoneType)]
    lists = [base_type for base_type in present if isinstance(base_type, ListType)]
    if BaseType.Tensor in present:
        list_type: SchemaType = BaseType.Tensor  # numbers in the union are accepted for a tensor
    elif lists:
        list_type = ListType(lists[0].element, 1) if len(present) > 1 else lists[0]
    else:
        list_type = present[0] if len(present) == 1 else BaseType.Scalar
    return OptionalType(list_type) if len(present) < len(items) else list_type


def _returns(result: Type) -> tuple[Return, ...]:
    kind = get_proper_type(result)
    if isinstance(kind, NoneType):
        return ()
    if not isinstance(kind, TupleType):
        return (Return(None, schema_type(kind)),)
    names = _field_names(kind) or [None] * len(kind.items)
    return tuple(Return(name, schema_type(item)) for name, item in zip(names, kind.items, strict=True))


def _field_names(kind: TupleType) -> list[str | None]:
    """Return the field names of a NamedTuple; an empty list for a plain tuple."""
    symbol = kind.partial_fallback.type.names.get("__match_args__")
    fields = get_proper_type(symbol.node.type) if symbol is not None and isinstance(symbol.node, Var) else None
    items = [get_proper_type(field) for field in fields.items] if isinstance(fields, TupleType) else []
    return [str(item.value) for item in items if isinstance(item, LiteralType)]
