"""Tests of ``opdsl export``, which writes YAML to stdout or to a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from opdsl.declare.export import export
from opdsl.dispatch import registry
from opdsl.native import loads

Run = Callable[..., Result]


def test_stdout_has_the_entries_of_aten(run: Run) -> None:
    assert list(loads(run("export").stdout)) == export(registry, namespaces=["aten"])


def test_with_a_module_its_namespaces_are_written(run: Run, my_ops: Path) -> None:
    entries = loads(run("export", "--module", "my_ops.py").stdout)
    assert {entry.name.namespace for entry in entries} == {"my_ops"}


def test_namespaces_can_be_named(run: Run, my_ops: Path) -> None:
    text = run("export", "--module", "my_ops.py", "--namespace", "aten", "--namespace", "my_ops").stdout
    assert {load.name.namespace for load in loads(text)} == {None, "my_ops"}


def test_a_namespace_without_operators_is_an_error(run: Run) -> None:
    assert run("export", "--namespace", "nowhere").exit_code == 1


def test_a_file_gets_what_stdout_would(run: Run, folder: Path) -> None:
    run("export", "-o", "entries.yaml")
    assert (folder / "entries.yaml").read_text(encoding="utf-8") == run("export").stdout


def test_with_a_file_stdout_stays_empty(run: Run, folder: Path) -> None:
    assert run("export", "-o", "entries.yaml").stdout == ""


def test_a_file_that_cannot_be_written_is_an_error(run: Run, folder: Path) -> None:
    outcome = run("export", "-o", "no/such/folder/entries.yaml")
    assert (outcome.exit_code, "no/such/folder/entries.yaml" in outcome.stderr) == (1, True)


def test_what_a_module_prints_does_not_reach_the_yaml(run: Run, my_ops: Path) -> None:
    with my_ops.open("a", encoding="utf-8") as file:
        file.write("print('loading my operators')\n")
    assert "loading" not in run("export", "--module", "my_ops.py").stdout


def test_json_has_the_same_entries(run: Run, my_ops: Path) -> None:
    document = json.loads(run("export", "--module", "my_ops.py", "--format", "json").stdout)
    entries = loads(run("export", "--module", "my_ops.py").stdout)
    assert [row["schema"] for row in document["entries"]] == [str(entry.schema) for entry in entries]


def test_the_json_schema_can_be_had(run: Run) -> None:
    assert json.loads(run("export", "--format", "json-schema").stdout)["$defs"]["entry"]


def test_a_selection_is_all_that_is_written(run: Run, folder: Path) -> None:
    (folder / "selected.yaml").write_text(
        "operators:\n  aten::add.Tensor: {include_all_overloads: False}\n  mine::g: {}\n"
    )
    outcome = run("export", "--select", "selected.yaml")
    assert {str(load.name) for load in loads(outcome.stdout)} == {"add.Tensor", "add_.Tensor", "add.out"}
    assert "selected, but not there: mine::g" in outcome.stderr
