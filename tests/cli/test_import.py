"""Tests of ``opdsl import``, and of ``opdsl export`` applied to its output."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from opdsl.declare.source import write_module
from opdsl.native import load, loads

Run = Callable[..., Result]

TEXT = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  structured_delegate: add.out
  tags: pointwise
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  variants: method
  structured_delegate: add.out
  tags: pointwise
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: add_out
"""


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "functions.yaml"
    path.write_text(TEXT)
    return path


def test_declarations_fold_what_they_derive(run: Run, file: Path) -> None:
    source = run("import", str(file)).stdout
    assert source.count("def ") == 1
    assert "def add(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor: ..." in source


def test_exporting_the_module_gives_the_entries_back(run: Run, file: Path, folder: Path) -> None:
    outcome = run("import", str(file), "-o", "imported_ops.py")
    assert "wrote 3 entries to imported_ops.py; 1 in-place and 1 out= entries are derived" in outcome.stderr
    exported = run("export", "--module", "imported_ops.py").stdout
    names = {entry.name.qualified: entry for entry in loads(exported)}
    assert names == {entry.name.qualified: entry for entry in loads(TEXT)}


def test_a_module_may_declare_what_opdsl_has(run: Run, file: Path) -> None:
    run("import", str(file), "-o", "imported_ops.py")
    run("export", "--module", "imported_ops.py")
    assert "aten::add.Tensor" in run("list", "add.Tensor").stdout


def test_faults_are_shown(run: Run, folder: Path) -> None:
    (folder / "bad.yaml").write_text("- func: f(Tenso self) -> Tensor\n")
    outcome = run("import", "bad.yaml")
    assert (outcome.exit_code, "bad.yaml:1:11: Tenso is no schema type" in outcome.stderr) == (1, True)


def test_pytorchs_file_type_checks_and_comes_back(tmp_path: Path) -> None:
    torchgen = importlib.util.find_spec("torchgen")
    assert torchgen is not None
    assert torchgen.submodule_search_locations is not None
    corpus = Path(torchgen.submodule_search_locations[0]) / "packaged/ATen/native/native_functions.yaml"
    environment = {**os.environ, "MYPYPATH": str(Path(__file__).parents[2])}

    def call(module: str, *arguments: str) -> None:
        command = [sys.executable, "-m", module, *arguments]
        process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
        assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-2000:]

    code = "from opdsl.cli import main; main()"
    for arguments in (
        ["import", str(corpus), "-o", "aten_ops.py"],
        ["export", "--module", "aten_ops.py", "-o", "n.yaml"],
    ):
        command = [sys.executable, "-c", code, *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=300)
    assert {str(entry.schema): entry for entry in load(tmp_path / "n.yaml")} == {
        str(entry.schema): entry for entry in load(corpus)
    }
    cache = Path(__file__).parents[2] / ".mypy_cache" / "tests-import"
    call("mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(cache), "aten_ops.py")


def test_only_what_is_selected_is_imported(run: Run, file: Path, folder: Path) -> None:
    file.write_text(TEXT + "- func: g(Tensor self) -> Tensor\n")
    (folder / "selected.yaml").write_text("operators:\n  aten::g: {}\n")
    source = run("import", str(file), "--select", "selected.yaml").stdout
    assert ("def g(" in source, "def add(" in source) == (True, False)


def test_the_namespace_of_pytorch_may_be_written(run: Run, folder: Path) -> None:
    Path("aten.yaml").write_text("- func: aten::f(Tensor self) -> Tensor\n- func: g(Tensor self) -> Tensor\n")
    assert run("import", "aten.yaml", "-o", "ops.py").exit_code == 0
    assert loads(run("export", "--module", "ops.py").stdout) == load("aten.yaml")


def test_names_that_python_assigns_to_nothing_stay_out_of_the_module(run: Run, folder: Path) -> None:
    schemas = ("m::f(Tensor self, int __debug__) -> Tensor", "m::__debug__(Tensor self, int from=1) -> Tensor")
    text = "\n".join(f"- func: {schema}\n" for schema in schemas)
    (folder / "names.yaml").write_text(text)
    run("import", "names.yaml", "-o", "names_ops.py")
    assert run("export", "--module", "names_ops.py").stdout == text


def test_many_entries_of_one_name_have_short_names_of_their_own(run: Run, folder: Path) -> None:
    (folder / "same.yaml").write_text("- func: f(Tensor self) -> Tensor\n" * 2000)
    run("import", "same.yaml", "-o", "same_ops.py")
    functions = [line for line in (folder / "same_ops.py").read_text().splitlines() if line.startswith("def ")]
    assert len(set(functions)) == 2000
    assert max(map(len, functions)) < len("def f_default_op2000(self: Tensor) -> Tensor: ...") + 1


def test_what_python_has_is_imported_first(run: Run, folder: Path) -> None:
    (folder / "sized.yaml").write_text("- func: f(Tensor self, int[2] dim) -> Tensor\n")
    source = run("import", "sized.yaml").stdout
    python, ours = (source.index(f"\nfrom {home} import ") for home in ("typing", "opdsl"))
    assert python < ours
    assert source[python + 1 : ours].endswith("\n")


def test_work_grows_with_the_entries_and_no_faster(folder: Path) -> None:
    """Importing many entries of one name, each with an in-place variant, takes time linear in their number."""
    entry = "- func: f(Tensor self) -> Tensor\n- func: f_(Tensor(a!) self) -> Tensor(a!)\n"
    _, few, many = (work_of(lambda text=entry * count: write_module(loads(text))) for count in (1, 100, 400))
    assert 3 < many / few < 5


def work_of(run: Callable[[], object]) -> int:
    """Count the lines of Python and the calls of built-in functions that a call executes."""
    seen = 0

    def note(*_: object) -> Callable[..., Any]:
        nonlocal seen
        seen += 1
        return note

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return seen


@pytest.mark.parametrize("text", ["", "# to be written\n"])
def test_an_empty_file_is_refused_as_check_refuses_it(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text(text)
    imported, checked = run("import", str(path)), run("check", str(path))
    assert (imported.exit_code, checked.exit_code) == (1, 1)
    assert checked.stdout.splitlines()[0] in imported.stderr
    assert imported.stdout == ""


def test_a_list_of_no_entries_is_imported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("[]\n")
    assert (run("import", str(path)).exit_code, run("check", str(path)).exit_code) == (0, 0)
