"""Tests in torch of kernels at the Autograd key, and of copies of views, with first and second gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from opdsl import Alias, Library, Tensor
from opdsl.interop.torch import register


def declare(lib: Library) -> None:
    @lib.op(kernel=("CPU", "CUDA", "Meta", "Autograd"))
    def squared(self: Tensor) -> Tensor:
        return self * self

    @lib.op
    def apart(self: Tensor) -> Tensor: ...

    @apart.kernel("CPU", "Meta")
    def apart_kernel(self):
        return self * 1.0

    @apart.kernel("Autograd")
    def apart_autograd(self):
        return self * self * self

    @lib.op
    def corners(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @corners.kernel
    def corners_kernel(self):
        return self[::2, ::2]

    corners.view_copy()
    corners.view_scatter()


# Equal functions in torch, by operator; ``apart`` computes something else where gradients are required.
TWINS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "squared": lambda x: x * x,
    "apart": lambda x: x * x * x,
    "corners_copy": lambda x: x[::2, ::2].clone(),
    "corners_scatter": lambda x: torch.slice_scatter(
        x, torch.slice_scatter(x[::2], x.new_ones(2, 2), 1, step=2), 0, step=2
    ),
}


def gradients(call: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    x = torch.arange(1.0, 10.0, dtype=torch.float64).reshape(3, 3).requires_grad_()
    y = call(x)
    (first,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first.detach()).sum(), x)
    return [y.detach(), first.detach(), second]


@pytest.mark.parametrize("name", TWINS)
def test_gradients(name):
    with Library("own_autograd") as lib:
        declare(lib)
        register(lib)
        operator = getattr(torch.ops.own_autograd, name)

        def call(x: torch.Tensor) -> torch.Tensor:
            return operator(x, x.new_ones(2, 2)) if name == "corners_scatter" else operator(x)

        expected = gradients(TWINS[name])
        for _ in range(3):
            torch.testing.assert_close(gradients(call), expected)
        x = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
        compiled = torch.compile(lambda x: call(x), backend="aot_eager", fullgraph=True)
        leaf = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(compiled(leaf).square().sum(), leaf)
        wanted = torch.func.grad(lambda x: TWINS[name](x).square().sum())(x)
        torch.testing.assert_close(gradient, wanted)
        torch.testing.assert_close(torch.func.grad(lambda x: call(x).square().sum())(x), wanted)
        batched = torch.func.vmap(torch.func.grad(lambda x: call(x).square().sum()))(torch.stack([x, x]))
        torch.testing.assert_close(batched, torch.stack([wanted, wanted]))
    torch._dynamo.reset()
