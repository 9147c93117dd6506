"""In-place and ``out=`` operators of a package in ``torch.ops``.

``torch.compile`` of all releases supports operators that write and return nothing. So a variant is a composite: it
calls a writer, an operator with the same arguments that returns nothing. Where a gradient is required, an in-place
variant calls the functional operator and copies, which torch differentiates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from .calls import Table
from .tensors import Bridge, TorchArrays
from .writing import WritingFunction


class Declaration(NamedTuple):
    """Variant as a package declares it.

    schema: in torch's syntax, without the namespace.
    writer: the schema of the operator that writes and returns nothing.
    table: the plans.
    functional: name and overload of the operator that computes the same.
    """

    schema: str
    writer: str
    table: Table
    functional: tuple[str, str]


class Writer(Bridge):
    """Operator of torch that writes arguments, and returns nothing."""

    def __init__(self, definitions: Any, schema: str, function: WritingFunction) -> None:
        super().__init__(definitions, schema, function)
        name = self.name.partition("::")[2]
        definitions.impl(name, self._count, "ADInplaceOrView")
        for key in ("Conjugate", "Negative"):  # the function materializes such views, and writes them
            definitions.impl(name, torch.library.fallthrough_kernel, key)

    def _run(self, *values: Any, **named: Any) -> None:
        self.function(self.complete(values, named))

    def _fake(self, *values: Any, **named: Any) -> None:
        """Do nothing: fake tensors have no elements."""

    def _count(self, *values: Any, **named: Any) -> None:
        """Run a call after incrementing the version counters of written tensors, by which autograd notices writes."""
        arguments = self.complete(values, named)
        for at in self.function.table.writes:
            if not arguments[at].is_inference():
                torch.autograd.graph.increment_version(arguments[at])
        with torch._C._AutoDispatchBelowADInplaceOrView():
            self.overload(*values, **named)


class Variant:
    """In-place or ``out=`` operator of torch.

    Args:
        definitions: the library of torch in which it is defined.
        declaration: of the package.
        arrays: functions on tensors.
    """

    def __init__(self, definitions: Any, declaration: Declaration, arrays: TorchArrays) -> None:
        self.writer = Writer(definitions, declaration.writer, WritingFunction(declaration.table, arrays))
        self.writes = declaration.table.writes
        definitions.define(declaration.schema, tags=(torch.Tag.pt2_compliant_tag,))
        name = declaration.schema.partition("(")[0]
        base, _, overload = name.partition(".")
        operators = getattr(torch.ops, definitions.ns)
        self.arguments = getattr(getattr(operators, base), overload or "default")._schema.arguments
        packet, version = declaration.functional
        self.functional = getattr(getattr(operators, packet), version or "default")
        for key in ("CompositeImplicitAutograd", "Functionalize"):
            definitions.impl(name, self._run, key)

    def _run(self, *values: Any, **named: Any) -> Any:
        known = dict(zip([argument.name for argument in self.arguments], values, strict=False)) | named
        arguments = [known.get(argument.name, argument.default_value) for argument in self.arguments]
        written = [arguments[at] for at in self.writes]
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in _tensors(arguments)):
            self._differentiably(arguments, written)
        else:
            _call(self.writer.overload, arguments)
        return written[0] if len(written) == 1 else tuple(written)

    def _differentiably(self, arguments: Sequence[Any], written: Sequence[Any]) -> None:
        """Copy the result of the functional operator to the argument.

        Raises:
            RuntimeError: the variant writes outputs, which have no gradients.
        """
        if len(self.functional._schema.arguments) < len(arguments):
            raise RuntimeError(
                f"{self.writer.function.table.name}: functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad."
            )
        (target,) = written
        # The functional operator may save the former elements for its backward pass.
        target.copy_(_call(self.functional, [value.clone() if value is target else value for value in arguments]))


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments, and among those in lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _call(overload: Any, arguments: Sequence[Any]) -> Any:
    """Call an operator with arguments in the order of its schema."""
    names = [keyword.name for keyword in overload._schema.arguments if keyword.kwarg_only]
    count = len(arguments) - len(names)
    return overload(*arguments[:count], **dict(zip(names, arguments[count:], strict=True)))


def register_variants(definitions: Any, arrays: TorchArrays, variants: Sequence[Declaration]) -> list[Variant]:
    """Define the variants of a package in torch, after its functional operators; return what keeps them defined."""
    return [Variant(definitions, declaration, arrays) for declaration in variants]
