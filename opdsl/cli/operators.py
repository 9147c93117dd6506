"""Lookup of operators and packets by the names that users type."""

from __future__ import annotations

from collections.abc import Iterable

from opdsl.aten import load as load_library
from opdsl.aten import load_packet
from opdsl.aten.catalog import PACKETS
from opdsl.cli.modules import load_modules
from opdsl.dispatch import Operator, Packet, Registry, registry
from opdsl.errors import UnknownOperatorError

_MOST_MATCHES = 3
_LEAST_LIKENESS = 0.7


def load(modules: Iterable[str]) -> tuple[str, ...]:
    """Load the operator library, and users' modules.

    Args:
        modules: files or dotted names.

    Returns:
        The default namespaces, for commands without ``--namespace``.
    """
    load_library()
    return namespaces_of(load_modules(modules))


def namespaces_of(declared: Iterable[Operator]) -> tuple[str, ...]:
    """Return the default namespaces: those in which modules declare operators, or ``aten``."""
    return tuple(dict.fromkeys(map(namespace_of, declared))) or ("aten",)


def namespace_of(operator: Operator) -> str:
    """Return the namespace of an operator: ``aten`` for ``aten::add.Tensor``."""
    return operator.name.partition("::")[0]


def require_namespaces(names: Iterable[str], *registries: Registry) -> None:
    """Check that every namespace has operators in one of the registries, by default in the global one.

    Raises:
        UnknownOperatorError: a namespace has none.
    """
    have = sorted({namespace_of(operator) for one in registries or (registry,) for operator in one})
    for name in names:
        if name not in have:
            raise UnknownOperatorError(
                f"no operator has the namespace {name!r} (have {', '.join(have)}). Load the module that declares it "
                "with --module."
            )


def find(name: str) -> Operator | Packet:
    """Return the operator of a name, or the packet if the name is a packet's only.

    Only the part of the operator library that declares the packet is loaded; all of it if the name is unknown.

    Args:
        name: ``add.Tensor``, ``aten::add.Tensor``, ``add``; ``default`` denotes the empty overload name. Without a
            namespace, ``aten`` comes first.

    Raises:
        UnknownOperatorError: there is no such operator; the message suggests similar names.
    """
    packet = name.rpartition("::")[2].partition(".")[0]
    if packet in PACKETS:
        load_packet(packet)
    if _present(name) is None:
        load_library()
    present = _present(name)
    if present is not None:
        return present
    qualified = _qualify(name)
    try:
        return registry.operator(qualified)
    except UnknownOperatorError as error:
        close = close_names(name)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise UnknownOperatorError(f"{error}{hint} Of a module that is not loaded: --module MODULE.") from None


def _present(name: str) -> Operator | Packet | None:
    """Return the loaded operator or packet of a name, or None."""
    qualified = _qualify(name)
    return registry.operators.get(qualified) or registry.packets.get(qualified)


def _qualify(name: str) -> str:
    """Return a name with its namespace.

    Raises:
        UnknownOperatorError: several namespaces other than aten have it.
    """
    name = name.removesuffix(".default")
    if "::" in name:
        return name
    known = dict.fromkeys((*registry.operators, *registry.packets))
    matches = [text for text in known if text.partition("::")[2] == name]
    if f"aten::{name}" in matches or not matches:
        return f"aten::{name}"
    if len(matches) > 1:
        raise UnknownOperatorError(f"{name!r} may be {' or '.join(matches)}. Write which one.")
    return matches[0]


def close_names(name: str) -> list[str]:
    """Return similarly spelled names of operators and packets, with a namespace if the given name has one."""
    from difflib import get_close_matches

    known = dict.fromkeys((*registry.operators, *registry.packets))
    if "::" not in name:
        known = dict.fromkeys(text.partition("::")[2] for text in known)
    return get_close_matches(name, known, n=_MOST_MATCHES, cutoff=_LEAST_LIKENESS)
