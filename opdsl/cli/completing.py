"""Shell completion of operator names, called by click's completion scripts."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from opdsl.cli.modules import ModuleError, load_modules
from opdsl.cli.operators import find
from opdsl.dispatch import Packet, registry
from opdsl.errors import OpdslError


def complete_operators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the packet names that start with an incomplete word, and after a dot the overloads of a packet.

    Names of ``aten`` come from its catalog, so that nothing is loaded for a first word. Modules given with ``--module``
    are loaded.
    """
    from opdsl.aten.catalog import PACKETS

    own = _loaded_names(ctx.params.get("modules") or ())
    if "." in incomplete:
        names: Iterable[str] = _overloads(incomplete.rpartition(".")[0])
    elif "::" in incomplete:
        names = [*(f"aten::{name}" for name in PACKETS), *own]
    else:
        names = [*PACKETS, *(name.partition("::")[2] for name in own)]
    return [CompletionItem(name) for name in sorted(set(names)) if name.startswith(incomplete)]


def _loaded_names(modules: Iterable[str]) -> list[str]:
    """Return the packets that modules declare; none for a module that cannot be loaded."""
    try:
        return [operator.packet_name for operator in load_modules(modules)]
    except ModuleError:
        return []


def _overloads(base: str) -> list[str]:
    """Return the overloads of a packet, prefixed with the packet name as it was typed."""
    try:
        packet = find(base)
    except OpdslError:
        return []
    if not isinstance(packet, Packet):
        packet = registry.packets[packet.packet_name]
    return [f"{base}.{overload or 'default'}" for overload in packet.overloads]
