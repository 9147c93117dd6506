"""Tests of selective builds, with torchgen's own selector as oracle."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import yaml

from opdsl.errors import NativeYamlError
from opdsl.native import NativeFunction, SelectedOperator, Selection, check, generated, load_selection, loads, select

TEXT = """\
include_all_non_op_selectives: False
debug_info: [model]
operators:
  aten::add.Tensor:
    is_root_operator: True
    is_used_for_training: False
    include_all_overloads: False
    debug_info: [model]
  aten::mul:
    is_root_operator: False
  aten::sum:
    include_all_overloads: False
kernel_metadata:
  add_kernel: [float]
custom_classes: []
build_features: []
"""


@pytest.fixture
def selection(tmp_path: Path) -> Selection:
    path = tmp_path / "selected_operators.yaml"
    path.write_text(TEXT)
    return load_selection(path)


def test_what_a_file_says(selection: Selection) -> None:
    assert selection.operators == {
        "aten::add.Tensor": SelectedOperator(is_used_for_training=False, include_all_overloads=False),
        "aten::mul": SelectedOperator(is_root=False),
        "aten::sum": SelectedOperator(include_all_overloads=False),
    }


def test_torchgen_selects_the_same(selection: Selection, entries: tuple[NativeFunction, ...]) -> None:
    from torchgen.selective_build.selector import SelectiveBuilder

    theirs = SelectiveBuilder.from_yaml_dict(yaml.safe_load(TEXT))
    ours = {entry.name.qualified for entry in entries if selection.selects(entry.name)}
    assert ours == {entry.name.qualified for entry in entries if theirs.is_operator_selected(entry.name.qualified)}
    assert "aten::mul.out" in ours


def test_all_operators(tmp_path: Path, entries: tuple[NativeFunction, ...]) -> None:
    path = tmp_path / "all.yaml"
    path.write_text("include_all_operators: True\n")
    assert select(entries, load_selection(path)) == entries


def test_entries_come_with_what_they_need(selection: Selection, entries: tuple[NativeFunction, ...]) -> None:
    names = {str(entry.name) for entry in select(entries, selection)}
    assert {"add.Tensor", "add.out", "add_.Tensor", "mul.out", "sum"} <= names
    assert "sub.Tensor" not in names


@pytest.mark.parametrize("seed", range(6))
def test_what_is_selected_breaks_no_rule(seed: int, entries: tuple[NativeFunction, ...]) -> None:
    names = Random(seed).sample([entry.name.qualified for entry in entries], 40)
    selected = select(entries, Selection(dict.fromkeys(names, SelectedOperator())))
    assert check(selected) == []
    assert set(names) <= {entry.name.qualified for entry in selected}


def test_a_generated_operator_selects_the_entry_it_is_made_from(entries: tuple[NativeFunction, ...]) -> None:
    name = generated(entries)[0].name
    selected = select(entries, Selection({name.qualified: SelectedOperator(include_all_overloads=False)}))
    assert name in [entry.name for entry in generated(selected)]


def test_names_that_no_entry_has() -> None:
    selection = Selection(dict.fromkeys(("aten::f", "aten::g.x"), SelectedOperator()))
    assert selection.missing(loads("- func: f.a(Tensor self) -> Tensor")) == ("aten::g.x",)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("operator: {}\n", "1:1"),
        ("operators: [a]\n", "1:12"),
        ("operators:\n  aten::a.b.c: {}\n", "2:3"),
        ("operators:\n  aten::f: True\n", "2:12"),
        ("operators:\n  aten::f:\n    root: True\n", "3:5"),
        ("operators:\n  aten::f:\n    is_root_operator: 'True'\n", "3:24"),
        ("operators:\n  aten::f: {}\n  aten::f: {}\n", "3:3"),
        ("- a\n", "1:1"),
    ],
)
def test_faults(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "selected.yaml"
    path.write_text(text)
    with pytest.raises(NativeYamlError, match=rf"selected.yaml:{place}: "):
        load_selection(path)
