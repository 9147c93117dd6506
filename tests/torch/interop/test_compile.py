"""Tests that torch.compile and torch.export capture registered operators, with symbolic sizes and gradients."""

from __future__ import annotations

import shutil

import pytest
import torch
from torch._inductor.utils import fresh_cache
from torch.utils._python_dispatch import TorchDispatchMode

from opdsl import Library
from opdsl.interop.torch import register
from tests.torch.interop.bridge import DIFFERENTIABLE, SAMPLES, declare_pointwise, followed, make, operator, registered
from tests.torch.interop.test_laws import tensors_in


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    torch._dynamo.reset()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_compiled_results_and_gradients_are_those_of_eager(ops, name):
    args, kwargs = SAMPLES[name]()[0]
    call = operator(ops, name)

    def total(*args):
        results = call(*args, **kwargs)
        listed = results if isinstance(results, tuple | list) else (results,)
        return sum((tensor.abs() if tensor.is_complex() else tensor).sin().sum() for tensor in listed)

    eager, compiled = ([followed(arg) for arg in args] for _ in range(2))
    expected = total(*eager)
    computed = torch.compile(total, fullgraph=True, backend="aot_eager", dynamic=True)(*compiled)
    torch.testing.assert_close(computed, expected)
    expected.backward()
    computed.backward()
    for one, other in zip(tensors_in(compiled), tensors_in(eager), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("name", ["smooth_relu_", "affine_", "double_"])
def test_compiled_inplace_operators_write(ops, name):
    args, kwargs = SAMPLES[name]()[0]
    call = operator(ops, name)
    copies = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    torch.compile(lambda *args: call(*args, **kwargs), fullgraph=True, backend="aot_eager")(*copies)
    call(*args, **kwargs)
    torch.testing.assert_close(copies[0], args[0])


@pytest.mark.parametrize("name", ["smooth_relu.out", "nearest.out", "affine.out"])
def test_compiled_out_operators_write(ops, name):
    args, kwargs = SAMPLES[name]()[0]
    call = operator(ops, name)
    expected = call(*args, **{**kwargs, "out": torch.empty_like(kwargs["out"])})
    torch.compile(lambda *args: call(*args, **kwargs), fullgraph=True, backend="aot_eager")(*args)
    torch.testing.assert_close(kwargs["out"], expected)


def test_compiled_inplace_operators_have_gradients(ops):
    def call(x):
        return ops.smooth_relu_(x * 2).sum()

    x = make(4, requires_grad=True)
    torch.compile(call, fullgraph=True, backend="aot_eager")(x).backward()
    torch.testing.assert_close(x.grad, 2 * torch.sigmoid(2 * x.detach()))


def test_one_graph_serves_every_size(ops):
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(
        lambda x: ops.energy(ops.smooth_relu(x), [0]) + 1, fullgraph=True, backend=counter, dynamic=True
    )
    for size in (3, 4, 7):
        x = make(size, 5)
        torch.testing.assert_close(compiled(x), torch.nn.functional.softplus(x).square().sum(0) + 1)
    assert counter.frame_count == 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ (apt-get install g++), which inductor compiles with")
def test_the_inductor_compiles_forward_and_backward(ops):
    def call(x, weight):
        return ops.smooth_relu_(ops.affine(x, weight).sin(), 0.5).sum()

    eager = [make(3, 4, requires_grad=True), make(5, 4, requires_grad=True)]
    compiled = [followed(leaf) for leaf in eager]
    call(*eager).backward()
    with fresh_cache():
        torch.compile(call, fullgraph=True)(*compiled).backward()
    for one, other in zip(compiled, eager, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


class Model(torch.nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.ops = ops
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.ops.nearest(self.ops.blend(x, self.weight, self.ops.smooth_relu(x)), [8])


def test_export_keeps_the_operators_and_the_symbols(ops):
    exported = torch.export.export(
        Model(ops), (torch.ones(3, 2, 4),), dynamic_shapes={"x": {0: torch.export.Dim("batch")}}
    )
    targets = [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]
    assert targets == ["interop.smooth_relu.default", "interop.blend.default", "interop.nearest.default"]
    assert exported.module()(torch.ones(5, 2, 4)).shape == (5, 2, 8)


class Called(TorchDispatchMode):
    """Torch dispatch mode that records the names of called operators."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_operators_of_gradients_are_named_by_what_they_compute():
    """The name of a gradient operator depends on the gradients that it computes, not on the order of requests.

    PyTorch saves compiled programs on disk, and they call the operators by name in other processes.
    """

    def name_of_gradient(ops, wanted):
        computed = ops.blend(*(make(4, requires_grad=name == wanted) for name in ("low", "high", "weight")))
        with Called() as called:
            computed.sum().backward()
        [name] = [name for name in called.names if "gradient" in name]
        return name

    names = []
    for order in (("low", "high", "weight"), ("weight", "high", "low")):
        with Library("interop_named") as library:
            declare_pointwise(library)
            register(library)
            names.append({wanted: name_of_gradient(torch.ops.interop_named, wanted) for wanted in order})
    assert names[0] == names[1]
    assert len(set(names[0].values())) == 3


def test_gradients_that_compute_the_same_are_one_operator():
    """Equal gradients use one operator, since torch crashes after it frees one of two overloads with equal
    arguments.
    """

    def names_of_gradients(ops, *wanted):
        computed = ops.scaled_add(*(make(4, requires_grad=name in wanted) for name in ("self", "other")), alpha=3)
        with Called() as called:
            computed.sum().backward()
        return [name for name in called.names if "gradient" in name]

    gradient_names = []
    for _ in range(3):
        with Library("interop_shared") as library:
            declare_pointwise(library)
            register(library)
            gradient_names += [
                names_of_gradients(torch.ops.interop_shared, *arguments)
                for arguments in (("self", "other"), ("other",))
            ]
    [name] = gradient_names[0]
    assert gradient_names == [[name]] * 6
