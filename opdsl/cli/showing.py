"""Command ``opdsl show``: prints everything that is derived from an operator's declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc

import click

from opdsl.cli.completing import complete_operators
from opdsl.cli.graphs import scalar_graphs
from opdsl.cli.json_output import json_option, keyed_sections, print_json
from opdsl.cli.kernels import describe, registered_keys, shorten
from opdsl.cli.modules import load_modules, module_option
from opdsl.cli.operators import find
from opdsl.cli.output import Row, Section, print_sections, print_text
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchKey, DispatchTable, Operator, Packet, Reason, registry
from opdsl.dispatch.keys import RUNTIME_KEYS
from opdsl.dispatch.overrides.native_dsl import unavailable_reason
from opdsl.dispatch.overrides.overriding import list_op_overrides, overrides
from opdsl.formulas.showing import kernels_of
from opdsl.kernels import PointwiseDefinition
from opdsl.sharding.operators import rule_of

# Rows that are always shown; others only if the operator has a kernel for them.
_TELLING_KEYS = ("CPU", "CUDA", "Meta", "AutogradCPU", "AutogradCUDA", "ADInplaceOrView")


@click.command(short_help="Show everything that is derived for an operator.")
@click.argument("name", shell_complete=complete_operators)
@module_option
@json_option
@click.option("--all-keys", is_flag=True, help="Show all rows of the computed dispatch table, also without a kernel.")
@click.option("--lowered", "views", flag_value="lowered", multiple=True, help="Print the plan of a call with a sample.")
@click.option("--loops", "views", flag_value="loops", multiple=True, help="Print the loop programs of that call.")
@click.option("--llvm", "views", flag_value="llvm", multiple=True, help="Print the LLVM IR of that call's kernels.")
@click.option(
    "--cuda", "views", flag_value="cuda", multiple=True, help="Print the CUDA C++ of its last kernel; needs no GPU."
)
def show(name: str, modules: tuple[str, ...], as_json: bool, all_keys: bool, views: tuple[str, ...]) -> None:
    """Show everything that is derived for an operator: `opdsl show add.Tensor`.

    Its schema, variants, entry, kernels, overrides, computed dispatch table, scalar graph and generated source. The
    name of a packet (`opdsl show add`) shows its overloads.

    With --lowered, --loops, --llvm or --cuda, only this code is printed, for a call with the operator's first sample:
    as plain text for a single option, with a title for each of several options.
    """
    load_modules(modules)
    operator_or_packet = find(name)
    if views:
        _print_views(operator_or_packet, views, as_json=as_json)
        return
    facts: dict[str, object]
    if isinstance(operator_or_packet, Packet):
        sections, facts = list(packet_page(operator_or_packet)), {"name": operator_or_packet.name}
    else:
        sections = list(operator_page(operator_or_packet, all_keys=all_keys))
        facts = _json_facts(operator_or_packet)
    sections = [section for section in sections if section.content]
    if as_json:
        print_json("show", facts | keyed_sections(sections))
    else:
        print_sections(sections)


def _print_views(operator_or_packet: Operator | Packet, views: tuple[str, ...], *, as_json: bool) -> None:
    """Print the lowered code of a call."""
    from opdsl.cli.lowering import view_sections

    if isinstance(operator_or_packet, Packet):
        operator = next(iter(operator_or_packet.overloads.values()))
    else:
        operator = operator_or_packet
    sections = view_sections(operator, tuple(dict.fromkeys(views)))
    if as_json:
        print_json("show", {"name": operator.name, **keyed_sections(sections)})
    elif len(sections) == 1:
        print_text(sections[0])
    else:
        print_sections(sections)


def _json_facts(operator: Operator) -> dict[str, object]:
    return {
        "name": operator.name,
        "schema": str(operator.schema),
        "kind": operator.schema.kind.value,
        "is_view": operator.schema.is_view,
        "location": shorten(operator.location),
        "overloads": [name or "default" for name in registry.packets[operator.packet_name].overloads],
        "tags": list(operator.tags),
    }


def packet_page(packet: Packet) -> Iterator[Section]:
    """Yield the sections of a packet's page."""
    schemas = [str(overload.schema) for overload in packet.overloads.values()]
    yield Section(packet.name, "\n".join(schemas), "python", key="schemas")
    yield Section("overloads", _overloads(packet), key="overloads", columns=("overload", "kind", "location"))
    yield _source(packet)


def operator_page(operator: Operator, *, all_keys: bool) -> Iterator[Section]:
    """Yield the sections of an operator's page; some may be empty."""
    packet = registry.packets[operator.packet_name]
    yield Section(operator.name, str(operator.schema), "python")
    yield Section("documentation", _documentation(operator), key="documentation")
    yield Section("declaration", tuple(_facts(operator, packet)))
    yield Section("variants", tuple(_variants(operator)), key="variants")
    yield Section("entry", tuple((key, _value(value)) for key, value in operator.properties.items()), key="entry")
    yield Section("registered kernels", tuple(_kernels(operator)), key="kernels", columns=("key", "kernel", "location"))
    yield Section("overrides", tuple(_overrides(operator)), key="overrides", columns=("key", "override", "state"))
    yield _table(operator, all_keys=all_keys)
    yield from _graphs(operator)
    yield Section("sharding", str(rule_of(operator)), key="sharding")
    yield _source(packet)


def _documentation(operator: Operator) -> str:
    declaration = operator.declaration
    return cleandoc(declaration.function.__doc__ or "") if isinstance(declaration, Declaration) else ""


def _facts(operator: Operator, packet: Packet) -> Iterator[Row]:
    overloads = ", ".join(overload or "default" for overload in packet.overloads)
    yield "location", shorten(operator.location)
    yield "kind", operator.schema.kind.value + (", view" if operator.schema.is_view else "")
    yield "overloads", f"{overloads} (of {packet.name})"
    yield "tags", ", ".join(operator.tags) or "none"
    if operator.accepts_numbers:
        yield "numbers", "a Python number may stand for a tensor"
    if not operator.is_bound:
        yield "calls", "from Python other overloads are reached in its place"


def _variants(operator: Operator) -> Iterator[Row]:
    """Yield the operators of the same declaration, written or derived."""
    declaration = operator.declaration
    if not isinstance(declaration, Declaration):
        return
    for variant, function in declaration.functions.items():
        yield variant, str(function.__dict__["schema"])


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {element}" for key, element in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _kernels(operator: Operator) -> Iterator[Row]:
    """Yield the kernels of each key, the active one first; the others become active when it is removed."""
    for key in registered_keys(operator):
        for index, kernel in enumerate(operator.registrations[key]):
            description = describe(kernel)
            note = " (replaced)" if index else ""
            yield str(key), description.text + note, shorten(description.place)


def _overrides(operator: Operator) -> Iterator[Row]:
    """Yield the overrides in the order in which calls try them, with their state."""
    for op_override in list_op_overrides():
        if op_override.op_symbol == operator.name:
            condition = "always" if op_override.cond is None else f"if {_name(op_override.cond)}"
            state = unavailable_reason(op_override.dsl_name) or "in force"
            state = state if overrides.is_enabled(op_override) else "disabled"
            yield (
                str(op_override.dispatch_key),
                f"{_name(op_override.impl)} ({op_override.dsl_name}), {condition}",
                state,
            )


def _name(function: object) -> str:
    return str(getattr(function, "__name__", function))


def _table(operator: Operator, *, all_keys: bool) -> Section:
    table = DispatchTable.of(operator.registrations, operator.fallbacks)
    own = [registration for registration in operator.registrations if registration.is_runtime]
    shown = RUNTIME_KEYS if all_keys else sorted({*own, *map(DispatchKey, _TELLING_KEYS)}, key=lambda key: key.index)
    more = "" if all_keys else f" ({len(shown)} of {len(RUNTIME_KEYS)} keys; --all-keys shows the others)"
    rows = tuple(_rows(table, shown))
    return Section(f"computed table{more}", rows, key="table", columns=("key", "kernel", "reason"))


def _rows(table: DispatchTable, keys: Iterable[DispatchKey]) -> Iterator[Row]:
    for key in keys:
        entry = table[key]
        if entry.reason is Reason.MISSING:
            yield str(key), "-", entry.reason.value
            continue
        alias = "" if entry.registered_at in (key, None) else f" of {entry.registered_at}"
        yield str(key), describe(entry.kernel).text, f"{entry.reason.value}{alias}"


def _graphs(operator: Operator) -> Iterator[Section]:
    if operator.formula is not None:
        for title, text in kernels_of(operator):
            yield Section(f"formula ({title})", text, "python", key="formula", part=title)
        return
    definition = getattr(operator.declaration, "definition", None)
    if isinstance(definition, PointwiseDefinition):
        for title, text in scalar_graphs(definition):
            yield Section(f"scalar graph ({title})", text, "python", key="scalar_graphs", part=title)


def _source(packet: Packet) -> Section:
    """Return the section with the generated function, which dispatches among the overloads."""
    source = packet.main.source()
    return Section(f"generated source of {packet.base}", source.rstrip(), "python", key="source")


def _overloads(packet: Packet) -> tuple[Row, ...]:
    return tuple(
        (overload or "default", operator.schema.kind.value, shorten(operator.location))
        for overload, operator in packet.overloads.items()
    )
