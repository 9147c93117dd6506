"""Tests of programs in files: saved programs are read unchanged, and other files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.errors import ProgramError
from opdsl.programs.program import Program
from opdsl.runtime.snapshot import tensors_in


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


def test_layouts_lists_and_sizes_that_elements_decide_are_kept(tmp_path: Path) -> None:
    for function, sample in (
        (lambda x: x.t().view(-1) * 2, opdsl.ones(3, 2).t()),
        (lambda x: [x.unbind(1), x.chunk(2)], opdsl.ones(4, 2)),
        (lambda x: opdsl.nn.functional.one_hot(x), opdsl.tensor([1, 2])),
        (lambda x: opdsl.nn.functional.max_pool2d(x, 2), opdsl.ones(1, 2, 9, 7)),
        (lambda x: x * (1.0 / x.shape[0]), opdsl.ones(4, 2)),
    ):
        program = opdsl.trace(function, sample)
        loaded = Program.load(saved(tmp_path, program))
        assert loaded == program and loaded.example == program.example
        assert [tensor.tolist() for tensor in tensors_in(loaded(sample))] == [
            tensor.tolist() for tensor in tensors_in(function(sample))
        ]


def test_what_a_fused_step_gives_in_another_shape_is_saved_and_printed_once(tmp_path: Path) -> None:
    from opdsl.programs.fusion import with_fused_steps

    program = opdsl.trace(lambda x: ((x * 2).exp().sum(1), x + 1), opdsl.ones(3, 4))
    fused = with_fused_steps(program)
    assert any(result.name.startswith("sum_kept") for step in fused.steps for result in step.results if result)
    assert "_kept" not in fused.source
    loaded = Program.load(saved(tmp_path, fused))
    for one, other in zip(loaded(opdsl.ones(5, 2)), program(opdsl.ones(5, 2)), strict=True):
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


def test_no_tensors_are_written_over_the_program(tmp_path: Path) -> None:
    weight = opdsl.ones(3)
    with pytest.raises(ProgramError, match="another suffix"):
        opdsl.trace(lambda x: x + weight, opdsl.ones(3)).save(tmp_path / "program.safetensors")


def test_numbers_that_a_file_does_not_bound_are_not_saved(tmp_path: Path) -> None:
    program = opdsl.trace(lambda x: x * 2, opdsl.ones(3)).replace(guards=("s1 ** s1 > 0",))
    with pytest.raises(ProgramError, match="cannot be computed"):
        program.save(tmp_path / "program.json")
    assert not list(tmp_path.iterdir())


def test_an_operator_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, opdsl.trace(lambda x: x.exp(), opdsl.ones(2)))
    path.write_text(path.read_text().replace("exp(Tensor self) -> Tensor", "exp(Tensor x) -> Tensor"))
    with pytest.raises(ProgramError, match=r"was saved with .*Tensor x.*, but here it is"):
        Program.load(path)


def test_an_operator_that_is_not_here_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, opdsl.trace(lambda x: x.exp(), opdsl.ones(2)))
    path.write_text(path.read_text().replace('"aten::exp"', '"nowhere::exp"'))
    with pytest.raises(ProgramError, match="which is not declared"):
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
