"""Tests of compiled training steps: the backward pass and the optimizer are parts of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.errors import TraceError


class Model:
    """Model of two layers, with training steps of several kinds."""

    def __init__(self) -> None:
        draw = numpy.random.default_rng(0)
        self.weights = [opdsl.from_numpy(draw.normal(size=shape)).requires_grad_() for shape in ((4, 8), (8, 1))]
        self.moments = [opdsl.zeros_like(weight) for weight in self.weights]

    def loss(self, x: Any) -> Any:
        return ((x @ self.weights[0]).tanh() @ self.weights[1]).square().mean()

    def plain(self, x: Any) -> Any:
        """Train one step, and clear the gradients at its end."""
        loss = self.loss(x)
        loss.backward()
        with opdsl.no_grad():
            for weight in self.weights:
                weight.sub_(weight.grad, alpha=0.1)
                weight.grad = None
        return loss

    def cleared_first(self, x: Any) -> Any:
        """Train one step with momentum, and clear the gradients of the previous step at its beginning."""
        for weight in self.weights:
            weight.grad = None
        self.loss(x).backward()
        with opdsl.no_grad():
            for weight, moment in zip(self.weights, self.moments, strict=True):
                moment.mul_(0.9).add_(weight.grad)
                weight.sub_(moment, alpha=0.1)

    def clipped(self, x: Any) -> Any:
        """Train one step with two backward passes, whose summed gradients are clipped together."""
        for weight in self.weights:
            weight.grad = None
        for half in x.chunk(2):
            (self.loss(half) / 2).backward()
        with opdsl.no_grad():
            size = sum(weight.grad.square().sum() for weight in self.weights).sqrt()
            for weight in self.weights:
                weight.sub_(weight.grad * (0.1 / size).clamp(max=0.1))

    def accumulated(self, x: Any) -> Any:
        """Add gradients to those of the previous step."""
        loss = self.loss(x)
        loss.backward()
        return loss

    def partly(self, x: Any) -> Any:
        """Compute a loss with a factor from ``no_grad``, which has no gradient."""
        hidden = (x @ self.weights[0]).tanh()
        with opdsl.no_grad():
            scale = hidden.abs().max()
        return (hidden / scale @ self.weights[1]).square().mean()


def data(step: int) -> Any:
    return opdsl.from_numpy(numpy.random.default_rng(step).normal(size=(4 + 2 * (step // 3), 4)))


@pytest.mark.parametrize("name", ["plain", "cleared_first", "clipped", "accumulated"])
def test_compiled_steps_train_as_the_steps_do(name: str) -> None:
    ours, theirs = Model(), Model()
    step = opdsl.compile(getattr(ours, name))
    for number in range(8):
        actual, wanted = step(data(number)), getattr(theirs, name)(data(number))
        if wanted is not None:
            assert float(actual.detach()) == pytest.approx(float(wanted.detach()), rel=1e-12)
        for one, other in zip(ours.weights, theirs.weights, strict=True):
            numpy.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-11)
            assert (one.grad is None) is (other.grad is None)
            if other.grad is not None:
                numpy.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-10)


@pytest.mark.parametrize("name", ["plain", "cleared_first", "clipped"])
def test_a_step_of_training_is_one_program(name: str) -> None:
    step = opdsl.compile(getattr(Model(), name))
    for number in range(3):
        step(data(number))
    assert step.explain().reasons == ()
    assert any("sub_" in program_step.name for program_step in step.explain().programs[0].steps)


def test_what_accumulates_runs_as_it_is_and_says_so() -> None:
    step = opdsl.compile(Model().accumulated)
    for number in range(3):
        step(data(number))
    assert "earlier call" in step.explain().breaks[0]


def test_what_is_computed_within_no_grad_has_no_gradient() -> None:
    ours, theirs = Model(), Model()
    compiled = opdsl.compile(ours.partly)
    for number in range(4):
        compiled(data(number)).backward()
        theirs.partly(data(number)).backward()
    for one, other in zip(ours.weights, theirs.weights, strict=True):
        numpy.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-10)
    assert compiled.explain().reasons == ()


def test_a_gradient_that_is_read_but_not_made_is_no_constant() -> None:
    model = Model()

    def apply() -> None:
        with opdsl.no_grad():
            for weight in model.weights:
                weight.sub_(weight.grad, alpha=0.1)

    compiled = opdsl.compile(apply)
    for number in range(3):
        model.loss(data(number)).backward()
        before = [weight.detach().clone() for weight in model.weights]
        compiled()
        for weight, was in zip(model.weights, before, strict=True):
            numpy.testing.assert_allclose(weight.detach().numpy(), (was - weight.grad * 0.1).numpy(), rtol=1e-12)
            weight.grad = None
    assert "earlier backward pass" in compiled.explain().reasons[0]


def test_tracing_leaves_gradients_as_they_were() -> None:
    model = Model()
    model.accumulated(data(0))
    kept = [weight.grad for weight in model.weights]

    def fails(x: Any) -> Any:
        for weight in model.weights:
            weight.grad = None
        model.loss(x).backward()
        raise ZeroDivisionError

    trace: Callable[..., Any] = opdsl.trace
    with pytest.raises(ZeroDivisionError):
        trace(fails, data(0))
    assert all(weight.grad is one for weight, one in zip(model.weights, kept, strict=True))


@pytest.mark.parametrize("name", ["plain", "partly"])
def test_a_program_by_itself_neither_leaves_gradients_nor_enters_guards(name: str) -> None:
    with pytest.raises(TraceError, match=r"opdsl\.compile|no_grad"):
        opdsl.trace(getattr(Model(), name), data(0))


def test_hooks_of_weights_are_called() -> None:
    model = Model()
    step = opdsl.compile(model.cleared_first)
    step(data(0))
    step(data(0))
    seen: list[float] = []
    handle = model.weights[0].register_hook(lambda gradient: seen.append(float(gradient.abs().sum())))
    step(data(0))
    assert len(seen) == 1
    handle.remove()
    step(data(0))
    assert len(seen) == 1
