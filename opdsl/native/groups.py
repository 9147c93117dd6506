"""Entries that belong together: the variants of one operator, and views with their copies.

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
    """The variants of one operator: entries with one signature, a functional and an out one at least.

    functional: the variant that writes nothing.
    out: the one that writes given tensors.
    inplace: the one that writes its first argument.
    mutable: one that writes other arguments.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> text = "- func: f(Tensor self) -> Tensor\\n- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
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
        """Whether the out variant is structured and the others delegate to it."""
        return isinstance(self.out.structure, Structured)

    @property
    def members(self) -> tuple[NativeFunction, ...]:
        """All there are: functional, out, in-place, mutable."""
        return tuple(one for one in (self.functional, self.out, self.inplace, self.mutable) if one is not None)


@attrs.frozen
class ViewGroup:
    """A view, with the variant that copies and the one that changes its argument into the view.

    view: the view.
    view_copy: the variant that copies.
    view_inplace: the one that makes its argument the view.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> entries = loads("- func: t(Tensor(a) self) -> Tensor(a)\\n- func: t_copy(Tensor self) -> Tensor")
    >>> view_groups(entries)[0].view_inplace is None
    True
    """

    view: NativeFunction
    view_copy: NativeFunction | None = None
    view_inplace: NativeFunction | None = None


def variant_groups(entries: Iterable[NativeFunction]) -> tuple[VariantGroup | NativeFunction, ...]:
    """Entries grouped by signature, those that are in no group as they are, in the order of first appearance.

    Raises NativeYamlError where two entries have one signature and one kind (INV-39).

    Args:
        entries: in any order.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> text = "- func: f(Tensor self) -> Tensor\\n- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
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
    """The groups whose out variant is structured.

    Raises NativeYamlError where two entries have one signature and one kind (INV-39).

    Args:
        entries: in any order.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> structured_groups(loads("- func: f(Tensor self) -> Tensor"))
    ()
    """
    return tuple(group for group in variant_groups(entries) if isinstance(group, VariantGroup) and group.is_structured)


def view_groups(entries: Iterable[NativeFunction]) -> tuple[ViewGroup, ...]:
    """The views with their variants.

    Raises NativeYamlError where two entries play one part for one view.

    Args:
        entries: in any order.

    >>> from opdsl.native import loads, structured_groups, variant_groups, view_groups
    >>> entries = loads("- func: t(Tensor(a) self) -> Tensor(a)\\n- func: t_copy(Tensor self) -> Tensor")
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
    """What an entry is to a view: the view, its in-place form, or by its kind another variant."""
    if not entry.is_view:
        return entry.kind.name
    return "view_inplace" if entry.name.is_inplace else "view"


def _place(parts: dict[Key, NativeFunction], key: Key, entry: NativeFunction) -> None:
    """Puts an entry where no other may be."""
    other = parts.setdefault(key, entry)
    if other is entry:
        return
    message = (
        f"{entry.name} and {other.name} have one signature and are of one kind, {entry.kind} "
        f"(the other one: {other.location('func')})"
    )
    raise _error(entry, "INV-39", message)


def _error(entry: NativeFunction, rule: str, message: str) -> NativeYamlError:
    """An error at an entry's schema, wherever the entry came from."""
    location = entry.location("func")
    if entry.origin is None:
        fault = Fault(rule, message, location, 0, len(str(entry.schema)))
        return NativeYamlError(fault.shown(Source(location.file, str(entry.schema))), faults=(fault,))
    start = entry.origin.mapping.start.index
    end = entry.origin.source.text.find("\n", start)
    fault = Fault(rule, message, location, start, end if end >= 0 else len(entry.origin.source.text))
    return NativeYamlError(fault.shown(entry.origin.source), faults=(fault,))
