"""Tests of the memory that gradients use, and of the memory layout of scans' results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.backends.cpu import memory
from opdsl.errors import GraphFreedError
from opdsl.testing import gradcheck, gradgradcheck

lib = Library("gradient_memory")

TIME, CHANNELS, STATES = 128, 64, 32
# Bytes of the carried values of all steps.
STATE_BYTES = 4 * TIME * CHANNELS * STATES
assert STATE_BYTES >= memory.LARGE, "smaller arrays are not counted"


@lib.op
@formula
def state_space(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    t, c, n = dims(3)
    decay, drive = opdsl.exp(dt[..., t, c] * A[c, n]), dt[..., t, c] * B[..., t, n] * x[..., t, c]
    h = opdsl.scan(lambda h, a, b: a * h + b, 0.0, decay, drive, along=t)
    return (C[..., t, n] * h).sum(n).order(..., t, c)


@lib.op
@formula
def leaking(x: Tensor, rate: Tensor) -> Tensor:
    return opdsl.scan(lambda h, x, r: r * h + x, 0.0, x, rate, along=0)


@lib.op
@formula
def product(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return x * y * z


def values(*shape: int, seed: int = 0) -> Tensor:
    numbers = numpy.random.default_rng(seed).random(shape, dtype=numpy.float32)
    return opdsl.from_numpy(numbers).requires_grad_()


def peak_of(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> int:
    """Return the peak number of bytes of large arrays that a call allocates."""
    blocks, most = memory._blocks, [0]
    before, take = memory.memory_stats()["in_use"], blocks.take

    def counted(size: int) -> Any:
        taken = take(size)
        most[0] = max(most[0], memory.memory_stats()["in_use"] - before)
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "take", counted)
        kept = run()
    assert kept is not None
    return most[0]


def test_a_backward_pass_keeps_few_tensors_of_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = [(1, TIME, CHANNELS)] * 2 + [(CHANNELS, STATES)] + [(1, TIME, STATES)] * 2
    arguments = [values(*shape, seed=at) for at, shape in enumerate(shapes)]

    def run() -> Any:
        return opdsl.autograd.grad(state_space(*arguments), arguments, opdsl.ones(1, TIME, CHANNELS))

    run()
    assert peak_of(monkeypatch, run) <= 4.25 * STATE_BYTES


def test_gradients_of_what_was_broadcast_are_summed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [values(TIME, CHANNELS, 1), values(TIME, 1, STATES, seed=1), values(1, CHANNELS, STATES, seed=2)]
    weights = values(TIME, CHANNELS, STATES, seed=3).detach()

    def run() -> Any:
        return opdsl.autograd.grad(product(*arguments), arguments, weights)

    for _ in range(3):
        run()
    # The results and one gradient of the same shape.
    assert peak_of(monkeypatch, run) <= 2.25 * STATE_BYTES

    x, y, z, w = (input.detach().numpy().astype(numpy.float64) for input in (*arguments, weights))
    wanted = ((w * y * z).sum(2, keepdims=True), (w * x * z).sum(1, keepdims=True), (w * x * y).sum(0, keepdims=True))
    for one, other in zip(run(), wanted, strict=True):
        numpy.testing.assert_allclose(one.numpy(), other, rtol=1e-5)


@lib.op
@formula
def gated(x: Tensor, forget: Tensor, gate: Tensor) -> Tensor:
    """Scan with two carried values, both of which each step reads."""

    def step(carried: tuple[Tensor, Tensor], x: Tensor, f: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        h, c = carried
        c = opdsl.sigmoid(f) * c + opdsl.tanh(x + h)
        return opdsl.sigmoid(g) * opdsl.tanh(c), c

    return opdsl.scan(step, (0.0, 0.0), x * 0.5, forget + 1.0, gate * 2.0, along=0)[0]


def drive_alone(x: Tensor, rate: Tensor) -> Tensor:
    """Scan over operands that no caller keeps alive when gradients are computed."""
    return leaking(x * 2.0, rate * 0.5)


CASES: dict[str, tuple[Callable[..., Tensor], int]] = {
    "operands made on the way": (drive_alone, 2),
    "operands that callers have": (leaking, 2),
    "one operand twice": (lambda x: leaking(x, x), 1),
    "one operand twice, made on the way": (lambda x: leaking(y := x * 0.5, y), 1),
    "an operand and a view of it": (lambda x: leaking(y := x * 0.5, y.view(y.shape)), 1),
    "an operand that is read later": (lambda x, r: leaking(y := x * 2.0, r * 0.5) * y, 2),
    "two carried values": (gated, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_passes_that_free_a_graph_give_what_others_give_and_leave_arguments(name: str) -> None:
    function, count = CASES[name]
    # Large enough for separate blocks of memory.
    tensors = [(values(TIME, CHANNELS, STATES, seed=at).detach() * 0.5).requires_grad_() for at in range(count)]
    before = [leaf.detach().numpy().copy() for leaf in tensors]
    weights = values(TIME, CHANNELS, STATES, seed=9).detach()
    for _ in range(4):
        result = function(*tensors)
        kept = opdsl.autograd.grad(result, tensors, weights, retain_graph=True)
        freed = opdsl.autograd.grad(result, tensors, weights)
        for one, other in zip(freed, kept, strict=True):
            numpy.testing.assert_array_equal(one.numpy(), other.numpy())
        for input, copy in zip(tensors, before, strict=True):
            numpy.testing.assert_array_equal(input.detach().numpy(), copy)
        with pytest.raises(GraphFreedError):
            opdsl.autograd.grad(result, tensors, weights)


def test_gradients_of_gradients_read_what_a_pass_has_not_written() -> None:
    tensors = [(values(5, 3, seed=at).detach().to(opdsl.float64) * 0.5).requires_grad_() for at in range(2)]
    assert gradcheck(drive_alone, tensors)
    assert gradgradcheck(drive_alone, tensors)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_results_and_gradients_lie_as_operands_do(order: tuple[int, int, int]) -> None:
    tensors = [values(3, 4, 5, seed=at).detach().permute(*order).requires_grad_() for at in range(2)]
    shape, strides = tensors[0].shape, tensors[0].stride()
    actual = leaking(*tensors)
    gradients = opdsl.autograd.grad(actual, tensors, opdsl.ones(*shape))
    assert [gradient.stride() for gradient in (actual, *gradients)] == [strides] * 3

    x, rate = (leaf.detach().numpy().astype(numpy.float64) for leaf in tensors)
    h, wanted = numpy.zeros(shape[1:]), []
    for turn in range(shape[0]):
        h = rate[turn] * h + x[turn]
        wanted.append(h)
    numpy.testing.assert_allclose(actual.detach().numpy(), numpy.stack(wanted), rtol=1e-5)


def test_gradients_that_are_conjugate_views_are_read_as_such() -> None:
    drawn = numpy.random.default_rng(0).normal(size=(3, 6)).view(numpy.complex128)
    drawn[1, 2] = 0  # at a zero the gradient is the product of all other elements
    assert gradgradcheck(lambda x: x.prod(0), [opdsl.from_numpy(drawn).requires_grad_()])
