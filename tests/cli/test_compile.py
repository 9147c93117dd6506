"""``opdsl compile``: what it compiles, and that it does nothing twice. In processes and with caches of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SELECTION = "operators:\n  aten::neg.out:\n    include_all_overloads: false\n"

MODULE = """
from opdsl import Library, Tensor

lib = Library("compiled_ahead")


@lib.op
def triple(self: Tensor) -> Tensor: ...


@triple.pointwise
def triple_scalar_function(self):
    return self * {factor}
"""


def run(cache: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OPDSL_CACHE_DIR": str(cache), **more}
    command = [sys.executable, "-m", "opdsl", "compile", "--jobs", "1", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


@pytest.fixture
def selection(tmp_path: Path) -> Path:
    path = tmp_path / "selected.yaml"
    path.write_text(SELECTION)
    return path


def test_a_second_run_does_nothing(tmp_path: Path, selection: Path) -> None:
    cache = tmp_path / "cache"
    first = run(cache, "--select", selection, "--dtype", "float32")
    assert "for 1 operators x dtypes" in first.stdout, first.stderr
    assert not first.stdout.startswith("compiled 0")
    second = run(cache, "--select", selection, "--dtype", "float32")
    assert second.stdout == "nothing to compile: the kernels of 1 operators x dtypes are there\n"


def test_operators_are_chosen_by_name(tmp_path: Path) -> None:
    """A packet stands for its overloads, a composite for the kernels of what it calls."""
    cache = tmp_path / "cache"
    first = run(cache, "neg.out", "softmax", "--dtype", "float32")
    assert "for 3 operators x dtypes" in first.stdout, first.stderr
    assert not first.stdout.startswith("compiled 0")
    again = run(cache, "aten::neg.out", "softmax.int", "neg.out", "--dtype", "float32")
    assert again.stdout == "nothing to compile: the kernels of 2 operators x dtypes are there\n"


def test_names_and_a_selection_add_up(tmp_path: Path, selection: Path) -> None:
    found = run(tmp_path / "cache", "abs.out", "--select", selection, "--dtype", "float32")
    assert "for 2 operators x dtypes" in found.stdout, found.stderr


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "sofmax")
    assert refused.returncode == 1
    assert "Did you mean softmax" in refused.stderr


def test_a_file_that_is_gone_is_compiled_again(tmp_path: Path, selection: Path) -> None:
    cache = tmp_path / "cache"
    run(cache, "--select", selection, "--dtype", "float32")
    for each in sorted(cache.iterdir(), key=lambda path: path.stat().st_size)[1:]:  # all but the record
        each.unlink()
    assert run(cache, "--select", selection, "--dtype", "float32").stdout.startswith("compiled ")


def test_operators_of_a_module_that_is_edited_are_compiled_again(tmp_path: Path) -> None:
    cache, module = tmp_path / "cache", tmp_path / "declares.py"
    module.write_text(MODULE.format(factor=3))
    arguments = ("--module", module, "--dtype", "float64")
    assert run(cache, *arguments).stdout.startswith("compiled ")
    assert run(cache, *arguments).stdout.startswith("nothing to compile")
    module.write_text(MODULE.format(factor=4))
    assert run(cache, *arguments).stdout.startswith("compiled ")


def test_without_a_cache_it_says_so(tmp_path: Path, selection: Path) -> None:
    refused = run(tmp_path, "--select", selection, OPDSL_CACHE="0")
    assert refused.returncode == 1
    assert "turned off by OPDSL_CACHE=0" in refused.stderr


def test_an_unknown_dtype_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "--dtype", "float33")
    assert refused.returncode == 1
    assert "float33" in refused.stderr


def test_cuda_kernels_are_compiled_without_a_gpu(tmp_path: Path, selection: Path) -> None:
    pytest.importorskip("cuda.core", reason="needs the extra cuda")
    cache = tmp_path / "cache"
    options = ("--select", selection, "--dtype", "float32", "--device", "cuda")
    first = run(cache, *options, "--arch", "sm_90")
    assert "for 1 operators x dtypes" in first.stdout, first.stderr
    assert not first.stdout.startswith("compiled 0")
    assert "Exception ignored" not in first.stderr  # of what is left when the process ends
    assert run(cache, *options, "--arch", "sm_90").stdout.startswith("nothing to compile")
    assert "compiled 0" not in run(cache, *options, "--arch", "sm_90", "--arch", "sm_80").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--device", "cuda"), "--device cuda needs --arch, once or more (have "),
        (("--device", "cuda", "--arch", "sm_1"), "--arch sm_1: NVRTC does not know it (have "),
        (("--arch", "sm_90"), "Say --device cuda with it"),
    ],
)
def test_what_to_compile_for_is_checked(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.core", reason="needs the extra cuda")
    found = run(tmp_path, *options)
    assert said in found.stderr
    assert found.returncode == 1
