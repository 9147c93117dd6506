"""Tests of ``opdsl check --upgrade``, and of ``--dialect`` of the commands that read files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from opdsl.native import load

Run = Callable[..., Result]

OLD = """\
# kept
- func: f(Tensor self, double x=1.5) -> Tensor
- func: f_(Tensor self, double x=1.5) -> Tensor
"""
NEW = """\
# kept
- func: f(Tensor self, float x=1.5) -> Tensor
  variants: function, method
- func: f_(Tensor(a!) self, float x=1.5) -> Tensor(a!)
  variants: function, method
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.yaml"
    path.write_text(OLD)
    return path


def test_the_new_file_is_written(run: Run, old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    assert run("check", "--upgrade", str(old), "-o", str(new)).exit_code == 0
    assert new.read_text() == NEW
    assert run("check", str(new)).exit_code == 0


def test_every_change_is_listed_with_its_place(run: Run, old: Path, tmp_path: Path) -> None:
    outcome = run("check", "--upgrade", str(old), "-o", str(tmp_path / "new.yaml"))
    assert outcome.stdout.splitlines() == [
        f"{old}:2:9: double is float today",
        f"{old}:2:9: an entry without variants was a function and a method: variants: function, method",
        f"{old}:3:9: double is float today",
        f"{old}:3:9: the name f_ tells that self is written: Tensor(a!) self",
        f"{old}:3:9: an entry without variants was a function and a method: variants: function, method",
    ]
    assert "PyTorch 0.4 to 0.4.1" in outcome.stderr
    assert "5 changes, 0 need a person" in outcome.stderr


def test_the_text_goes_to_stdout_without_a_file(run: Run, old: Path) -> None:
    assert run("check", "--upgrade", str(old)).stdout == NEW


def test_what_needs_a_person_is_listed_and_exits_with_1(run: Run, old: Path, tmp_path: Path) -> None:
    old.write_text("- func: f(double x, Dimname d) -> Tensor\n  deprecated: True\n")
    new = tmp_path / "new.yaml"
    outcome = run("check", "--upgrade", str(old), "-o", str(new))
    head, _, rest = outcome.stdout.partition("needs a person:\n")
    assert outcome.exit_code == 1
    assert f"{old}:1:9: double is float today" in head
    assert f"{old}:2:15: deprecated is dropped" in rest
    assert f"{new}:1:20: Dimname is no schema type today" in rest


def test_the_dialect_may_be_told(run: Run, old: Path) -> None:
    assert "variants" not in run("check", "--upgrade", str(old), "--dialect", "1.0").stdout


def test_check_says_which_dialect_it_saw(run: Run, old: Path) -> None:
    outcome = run("check", str(old))
    assert outcome.exit_code == 1
    assert f"{old} has the form of PyTorch 0.4 to 0.4.1" in outcome.stderr
    assert "opdsl check --upgrade" in outcome.stderr


def test_a_faulty_file_of_today_has_no_dialect(run: Run, old: Path) -> None:
    old.write_text("- func: f(Tenso self) -> Tensor\n")
    assert "has the form of" not in run("check", str(old)).stderr


def test_a_file_is_good_in_its_own_dialect(run: Run, old: Path) -> None:
    assert run("check", str(old), "--dialect", "detect").exit_code == 0


def test_an_older_file_is_imported(run: Run, old: Path, folder: Path) -> None:
    assert run("import", str(old), "-o", "ops.py").exit_code == 1
    assert run("import", str(old), "--dialect", "detect", "-o", "ops.py").exit_code == 0
    assert run("export", "--module", "ops.py", "-o", "again.yaml").exit_code == 0
    assert load("again.yaml") == load(old, dialect="detect")


def test_an_older_file_is_compared(run: Run, old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    new.write_text(NEW)
    outcome = run("diff", str(old), str(new), "--dialect", "detect")
    assert (outcome.exit_code, outcome.stdout) == (0, "")


@pytest.mark.parametrize("arguments", [("--upgrade",), ("-o", "x.yaml"), ("--upgrade", "--dialect", "0.1")])
def test_what_does_not_go_together_is_refused(run: Run, old: Path, arguments: tuple[str, ...]) -> None:
    files = (str(old), str(old)) if arguments == ("--upgrade",) else (str(old),)
    assert run("check", *files, *arguments).exit_code in (1, 2)
