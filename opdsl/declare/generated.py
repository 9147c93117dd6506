"""Declaration of the operators that torchgen would generate (``autogen``), when a namespace or topic needs them.

An entry's ``autogen`` names operators that torchgen generates from it: an ``out=`` variant of a functional operator, a
functional variant of a mutable one. ``opdsl.native.generated`` lists them; this module gives them composite kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from opdsl.declare.copying import functional_body, out_body
from opdsl.declare.declaration import Declaration
from opdsl.declare.export import entry_of
from opdsl.declare.handle import define_beside
from opdsl.dispatch import Operator, Registry
from opdsl.native.entry import NativeFunction
from opdsl.native.generated import variants_made
from opdsl.schema import GENERATED, SchemaKind


def declare_generated(registry: Registry, namespace: str) -> None:
    """Declare the missing operators that ``autogen`` options in a namespace name."""
    declare_generated_of(registry, [operator for operator in registry if operator.name.startswith(f"{namespace}::")])


def declare_generated_of(registry: Registry, operators: Iterable[Operator]) -> None:
    """Declare the missing operators that the ``autogen`` options of given operators name."""
    by_signature: dict[str, dict[SchemaKind, Operator]] = {}
    for operator in operators:
        if isinstance(operator.declaration, Declaration):
            kinds = by_signature.setdefault(str(operator.schema.signature()), {})
            kinds.setdefault(operator.schema.kind, operator)
    for kinds in by_signature.values():
        if any("autogen" in kind.properties for kind in kinds.values()):
            _complete(registry, kinds)


def _complete(registry: Registry, kinds: dict[SchemaKind, Operator]) -> None:
    entries = {kind: entry_of(operator) for kind, operator in kinds.items() if GENERATED not in operator.tags}
    # A functional variant comes first: the out variant calls it.
    for entry in sorted(variants_made(entries), key=lambda function: function.kind is SchemaKind.out):
        base = next(iter(kinds.values()))
        operator_name = attrs.evolve(entry.schema.name, namespace=base.schema.name.namespace).qualified
        if operator_name not in registry.operators:
            _declare(entry, kinds)
        kinds[entry.kind] = registry.operators[operator_name]


def _declare(entry: NativeFunction, kinds: dict[SchemaKind, Operator]) -> None:
    if entry.kind is SchemaKind.out:
        base = kinds[SchemaKind.functional]
        body = out_body(_function(base), entry.schema)
    else:
        base = next(kinds[kind] for kind in (SchemaKind.mutable, SchemaKind.inplace) if kind in kinds)
        body = functional_body(_function(base), base.schema)
    declaration = base.declaration
    assert isinstance(declaration, Declaration), "declared operators only are looked at"
    define_beside(
        declaration,
        entry.schema,
        body,
        tags=entry.tags,
        device_check="NoCheck",
        device_guard=False,
        # PyTorch binds only copies of views among the generated operators (`should_generate_py_binding`).
        is_bound="view_copy" in entry.tags,
    )


def _function(operator: Operator) -> Callable[..., Any]:
    declaration = operator.declaration
    assert isinstance(declaration, Declaration), "declared operators only are looked at"
    packet = declaration.library.registry.packets[operator.packet_name]
    return packet.operator_function(operator)
