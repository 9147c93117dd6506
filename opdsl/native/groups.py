"""Groups of entries: the variants of one operator, and views with their copying variants.

Source: torchgen's ``get_grouped_native_functions`` and ``get_grouped_by_view_native_functions``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import attrs

from opdsl.errors import NativeYamlError
from opdsl.native.entry import NativeFunction, Structured
from opdsl.native.source import Fault, Source
from opdsl.schema import FunctionSchema, SchemaKind

Key = TypeVar("Key")


@attrs.frozen
class VariantGroup:
    r"""Group of the variants of one operator: entries with one signature, at least a functional and an out one.

    functional: the variant that writes nothing.
    out: the variant that writes output arguments.
    inplace: the variant that writes its first argument.
    mutable: the variant that writes other arguments.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> text = "- func: f(Tensor self) -> Tensor\n- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
    >>> entries = loads(text)
    >>> [str(member.name) for member in variant_groups(entries)[0].members]
    ['f', 'f.out']
    """

    functional: NativeFunction
    out: NativeFunction
    inplace: NativeFunction | None = None
    mutable: NativeFunction | None = None

    @property
    def is_structured(self) -> bool:
        """Return whether the out variant is structured, so that the others delegate to it."""
        return isinstance(self.out.structure, Structured)

    @property
    def members(self) -> tuple[NativeFunction, ...]:
        """Return the existing variants in the order functional, out, in-place, mutable."""
        return tuple(one for one in (self.functional, self.out, self.inplace, self.mutable) if one is not None)


@attrs.frozen
class ViewGroup:
    r"""View with its copying variant and its in-place variant, which makes the argument the view.

    view: the view.
    view_copy: the variant that copies.
    view_inplace: the variant that makes its argument the view.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> entries = loads("- func: t(Tensor(a) self) -> Tensor(a)\n- func: t_copy(Tensor self) -> Tensor")
    >>> view_groups(entries)[0].view_inplace is None
    True
    """

    view: NativeFunction
    view_copy: NativeFunction | None = None
    view_inplace: NativeFunction | None = None


def variant_groups(entries: Iterable[NativeFunction]) -> tuple[VariantGroup | NativeFunction, ...]:
    r"""Group entries by signature, in the order of first appearance. Entries that belong to no group are returned
    alone.

    Raises NativeYamlError where two entries have one signature and one kind (INV-39).

    Args:
        entries: in any order.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> text = "- func: f(Tensor self) -> Tensor\n- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
    >>> entries = loads(text)
    >>> variant_groups(entries)[0].is_structured
    False
    """
    grouped: dict[FunctionSchema, dict[SchemaKind, NativeFunction]] = {}
    for entry in entries:
        _place(grouped.setdefault(entry.schema.signature(), {}), entry.kind, entry)
    groups: list[VariantGroup | NativeFunction] = []
    for kinds in grouped.values():
        group = _variant_group(kinds)
        groups.extend(kinds.values() if group is None else (group,))
    return tuple(groups)


def structured_groups(entries: Iterable[NativeFunction]) -> tuple[VariantGroup, ...]:
    """Return the variant groups whose out variant is structured.

    Raises NativeYamlError where two entries have one signature and one kind (INV-39).

    Args:
        entries: in any order.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> structured_groups(loads("- func: f(Tensor self) -> Tensor"))
    ()
    """
    return tuple(group for group in variant_groups(entries) if isinstance(group, VariantGroup) and group.is_structured)


def view_groups(entries: Iterable[NativeFunction]) -> tuple[ViewGroup, ...]:
    r"""Return the views with their copying and in-place variants.

    Raises NativeYamlError if two entries have the same role for one view.

    Args:
        entries: in any order.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> entries = loads("- func: t(Tensor(a) self) -> Tensor(a)\n- func: t_copy(Tensor self) -> Tensor")
    >>> [str(group.view_copy.name) for group in view_groups(entries)]
    ['t_copy']
    """
    grouped: dict[FunctionSchema, dict[str, NativeFunction]] = {}
    for entry in entries:
        signature = entry.schema.signature(strip_view_copy=True)
        _place(grouped.setdefault(signature, {}), _view_part(entry), entry)
    return tuple(
        ViewGroup(parts["view"], parts.get("functional"), parts.get("view_inplace"))
        for parts in grouped.values()
        if "view" in parts
    )


def _variant_group(kinds: dict[SchemaKind, NativeFunction]) -> VariantGroup | None:
    functional, out = kinds.get(SchemaKind.functional), kinds.get(SchemaKind.out)
    if functional is None or out is None:
        return None
    return VariantGroup(functional, out, kinds.get(SchemaKind.inplace), kinds.get(SchemaKind.mutable))


def _view_part(entry: NativeFunction) -> str:
    """Return the role of an entry in a view group: ``view``, ``view_inplace``, or the name of its kind."""
    if not entry.is_view:
        return entry.kind.name
    return "view_inplace" if entry.name.is_inplace else "view"


def _place(parts: dict[Key, NativeFunction], key: Key, entry: NativeFunction) -> None:
    """Add an entry to a group, or raise an error if its role is taken."""
    other = parts.setdefault(key, entry)
    if other is entry:
        return
    message = (
        f"{entry.name} and {other.name} have one signature and are of one kind, {entry.kind} "
        f"(the other one: {other.location('func')})"
    )
    raise _error(entry, "INV-39", message)


def _error(entry: NativeFunction, rule: str, message: str) -> NativeYamlError:
    """Build an error located at an entry's schema, also for an entry that was not read from a file."""
    location = entry.location("func")
    if entry.origin is None:
        fault = Fault(rule, message, location, 0, len(str(entry.schema)))
        return NativeYamlError(fault.shown(Source(location.file, str(entry.schema))), faults=(fault,))
    start = entry.origin.mapping.start.index
    end = entry.origin.source.text.find("\n", start)
    fault = Fault(rule, message, location, start, end if end >= 0 else len(entry.origin.source.text))
    return NativeYamlError(fault.shown(entry.origin.source), faults=(fault,))
