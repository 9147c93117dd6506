"""Tests of groups of variants and of views, which for PyTorch's entries are torchgen's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opdsl.errors import NativeYamlError
from opdsl.native import NativeFunction, VariantGroup, loads, structured_groups, variant_groups, view_groups

Entries = tuple[NativeFunction, ...]


def name(entry: NativeFunction | None) -> str | None:
    return None if entry is None else str(entry.name)


def their_name(entry: Any) -> str | None:
    return None if entry is None else str(entry.func.name)


@pytest.fixture(scope="module")
def generated(corpus_path: Path, torchgen_parse: Any) -> Any:
    """Return torchgen's functions including generated ones, which its grouping needs."""
    return torchgen_parse(corpus_path.read_text(), generate=True).native_functions


def test_structured_groups(entries: Entries, generated: Any) -> None:
    from torchgen.gen import get_grouped_native_functions
    from torchgen.model import NativeFunctionsGroup

    expected = [
        (their_name(group.functional), their_name(group.out), their_name(group.inplace), their_name(group.mutable))
        for group in get_grouped_native_functions(generated)
        if isinstance(group, NativeFunctionsGroup) and group.structured
    ]
    ours = structured_groups(entries)
    assert [(name(g.functional), name(g.out), name(g.inplace), name(g.mutable)) for g in ours] == expected
    assert (len(ours), sum(group.inplace is not None for group in ours)) == (275, 110)


def test_view_groups(entries: Entries, generated: Any) -> None:
    from torchgen.gen import get_grouped_by_view_native_functions
    from torchgen.model import NativeFunctionsViewGroup

    expected = [
        (their_name(group.view), their_name(group.view_copy), their_name(group.view_inplace))
        for group in get_grouped_by_view_native_functions(generated)
        if isinstance(group, NativeFunctionsViewGroup)
    ]
    ours = view_groups(entries)
    assert [(name(g.view), name(g.view_copy), name(g.view_inplace)) for g in ours] == expected
    assert len(ours) == 91


def test_every_entry_is_in_one_group(entries: Entries) -> None:
    members = [
        member
        for group in variant_groups(entries)
        for member in (group.members if isinstance(group, VariantGroup) else (group,))
    ]
    assert sorted(map(id, members)) == sorted(map(id, entries))


def test_two_entries_of_one_kind_are_refused_naming_both_places() -> None:
    entries = loads("- func: f(int x) -> Tensor\n- func: f.b(int x) -> Tensor\n", file="a.yaml")
    with pytest.raises(NativeYamlError) as caught:
        variant_groups(entries)
    assert str(caught.value).startswith("a.yaml:2:9: f.b and f have one signature and are of one kind, functional")
    assert "a.yaml:1:9" in str(caught.value)
    assert "[INV-39]" in str(caught.value)


def test_namespaces_are_not_mixed() -> None:
    entries = loads("- func: a::f(int x) -> Tensor\n- func: f(int x) -> Tensor\n- func: b::f(int x) -> Tensor\n")
    assert len(variant_groups(entries)) == 3
