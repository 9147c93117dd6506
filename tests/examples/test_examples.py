"""Tests that every example runs without error, prints the expected lines and saves its files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(example: str, *arguments: object) -> str:
    finished = subprocess.run(
        [sys.executable, EXAMPLES / example, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quickstart")
    return folder, run("quickstart.py", folder)


def test_the_quickstart_agrees_with_numpy(quickstart):
    _, printed = quickstart
    assert printed.count("agrees with NumPy") == 5


def test_the_quickstart_saves_its_picture(quickstart):
    from PIL import Image

    folder, _ = quickstart
    with Image.open(folder / "quickstart.png") as picture:
        assert picture.size == (8 * 32 * 3, 2 * 32 * 3)


def test_torchgen_reads_the_quickstarts_yaml(quickstart):
    import torchgen
    from torchgen.gen import parse_native_yaml

    folder, _ = quickstart
    tags = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "tags.yaml"
    parsed = parse_native_yaml(str(folder / "quickstart.yaml"), str(tags))
    names = {str(native_function.func.name) for native_function in parsed.native_functions}
    assert {"affine", "smooth_relu", "smooth_relu_", "smooth_relu.out", "upsample_nearest1d.out"} <= names


@pytest.fixture(scope="module")
def trace():
    return run("trace.py").splitlines()


def test_the_log_shows_the_composite_and_what_it_is_made_of(trace):
    assert trace[1].startswith("   trace::attention(opdsl.float32[4, 8]")
    assert [line.partition("(")[0].strip() for line in trace[3:6]] == ["aten::t", "aten::mm", "aten::div.Tensor"]


def test_the_trace_is_a_program_that_runs_again(trace):
    assert "   v4 = aten::mm(v0, v3)" in trace
    assert "   run again on other inputs, it agrees" in trace


def test_the_profile_counts_every_call(trace):
    counts = {line.split()[0]: line.split()[1] for line in trace if " x " in line}
    assert counts["trace::attention"] == "1000"


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    return folder, run("digits.py", folder)


def test_the_classifier_reads_unseen_digits(digits):
    _, printed = digits
    (accuracy,) = re.findall(r"([\d.]+)% are read right", printed)
    assert float(accuracy) > 97


def test_the_classifier_shows_its_derived_gradient(digits):
    assert "def swish(grad" in digits[1]


def test_the_classifier_draws_what_it_misread(digits):
    from PIL import Image

    with Image.open(digits[0] / "digits.png") as picture:
        assert picture.width == 640 and picture.height > 200


@pytest.fixture(scope="module")
def torch_custom_op():
    return run("torch_custom_op.py")


def test_the_model_with_a_fused_operator_is_trained(torch_custom_op):
    (error,) = re.findall(r"mean squared error ([\d.]+)", torch_custom_op)
    assert float(error) < 0.05


def test_the_fused_operator_is_differentiated_compiled_and_exported(torch_custom_op):
    assert "finite differences: True" in torch_custom_op
    assert "for any batch: True" in torch_custom_op
    assert "exported: ['gated.unit.default']" in torch_custom_op


def test_what_was_derived_is_shown(torch_custom_op):
    assert "unit_(Tensor(a!) self, Tensor gate, Tensor bias, float limit=6.) -> Tensor(a!)" in torch_custom_op
    assert "kernels for  CPU, Meta, AutogradCPU, FuncTorchBatched" in torch_custom_op


def test_scaling_out_gives_what_one_array_gives():
    pytest.importorskip("distributed", reason="needs the extra dask")
    printed = run("scale_out.py", "--rows", 8000, "--columns", 50, "--memory", "600MB")
    counts = [int(part) for part in re.search(r"standardised: \[(.*)\]", printed)[1].split(", ")]
    # Of normally distributed numbers 99.73 % are within three deviations, 68.27 % within one.
    assert sum(counts) == pytest.approx(400_000 * 0.9973, rel=2e-3)
    assert counts[1] + counts[2] == pytest.approx(400_000 * 0.6827, rel=5e-3)
    assert "rows of probabilities sum to 1: True" in printed


def test_training_on_several_processes_gives_the_losses_of_one():
    printed = run("torch_distributed.py", "--steps", 4)
    ways = re.findall(r"(\d) processes, (.*) in pieces: .*, as in one process: True", printed)
    assert ways == [("2", "data"), ("2", "tensors"), ("4", "data"), ("4", "tensors"), ("4", "data and tensors")]


def test_a_formula_as_a_program_has_its_gradient_and_can_be_saved():
    printed = run("programs.py")
    assert ": 1 step, 1 of them fused of 25" in printed
    assert "delta: agrees" in printed
    assert "saved and read again: the same" in printed
