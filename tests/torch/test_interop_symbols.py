"""Sizes that depend on elements: torch.compile and torch.export trace registered operators through them."""

from __future__ import annotations

import pytest
import torch

import opdsl
from opdsl.errors import MissingKernelError
from tests.torch.interop import registered


@pytest.fixture(scope="module")
def ops():
    with registered() as found:
        yield found


@pytest.fixture(autouse=True)
def sizes_are_captured():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield


def picked(x):
    """A tensor of a size that is not known before the program runs."""
    return x[x > 0]


PROGRAMS = {
    "pointwise": lambda ops, x: ops.smooth_relu(picked(x)),
    "pointwise of two sizes": lambda ops, x: ops.scaled_add(picked(x), picked(x + 0)),
    "pointwise with another dimension": lambda ops, x: ops.scaled_add(picked(x)[:, None], x[None, :]),
    "pointwise with a size of 1": lambda ops, x: ops.scaled_add(picked(x), torch.ones(1)),
    "reduction": lambda ops, x: ops.average(picked(x)),
    "reduction of a dimension": lambda ops, x: ops.average(picked(x)[:, None] * x, [0]),
    "row": lambda ops, x: ops.softmax(picked(x)[:, None] * x, 0),
    "scan": lambda ops, x: ops.running_largest(picked(x), 0)[0],
    "shape function that checks": lambda ops, x: ops.ordered(picked(x), picked(x + 0))[0],
    "Python kernel": lambda ops, x: ops.plus(picked(x), picked(x)),
    "list": lambda ops, x: ops.joined([picked(x), None, x]),
    "composite": lambda ops, x: ops.swish_of_sums(picked(x), picked(x)),
    "in-place": lambda ops, x: ops.plus_(picked(x) + 1, picked(x)),
    "size of an operator of its own": lambda ops, x: ops.average(ops.positives(x)) + ops.positives(x),
    "size as an argument": lambda ops, x: ops.filled([(x > 0).sum().item()], 2.0) * 2,
}


def example(requires_grad: bool = False):
    return torch.tensor([1.0, -2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=requires_grad)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(ops, name):
    eager, compiled = example(True), example(True)
    expected = PROGRAMS[name](ops, eager)
    found = torch.compile(lambda x: PROGRAMS[name](ops, x), fullgraph=True, backend="aot_eager", dynamic=True)(compiled)
    torch.testing.assert_close(found, expected)
    if expected.requires_grad:
        expected.sum().backward()
        found.sum().backward()
        torch.testing.assert_close(compiled.grad, eager.grad)


@pytest.mark.parametrize("name", PROGRAMS)
def test_exported(ops, name):
    class Program(torch.nn.Module):
        def forward(self, x):
            return PROGRAMS[name](ops, x)

    shapes = {"x": {0: torch.export.Dim("n")}}
    exported = torch.export.export(Program(), (example(),), dynamic_shapes=shapes)
    x = torch.tensor([1.0, 2.0, 3.0, -4.0, 5.0, 6.0], dtype=torch.float64)
    torch.testing.assert_close(exported.module()(x), PROGRAMS[name](ops, x))


def test_what_a_shape_function_checks_is_checked_when_the_program_runs(ops):
    def program(x):
        return ops.ordered(picked(x), picked(-x))[0]

    compiled = torch.compile(program, fullgraph=True, backend="aot_eager", dynamic=True)
    assert compiled(torch.tensor([1.0, -2.0])).tolist() == [1.0]
    with pytest.raises(RuntimeError):
        compiled(torch.tensor([1.0, 2.0, -3.0]))


def test_without_a_tracer_there_is_no_such_size(ops):
    with pytest.raises(MissingKernelError, match="depends on elements"):
        opdsl.dynamic_size()
