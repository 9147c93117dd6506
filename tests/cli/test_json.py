"""Tests of ``--json``: each command writes documents of one form, with the contents of its text output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from opdsl.aten import load
from opdsl.dispatch import registry

Run = Callable[..., Result]

load()


def document(result: Result, form: str) -> dict[str, Any]:
    """Parse the JSON output of a command, and check its form and version."""
    content: dict[str, Any] = json.loads(result.stdout)
    assert (content.pop("form"), content.pop("version")) == (form, 1)
    return content


def test_list(run: Run) -> None:
    operators = document(run("list", "aten::sinh*", "--json"), "list")["operators"]
    assert [item["name"] for item in operators] == ["aten::sinh", "aten::sinh.out", "aten::sinh_"]
    assert operators[0]["schema"] == "sinh(Tensor self) -> Tensor"
    assert operators[1]["kind"] == "out" and operators[0]["tags"] == list(registry.operator("sinh").tags)


def test_list_constructs(run: Run) -> None:
    constructs = document(run("list", "aten::sinh", "--constructs", "--json"), "list --constructs")["constructs"]
    assert {"construct": "elements", "declarations": 1, "share": 0.5} not in constructs
    assert {"construct": "pure", "declarations": 1, "share": 1.0} in constructs


def test_list_missing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "theirs.yaml"
    file.write_text("- func: sinh(Tensor self) -> Tensor\n- func: to_mkldnn(Tensor self) -> Tensor\n")
    [row] = document(run("list", "--missing", str(file), "--json"), "list --missing")["missing"]
    assert (row["operator"], row["category"], row["instead"]) == ("aten::to_mkldnn", "mkldnn", "-")


def test_show(run: Run) -> None:
    page = document(run("show", "div.Tensor_mode", "--json"), "show")
    assert page["schema"] == "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"
    assert page["entry"]["device_check"] == "NoCheck"
    assert {"key", "kernel", "location"} == page["kernels"][0].keys()
    assert {"key", "kernel", "reason"} == page["table"][0].keys()
    assert "float32, rounding_mode='floor'" in page["scalar_graphs"]
    assert page["source"].startswith("def div(")


def test_show_of_a_packet(run: Run) -> None:
    page = document(run("show", "mul", "--json"), "show")
    assert [row["overload"] for row in page["overloads"]] == ["Tensor", "out", "Scalar", "Scalar_out"]


def test_show_of_views(run: Run) -> None:
    page = document(run("show", "aten::mm", "--lowered", "--loops", "--json"), "show")
    assert list(page) == ["name", "lowered", "loops"]
    assert page["loops"] + "\n" == run("show", "aten::mm", "--loops").stdout


def test_doctor(run: Run) -> None:
    groups = document(run("doctor", "--json"), "doctor")["groups"]
    assert list(groups) == ["opdsl", "CPU", "CUDA", "OpenCL", "backends", "native DSLs", "beside"]
    assert groups["opdsl"][0].keys() == {"subject", "mark", "detail", "remedy", "is_needed"}
    assert [item["mark"] for item in groups["opdsl"] if item["subject"] == "numpy"] == ["OK"]


def test_bench(run: Run) -> None:
    [timing] = document(run("bench", "aten::sinh", "--size", "10", "--beside", "torch", "--json"), "bench")["timings"]
    assert (timing["operator"], timing["arguments"]) == ("aten::sinh", "(float32[10])")
    assert timing["ratio"] == pytest.approx(timing["call"] / timing["torch"])
    assert timing["is_noisy"] == (timing["spread"] > 0.15)


def test_check(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("- func: f(int x) -> int\n  variants: method\n- func: g(Tenso x) -> int\n")
    outcome = run("check", str(file), "--json")
    faults = document(outcome, "check")["faults"]
    assert outcome.exit_code == 1
    assert [(item["rule"], item["line"], item["column"]) for item in faults] == [("INV-49", 2, 13), ("INV-5", 3, 11)]
    assert faults[0]["file"] == str(file)


def test_check_of_two_entries_has_both_places(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text("- func: f(int x) -> int\n- func: f(int x) -> int\n")
    [fault] = document(run("check", str(file), "--json"), "check")["faults"]
    assert [fault["line"], *(place["line"] for place in fault["others"])] in ([1, 2], [2, 1])


def test_check_of_what_is_no_text(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "binary.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    [fault] = document(run("check", str(file), "--json"), "check")["faults"]
    assert fault["message"] == "the file is not UTF-8 text"


def test_check_without_faults(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "right.yaml"
    file.write_text("- func: f(int x) -> int\n")
    outcome = run("check", str(file), "--json")
    assert (outcome.exit_code, document(outcome, "check")) == (0, {"faults": []})


def test_upgrade_has_no_json(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text("- func: f(int x) -> int\n")
    assert run("check", str(file), "--upgrade", "--json").exit_code == 2


def test_diff(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text("- func: f(Tensor self) -> Tensor\n")
    new.write_text("- func: f(Tensor self, int n) -> Tensor\n- func: g(Tensor self) -> Tensor\n")
    outcome = run("diff", str(old), str(new), "--json")
    changes = document(outcome, "diff")["changes"]
    assert outcome.exit_code == 1
    assert changes[0] == {
        "operator": "aten::f",
        "message": "the new argument int n has no default",
        "breaks": True,
        "file": str(new),
        "line": 1,
        "column": 9,
    }
    assert [change["breaks"] for change in changes] == [True, False]
    only = document(run("diff", str(old), str(new), "--breaking", "--json"), "diff")["changes"]
    assert only == changes[:1]
