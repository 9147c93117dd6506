"""Implementation of ``f.sharding``, which sets or returns the rule by which calls of an operator are split into
shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opdsl.dispatch import Operator
from opdsl.errors import DeclarationError
from opdsl.schema import FunctionSchema
from opdsl.sharding.operators import rule_of
from opdsl.sharding.rules import AllBut, AllButLast, AnyDimension, Labelled, Rule
from opdsl.sharding.windows import Sliding, Window


def sharding(
    operator: Operator,
    labels: str | None,
    along: str | None,
    rows: int | None,
    elementwise: bool,
    windows: Callable[..., Sequence[Window | None]] | None,
    selects: str,
) -> Rule:
    """Return the sharding rule of an operator, after setting it if one is given.

    Raises:
        DeclarationError: the given rule does not fit the operator, or more than one is given.
    """
    if sum((labels is not None, along is not None, rows is not None, elementwise, windows is not None)) > 1:
        raise DeclarationError(
            f"{operator.name}: sharding takes labels, along=, rows=, elementwise= or windows=. Give one."
        )
    if labels is not None:
        operator.sharding_rule = _labelled(operator.name, operator.schema, labels)
    if along is not None:
        operator.sharding_rule = _along(operator.name, operator.schema, along, selects)
    if rows is not None:
        operator.sharding_rule = AllButLast(rows, len(operator.schema.returns))
    if windows is not None:
        operator.sharding_rule = Sliding(windows, len(operator.schema.returns))
    if elementwise:
        operator.sharding_rule = AnyDimension(len(operator.schema.returns))
    return rule_of(operator)


def _labelled(name: str, schema: FunctionSchema, labels: str) -> Labelled:
    before, arrow, output = labels.partition("->")
    terms = before.split(",")
    count = sum(str(argument.type) in ("Tensor", "Tensor?") for argument in schema.arguments)
    fits = arrow and (before + output).replace(",", "").isalpha() and len(terms) == count and len(schema.returns) == 1
    if not fits or not set(output) <= set(before) or any(len(set(term)) < len(term) for term in (*terms, output)):
        raise DeclarationError(
            f"{name}: sharding({labels!r}) does not fit {schema}: write one label for each dimension of its {count} "
            'tensors and of its result, "ik,kj->ij"'
        )
    return Labelled(labels)


def _along(name: str, schema: FunctionSchema, along: str, selects: str) -> AllBut:
    names = tuple(argument.python_name for argument in schema.arguments)
    for said, argument in (("along", along), ("selects", selects)):
        if argument and argument not in names:
            raise DeclarationError(
                f"{name}: sharding({said}={argument!r}): no argument has this name (have {', '.join(names)})."
            )
    return AllBut(along, names, len(schema.returns), selects)
