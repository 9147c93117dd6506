"""List forms of operators, like PyTorch's ``_foreach_`` operators: one call for all tensors of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from opdsl.declare.declaration import Declaration
from opdsl.declare.signature import location
from opdsl.declare.variants import inplace_base
from opdsl.dispatch.plans.traceable import traceable
from opdsl.errors import ArgumentError, DeclarationError
from opdsl.schema import Alias, Argument, BaseType, FunctionSchema, ListType, OperatorName, Return, SchemaKind

__all__ = ["list_body", "list_schema", "written_lists"]

_LIST = ListType(BaseType.Tensor)


def list_schema(declaration: Declaration) -> FunctionSchema:
    """Return the schema of the list form of a declared operator: lists in place of its tensors.

    Raises:
        DeclarationError: the operator does not compute one new tensor from tensors, none of them optional.
    """
    schema = declaration.main.schema
    gives_one = [returned.type for returned in schema.returns] == [BaseType.Tensor]
    tensors = [argument for argument in schema.positional if argument.type is BaseType.Tensor]
    others = [argument for argument in (*schema.positional, *schema.keyword_only) if "Tensor" in str(argument.type)]
    if schema.kind is not SchemaKind.functional or not gives_one or not tensors or len(others) > len(tensors):
        raise DeclarationError(
            f"{location(declaration.function)}: foreach=True derives the list form of operators that return one new "
            f"tensor and take no optional tensors or lists, which does not hold for {schema}. Omit foreach=, or "
            "declare the list form separately."
        )
    positional = tuple(
        attrs.evolve(argument, type=_LIST) if argument in tensors else argument for argument in schema.positional
    )
    overload = "List" if schema.name.overload == "Tensor" else schema.name.overload
    operator_name = OperatorName(schema.name.namespace, f"_foreach_{schema.name.base}", overload)
    return attrs.evolve(schema, name=operator_name, positional=positional, returns=(Return(None, _LIST),))


def written_lists(schema: FunctionSchema) -> FunctionSchema:
    """Convert the schema of a list form to its in-place form, which writes the first list and returns nothing."""
    first, *rest = schema.positional
    written = attrs.evolve(first, alias=Alias("a", write=True))
    operator_name = attrs.evolve(schema.name, base=inplace_base(schema.name.base))
    return attrs.evolve(schema, name=operator_name, positional=(written, *rest), returns=())


def list_body(schema: FunctionSchema, function: Callable[..., Any]) -> Callable[..., Any]:
    """Build the kernel of a list form, which calls a function for each element of the lists.

    Args:
        schema: of the list form.
        function: takes one element of each list, and other arguments unchanged; positional ones by position,
            keyword-only ones by name.

    Raises:
        ArgumentError: when called with lists of different lengths, or with empty ones.
    """
    arguments: Sequence[Argument] = schema.positional
    listed = [at for at, argument in enumerate(arguments) if isinstance(argument.type, ListType)]
    gives = bool(schema.returns)

    @traceable
    def body(*inputs: Any, **named: Any) -> Any:
        count = _length([inputs[at] for at in listed])
        values = list(inputs)
        outputs = []
        for at in range(count):
            for place in listed:
                values[place] = inputs[place][at]
            outputs.append(function(*values, **named))
        return outputs if gives else None

    return body


def _length(lists: Sequence[Sequence[Any]]) -> int:
    """Return the common length of lists.

    Raises:
        ArgumentError: the lists are empty, or have different lengths.
    """
    first, *rest = map(len, lists)
    if not first:
        raise ArgumentError("Tensor list must have at least one tensor.")
    for at, number in enumerate(rest, 1):
        if number != first:
            what = "tensors" if hasattr(next(iter(lists[at]), None), "geometry") else "elements"
            raise ArgumentError(f"Tensor lists must have the same number of {what}, got {first} and {number}.")
    return first
