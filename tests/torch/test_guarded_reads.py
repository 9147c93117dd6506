"""Tests of guarded reads of formulas in PyTorch, compared with its cross entropy."""

from __future__ import annotations

import pytest
import torch
from torch.library import opcheck

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.interop.torch import register


@pytest.mark.parametrize("dynamic", [False, True])
def test_ignored_targets(dynamic: bool) -> None:
    with Library(f"torch_guards_{dynamic}".lower()) as lib:

        @lib.op
        @formula
        def losses(x: Tensor, target: Tensor, ignore: int = -100) -> Tensor:
            """Return the losses of targets, and 0 for ignored ones."""
            n, c = dims(2)
            log_probability = x[n, c].log_softmax(c).order(c)
            return (-log_probability[target[n]] if target[n] != ignore else 0.0).order(n)

        register(lib)
        function = getattr(torch.ops, f"torch_guards_{dynamic}".lower()).losses.default
        compiled = torch.compile(lambda x, t: function(x, t) * 2, dynamic=dynamic, backend="aot_eager")
        for size in (3, 4, 6):
            x = torch.randn(size, 5, dtype=torch.float64, requires_grad=True)
            target = torch.arange(size) % 5
            target[1] = -100
            wanted = 2 * torch.nn.functional.cross_entropy(x, target, reduction="none")
            torch.testing.assert_close(compiled(x, target), wanted)
            grads = [torch.autograd.grad(y.square().sum(), x)[0] for y in (compiled(x, target), wanted)]
            torch.testing.assert_close(*grads)
        opcheck(function, (x, target))


def test_branches_of_formulas_that_fold_guard_gradients() -> None:
    with Library("torch_guarded_folds") as lib:

        @lib.op
        @formula
        def roots(x: Tensor) -> Tensor:
            """Sum the roots of positive elements."""
            y = opdsl.sqrt(x) if x > 0 else 0.0
            return y.sum(-1)

        register(lib)
        function = torch.ops.torch_guarded_folds.roots.default
        for _ in range(3):  # plans serve the later calls
            x = torch.tensor([[0.0, 4.0, -1.0]], dtype=torch.float64, requires_grad=True)
            (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad(first.sum(), x)
            assert first.tolist() == [[0.0, 0.25, 0.0]]
            assert second.tolist() == [[0.0, -0.03125, 0.0]]
