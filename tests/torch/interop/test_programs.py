"""Tests of registered operators in whole programs: nested transforms, saved exports, copies of modules, threads."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, vmap
from torch.utils.checkpoint import checkpoint

from opdsl import Library
from opdsl.interop.torch import deregister, register
from tests.torch.interop.bridge import make, registered
from tests.torch.interop.kinds import declare_rows

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


# Functions with registered operators, and the same functions in torch.
FUNCTIONS = {
    "pointwise": (
        lambda ops, x: ops.smooth_relu(x * x).sum() ** 2,
        lambda x: torch.nn.functional.softplus(x * x).sum() ** 2,
    ),
    "reduction": (lambda ops, x: ops.average(x) ** 3, lambda x: x.mean() ** 3),
    "row": (lambda ops, x: (ops.softmax(x, 0) * x).sum(), lambda x: (torch.softmax(x, 0) * x).sum()),
    "scan": (lambda ops, x: (ops.running_sum(x, 0) ** 2).sum(), lambda x: (x.cumsum(0) ** 2).sum()),
    "Python kernel": (lambda ops, x: (ops.plus(x, x * x) ** 2).sum(), lambda x: ((x + x * x) ** 2).sum()),
    "several results": (
        lambda ops, x: ops.from_polar(x, x)[1].sum() ** 2,
        lambda x: (x * torch.sin(x)).sum() ** 2,
    ),
    "lists": (lambda ops, x: ops.products([x, x], [x, x * x])[1].sum(), lambda x: (x * x * x).sum()),
    "composite": (
        lambda ops, x: ops.swish_of_sums(x, x).sum(),
        lambda x: torch.nn.functional.silu((x * x).cumsum(0)).sum(),
    ),
}
TRANSFORMS = {
    "hessian": hessian,
    "reverse over reverse": lambda function: jacrev(jacrev(function)),
    "forward over forward": lambda function: jacfwd(jacfwd(function)),
    "reverse over forward": lambda function: jacrev(jacfwd(function)),
    "three times": lambda function: jacfwd(hessian(function)),
    "for each of a batch": lambda function: lambda x: vmap(hessian(function))(torch.stack([x, 2 * x])),
    "gradient of a gradient": lambda function: grad(lambda x: grad(function)(x).square().sum()),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_transforms(ops, name, transform):
    function, reference = FUNCTIONS[name]
    x = make(4)
    result = TRANSFORMS[transform](lambda x: function(ops, x))(x)
    torch.testing.assert_close(result, TRANSFORMS[transform](reference)(x))


def test_gradients_are_off_below_no_grad_in_a_transform(ops):
    def function(x):
        with torch.no_grad():
            kept = ops.softmax(x, 0)
        return (kept * x).sum()

    x = make(4)
    torch.testing.assert_close(grad(function)(x), torch.softmax(x, 0))


def test_functionalize(ops):
    def program(x):
        y = x + 1
        ops.plus_(y, x)
        ops.softmax_(ops.first_half(y), 0)
        return y

    x = make(4)
    torch.testing.assert_close(functionalize(program)(x), program(x))


def test_gradients_of_lists_in_which_tensors_are_missing(ops):
    x = make(3, requires_grad=True)
    ops.joined([None, x, make(2)]).sum().backward()
    assert x.grad.tolist() == [1.0] * 3


class Model(torch.nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4,), 0.5))
        self.operator = ops.softmax

    def forward(self, x):
        return self.operator(torch.ops.interop.plus(x, self.weight), -1)


PROGRAM = """
import sys
import torch
from tests.torch.interop.bridge import registered
with registered():
    model = torch.export.load(sys.argv[1]).module()
    x = torch.load(sys.argv[2])
    y = model(x)
    y.square().sum().backward()
    torch.save((y.detach(), model.weight.grad), sys.argv[3])
"""


def test_a_saved_export_runs_in_another_process(ops, tmp_path):
    paths = [str(tmp_path / name) for name in ("model.pt2", "x.pt", "y.pt")]
    model, x = Model(ops), torch.randn(3, 4)
    shapes = {"x": {0: torch.export.Dim("n")}}
    torch.export.save(torch.export.export(model, (torch.randn(2, 4),), dynamic_shapes=shapes), paths[0])
    torch.save(x, paths[1])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", PROGRAM, *paths], check=True, cwd=ROOT, env=environment)
    expected = model(x)
    expected.square().sum().backward()
    torch.testing.assert_close(torch.load(paths[2]), (expected.detach(), model.weight.grad))


def test_operators_are_loaded_while_torch_exports():
    program = (
        "import torch, opdsl\nfrom opdsl.interop.torch import register\nlib = opdsl.Library('late')\n"
        "@lib.op\ndef larger(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor:\n"
        "    return opdsl.maximum(self, other)\nregister(lib)\n"
        "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.ops.late.larger(x, -x)\n"
        "print(torch.export.export(Model(), (torch.tensor([1.0, -2.0]),)).module()(torch.tensor([-3.0, 4.0])).tolist())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert process.stdout == "[3.0, 4.0]\n"


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint(ops, use_reentrant):
    model, x = Model(ops), torch.randn(3, 4, requires_grad=True)
    checkpoint(model, x, use_reentrant=use_reentrant).square().sum().backward()
    result = x.grad
    x.grad = None
    model(x).square().sum().backward()
    torch.testing.assert_close(result, x.grad)


def test_a_copy_of_a_module_has_its_operators(ops):
    model, x = Model(ops), torch.randn(3, 4)
    torch.testing.assert_close(copy.deepcopy(model)(x), model(x))


def test_torchscript_traces_and_compiles_calls(ops):
    def script(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.interop.softmax(x, -1)

    x = torch.randn(3, 4)
    for scripted in (torch.jit.script(script), torch.jit.trace(script, (torch.randn(2, 4),))):
        torch.testing.assert_close(scripted(x), torch.softmax(x, -1))


def test_threads_train(ops):
    faults = []

    def work():
        try:
            for _ in range(20):
                x = torch.randn(3, 4, requires_grad=True)
                (ops.softmax(x, 1) * ops.swish_of_sums(x, x)).sum().backward()
                assert x.grad is not None
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_operators_are_taken_back_between_calls_of_other_threads():
    """Operators can be deregistered between calls of other threads, but not during a call, where PyTorch would
    crash.
    """
    with Library("interop_taken") as library:
        declare_rows(library)
        register(library)
        unexpected, done, free = [], threading.Event(), threading.Lock()

        def work():
            while not done.is_set():
                x = torch.randn(3, 4, requires_grad=True)
                try:
                    with free:
                        torch.ops.interop_taken.softmax(x, 1).sum().backward()
                except (AttributeError, RuntimeError):
                    continue  # the operator is not registered at the moment
                except Exception as error:
                    unexpected.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            with free:
                deregister(library)
            with free:
                register(library)
        done.set()
        for thread in threads:
            thread.join()
        assert not unexpected
        x = torch.randn(3, 4)
        torch.testing.assert_close(torch.ops.interop_taken.softmax(x, 1), torch.softmax(x, 1))
        deregister(library)
