"""Tests of optional packages: without one, calls that need it name the command that installs it, and all others run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

PRELUDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import opdsl
from opdsl.errors import MissingDependencyError

def refuses(call):
    try:
        call()
    except MissingDependencyError as error:
        print(error)
    else:
        print("it ran")
"""


def run(packages: tuple[str, ...], code: str, cache: Path) -> list[str]:
    environment = {**os.environ, "OPDSL_QUICK_COMPILE": "1", "OPDSL_MKL": "0", "OPDSL_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", PRELUDE.format(packages=packages) + code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FOURIER = "refuses(lambda: opdsl.fft.fft(opdsl.ones(8)))"
SOLVE = "refuses(lambda: opdsl.linalg.solve(opdsl.eye(2), opdsl.ones(2, 1)))"
SORT = "refuses(lambda: opdsl.sort(opdsl.tensor([2.0, 1.0])))"
DISTANCES = "refuses(lambda: opdsl.pdist(opdsl.ones(3, 4)))"
LOOP = "print((opdsl.ones(2) + 1).tolist())"


@pytest.mark.parametrize(
    ("package", "runs", "refused", "command"),
    [
        ("numba", [LOOP], [DISTANCES], "pip install numba"),
        ("scipy", [LOOP], [SOLVE, FOURIER], "pip install scipy"),
        ("llvmlite", ["print([2.0, 2.0])"], [LOOP.replace("print(", "refuses(lambda: "), SORT], "pip install llvmlite"),
    ],
)
def test_call_that_needs_it_names_the_command(
    package: str, runs: list[str], refused: list[str], command: str, tmp_path: Path
) -> None:
    lines = run((package,), "\n".join([*runs, *refused]), tmp_path)
    assert lines[0] == "[2.0, 2.0]" and len(lines) == 1 + len(refused)
    for line in lines[1:]:
        assert line.endswith(f": {command}") and package in line.lower().replace("scipy's", "scipy")


def test_ordering_needs_no_numba(tmp_path: Path) -> None:
    code = """
x = opdsl.tensor([2.0, 1.0, 2.0, 0.0] * 5)
for made in (x.sort()[0][:6], x.sort(stable=True)[1][:6], x.topk(6)[1], x[:4].topk(2)[1], x.kthvalue(11)[0]):
    print(made.tolist())
print(x.long().unique().tolist(), opdsl.triu_indices(2, 3).tolist())
"""
    x = torch.tensor([2.0, 1.0, 2.0, 0.0] * 5)
    output = (x.sort()[0][:6], x.sort(stable=True)[1][:6], x.topk(6)[1], x[:4].topk(2)[1], x.kthvalue(11)[0])
    wanted = [*(str(tensor.tolist()) for tensor in output), "[0, 1, 2] [[0, 0, 0, 1, 1], [0, 1, 2, 1, 2]]"]
    assert run(("numba",), code, tmp_path) == wanted


def test_declaring_and_shapes_need_none_of_them(tmp_path: Path) -> None:
    code = """
@opdsl.op
def hidden_add(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor: ...

print(hidden_add.schema)
print(opdsl.linalg.solve(opdsl.empty(3, 3, device="meta"), opdsl.empty(3, 2, device="meta")).shape)
"""
    lines = run(("llvmlite", "scipy", "numba"), code, tmp_path)
    assert lines[0].endswith("hidden_add(Tensor self, Tensor other) -> Tensor") and lines[1] == "(3, 2)"
