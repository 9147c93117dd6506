"""Tests of ``opdsl list``: which operators it lists, and in which form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from opdsl.dispatch import registry

Run = Callable[..., Result]


def names(result: Result) -> list[str]:
    """Return the first column of the output."""
    return [line.split()[0] for line in result.stdout.splitlines()]


def test_every_operator_of_aten_has_one_line(run: Run) -> None:
    listed = names(run("list"))
    assert sorted(listed) == sorted(operator.name for operator in registry if operator.name.startswith("aten::"))


def test_a_line_has_name_kind_kernels_and_tags(run: Run) -> None:
    line = next(line for line in run("list").stdout.splitlines() if line.startswith("aten::mul.Tensor "))
    assert line.split() == ["aten::mul.Tensor", "functional", "CPU,CUDA,Meta", "core,pointwise"]


def test_columns_are_aligned(run: Run) -> None:
    lines = run("list").stdout.splitlines()
    kinds = {"functional", "inplace", "out", "mutable", "scratch"}
    starts = {line.index(f" {line.split()[1]} ") for line in lines if line.split()[1] in kinds}
    assert len(starts) == 1


def test_in_a_pipe_nothing_is_cut_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert "CompositeExplicitAutogradNonFunctional" in run("list", "copy").stdout


def test_in_a_pipe_there_are_no_colours(run: Run) -> None:
    assert "\x1b" not in run("list").stdout


def test_colours_can_be_forced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in run("list", "add.Tensor").stdout


def test_a_terminal_gets_a_header(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "operator" in run("list", "add.Tensor").stdout.splitlines()[0]


def test_a_pattern_without_wildcards_is_a_part_of_the_name(run: Run) -> None:
    assert names(run("list", "aten::add_.T")) == ["aten::add_.Tensor"]


@pytest.mark.parametrize("pattern", ["mul.*", "aten::mul.*"])
def test_a_pattern_with_wildcards_is_the_whole_name(run: Run, pattern: str) -> None:
    assert names(run("list", pattern)) == [
        "aten::mul.Scalar",
        "aten::mul.Scalar_out",
        "aten::mul.Tensor",
        "aten::mul.out",
    ]


def test_a_pattern_that_nothing_matches_exits_with_1(run: Run) -> None:
    assert run("list", "no_such_operator").exit_code == 1


def test_a_pattern_that_nothing_matches_names_what_is_close(run: Run) -> None:
    assert "Did you mean transpose" in run("list", "tranpose").stderr


def test_a_namespace_without_operators_is_an_error(run: Run) -> None:
    outcome = run("list", "--namespace", "nowhere")
    assert (outcome.exit_code, "no operator has the namespace 'nowhere'" in outcome.stderr) == (1, True)


def test_with_a_module_its_namespaces_are_listed(run: Run, my_ops: Path) -> None:
    assert names(run("list", "--module", "my_ops.py")) == [
        "my_ops::affine",
        "my_ops::smooth_relu",
        "my_ops::smooth_relu.out",
        "my_ops::smooth_relu_",
        "my_ops::upsample",
        "my_ops::upsample.out",
    ]


def test_with_a_module_another_namespace_can_be_asked_for(run: Run, my_ops: Path) -> None:
    listed = names(run("list", "aten::mul.Tensor", "--module", "my_ops.py", "--namespace", "aten"))
    assert listed == ["aten::mul.Tensor"]


FILE = """
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
- func: nothing_like_it(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: nothing_like_it
  autogen: nothing_like_it.out
- func: sparse_nothing(Tensor self) -> Tensor
- func: kept_by_layout(Tensor self) -> Tensor
  dispatch:
    SparseCPU: kept_sparse
- func: cudnn_nothing(Tensor self) -> Tensor
"""


def test_what_a_file_has_and_is_not_here_is_told_with_what_stands_for_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "native_functions.yaml").write_text(FILE)
    listed = run("list", "--missing", str(tmp_path / "native_functions.yaml"))
    assert [line.split()[:3] for line in listed.stdout.splitlines()] == [
        ["aten::nothing_like_it", "dense", "wrap"],
        ["aten::sparse_nothing", "sparse", "-"],
        ["aten::kept_by_layout", "sparse", "-"],
        ["aten::cudnn_nothing", "vendor", "-"],
        ["aten::nothing_like_it.out", "dense", "wrap"],
    ]


def test_what_is_missing_is_told_with_the_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "native_functions.yaml").write_text(FILE)
    listed = run("list", "sparse_nothing", "--missing", str(tmp_path / "native_functions.yaml"))
    assert listed.stdout.split(maxsplit=3)[3].startswith("layouts that store only some elements")


def test_what_is_empty_is_a_dash(run: Run, my_ops: Path) -> None:
    line = run("list", "affine", "--module", "my_ops.py").stdout
    assert line.split() == ["my_ops::affine", "functional", "CompositeImplicitAutograd", "-"]


MIXED = """
import math

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("mixed")


def helper(x):
    return halved(halved(x))


@lib.op(out=True, inplace=True, foreach=True)
@formula
def halved(self: Tensor) -> Tensor:
    return self / 2


@lib.op
def half(self: Tensor) -> Tensor: ...


half.forward(halved)


@lib.op
def quarter(self: Tensor) -> Tensor:
    return halved(halved(self)) * math.sqrt(1.0)


@lib.op
def eighth(self: Tensor) -> Tensor:
    return helper(halved(self))


@lib.op(kernel="CPU")
def doubled(self: Tensor) -> Tensor:
    total = self + self
    return total
"""


def test_constructs_are_counted_once_for_a_declaration(run: Run, tmp_path: Path) -> None:
    module = tmp_path / "mixed_ops.py"
    module.write_text(MIXED)
    lines = [
        line.rsplit(maxsplit=2) for line in run("list", "--constructs", "--module", str(module)).stdout.splitlines()
    ]
    result = {name: (int(count), share) for name, count, share in lines}
    once = (1, "20.0%")
    assert result["formula"] == result["forward"] == result["expression"] == result["body"] == result["kernel"] == once
    assert (result["pure"], result["pure, with expressions"], result["all"]) == (
        (2, "40.0%"),
        (3, "60.0%"),
        (5, "100.0%"),
    )
