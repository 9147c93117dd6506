"""Tests of ``opdsl show``: the parts of an operator's page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding
import pytest
from click.testing import Result

import opdsl
from opdsl.aten import load
from opdsl.dispatch import DispatchTable, registry
from opdsl.dispatch.keys import RUNTIME_KEYS

Run = Callable[..., Result]

load()


def part(result: Result, title: str) -> list[str]:
    """Return the lines below a title, given by its beginning, without their indentation."""
    lines = result.stdout.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith(title))
    rest = lines[start + 1 :]
    end = next((index for index, line in enumerate(rest) if line and not line.startswith(" ")), len(rest))
    return [line.removeprefix("    ") for line in rest[:end] if line]


@pytest.mark.parametrize("name", [operator.name for operator in registry])
def test_every_operator_has_a_page(run: Run, name: str) -> None:
    assert run("show", name).stdout.startswith(f"{name}\n    {registry.operator(name).schema}\n")


@pytest.mark.parametrize("name", ["add.Tensor", "aten::add.Tensor"])
def test_the_namespace_aten_may_be_left_out(run: Run, name: str) -> None:
    assert run("show", name).stdout.startswith("aten::add.Tensor\n")


def test_default_stands_for_the_empty_overload(run: Run) -> None:
    assert run("show", "neg.default").stdout.startswith("aten::neg\n")


def test_the_page_says_where_the_declaration_stands(run: Run) -> None:
    location = dict(line.split(maxsplit=1) for line in part(run("show", "sort"), "declaration"))["location"]
    file, _, number = location.rpartition(":")
    text = Path(file).read_text(encoding="utf-8").splitlines()
    assert "aten::sort" in text[int(number) - 1]


def test_a_place_in_the_working_directory_is_relative(run: Run, my_ops: Path) -> None:
    assert "location   my_ops.py:8" in run("show", "affine", "--module", "my_ops.py").stdout


def test_variants_have_their_schemas(run: Run) -> None:
    assert part(run("show", "mul.Tensor"), "variants") == [
        "functional  mul.Tensor(Tensor self, Tensor other) -> Tensor",
        "inplace     mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        "out         mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
    ]


def test_properties_of_the_entry_are_shown(run: Run) -> None:
    assert part(run("show", "mul.out"), "entry") == [
        "variants             function",
        "device_check         NoCheck",
        "structured_inherits  TensorIteratorBase",
    ]


def test_kernels_are_named_with_their_functions(run: Run, my_ops: Path) -> None:
    kernels = part(run("show", "upsample", "--module", "my_ops.py"), "registered kernels")
    assert [row.split() for row in kernels[:2]] == [
        ["CPU", "structured", "upsample_cpu", "my_ops.py:32"],
        ["Meta", "structured", "upsample_meta", "my_ops.py:27"],
    ]
    assert kernels[2].split()[0] == "CompositeExplicitAutogradNonFunctional"


def test_a_derived_kernel_is_told_apart(run: Run) -> None:
    kernels = "\n".join(part(run("show", "constant_pad_nd.out"), "registered kernels"))
    assert "copy of function constant_pad_nd" in kernels


def test_the_computed_table_says_why(run: Run) -> None:
    rows = part(run("show", "contiguous"), "computed table")
    assert rows[0].split() == ["CPU", "function", "contiguous", "math", "kernel", "of", "CompositeImplicitAutograd"]


def test_the_computed_table_shows_what_is_missing(run: Run) -> None:
    rows = part(run("show", "histogram.bins_tensor_out"), "computed table")
    assert ["CUDA", "-", "missing"] in [row.split() for row in rows]


def test_all_keys_are_the_whole_table(run: Run) -> None:
    rows = [row.split() for row in part(run("show", "add.Tensor", "--all-keys"), "computed table")]
    assert [row[0] for row in rows] == [str(key) for key in RUNTIME_KEYS]


def test_all_keys_agree_with_the_dispatch_table(run: Run) -> None:
    operator = registry.operator("add.Tensor")
    table = DispatchTable.of(operator.registrations, operator.fallbacks)
    rows = part(run("show", "add.Tensor", "--all-keys"), "computed table")
    wrong = [row for row in rows if f"  {table[row.split()[0]].reason.value}" not in row]
    assert wrong == []


def test_a_formula_of_elements_shows_its_scalar_graph(run: Run, my_ops: Path) -> None:
    title = "formula (self: float32[*, *], beta: float: 1 kernel)"
    graph = part(run("show", "smooth_relu", "--module", "my_ops.py"), title)
    assert graph[:3] == [
        "def smooth_relu(self: float32, number0: float32) -> float32:",
        "    # number0 = beta",
        "    t0: float32 = self * number0",
    ]


def test_a_pointwise_operator_of_the_library_shows_its_scalar_graph(run: Run) -> None:
    graph = part(run("show", "add.Tensor"), "scalar graph (float32)")
    assert graph[0].startswith("def add(self: float32, other: float32, alpha: float32) -> float32:")


def test_an_operator_that_is_not_pointwise_shows_none(run: Run) -> None:
    assert "scalar graph" not in run("show", "mm").stdout


def test_a_scalar_function_under_a_condition_says_so(run: Run) -> None:
    assert "scalar graph (float32, rounding_mode='floor')" in run("show", "div.Tensor_mode").stdout


def test_a_condition_keeps_its_dtype_in_the_graph(run: Run) -> None:
    graph = part(run("show", "where.self"), "scalar graph (float32)")
    assert graph[0] == "def where(condition: bool, self: float32, other: float32) -> float32:"


def test_the_generated_source_is_shown(run: Run) -> None:

    source = [line for line in opdsl.add.source.splitlines() if line]
    assert part(run("show", "add.Tensor"), "generated source of add") == source


def test_a_packet_shows_its_overloads(run: Run) -> None:
    schemas = part(run("show", "mul"), "aten::mul")
    assert schemas == [str(overload.schema) for overload in registry.packets["aten::mul"].overloads.values()]


def test_a_terminal_gets_colours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in run("show", "add.Tensor").stdout


def test_a_pipe_gets_none(run: Run) -> None:
    assert "\x1b" not in run("show", "add.Tensor").stdout


# -------------------------------------------------------------------------------------------------------- wrong names


def test_a_wrong_name_exits_with_1(run: Run) -> None:
    assert run("show", "add.Tensr").exit_code == 1


def test_a_wrong_name_leaves_stdout_empty(run: Run) -> None:
    assert run("show", "add.Tensr").stdout == ""


def test_a_wrong_overload_names_those_that_there_are(run: Run) -> None:
    assert "aten::mul has the overloads: Tensor, out, Scalar, Scalar_out." in run("show", "mul.Tensr").stderr


def test_a_wrong_name_names_what_is_close(run: Run) -> None:
    assert "Did you mean transpose.int" in run("show", "tranpose.int").stderr


def test_a_wrong_name_with_a_namespace_is_answered_with_one(run: Run) -> None:
    assert "Did you mean aten::transpose.int" in run("show", "aten::tranpose.int").stderr


def test_a_name_of_two_namespaces_has_to_be_whole(run: Run, my_ops: Path) -> None:
    (my_ops.parent / "more_ops.py").write_text(my_ops.read_text(encoding="utf-8"), encoding="utf-8")
    outcome = run("show", "affine", "--module", "my_ops.py", "--module", "more_ops.py")
    assert "'affine' may be my_ops::affine or more_ops::affine" in outcome.stderr


def test_a_name_is_needed(run: Run) -> None:
    assert run("show").exit_code == 2


def test_overrides_are_shown_with_their_conditions(run: Run, noted_override: None) -> None:
    assert part(run("show", "exp"), "overrides") == ["CPU  exp_of_small (mine), if is_small  in force"]


def test_an_override_that_is_disabled_says_so(run: Run, noted_override: None) -> None:
    opdsl.deregister_op_overrides(disable_dsl_names="mine")
    try:
        assert part(run("show", "exp"), "overrides")[0].endswith("disabled")
    finally:
        opdsl.reenable_op_overrides(enable_dsl_names="mine")


def test_an_operator_without_overrides_shows_none(run: Run) -> None:
    assert "overrides\n" not in run("show", "mul.Tensor").stdout


def test_the_plan_of_a_call_is_shown(run: Run) -> None:
    assert run("show", "aten::sinh", "--lowered").stdout.startswith("def plan_of_call(self):\n")


def shown_alone(*arguments: str) -> str:
    """Run ``opdsl show`` in its own process, which has compiled nothing before."""
    command = [sys.executable, "-m", "opdsl", "show", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def test_llvm_is_a_module_that_llvm_reads() -> None:
    module = llvmlite.binding.parse_assembly(shown_alone("aten::sinh", "--llvm"))
    assert "pointwise" in [function.name for function in module.functions]


def test_loops_are_printed_alone() -> None:
    text = shown_alone("softmax.int", "--loops")
    assert text.startswith("kernel softmax_row(") and "define" not in text


def test_several_views_have_titles(run: Run) -> None:
    lines = run("show", "aten::sinh", "--llvm", "--lowered").stdout.splitlines()
    assert [line for line in lines if line[:1].isalpha()] == ["LLVM IR: (float32[3, 4])", "plan: (float32[3, 4])"]


def test_a_call_without_loop_programs_says_so(run: Run) -> None:
    assert run("show", "aten::mm", "--loops").stdout == "# No kernel of this call is made from a loop program.\n"


def test_why_a_call_has_no_plan_is_shown(run: Run) -> None:
    assert "# No plan of the form. " in run("show", "aten::item", "--lowered").stdout


def test_what_no_loaded_module_declares_may_be_in_another(run: Run) -> None:
    outcome = run("show", "mylib::affine")
    assert (outcome.exit_code, "Of a module that is not loaded: --module MODULE." in outcome.stderr) == (1, True)
