"""Tests of ``opdsl compat``, which finds names of PyTorch in a script and lists those that opdsl lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

SCRIPT = """\
import torch, os
import torch.nn.functional as F
from torch import nn, Tensor
from torch.utils.data import DataLoader as Loader

def step(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    x = F.gelu(torch.einsum("ij->i", x)).to(torch.float)
    return torch.linalg.det(x) + torch.linalg.nothing(x) + os.nothing

class Net(nn.Module):
    layer = nn.Linear(2, 3)
    other = nn.Linear(2, 3)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_missing_names_stand_with_the_place_where_they_are_first(run: Run, script: Path) -> None:
    outcome = run("compat", str(script))
    assert outcome.exit_code == 1
    lines = [line.removeprefix(f"{script}:").split() for line in outcome.stdout.splitlines()]
    assert lines == [
        ["4", "torch.utils.data.DataLoader"],
        ["9", "torch.linalg.nothing"],
        ["11", "torch.nn.Module"],
        ["12", "torch.nn.Linear"],
    ]


def test_a_script_of_which_everything_is_here(run: Run, script: Path) -> None:
    script.write_text("import torch as t\nt.add(t.ones(2), 1)\n", encoding="utf-8")
    outcome = run("compat", str(script))
    assert outcome.exit_code == 0 and outcome.stdout == ""


def test_what_is_not_python_is_refused(run: Run, script: Path) -> None:
    script.write_text("def", encoding="utf-8")
    outcome = run("compat", str(script))
    assert outcome.exit_code == 1 and "is not Python" in outcome.stderr
