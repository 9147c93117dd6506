"""Tests of options of entries that a table has instead of declarations (``Registry.entry_tables``)."""

from __future__ import annotations

import ast
from pathlib import Path

import opdsl
from opdsl import Library, Tensor
from opdsl.aten.torch_entries import ENTRIES
from opdsl.dispatch import Registry

ATEN = Path(opdsl.__file__).parent / "aten"

IN_THE_TABLE = frozenset(name for options in ENTRIES.values() for name in options)


def test_a_table_adds_options_to_a_declaration_and_its_variants() -> None:
    registry = Registry()
    table = {"lib::f": {"device_check": "NoCheck"}, "lib::f.out": {"explicit": True, "device_guard": False}}
    registry.entry_tables["lib"] = lambda: table
    with Library("lib", registry=registry) as lib:

        @lib.op(inplace=True, out=True)
        def f(self: Tensor) -> Tensor: ...

        names = ("lib::f", "lib::f_", "lib::f.out")
        options = [registry.operators[name].properties for name in names]
    assert [entry.get("device_check") for entry in options] == ["NoCheck"] * 3
    assert [entry.get("device_guard") for entry in options] == [None, None, False]


def test_the_table_of_the_library_names_its_operators() -> None:
    dir(opdsl.ops.aten)  # loads all operators
    assert [name for name in ENTRIES if name not in opdsl.registry.operators] == []


def test_declarations_of_the_library_leave_these_options_to_the_table() -> None:
    """All operators of lists have the same options (``foreach.py``), which are said once."""
    places = [
        f"{path.relative_to(ATEN)}:{keyword.value.lineno}: {keyword.arg}"
        for path in sorted(ATEN.rglob("*.py"))
        if path.name not in ("torch_entries.py", "foreach.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in IN_THE_TABLE
    ]
    assert places == []
