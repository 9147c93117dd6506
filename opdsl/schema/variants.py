"""Schemas of the functional and the ``out=`` variant of an operator, derived as torchgen derives them (INV-45)."""

from __future__ import annotations

from string import ascii_lowercase

import attrs

from opdsl.schema.alias import Alias
from opdsl.schema.model import FUNCTIONAL_SUFFIX, Argument, FunctionSchema, OperatorName, Return, SchemaKind
from opdsl.schema.types import BaseType, Type


def functional_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of the functional variant, which returns new values in place of writing arguments.

    The functional variant of a mutable operator is named ``x_functional``.

    >>> from opdsl.schema import parse_schema
    >>> str(functional_schema(parse_schema("f.a(Tensor self, Tensor(a!) state) -> Tensor")))
    'f_functional.a(Tensor self, Tensor state) -> (Tensor, Tensor state_out)'
    """
    suffix = FUNCTIONAL_SUFFIX if schema.kind is SchemaKind.mutable else ""
    operator_name = OperatorName(schema.name.namespace, schema.name.functional_base + suffix, schema.name.overload)
    return attrs.evolve(schema.signature(keep_return_names=True), name=operator_name)


def out_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of the out variant, which writes results to ``out``, or to ``out0``, ``out1``, ...

    >>> from opdsl.schema import parse_schema
    >>> str(out_schema(parse_schema("add_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)")))
    'add.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)'
    """
    name = schema.name
    overload = f"{name.overload}_out" if name.overload else "out"
    operator_name = OperatorName(name.namespace, name.functional_base, overload)
    if schema.kind is SchemaKind.inplace:
        return _written_to_out(operator_name, schema)
    signature = schema.signature() if schema.kind is SchemaKind.functional else schema
    return FunctionSchema(operator_name, signature.positional, signature.keyword_only, *_out_arguments(schema))


def _written_to_out(name: OperatorName, schema: FunctionSchema) -> FunctionSchema:
    """Return an in-place schema changed so that it reads ``self``, and writes an argument ``out`` of its type."""
    own = schema.self_argument
    assert own is not None, "asked of operators that can have an out variant only"
    positional = tuple(
        attrs.evolve(argument, alias=None) if argument is own else argument for argument in schema.positional
    )
    out = (Argument("out", own.type, None, own.alias),)
    return FunctionSchema(name, positional, schema.keyword_only, out, schema.returns)


def _out_arguments(schema: FunctionSchema) -> tuple[tuple[Argument, ...], tuple[Return, ...]]:
    """Return an out argument for each result with Tensors, and the returns: these if all are plain Tensors."""
    free = free_letters(schema)
    are_plain = all(returned.type is BaseType.Tensor for returned in schema.returns)
    out: list[Argument] = []
    returns: list[Return] = []
    for index, value in enumerate(schema.returns):
        if not is_tensor_like(value.type):
            returns.append(value)
            continue
        alias = Alias(free[index], write=True)
        out.append(Argument("out" if len(schema.returns) == 1 else f"out{index}", value.type, None, alias))
        if are_plain:
            returns.append(Return(None, value.type, alias))
    return tuple(out), tuple(returns)


def free_letters(schema: FunctionSchema) -> list[str]:
    """Return the names of alias sets that no argument belongs to."""
    used = {text for argument in schema.arguments if argument.alias is not None for text in argument.alias.before}
    return [letter for letter in ascii_lowercase if letter not in used]


def is_tensor_like(type: Type) -> bool:
    """Return whether values of a type are tensors, or lists of them."""
    return BaseType.Tensor.value in str(type)
