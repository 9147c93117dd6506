"""Tests of ``opdsl compile``: which kernels it compiles, and that it compiles none twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run

SELECTION = "operators:\n  aten::neg.out:\n    include_all_overloads: false\n"

MODULE = """
from opdsl import Library, Tensor, formula

lib = Library("compiled_ahead")


@lib.op
@formula
def triple(self: Tensor) -> Tensor:
    return self * {factor}
"""


def run_apart(cache: Path, *arguments: str | Path, jobs: int | None = 1) -> subprocess.CompletedProcess[str]:
    """Run ``opdsl compile`` in its own process, with empty tables of kernels and with messages printed at exit."""
    environment = {**os.environ, "OPDSL_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "opdsl", "compile", *(["--jobs", str(jobs)] if jobs else []), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


@pytest.fixture
def compile_(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs ``opdsl compile`` with an empty cache; worker processes compile the kernels."""
    monkeypatch.setenv("OPDSL_CACHE_DIR", str(tmp_path / "cache"))
    return lambda *arguments: run("compile", "--jobs", "1", *arguments)


@pytest.fixture
def selection(tmp_path: Path) -> Path:
    path = tmp_path / "selected.yaml"
    path.write_text(SELECTION)
    return path


def test_what_is_there_is_not_compiled_again(compile_: Run, selection: Path, tmp_path: Path) -> None:
    arguments = ("--select", str(selection), "--dtype", "float32")
    first = compile_(*arguments)
    assert "for 1 operators x dtypes" in first.stdout, first.stderr
    assert not first.stdout.startswith("compiled 0")
    second = compile_(*arguments)
    assert second.stdout == "nothing to compile: the kernels of 1 operators x dtypes are there\n"
    files = sorted((tmp_path / "cache").iterdir(), key=lambda path: path.stat().st_size)
    for file in files[1:]:  # all but the record
        file.unlink()
    assert compile_(*arguments).stdout.startswith("compiled ")


def test_names_and_a_selection_add_up(compile_: Run, selection: Path) -> None:
    """A packet selects all its overloads, a composite the kernels of the operators that it calls."""
    first = compile_("abs.out", "softmax", "--select", str(selection), "--dtype", "float32")
    assert "for 4 operators x dtypes" in first.stdout, first.stderr
    assert not first.stdout.startswith("compiled 0")
    again = compile_("aten::neg.out", "softmax.int", "neg.out", "--dtype", "float32")
    assert again.stdout == "nothing to compile: the kernels of 2 operators x dtypes are there\n"


def test_an_unknown_name_is_refused(compile_: Run) -> None:
    refused = compile_("sofmax")
    assert refused.exit_code == 1
    assert "Did you mean softmax" in refused.stderr


def test_operators_of_a_module_that_is_edited_are_compiled_again(tmp_path: Path) -> None:
    cache, module = tmp_path / "cache", tmp_path / "declares.py"
    module.write_text(MODULE.format(factor=3))
    arguments = ("--module", module, "--dtype", "float64")
    assert run_apart(cache, *arguments).stdout.startswith("compiled ")
    assert run_apart(cache, *arguments).stdout.startswith("nothing to compile")
    module.write_text(MODULE.format(factor=4))
    assert run_apart(cache, *arguments).stdout.startswith("compiled ")


def test_without_a_cache_it_says_so(compile_: Run, selection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE", "0")
    refused = compile_("--select", str(selection))
    assert refused.exit_code == 1
    assert "turned off by OPDSL_CACHE=0" in refused.stderr


def test_an_unknown_dtype_is_refused(compile_: Run) -> None:
    refused = compile_("--dtype", "float33")
    assert refused.exit_code == 1
    assert "float33" in refused.stderr


def test_cuda_kernels_are_compiled_without_a_gpu(compile_: Run, selection: Path, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings", reason="needs the extra cuda")
    options = ("--select", str(selection), "--dtype", "float32", "--device", "cuda", "--arch", "sm_90")
    first = run_apart(tmp_path / "cache", *options)
    assert "for 1 operators x dtypes" in first.stdout, first.stderr
    assert not first.stdout.startswith("compiled 0")
    assert "Exception ignored" not in first.stderr  # no exceptions in finalizers when the process ends
    assert compile_(*options).stdout.startswith("nothing to compile")
    assert "compiled 0" not in compile_(*options, "--arch", "sm_80").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--device", "cuda"), "--device cuda needs --arch, once or more (have "),
        (("--device", "cuda", "--arch", "sm_1"), "--arch sm_1: NVRTC does not know it (have "),
        (("--arch", "sm_90"), "Say --device cuda with it"),
    ],
)
def test_what_to_compile_for_is_checked(compile_: Run, options: tuple[str, ...], said: str) -> None:
    pytest.importorskip("cuda.bindings", reason="needs the extra cuda")
    outcome = compile_(*options)
    assert said in outcome.stderr
    assert outcome.exit_code == 1


SCRIPT = """
import sys

import opdsl
import beside

x = opdsl.full((3, 4), float(sys.argv[1]), requires_grad=True)
(x * x).sum().backward()
print(x.grad.sum().item(), __name__)
sys.exit(beside.STATUS)
"""


def test_what_a_script_wants_is_compiled(tmp_path: Path) -> None:
    script, cache = tmp_path / "train.py", tmp_path / "cache"
    script.write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("STATUS = 0")
    first = run_apart(cache, "--from", script, "--", "0.5", jobs=None)
    assert first.returncode == 0, first.stderr
    printed, said = first.stdout.splitlines()
    assert printed == "12.0 __main__"
    assert said.startswith(f"{script} ran for ") and ": compiled 0 kernels" not in said
    second = run_apart(cache, "--from", script, "--", "0.5", jobs=None)
    assert ": compiled 0 kernels; " in second.stdout


def test_a_script_stands_alone_and_may_fail(compile_: Run, run: Run, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("raise SystemExit(3)")
    assert run("compile", "--from", str(script)).exit_code == 3
    assert "Leave the other options out" in compile_("--from", str(script)).stderr
