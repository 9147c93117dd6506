"""Programs in files: what is saved is read as it was, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import opdsl
from opdsl.errors import ProgramError
from opdsl.programs.program import Program


def mixed(x: Any, pair: Any, r: float) -> Any:
    y = (x * r + pair[0]).reshape(-1).to(opdsl.float64)
    y[1:].mul_(2)
    return {"y": y, "rest": (pair[1].sum(0, keepdim=True), None, [opdsl.full((2,), float("inf"))])}


def saved(tmp_path: Path, program: Program) -> Path:
    path = tmp_path / "program.json"
    program.save(path)
    return path


def test_a_program_is_read_as_it_was_saved(tmp_path: Path) -> None:
    program = opdsl.trace(mixed, opdsl.ones(2, 3), (opdsl.ones(3), opdsl.ones(2, 3)), 0.5)
    assert Program.load(saved(tmp_path, program)) == program


def test_a_program_of_several_sizes_keeps_their_expressions(tmp_path: Path) -> None:
    program = opdsl.trace(lambda x: x[: x.shape[0] // 2] if x.shape[0] > 3 else x, opdsl.ones(9, 2))
    assert Program.load(saved(tmp_path, program)) == program


def test_fused_steps_are_saved_in_parts(tmp_path: Path) -> None:
    from opdsl.programs.fusion import with_fused_steps

    program = opdsl.trace(lambda x: x.exp() + 1, opdsl.ones(2))
    assert Program.load(saved(tmp_path, with_fused_steps(program))) == program


def changed(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "text", ["__import__('os').system('true')", "s1.__class__", "(lambda: 1)()", "s1 if s1 else 2"]
)
def test_expressions_of_anything_but_sizes_are_refused(tmp_path: Path, text: str) -> None:
    path = saved(tmp_path, opdsl.trace(lambda x: x, opdsl.ones(2)))
    changed(path, guards=[text])
    with pytest.raises(ProgramError, match="is no expression of sizes"):
        Program.load(path)


def test_names_that_are_none_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, opdsl.trace(lambda x: x, opdsl.ones(2)))
    changed(path, sizes=[["s2 = 1; import os; s3", "s1"]])
    with pytest.raises(ProgramError, match="is no name"):
        Program.load(path)


def test_an_operator_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, opdsl.trace(lambda x: x.exp(), opdsl.ones(2)))
    path.write_text(path.read_text().replace("exp(Tensor self) -> Tensor", "exp(Tensor x) -> Tensor"))
    with pytest.raises(ProgramError, match=r"was saved with .*Tensor x.*, but here it is"):
        Program.load(path)


def test_an_operator_that_is_not_here_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, opdsl.trace(lambda x: x.exp(), opdsl.ones(2)))
    path.write_text(path.read_text().replace('"aten::exp"', '"nowhere::exp"'))
    with pytest.raises(ProgramError, match="which is not here"):
        Program.load(path)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "opdsl.program", "version": 1}', "\0"])
def test_a_file_that_is_no_program_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "program.json"
    path.write_text(text)
    with pytest.raises(ProgramError):
        Program.load(path)


def test_tensors_from_elsewhere_are_saved_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    weight = opdsl.from_numpy(__import__("numpy").arange(3.0))
    path = saved(tmp_path, opdsl.trace(lambda x: x + weight, opdsl.ones(3)))
    (loaded,) = Program.load(path).constants.values()
    assert loaded.tolist() == [0.0, 1.0, 2.0]
