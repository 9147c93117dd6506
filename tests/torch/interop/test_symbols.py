"""Tests of data-dependent sizes: torch.compile and torch.export trace registered operators through them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._dynamo.convert_frame import input_codes

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import MissingKernelError, MissingMetaError
from opdsl.interop.torch import register
from tests.torch.interop.bridge import registered


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


@pytest.fixture(scope="module")
def formulas():
    with Library("interop_symbols") as lib:

        @lib.op
        @formula
        def weighted(self: Tensor, other: Tensor, alpha: float = 2.0) -> Tensor:
            return self + alpha * other

        @lib.op
        @formula
        def bent(self: Tensor, limit: float = 2.0) -> Tensor:
            return self if self > limit else self * self

        @lib.op
        @formula
        def shares(self: Tensor) -> Tensor:
            return self.exp() / self.exp().sum(0, keepdim=True)

        register(lib)
        yield torch.ops.interop_symbols


@pytest.fixture(autouse=True)
def sizes_are_captured():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield


def picked(x):
    """Return a tensor whose size depends on elements."""
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


FORMULAS = {
    "one size": lambda ops, x: ops.bent(picked(x)),
    "two sizes": lambda ops, x: ops.weighted(picked(x), picked(x + 0)),
    "the same size": lambda ops, x: ops.weighted(picked(x), ops.bent(picked(x))),
    "another dimension": lambda ops, x: ops.weighted(picked(x)[:, None], x[None, :]),
    "a size of 1": lambda ops, x: ops.weighted(picked(x), torch.ones(1, dtype=torch.float64)),
    "a fold": lambda ops, x: ops.shares(picked(x)),
}


def example(requires_grad: bool = False):
    return torch.tensor([1.0, -2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=requires_grad)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(ops, name):
    require_compiled(lambda x: PROGRAMS[name](ops, x))


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_compiled(formulas, name):
    require_compiled(lambda x: FORMULAS[name](formulas, x))


def require_compiled(program):
    """Check that a compiled program has the results and gradients of the uncompiled one."""
    eager, compiled = example(True), example(True)
    expected = program(eager)
    computed = torch.compile(program, fullgraph=True, backend="aot_eager", dynamic=True)(compiled)
    torch.testing.assert_close(computed, expected)
    if expected.requires_grad:
        expected.sum().backward()
        computed.sum().backward()
        torch.testing.assert_close(compiled.grad, eager.grad)


class Program(torch.nn.Module):
    """Module that calls a function with operators and a tensor."""

    def __init__(self, ops, call):
        super().__init__()
        self.ops, self.call = ops, call

    def forward(self, x):
        return self.call(self.ops, x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_exported(ops, name):
    require_exported(ops, PROGRAMS[name])


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_exported(formulas, name):
    require_exported(formulas, FORMULAS[name])


def require_exported(ops, program):
    """Check that an exported program returns the uncompiled program's results for another size."""
    shapes = {"x": {0: torch.export.Dim("n")}}
    exported = torch.export.export(Program(ops, program), (example(),), dynamic_shapes=shapes)
    x = torch.tensor([1.0, 2.0, 3.0, -4.0, 5.0, 6.0], dtype=torch.float64)
    torch.testing.assert_close(exported.module()(x), program(ops, x))


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


@pytest.fixture
def untold():
    """Declare operators whose result shapes are not known before they run, one of which lacks only the tag."""
    with Library("interop_untold") as lib:

        @lib.op
        def positives(self: Tensor) -> Tensor: ...

        @positives.kernel("CPU")
        def positives_cpu(self):
            return self.masked_select(self > 0)

        @positives.kernel("Meta")
        def positives_meta(self):
            return opdsl.empty((opdsl.dynamic_size(),), device="meta")

        @lib.op
        def doubled(self: Tensor) -> Tensor: ...

        @doubled.kernel("CPU")
        def doubled_cpu(self):
            return self * 2

        @lib.op
        def zeros_of(size: int) -> Tensor: ...

        @zeros_of.kernel("CPU")
        def zeros_of_cpu(size):
            return opdsl.zeros(size)

        register(lib)
        yield torch.ops.interop_untold


UNTOLD = {
    "untagged": (lambda ops, x: ops.positives(x), r'tags=\["dynamic_output_shape"\]'),
    "no Meta kernel": (lambda ops, x: ops.doubled(x), r'Register one with @doubled.kernel\("Meta"\)'),
    "no Meta kernel, no tensor": (lambda ops, x: x + ops.zeros_of(2), r'Register one with @zeros_of.kernel\("Meta"\)'),
}


@pytest.mark.parametrize("kind", UNTOLD)
def test_an_operator_that_does_not_tell_shapes_says_how_to(untold, kind):
    call, remedy = UNTOLD[kind]
    x = torch.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=remedy):
        torch.compile(lambda x: call(untold, x), fullgraph=True, backend="eager")(x)
    with pytest.raises(RuntimeError, match=remedy):
        torch.export.export(Program(untold, call), (x,))
    if kind != "untagged":
        # torch may split the program into graphs, and runs the operator between them.
        compiled = torch.compile(lambda x: call(untold, x) + 1, backend="eager")
        torch.testing.assert_close(compiled(x), call(untold, x) + 1)


def test_without_a_tracer_tensors_on_meta_are_refused_as_kernels_are(untold):
    x = torch.empty(2, device="meta")
    with pytest.raises(MissingKernelError, match="depends on elements"):
        untold.positives(x)
    with pytest.raises(MissingKernelError, match="no Meta kernel"):
        untold.doubled(x)
    with torch._subclasses.FakeTensorMode() as mode, pytest.raises(MissingMetaError, match="no Meta kernel"):
        untold.doubled(mode.from_tensor(torch.ones(2)))


def test_what_runs_between_graphs_is_not_compiled_itself(untold):
    x = torch.ones(2)
    compiled = torch.compile(lambda x: untold.doubled(x) + untold.doubled(x + 1), backend="eager")
    torch.testing.assert_close(compiled(x), torch.full((2,), 6.0))
    looked_at = [code().co_filename for code in input_codes.seen if code() is not None]
    ours = str(Path(opdsl.__file__).parent)
    assert __file__ in looked_at
    assert not [path for path in looked_at if path.startswith((ours, "<opdsl"))]
