"""Tests of guards and modes of opdsl that a body enters, on torch's tensors: they apply to torch, or are rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch

import opdsl
from opdsl import DispatchMode, Library, Tensor
from opdsl.errors import DeclarationError, UnsupportedModeError
from opdsl.interop.torch import deregister, register

VALUES = [1.0, 2.0, 4.0]


class Tripled(DispatchMode):
    """Dispatch mode that returns three times the result of each call."""

    before_decomposition = True

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return operator(*args, **kwargs) * 3


class Watching(DispatchMode):
    """Dispatch mode that sees the calls of bodies after decomposition, below autograd."""


@opdsl.no_grad
def constant_mean(x: Tensor) -> Tensor:
    return x.mean()


def declare(lib: Library) -> None:
    @lib.op
    def in_no_grad(self: Tensor) -> Tensor:
        with opdsl.no_grad():
            mean = self.mean()
        return self - mean

    @lib.op
    def in_inference_mode(self: Tensor) -> Tensor:
        with opdsl.inference_mode():
            mean = self.mean()
        return self - mean

    @lib.op
    def with_grad_set(self: Tensor) -> Tensor:
        with opdsl.set_grad_enabled(False):
            mean = self.mean()
            with opdsl.enable_grad():
                other = self.sum()
        return self - mean + other

    @lib.op
    def decorated(self: Tensor) -> Tensor:
        return self - constant_mean(self)

    @lib.op
    def outer(self: Tensor) -> Tensor:
        with opdsl.no_grad():
            inner = opdsl.ops.bridged_modes.in_no_grad(self)
        return self * inner

    @lib.op
    def in_mode(self: Tensor) -> Tensor:
        with Tripled():
            mean = self.mean()
        return self - mean

    @lib.op
    def in_checked(self: Tensor) -> Tensor:
        with opdsl.checked():
            return (self * 2).add_(1.0) * self.mean()

    @lib.op
    def asks(self: Tensor) -> Tensor:
        return self * (3 if opdsl.is_grad_enabled() else 2) + int(opdsl.is_inference_mode_enabled())

    @lib.op
    def asks_tensors(self: Tensor) -> Tensor:
        return self * (3 if (self * 2).requires_grad else 2)

    @lib.op
    def enables(self: Tensor) -> Tensor:
        with opdsl.enable_grad():
            return self * self

    @lib.op
    def by_kernel(self: Tensor) -> Tensor: ...

    @by_kernel.kernel("CPU", "Meta")
    def by_kernel_kernel(self):
        return self * self

    @by_kernel.derivative("self")
    def by_kernel_derivative(grad, self):
        with opdsl.no_grad():
            factor = self * 2
        return grad * factor


def total(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean().detach()


# Equal functions in torch, by operator.
TWINS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "in_no_grad": total,
    "in_inference_mode": total,
    "with_grad_set": lambda x: total(x) + x.sum(),
    "decorated": total,
    "outer": lambda x: x * total(x).detach(),
    "in_mode": lambda x: x - x.mean() * 3,
    "in_checked": lambda x: (x * 2 + 1.0) * x.mean(),
    "by_kernel": lambda x: (x * x).detach() + (x - x.detach()) * (2 * x.detach()),
}


@pytest.fixture(scope="module", autouse=True)
def ops() -> Iterator[Any]:
    library = Library("bridged_modes")
    declare(library)
    register(library)
    yield torch.ops.bridged_modes
    deregister(library)
    library.close()


def gradients(function: Callable[[torch.Tensor], torch.Tensor], order: int = 2) -> list[torch.Tensor]:
    """Return the result and its gradients up to an order, with zeros for missing gradients."""
    x = torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)
    y = function(x)
    if order == 1:
        return [y.detach(), *torch.autograd.grad(y.square().sum(), x)]
    (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * x.detach()).sum(), x, allow_unused=True, materialize_grads=True)
    return [y.detach(), first.detach(), second]


@pytest.mark.parametrize("name", TWINS)
def test_gradients_are_those_of_what_the_body_says(ops, name):
    call = getattr(ops, name)
    expected = gradients(TWINS[name])
    for _ in range(4):  # by the body itself, then by a plan
        torch.testing.assert_close(gradients(call), expected)
    torch.testing.assert_close(gradients(torch.compile(call, backend="aot_eager"), order=1), expected[:2])
    x = torch.tensor(VALUES, dtype=torch.float64)
    torch.testing.assert_close(torch.func.grad(lambda x: call(x).square().sum())(x), expected[1])


@pytest.mark.parametrize("scope", [nullcontext, torch.no_grad, torch.inference_mode])
def test_a_body_finds_the_modes_of_torch(ops, scope):
    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        for _ in range(3):
            with scope():
                result = ops.asks(x)
            assert (
                result.tolist() == {"nullcontext": [3, 3], "no_grad": [2, 2], "inference_mode": [3, 3]}[scope.__name__]
            )
    with scope():
        assert ops.asks_tensors(torch.ones(2)).tolist() == [2, 2]


def test_a_body_asks_what_requires_grad(ops):
    x = torch.ones(2, requires_grad=True)
    for _ in range(3):
        assert ops.asks_tensors(x).tolist() == [3, 3]
        assert ops.asks_tensors(x.detach()).tolist() == [2, 2]
    with torch.no_grad():
        assert ops.asks_tensors(x).tolist() == [2, 2]


def test_a_body_turns_grad_mode_on(ops):
    x = torch.tensor(VALUES, requires_grad=True)
    for _ in range(3):
        with torch.no_grad():
            y = ops.enables(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        torch.testing.assert_close(gradient, 2 * x.detach())


def test_a_mode_beneath_autograd_is_refused():
    with Library("bridged_watching") as lib:

        @lib.op
        def watched(self: Tensor) -> Tensor:
            with Watching():
                return self * 2

        register(lib)
        for _ in range(3):
            with pytest.raises(UnsupportedModeError, match="within the mode Watching, which sees calls below autograd"):
                torch.ops.bridged_watching.watched(torch.ones(2, requires_grad=True))


def in_default_dtype(self: Tensor) -> Tensor:
    opdsl.set_default_dtype(opdsl.float64)
    try:
        return self * opdsl.ones(2)
    finally:
        opdsl.set_default_dtype(opdsl.float32)


def without_keys(self: Tensor) -> Tensor:
    with opdsl.exclude_keys("AutogradCPU"):
        return self * 2


@pytest.mark.parametrize("body", [in_default_dtype, without_keys])
def test_guards_that_torch_lacks_are_refused(body):
    """Guards that torch lacks are rejected: by ``register`` in the body itself, by the call in functions that
    it calls.
    """
    with Library("bridged_refused") as lib:
        declared = lib.op(body)
        with pytest.raises(DeclarationError, match="cannot be registered in PyTorch: its body uses"):
            register(declared)
    with Library("bridged_refused") as lib:

        @lib.op
        def calls(self: Tensor) -> Tensor:
            return body(self)

        register(lib)
        for _ in range(3):
            with pytest.raises(UnsupportedModeError, match=r"default dtype|include_keys, exclude_keys"):
                torch.ops.bridged_refused.calls(torch.ones(2, requires_grad=True))
        assert opdsl.get_default_dtype() is opdsl.float32
