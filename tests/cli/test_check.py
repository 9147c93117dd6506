"""Tests of ``opdsl check``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

FIXTURES = Path(__file__).parents[1] / "unit/native/fixtures"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text("- func: f(Tensor self) -> Tensor\n")
    return path


def test_a_good_file_exits_with_0(run: Run, good: Path) -> None:
    outcome = run("check", str(good))
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, "", "no faults\n")


def test_a_fault_is_shown_with_its_place_rule_and_text(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "faulty.yaml"
    path.write_text("- func: f(int x) -> int\n  variants: function, method\n")
    outcome = run("check", str(path))
    assert outcome.exit_code == 1
    assert outcome.stdout == (
        f"{path}:2:23: f has no argument self, so it is no method [INV-49]\n"
        "  variants: function, method\n"
        "                      ~~~~~^\n"
    )


def test_a_fault_between_two_entries_shows_both(run: Run) -> None:
    outcome = run("check", str(FIXTURES / "inv_39.yaml"))
    assert f"{FIXTURES / 'inv_39.yaml'}:3:9: " in outcome.stdout
    assert f"{FIXTURES / 'inv_39.yaml'}:2:9: the other place" in outcome.stdout


def test_all_files_are_checked_in_one_run(run: Run, good: Path) -> None:
    files = sorted(FIXTURES.glob("inv_*.yaml"))
    outcome = run("check", *map(str, (good, *files)))
    assert outcome.exit_code == 1
    assert [file.name for file in files if f"{file}:" not in outcome.stdout] == []


def test_all_faults_of_an_older_file_are_shown(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text("".join(f"- func: f{index}(Tensor self, *\n" for index in range(70)))
    outcome = run("check", str(path), "--dialect", "1.5")
    assert outcome.exit_code == 1
    assert [index for index in range(70) if f"{path}:{index + 1}:" not in outcome.stdout] == []
    assert outcome.stderr == "70 faults\n"


def test_an_empty_file_is_a_fault(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("# to be written\n")
    outcome = run("check", str(path))
    assert (outcome.exit_code, f"{path}:1:1: the file is empty" in outcome.stdout) == (1, True)


def test_tags_of_ones_own(run: Run, tmp_path: Path) -> None:
    tags, file = tmp_path / "tags.yaml", tmp_path / "mine.yaml"
    tags.write_text("- tag: mine\n  desc: what I say\n")
    file.write_text("- func: f(Tensor self) -> Tensor\n  tags: mine\n")
    assert run("check", str(file), "--tags", str(tags)).exit_code == 0
    assert run("check", str(file)).exit_code == 1


def test_a_file_that_is_no_text_is_a_fault(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe")
    outcome = run("check", str(path))
    assert (outcome.exit_code, outcome.stdout) == (1, f"{path}:1:1: the file is not UTF-8 text [YAML]\n")


def test_derivatives_are_checked_against_the_entries(run: Run, good: Path, tmp_path: Path) -> None:
    derivatives = tmp_path / "derivatives.yaml"
    derivatives.write_text("- name: f(Tensor self) -> Tensor\n  self: grad\n")
    outcome = run("check", str(good), "--derivatives", str(derivatives))
    assert (outcome.exit_code, "[INV-56]" in outcome.stdout) == (1, True)


def test_derivatives_of_entries_that_cannot_be_read_are_no_faults(run: Run, tmp_path: Path) -> None:
    file, derivatives = tmp_path / "faulty.yaml", tmp_path / "derivatives.yaml"
    file.write_text(
        "- func: f(Tenso self) -> Tensor\n"
        "- func: g(Tensor self) -> Tensor\n  dispach:\n    CPU: g\n"
        "- func: h(Tensor self) -> Tensor\n"
    )
    names = ("f(Tensor self) -> Tensor", "g(Tensor self) -> Tensor", "h(Tensor self) -> Tensor")
    derivatives.write_text("".join(f"- name: {name}\n  self: grad\n" for name in names))
    outcome = run("check", str(file), "--derivatives", str(derivatives))
    assert [line.partition(": ")[0] for line in outcome.stdout.splitlines() if line.endswith("]")] == [
        f"{file}:1:11",
        f"{file}:3:3",
        f"{derivatives}:5:9",
    ]
