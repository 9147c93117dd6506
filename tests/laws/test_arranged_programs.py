"""Tests of rearranged programs and of their memory: recurrent networks, sliced gates, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.programs.arranging import arranged, with_joined_products, with_slices_first, with_sums_apart
from opdsl.programs.derivative import differentiated
from opdsl.programs.leaves import flatten


def drawn(*shape: int, seed: int = 0) -> Any:
    return opdsl.from_numpy(numpy.random.default_rng(seed).normal(size=shape)).requires_grad_()


def recurrent(inputs: Any, own: Any, before: Any, bias: Any) -> Any:
    """Compute an LSTM layer as users write it, one time step after another."""
    state = cell = inputs[0] * 0
    for x in inputs.unbind(0):
        gates = opdsl.nn.functional.linear(x, own, bias) + opdsl.nn.functional.linear(state, before, bias)
        let_in, forget, new, out = gates.chunk(4, 1)
        cell = forget.sigmoid() * cell + let_in.sigmoid() * new.tanh()
        state = out.sigmoid() * cell.tanh()
    return state


def arguments(batch: int = 2) -> list[Any]:
    return [drawn(3, batch, 4), drawn(16, 4, seed=1), drawn(16, 4, seed=2), drawn(16, seed=3)]


def names(program: opdsl.Program) -> list[str]:
    return [step.name.partition("::")[2].partition(".")[0] for step in program.steps]


def test_a_recurrent_network_is_one_product_of_its_input_and_two_steps_for_each_time() -> None:
    compiled = opdsl.compile(recurrent)
    with opdsl.no_grad():
        for batch in (2, 2, 5, 2):
            computed, wanted = compiled(*arguments(batch)), recurrent(*arguments(batch))
            numpy.testing.assert_allclose(computed.numpy(), wanted.numpy(), rtol=1e-12)
    (program,) = compiled.explain().programs
    assert names(program).count("mm") == 1 + 3
    assert sum(bool(step.parts) for step in program.steps) == 3 + 1  # the last gate may be narrower
    assert "addmm" not in names(program)


def test_its_gradients_are_those_of_the_function() -> None:
    compiled = opdsl.compile(recurrent)
    for batch in (2, 2, 4):
        inputs = arguments(batch)
        ours, wanted = (
            opdsl.autograd.grad(variant(*inputs).square().sum(), inputs) for variant in (compiled, recurrent)
        )
        for one, other in zip(ours, wanted, strict=True):
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], bool]] = {
    "a bias with activation": (lambda x, w, b: opdsl.addmm(b, x, w).relu(), ((3, 4), (4, 6), (6,)), True),
    "a bias that is returned": (lambda x, w, b: opdsl.addmm(b, x, w), ((3, 4), (4, 6), (6,)), False),
    "slices of a column": (lambda x, b: opdsl.cat([e.exp() for e in (x + b).split(2, 0)]), ((4, 3), (4, 1)), True),
    "slices across": (lambda x, b: opdsl.cat([e.exp() for e in (x + b).split(2, 1)]), ((4, 4), (4, 1)), True),
    "slices that are returned": (lambda x, y: (x + y).chunk(2, 1), ((3, 4), (3, 4)), False),
    "slices of what is read": (lambda x, y: [(z := x + y).sum(), *[e.exp() for e in z.chunk(2)]], ((4,), (4,)), False),
    "slices of all": (lambda x, y: [e * e for e in ((x * 2 + y) * y).split((1, 3))], ((4,), (4,)), True),
    "parts with one matrix": (lambda x, w: opdsl.stack([e @ w for e in x]), ((3, 2, 4), (4, 5)), True),
    "parts by number": (lambda x, w: opdsl.cat([x[:, t] @ w for t in (1, 0)]), ((3, 2, 4), (4, 5)), False),
    "parts backwards": (
        lambda x, w: opdsl.cat([x[:, t] @ w for t in reversed(range(x.shape[1]))]),
        ((3, 2, 4), (4, 5)),
        True,
    ),
    "parts with several": (lambda x, w, v: [e @ w @ v + e @ w.t() for e in x], ((3, 2, 4), (4, 4), (4, 4)), True),
    "some parts": (lambda x, w: [x[0] @ w, x[1] @ w], ((3, 2, 4), (4, 5)), False),
    "a matrix for each": (lambda x, w: [e @ (w * (at + 1)) for at, e in enumerate(x)], ((3, 2, 4), (4, 5)), False),
    "a loss": (lambda x, y: (x - y).square().mean(), ((3, 4), (3, 4)), True),
    "a penalty": (lambda x, y: (x * y).abs().sum() * 0.5 + x.sum(), ((3, 4, 2), (3, 1, 2)), True),
    "a mean of no elements": (lambda x: x.exp().mean(), ((2, 0),), True),
    "a sum of no rows": (lambda x: x.exp().sum(), ((0, 2),), True),
    "a sum of a vector": (lambda x: x.exp().sum(), ((4,),), False),
    "a sum of what is given": (lambda x: x.sum(), ((3, 4),), False),
    "a sum in another dtype": (lambda x: x.exp().sum(dtype=opdsl.float32), ((3, 4),), False),
    "a sum along a dimension": (lambda x: x.exp().sum(0), ((3, 4),), False),
    "a step of nothing": (lambda x: [opdsl.ops.aten._make_dep_token(), x * 2], ((3, 4),), False),
    "vectors": (lambda x, w: [e @ w for e in x.unbind(1)], ((3, 2, 4), (4,)), True),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gave(name: str) -> None:
    function, shapes, is_changed = PROGRAMS[name]
    inputs = [drawn(*shape, seed=at) for at, shape in enumerate(shapes)]
    program = opdsl.trace(function, *inputs)
    arranged_program = arranged(program)
    assert (arranged_program is not program) == is_changed
    for one, other in zip(_listed(arranged_program(*inputs)), _listed(function(*inputs)), strict=True):
        numpy.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-13)


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, opdsl.Tensor) else list(value)


def test_what_is_written_stays_where_it_is() -> None:
    def function(x: Any, w: Any, b: Any) -> Any:
        output = opdsl.addmm(b, x, w)
        done = output.exp()
        b.add_(1)
        output.mul_(2)
        one, other = output.chunk(2, 1)
        return done, one.exp() + other

    program = opdsl.trace(function, *[opdsl.ones(2, 2)] * 2, opdsl.ones(2))
    assert with_sums_apart(program) is program
    assert with_slices_first(program) is program


def test_a_matrix_that_changes_is_multiplied_each_time() -> None:
    def function(x: Any, w: Any) -> list[Any]:
        function = []
        for row in x:
            function.append(row @ w)
            w.mul_(0.5)
        return function

    program = opdsl.trace(function, opdsl.ones(3, 2, 2), opdsl.ones(2, 2))
    assert with_joined_products(program) is program


def test_a_memory_plan_holds_what_lives_at_once() -> None:
    def function(x: Any) -> Any:
        for _ in range(6):
            x = opdsl.fft.fft(x).real  # steps that are not fused, each of which allocates memory
        return x.sum()

    plan = opdsl.trace(function, opdsl.ones(8)).memory_plan(opdsl.ones(1000))
    assert plan.size < sum(block.size for block in plan.blocks) / 2
    for one in plan.blocks:
        assert one.offset % 64 == 0
        assert one.offset + one.size <= plan.size
        for other in plan.blocks:
            lives = one.first <= other.last and other.first <= one.last
            apart = one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
            assert one == other or not lives or apart
    assert plan.results == 4
    assert plan.peak >= max(block.size for block in plan.blocks)


def test_a_memory_plan_is_of_sizes_that_the_program_serves() -> None:
    program = opdsl.trace(lambda x: x.exp().sum(), opdsl.ones(3, 4))
    assert program.memory_plan(opdsl.ones(10, 20)).blocks[0].size == 800
    with pytest.raises(opdsl.errors.ProgramError):
        program.memory_plan(opdsl.ones(10))


def test_an_activation_before_a_product_is_computed_again_and_not_kept() -> None:
    def function(x: Any, w: Any, v: Any) -> Any:
        return opdsl.nn.functional.gelu(x @ w).view(-1, 6).t() @ v

    inputs = [drawn(4, 5), drawn(5, 6, seed=1), drawn(4, 3, seed=2)]
    parts = differentiated(function, flatten(function, tuple(inputs), {}))
    tensors = [input for input in parts.backward.inputs if input.kind is None]
    assert len(tensors) == 3 + 1 + 1  # arguments, the product before the activation, and the gradient of the result
    assert names(parts.backward).index("gelu") > 0  # not before it is needed
    both = opdsl.compile(function), function
    ours, wanted = (opdsl.autograd.grad(variant(*inputs).square().sum(), inputs) for variant in both)
    for one, other in zip(ours, wanted, strict=True):
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


def test_a_norm_before_a_product_is_computed_again_and_not_kept() -> None:
    def function(x: Any, w: Any, v: Any) -> Any:
        return opdsl.layer_norm(x @ w, (6,)) @ v

    inputs = [drawn(4, 5), drawn(5, 6, seed=1), drawn(6, 3, seed=2)]
    parts = differentiated(function, flatten(function, tuple(inputs), {}))
    tensors = [input for input in parts.backward.inputs if input.kind is None]
    assert len(tensors) == 3 + 1 + 1  # arguments, the product before the norm, and the gradient of the result
    both = opdsl.compile(function), function
    ours, wanted = (opdsl.autograd.grad(variant(*inputs).square().sum(), inputs) for variant in both)
    for one, other in zip(ours, wanted, strict=True):
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11, atol=1e-13)


def test_a_memory_plan_knows_sizes_that_kernels_compute() -> None:
    program = opdsl.trace(
        lambda x, w: opdsl.conv2d(x, w, stride=2).sum(), opdsl.ones(2, 3, 9, 9), opdsl.ones(5, 3, 4, 4)
    )
    plan = program.memory_plan(opdsl.ones(1, 2, 12, 12), opdsl.ones(7, 2, 3, 3))
    assert [block.size for block in plan.blocks] == [7 * 5 * 5 * 4]
