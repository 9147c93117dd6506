"""Rich representation of operators in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchTable, Operator
from opdsl.runtime.html import text_table


def mimebundle(declaration: Declaration, operator: Operator) -> dict[str, str]:
    """Return a plain-text and an HTML description of an operator: schema, docstring, related operators, dispatch table.

    Args:
        declaration: the declaration of the operator.
        operator: the overload to show.
    """
    schema = str(operator.schema)
    kin = list(_kin(declaration, operator))
    doc = (declaration.function.__doc__ or "").strip().partition("\n\n")[0]
    html = [
        f"<div><code>{escape(schema)}</code><p>{escape(doc)}</p>",
        text_table(kin) if kin else "",
        f"<details><summary>dispatch table</summary><pre>{escape(_table(operator))}</pre></details></div>",
    ]
    return {"text/plain": "\n".join([schema, *(text for _, text in kin)]), "text/html": "".join(html)}


def _kin(declaration: Declaration, operator: Operator) -> Iterator[tuple[str, str]]:
    """Yield the names and schemas of the operator's variants, and of the other overloads of its packet."""
    numbers = {id(operator)}
    for variant, sibling in declaration.operators.items():
        if id(sibling) not in numbers:
            numbers.add(id(sibling))
            yield variant, str(sibling.schema)
    for overload, sibling in declaration.library.registry.packets[operator.packet_name].overloads.items():
        if id(sibling) not in numbers:
            yield overload or "default", str(sibling.schema)


def _table(operator: Operator) -> str:
    return str(DispatchTable.of(operator.registrations, operator.fallbacks))
