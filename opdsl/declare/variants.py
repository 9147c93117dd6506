"""Schemas of in-place and ``out=`` variants, by torchgen's rule for generated operators (INV-45)."""

from __future__ import annotations

import attrs

from opdsl.declare.options import Inplace, Out
from opdsl.errors import DeclarationError
from opdsl.schema import Alias, Argument, BaseType, FunctionSchema, OperatorName, Return, parse_operator_name

_ALIAS_SETS = "abcdefghijklmnopqrstuvwxyz"
_TENSOR_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def _no_variant(schema: FunctionSchema, which: str, reason: str) -> DeclarationError:
    return DeclarationError(
        f"{schema.name}: no {which} variant can be derived: {reason} ({schema}). Omit {which}=, or write the variant "
        f"with @{schema.name.base}.{which}_variant."
    )


def _variant_name(text: str | None, schema: FunctionSchema, base: str, overload: str) -> OperatorName:
    if text is None:
        return attrs.evolve(schema.name, base=base, overload=overload)
    if text.startswith("."):
        return attrs.evolve(schema.name, base=base, overload=text[1:])
    return attrs.evolve(parse_operator_name(text), namespace=schema.name.namespace)


def inplace_schema(schema: FunctionSchema, how: Inplace) -> FunctionSchema:
    """Return the schema of the in-place variant: ``self`` is written, and returned if it is a tensor.

    The in-place variant of a view operator turns the tensor into that view of its memory.

    Raises:
        DeclarationError: there is no ``self`` that is a tensor or a list of tensors, or the result has another type.
    """
    first = next((argument for argument in schema.positional if argument.name == "self"), None)
    own = None if first is None or schema.is_mutable else first.alias
    if first is None or str(first.type) not in ("Tensor", "Tensor[]") or first.alias is not own:
        raise _no_variant(schema, "inplace", "it has no argument `self: Tensor`")
    if [(str(returned.type), returned.alias) for returned in schema.returns] != [(str(first.type), own)]:
        raise _no_variant(schema, "inplace", f"it does not return one fresh {first.type}")
    alias = Alias("a", write=True)
    positional = tuple(
        attrs.evolve(argument, alias=alias) if argument is first else argument for argument in schema.positional
    )
    operator_name = _variant_name(how.name, schema, inplace_base(schema.name.base), schema.name.overload)
    # A written list is not returned (INV-14).
    returns = (Return(None, BaseType.Tensor, alias),) if first.type is BaseType.Tensor else ()
    return attrs.evolve(schema, name=operator_name, positional=positional, returns=returns)


def inplace_base(base: str) -> str:
    """Return the in-place name: ``add`` -> ``add_``, ``__and__`` -> ``__iand__``."""
    return f"__i{base[2:]}" if base.startswith("__") and base.endswith("__") else f"{base}_"


def out_schema(schema: FunctionSchema, how: Out) -> FunctionSchema:
    """Return the schema of the ``out=`` variant: one written keyword-only tensor for each result.

    Raises:
        DeclarationError: a result is no fresh tensor, or the number of names does not fit.
    """
    count = len(schema.returns)
    if not count or any(str(returned.type) != "Tensor" or returned.alias is not None for returned in schema.returns):
        raise _no_variant(schema, "out", "it does not return fresh Tensors only")
    by_rule = ("out",) if count == 1 else tuple(f"out{index}" for index in range(count))
    names = by_rule if how.args is None else how.args
    if len(names) != count:
        raise _no_variant(schema, "out", f"Out(args={names!r}) names {len(names)} results of {count}")
    aliases = [Alias(letter, write=True) for letter in _ALIAS_SETS[:count]]
    out = tuple(Argument(name, BaseType.Tensor, None, alias) for name, alias in zip(names, aliases, strict=True))
    texts = [returned.name if how.named else None for returned in schema.returns]
    returns = tuple(Return(name, BaseType.Tensor, alias) for name, alias in zip(texts, aliases, strict=True))
    overload = out_overload(schema.name.overload)
    return attrs.evolve(
        schema,
        name=_variant_name(how.name, schema, schema.name.base, overload),
        keyword_only=_without_tensor_options(schema.keyword_only),
        out=out,
        returns=returns,
    )


def out_overload(overload: str) -> str:
    """Return the overload name of the ``out=`` variant: ``""`` -> ``out``, ``Tensor`` -> ``Tensor_out``."""
    return f"{overload}_out" if overload else "out"


def _without_tensor_options(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Remove dtype, layout, device and pin_memory from arguments if all four are among them: ``out`` determines
    them.
    """
    names = [argument.name for argument in arguments]
    if not set(_TENSOR_OPTIONS) <= set(names):
        return arguments
    return tuple(argument for argument in arguments if argument.name not in _TENSOR_OPTIONS)
