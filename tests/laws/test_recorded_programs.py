"""Tests of compiled functions under autograd: each call is one node, with the gradients, errors and memory of the
function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.errors import GradientError, GraphFreedError, SavedTensorChangedError
from opdsl.programs.derivative import differentiated
from opdsl.programs.leaves import flatten


def drawn(*shape: int, seed: int = 0) -> Any:
    return opdsl.from_numpy(numpy.random.default_rng(seed).normal(size=shape)).requires_grad_()


def attention(x: Any, weight: Any, mask: Any) -> Any:
    """Compute attention by splits, views, products, a mask and a softmax."""
    q, k, v = (x @ weight).chunk(3, -1)
    scores = (q @ k.transpose(-2, -1) * 0.5).masked_fill(mask, -1e9)
    return (scores.softmax(-1) @ v + x).tanh()


def gradients(function: Callable[..., Any], *values: Any) -> list[Any]:
    result = function(*values)
    weights = opdsl.arange(result.numel(), dtype=result.dtype).reshape(result.shape).cos()
    return [gradient.numpy() for gradient in opdsl.autograd.grad((result * weights).sum(), values[:2])]


def test_gradients_are_those_of_the_function_for_all_sizes() -> None:
    compiled = opdsl.compile(attention)
    for length in (4, 4, 5, 7, 2, 9):
        mask = opdsl.ones(length, length).triu(1).bool()
        inputs = drawn(3, length, 6), drawn(6, 18, seed=1), mask
        for one, other in zip(gradients(compiled, *inputs), gradients(attention, *inputs), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    assert len(compiled.explain().programs) == 1


def test_a_call_is_one_node() -> None:
    compiled = opdsl.compile(lambda x: (x.exp() + 1).log() * x)
    x = drawn(3)
    node = compiled(x).grad_fn
    assert node.name == "the program of <lambda>"
    assert [previous for previous, _ in node.next_functions] == [x.grad_fn or opdsl.autograd.graph.edge_of(x)]


def test_gradients_of_gradients_are_those_of_the_function() -> None:
    mask = opdsl.ones(4, 4).triu(1).bool()
    inputs = drawn(2, 4, 6), drawn(6, 18, seed=1)

    def second(function: Callable[..., Any]) -> list[Any]:
        first = opdsl.autograd.grad(function(*inputs, mask).sum(), inputs, create_graph=True)
        return [
            gradient.numpy()
            for gradient in opdsl.autograd.grad(sum(gradient.square().sum() for gradient in first), inputs)
        ]

    compiled = opdsl.compile(attention)
    for _ in range(2):
        for one, other in zip(second(compiled), second(attention), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_a_graph_serves_one_pass_unless_it_is_retained() -> None:
    loss = opdsl.compile(lambda x: x.exp().sum())(drawn(3))
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(GraphFreedError):
        loss.backward()


@pytest.mark.parametrize("compiled", [False, True])
def test_an_argument_that_gradients_need_must_not_be_written(compiled: bool) -> None:
    def function(x: Any, y: Any) -> Any:
        return (x * y).sum()

    x, y = drawn(3), drawn(3, seed=1)
    loss = (opdsl.compile(function) if compiled else function)(x, y)
    with opdsl.no_grad():
        y.mul_(2)
    with pytest.raises(SavedTensorChangedError, match="y"):
        loss.backward()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_result_that_gradients_need_must_not_be_written(compiled: bool) -> None:
    function = opdsl.compile(lambda x: x.exp()) if compiled else opdsl.exp
    computed = function(drawn(3))
    with opdsl.no_grad():
        computed.mul_(2)
    with pytest.raises(SavedTensorChangedError):
        computed.sum().backward()


@pytest.mark.parametrize("compiled", [False, True])
def test_an_argument_that_gradients_do_not_need_may_be_written(compiled: bool) -> None:
    def function(x: Any, y: Any) -> Any:
        return (x + y).sum()

    x, y = drawn(3), drawn(3, seed=1)
    loss = (opdsl.compile(function) if compiled else function)(x, y)
    with opdsl.no_grad():
        y.mul_(2)
    loss.backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_results_may_be_written_and_viewed() -> None:
    compiled = opdsl.compile(lambda x: (x * 2).t())
    for _ in range(3):
        x = drawn(2, 3)
        compiled(x).mul_(3)[0].sum().backward()
        assert x.grad.tolist() == [[6.0, 0.0, 0.0], [6.0, 0.0, 0.0]]


def test_several_results_of_which_one_has_no_gradient() -> None:
    compiled = opdsl.compile(lambda x: (x.exp(), x > 0, x.argmax()))
    x = drawn(4)
    for _ in range(3):
        first, second, third = compiled(x)
        assert (first.requires_grad, second.requires_grad, third.requires_grad) == (True, False, False)
        (gradient,) = opdsl.autograd.grad(first.sum(), [x])
        numpy.testing.assert_allclose(gradient.numpy(), numpy.exp(x.detach().numpy()))


def test_the_gradient_of_one_result_of_several() -> None:
    compiled = opdsl.compile(lambda x, y: (x.exp(), y.sin()))
    x, y = drawn(4), drawn(4, seed=1)
    for _ in range(3):
        _, second = compiled(x, y)
        result = opdsl.autograd.grad(second.sum(), [x, y], allow_unused=True)
        assert result[0] is None or not result[0].any()
        numpy.testing.assert_allclose(result[1].numpy(), numpy.cos(y.detach().numpy()))


def test_weights_are_followed_as_they_are_frozen_and_not() -> None:
    weight = drawn(3)
    compiled = opdsl.compile(lambda x: (x * weight).sum())
    for is_followed in (True, True, False, True):
        weight.requires_grad_(is_followed)
        weight.grad = None
        x = drawn(3, seed=1)
        compiled(x).backward()
        assert (weight.grad is not None) is is_followed
        numpy.testing.assert_allclose(x.grad.numpy(), weight.detach().numpy())


def test_dropout_uses_one_mask_for_both_passes() -> None:
    compiled = opdsl.compile(lambda x: opdsl.nn.functional.dropout(x, 0.5) * 3)
    for _ in range(3):
        x = opdsl.ones(100).requires_grad_()
        computed = compiled(x)
        assert computed.grad_fn.name == "the program of <lambda>"
        computed.sum().backward()
        assert x.grad.tolist() == computed.tolist()


def test_random_numbers_are_not_drawn_anew_for_gradients_of_gradients() -> None:
    x = opdsl.ones(10).requires_grad_()
    computed = opdsl.compile(lambda x: opdsl.rand_like(x) * x.exp())(x)
    with pytest.raises(GradientError, match="draws random numbers"):
        opdsl.autograd.grad(computed.sum(), [x], create_graph=True)


def test_what_is_cheap_is_computed_again_and_not_kept() -> None:
    def function(x: Any, y: Any) -> Any:
        return ((x * 2 + 1).relu() * y).exp().sum()

    parts = differentiated(function, flatten(function, (drawn(3), drawn(3)), {}))
    assert {input.name for input in parts.backward.inputs} == {"x", "y", "exp", "grad_0"}


def test_steps_fuse_across_writes_to_other_memory() -> None:
    """Steps before and after the writes of ``chunk``'s gradient into a buffer are fused into one."""

    def function(x: Any) -> Any:
        first, second = x.chunk(2)
        return first.exp() * second.tanh()

    compiled = opdsl.compile(function)
    x = drawn(8)
    for _ in range(3):
        (gradient,) = opdsl.autograd.grad(compiled(x).sum(), [x])
        (wanted,) = opdsl.autograd.grad(function(x).sum(), [x])
        numpy.testing.assert_allclose(gradient.numpy(), wanted.numpy(), rtol=1e-13)


def test_writes_to_memory_of_its_own_leave_a_function_one_node() -> None:
    def function(x: Any) -> Any:
        y = x.exp() + x
        y.mul_(2)
        y += 1
        return y.relu_().sum()

    compiled = opdsl.compile(function)
    for _ in range(3):
        x, y = drawn(5), drawn(5)
        computed = compiled(x)
        assert computed.grad_fn.name == "the program of function"
        computed.backward()
        function(y).backward()
        assert x.grad.tolist() == y.grad.tolist()


def test_functions_that_write_arguments_are_recorded_step_by_step() -> None:
    def function(x: Any, seen: Any) -> Any:
        seen.add_(x.detach())
        return (x * seen).sum()

    compiled = opdsl.compile(function)
    seen = opdsl.zeros(3, dtype=opdsl.float64)
    for count in range(1, 4):
        x = drawn(3)
        compiled(x, seen).backward()
        numpy.testing.assert_allclose(x.grad.numpy(), count * x.detach().numpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1)[0].mul_(2),
        lambda x: [y := x + 1, y[0].zero_(), y][-1],
        lambda x: [y := x + 1, z := y[0], y.mul_(2), z][-1],
        lambda x: [y := x + 1, z := y.t(), y.mul_(2), z.relu_(), y * z.t()][-1],
        lambda x: [y := x.int(), y.mul_(2), y][-1],
        lambda x: opdsl.zeros_like(x).copy_(x).add_(x, alpha=2),
        lambda x: opdsl.zeros(3, 4, dtype=opdsl.float64).add_(x.float()),
        lambda x: x.detach().clone().fill_(2.5).mul_(x),
    ],
)
def test_writes_give_what_they_give_uncompiled(function: Any) -> None:
    compiled = opdsl.compile(function)
    for _ in range(3):
        x = drawn(3, 4)
        computed, wanted = compiled(x), function(x)
        assert (computed.dtype, computed.stride(), computed.tolist()) == (
            wanted.dtype,
            wanted.stride(),
            wanted.tolist(),
        )
        if wanted.requires_grad:
            pairs = [opdsl.autograd.grad(tensor.sum(), [x]) for tensor in (computed, wanted)]
            assert pairs[0][0].tolist() == pairs[1][0].tolist()


def test_nothing_is_kept_when_the_result_is_gone() -> None:
    import gc
    import weakref

    compiled = opdsl.compile(lambda x: x.exp() * x)
    for _ in range(3):
        x = drawn(3)
        result = compiled(x)
        watched = weakref.ref(result.grad_fn)
        del result
        assert watched() is None, gc.get_referrers(watched())


def test_batch_norm_is_a_step_with_a_derivative_and_moves_running_statistics() -> None:
    functional = opdsl.nn.functional
    mean, deviation = opdsl.zeros(3), opdsl.ones(3)
    weight = opdsl.ones(3, requires_grad=True)

    def alone(x: Any) -> Any:
        return functional.batch_norm(x, None, None, weight, None, True).relu()

    def moving(x: Any) -> Any:
        twice = [functional.batch_norm(x, mean, deviation, weight, None, True) for _ in range(2)]
        return twice[0]

    assert opdsl.compile(alone)(opdsl.rand(4, 3, 5)).grad_fn.name == "the program of alone"
    results = []
    for function in (moving, opdsl.compile(moving)):
        mean.zero_()
        for number in range(3):
            x = opdsl.from_numpy(numpy.random.default_rng(number).random((4, 3, 5), dtype=numpy.float32))
            weight.grad = None
            function(x.clone()).square().sum().backward()
        results.append((mean.tolist(), weight.grad.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_saves_its_result_where_its_argument_is_written_later(compiled: bool) -> None:
    """Steps that were fused would compute the exponential again, and save the argument instead of it."""

    def function(x: Any) -> Any:
        shown = x.reshape(2, 3)
        result = shown.exp() - shown
        shown.zero_()
        return result, shown

    x = drawn(6)
    expected = numpy.exp(x.detach().numpy()) - 1
    computed, _ = (opdsl.compile(function) if compiled else function)(x * 1)
    computed.sum().backward()
    numpy.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_result_that_nothing_needs_saves_nothing(compiled: bool) -> None:
    """``product`` is only compared: its gradient, which would need both factors, is never computed."""

    def function(x: Any, y: Any) -> Any:
        product = x * y
        large = product > 0
        result = x + y
        x.zero_()
        return result.masked_fill(large, 0.0)

    x, y = drawn(5), drawn(5, seed=1)
    expected = numpy.where(x.detach().numpy() * y.detach().numpy() > 0, 0.0, 1.0)
    (opdsl.compile(function) if compiled else function)(x * 1, y * 1).sum().backward()
    numpy.testing.assert_array_equal(x.grad.numpy(), expected)
    numpy.testing.assert_array_equal(y.grad.numpy(), expected)


def test_an_argument_that_is_only_compared_has_no_gradient() -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return (x.cos()).where(z > 0, y), y

    x, y, z = drawn(4), drawn(4, seed=1), drawn(4, seed=2)
    computed, _ = opdsl.compile(function)(x, y, z)
    computed.sum().backward()
    assert z.grad is None
    assert x.grad is not None


@pytest.mark.parametrize("compiled", [False, True])
def test_an_argument_whose_sizes_alone_gradients_need_may_be_written(compiled: bool) -> None:
    def function(x: Any) -> Any:
        return x.sum(-1, keepdim=True)

    for n in (3, 4):
        x = drawn(2, n)
        copy = x * 1
        computed = (opdsl.compile(function) if compiled else function)(copy)
        with opdsl.no_grad():
            copy.zero_()
        computed.sum().backward()
        numpy.testing.assert_array_equal(x.grad.numpy(), numpy.ones((2, n)))
