"""Tests that the backend of ``examples/numpy_backend``, installed as its own package, computes what PyTorch
computes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "numpy_backend"

# Expressions that `lib` evaluates: x has 2 x 3 floats, y 3 floats, m 3 x 2 floats, i 3 ints.
CASES = {
    "functional": "x + x",
    "method": "x.mul(x)",
    "broadcast": "x * y",
    "number": "x * 3",
    "number first": "3 + x",
    "alpha": "lib.add(x, y, alpha=0.5)",
    "promoted": "x + i",
    "integers": "i * i",
    "an integer of float result": "lib.exp(i)",
    "in place": "x.add_(y)",
    "augmented": "x.__imul__(y)",
    "in place, of another dtype": "i.mul_(True)",
    "out": "lib.mul(x, y, out=x)",
    "resized out": "lib.exp(y, out=y.new_empty((0,)))",
    "out of another dtype": "lib.add(i, i, out=y)",
    "strided out": "lib.exp(x, out=m.t())",
    "transposed": "x.t() + m",
    "view": "x.reshape(3, 2)",
    "row": "x[1] * 2",
    "product": "x @ m",
    "composite": "lib.matmul(x, y)",
    "sum": "x.sum()",
    "sum of a dimension": "x.sum(1, keepdim=True)",
    "sum of bools": "x.bool().sum()",
    "sum of another dtype": "i.sum(dtype=lib.float64)",
    "clone": "x.t().clone()",
    "converted": "x.double()",
    "filled": "lib.full_like(x, 2.5)",
    "zeros": "lib.zeros((2, 2), device=device)",
    "written": "x.copy_(y)",
    "written through a view": "x.t().copy_(m)",
    "as_strided": "lib.as_strided(x, (2, 2), (1, 1), 1)",
}
ERRORS = {
    "shapes that do not fit": "lib.mm(x, x)",
    "shapes that do not broadcast": "x + m",
    "in place of another shape": "y.add_(x)",
    "in place of another dtype": "i.add_(0.5)",
    "a dimension that is not there": "x.sum(5)",
    "an output of another dtype": "lib.exp(x, out=i)",
    "overlapping output": "lib.exp(x.t()[:1].expand(3, 2), out=x.t()[:1].expand(3, 2))",
    "an operator without a kernel": "missing(x)",
}

PROGRAM = """
import json, sys
import opdsl as lib

before = sorted(sys.modules)
device = "numpy_device"

def missing(x):
    return lib.log(x)

def operands():
    x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    values = {"x": x, "y": [0.5, 1.0, 2.0], "m": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "i": [1, 2, 3]}
    return {name: lib.tensor(value).to(device) for name, value in values.items()}

facts = {}
for name, text in json.loads(sys.argv[1]).items():
    try:
        result = eval(text, globals(), operands())
        facts[name] = [result.cpu().tolist(), str(result.dtype), str(result.device), result.strides]
    except Exception as error:
        facts[name] = [base.__name__ for base in type(error).__mro__]
facts["text"] = repr(operands()["x"])
facts["loaded before"] = [name for name in before if name in ("importlib.metadata", "opdsl_numpy_device")]
facts["unloaded after"] = [name for name in ("importlib.metadata", "opdsl_numpy_device") if name not in sys.modules]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Install the package from a copy into a new folder, since building leaves files next to the sources."""
    source, site = tmp_path_factory.mktemp("source") / "numpy_backend", tmp_path_factory.mktemp("site")
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True, timeout=120)
    return site


def run(site: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    finished = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, env=environment, cwd=site
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def facts(site):
    return json.loads(run(site, "-c", PROGRAM, json.dumps(CASES | ERRORS)))


def theirs(text: str) -> torch.Tensor:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    names = {
        "lib": torch,
        "device": "cpu",
        "x": x,
        "y": torch.tensor([0.5, 1.0, 2.0]),
        "m": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        "i": torch.tensor([1, 2, 3]),
        "missing": _missing,
    }
    return eval(text, names)


def _missing(x: torch.Tensor) -> torch.Tensor:
    """Call an operator that has no CPU kernel in PyTorch, which raises the error to compare with."""
    return torch.ops.aten._sparse_sum_backward(x, x, [0])


@pytest.mark.parametrize("name", CASES)
def test_the_device_computes_what_pytorch_computes(facts, name: str) -> None:
    expected = theirs(CASES[name])
    values, dtype, device, strides = facts[name]
    assert device == "numpy_device"
    assert (dtype.partition(".")[2], strides) == (str(expected.dtype).partition(".")[2], list(expected.stride()))
    torch.testing.assert_close(torch.tensor(values, dtype=expected.dtype), expected)


@pytest.mark.parametrize("name", ERRORS)
def test_the_device_refuses_what_pytorch_refuses(facts, name: str) -> None:
    with pytest.raises(Exception) as expected:
        theirs(ERRORS[name])
    assert expected.type.__name__ in facts[name]


def test_a_tensor_of_the_device_is_printed(facts) -> None:
    assert facts["text"] == "tensor([[1., 2., 3.],\n        [4., 5., 6.]], device='numpy_device')"


def test_entry_points_are_looked_at_when_the_device_is_first_asked_for(facts) -> None:
    assert (facts["loaded before"], facts["unloaded after"]) == ([], [])


def test_the_demonstration_runs(site) -> None:
    printed = run(site, str(SOURCE / "demo.py"))
    assert "in place    [[2.0, 4.0], [6.0, 8.0]]" in printed and printed.count("refused") == 3


def test_the_doctor_knows_the_backend(site) -> None:
    line = next(line for line in run(site, "-m", "opdsl", "doctor").splitlines() if "numpy_device" in line)
    assert line.split() == ["OK", "numpy_device", "PrivateUse1,", "opdsl_numpy_device,", "opdsl-numpy-device", "0.1.0"]


def test_what_is_not_installed_is_named(site) -> None:
    program = "import opdsl\ntry: opdsl.empty(2, device='nope')\nexcept RuntimeError as error: print(error)"
    assert "numpy_device" in run(site, "-c", program)
