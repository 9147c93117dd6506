"""Support for annotations that mypy cannot read without the plugin: ``Tensor[Alias("a", write=True)]``, ``Ints[2]``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mypy.nodes import TypeAlias, TypeInfo
from mypy.plugin import AnalyzeTypeContext, TypeAnalyzerPluginInterface
from mypy.typeanal import TypeAnalyser
from mypy.types import AnyType, Instance, RawExpressionType, Type, TypeOfAny, UnboundType, UnionType, get_proper_type

TENSOR_MODULE = "opdsl.runtime.tensor"

TENSORS = tuple(f"{TENSOR_MODULE}.{name}" for name in ("Tensor", "CPUTensor", "CUDATensor"))
"""Full names of the classes that accept an Alias."""

SIZED_LISTS = {
    "opdsl.schema.vocabulary.Ints": "builtins.int",
    "opdsl.schema.vocabulary.SymInts": "builtins.int",
    "opdsl.schema.vocabulary.Floats": "builtins.float",
    "opdsl.schema.vocabulary.Bools": "builtins.bool",
}
"""Full names of the classes that accept a size, each with the type of one element."""

LISTS = frozenset(("builtins.list", "typing.Sequence", "builtins.tuple"))
"""Full names of the classes that denote a list in a schema."""

TypeHook = Callable[[AnalyzeTypeContext], Type]


def tensor(fullname: str, context: AnalyzeTypeContext) -> Type:
    """Return the type Tensor for ``Tensor[Alias(...)]``; report anything else in the brackets."""
    arguments = context.type.args
    if len(arguments) > 1:
        context.api.fail('A Tensor takes one Alias: Tensor[Alias("a")]', context.context)
    elif arguments:
        message = _alias_fault(context, arguments[0])
        if message is not None:
            context.api.fail(message, context.context)
    return context.api.named_type(fullname, [])


def sized_list(element: str, context: AnalyzeTypeContext) -> Type:
    """Return the type ``int | Sequence[int]`` for ``Ints[2]``."""
    name = context.type.name.rpartition(".")[2]
    arguments = context.type.args
    size = arguments[0] if len(arguments) == 1 else None
    value = size.literal_value if isinstance(size, RawExpressionType) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        context.api.fail(f"{name} takes a size of at least 1: {name}[2]", context.context)
    one = context.api.named_type(element, [])
    return UnionType.make_union([one, context.api.named_type("typing.Sequence", [one])])


def named(api: TypeAnalyzerPluginInterface, fullname: str) -> Type:
    """Return the type of a class or an alias by its full name; Any if mypy has not read its module."""
    symbol = api.api.lookup_fully_qualified_or_none(fullname) if isinstance(api, TypeAnalyser) else None
    node = None if symbol is None else symbol.node
    if isinstance(node, TypeAlias):
        return get_proper_type(node.target)
    if not isinstance(node, TypeInfo):
        return AnyType(TypeOfAny.explicit)
    instance = Instance(node, [])
    return node.tuple_type.copy_modified(fallback=instance) if node.tuple_type else instance


def _alias_fault(context: AnalyzeTypeContext, argument: Type) -> str | None:
    """Return an error message about the brackets of a Tensor, or None. The arguments of ``Alias(...)`` are not visible
    here.
    """
    if isinstance(argument, RawExpressionType):
        return None if argument.literal_value is None else 'A Tensor takes an Alias: Tensor[Alias("a")]'
    if not isinstance(argument, UnboundType):
        return 'A Tensor takes an Alias: Tensor[Alias("a")]'
    if argument.original_str_expr is not None:
        return f'A Tensor takes an Alias, not text: Tensor[Alias("{argument.original_str_expr}")]'
    if not isinstance(context.api, TypeAnalyser):
        return None
    symbol = context.api.lookup_qualified(argument.name, argument)
    if symbol is not None and isinstance(symbol.node, TypeInfo):
        name = symbol.node.name
        what = "Alias takes the alias sets" if name == "Alias" else f"A Tensor takes an Alias, not {name}"
        return f'{what}: Tensor[Alias("a")]'
    return None


HOOKS: dict[str, TypeHook] = {
    **{fullname: partial(tensor, fullname) for fullname in TENSORS},
    **{fullname: partial(sized_list, element) for fullname, element in SIZED_LISTS.items()},
}
"""Hooks that analyze subscripted classes in annotations, by full name."""
