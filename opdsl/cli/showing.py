"""``opdsl show``: all that was derived for an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc

import click

from opdsl.cli.graphs import scalar_graphs
from opdsl.cli.kernels import describe, registered_keys, shorten
from opdsl.cli.modules import module_option
from opdsl.cli.operators import find, load
from opdsl.cli.output import Row, Section, print_sections
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchKey, DispatchTable, Operator, Packet, Reason, registry
from opdsl.dispatch.keys import RUNTIME_KEYS
from opdsl.dispatch.overrides.native_dsl import unavailable_reason
from opdsl.dispatch.overrides.overriding import list_op_overrides, overrides
from opdsl.formulas.showing import kernels_of
from opdsl.kernels import PointwiseDefinition
from opdsl.sharding.operators import rule_of

# The rows that tell most: a call reaches these, or the operator has a kernel for them.
_TELLING_KEYS = ("CPU", "CUDA", "Meta", "AutogradCPU", "AutogradCUDA", "ADInplaceOrView")


@click.command(short_help="Show all that was derived for an operator.")
@click.argument("name")
@module_option
@click.option("--all-keys", is_flag=True, help="Show every row of the computed dispatch table, also the missing ones.")
@click.option("--lowered", is_flag=True, help="Show the plan that the first sample's call is made into, or why none.")
@click.option("--llvm", is_flag=True, help="Show the LLVM IR of that call's kernels.")
@click.option("--cuda", is_flag=True, help="Show the CUDA C++ of that call's last kernel; no GPU is needed.")
def show(name: str, modules: tuple[str, ...], all_keys: bool, lowered: bool, llvm: bool, cuda: bool) -> None:
    """Show all that was derived for an operator: `opdsl show add.Tensor`.

    Its schema, variants, entry, kernels, overrides, computed dispatch table, scalar graph and generated source. The
    name of a packet (`opdsl show add`) shows its overloads.
    """
    load(modules)
    found = find(name)
    sections = list(packet_page(found) if isinstance(found, Packet) else operator_page(found, all_keys=all_keys))
    if lowered or llvm or cuda:
        from opdsl.cli.lowering import lowered_sections

        operator = next(iter(found.overloads.values())) if isinstance(found, Packet) else found
        sections += lowered_sections(operator, llvm=llvm, cuda=cuda)
    print_sections([each for each in sections if each.content])


def packet_page(packet: Packet) -> Iterator[Section]:
    """The parts of a packet's page."""
    schemas = [str(each.schema) for each in packet.overloads.values()]
    yield Section(packet.name, "\n".join(schemas), "python")
    yield Section("overloads", _overloads(packet))
    yield _source(packet)


def operator_page(operator: Operator, *, all_keys: bool) -> Iterator[Section]:
    """The parts of an operator's page; some may be empty."""
    packet = registry.packets[operator.packet_name]
    yield Section(operator.name, str(operator.schema), "python")
    yield Section("documentation", _documentation(operator))
    yield Section("declaration", tuple(_facts(operator, packet)))
    yield Section("variants", tuple(_variants(operator)))
    yield Section("entry", tuple((key, _value(value)) for key, value in operator.properties.items()))
    yield Section("registered kernels", tuple(_kernels(operator)))
    yield Section("overrides", tuple(_overrides(operator)))
    yield _table(operator, all_keys=all_keys)
    yield from _graphs(operator)
    yield Section("sharding", str(rule_of(operator)))
    yield _source(packet)


def _documentation(operator: Operator) -> str:
    declaration = operator.declaration
    return cleandoc(declaration.function.__doc__ or "") if isinstance(declaration, Declaration) else ""


def _facts(operator: Operator, packet: Packet) -> Iterator[Row]:
    overloads = ", ".join(each or "default" for each in packet.overloads)
    yield "location", shorten(operator.location)
    yield "kind", operator.schema.kind.value + (", view" if operator.schema.is_view else "")
    yield "overloads", f"{overloads} (of {packet.name})"
    yield "tags", ", ".join(operator.tags) or "none"
    if operator.accepts_numbers:
        yield "numbers", "a Python number may stand for a tensor"
    if not operator.is_bound:
        yield "calls", "from Python other overloads are reached in its place"


def _variants(operator: Operator) -> Iterator[Row]:
    """The operators of the same declaration, written by hand or derived."""
    declaration = operator.declaration
    if not isinstance(declaration, Declaration):
        return
    for variant, function in declaration.functions.items():
        yield variant, str(function.__dict__["schema"])


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {each}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _kernels(operator: Operator) -> Iterator[Row]:
    """The kernels by key, the newest first; those after it wait for its removal."""
    for key in registered_keys(operator):
        for index, kernel in enumerate(operator.registrations[key]):
            description = describe(kernel)
            note = " (replaced)" if index else ""
            yield str(key), description.text + note, shorten(description.place)


def _overrides(operator: Operator) -> Iterator[Row]:
    """The overrides in the order in which calls try them, and whether they do."""
    for each in list_op_overrides():
        if each.op_symbol == operator.name:
            condition = "always" if each.cond is None else f"if {_name(each.cond)}"
            state = unavailable_reason(each.dsl_name) or "in force"
            state = state if overrides.is_enabled(each) else "disabled"
            yield str(each.dispatch_key), f"{_name(each.impl)} ({each.dsl_name}), {condition}", state


def _name(function: object) -> str:
    return str(getattr(function, "__name__", function))


def _table(operator: Operator, *, all_keys: bool) -> Section:
    table = DispatchTable.of(operator.registrations, operator.fallbacks)
    own = [each for each in operator.registrations if each.is_runtime]
    shown = RUNTIME_KEYS if all_keys else sorted({*own, *map(DispatchKey, _TELLING_KEYS)}, key=lambda key: key.index)
    more = "" if all_keys else f" ({len(shown)} of {len(RUNTIME_KEYS)} keys; --all-keys shows the others)"
    return Section(f"computed table{more}", tuple(_rows(table, shown)))


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
            yield Section(f"formula ({title})", text, "python")
        return
    definition = getattr(operator.declaration, "definition", None)
    if isinstance(definition, PointwiseDefinition):
        for title, text in scalar_graphs(definition):
            yield Section(f"scalar graph ({title})", text, "python")


def _source(packet: Packet) -> Section:
    """The generated function over all overloads that Python reaches."""
    source = packet.main.source()
    return Section(f"generated source of {packet.base}", source.rstrip(), "python")


def _overloads(packet: Packet) -> tuple[Row, ...]:
    return tuple(
        (overload or "default", operator.schema.kind.value, shorten(operator.location))
        for overload, operator in packet.overloads.items()
    )
