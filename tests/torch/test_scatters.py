"""Tests of formulas that scatter in PyTorch, compared with ``index_add``."""

from __future__ import annotations

import torch
from torch.library import opcheck

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.interop.torch import register


def test_rows_are_added_to_their_owners() -> None:
    with Library("torch_scatters") as lib:

        @lib.op
        @formula
        def combined(tokens: Tensor, outputs: Tensor, owner: Tensor, weight: Tensor) -> Tensor:
            """Add the weighted rows of experts to the rows of their tokens."""
            n, c = dims(2)
            return opdsl.scatter(tokens, (owner[n], c), outputs[n, c] * weight[n], reduce="sum")

        register(lib)
        function = torch.ops.torch_scatters.combined.default
        compiled = torch.compile(lambda *inputs: function(*inputs) * 2, dynamic=True, backend="aot_eager")
        for count in (4, 5, 7):
            tokens, outputs = torch.randn(3, 2, dtype=torch.float64), torch.randn(count, 2, dtype=torch.float64)
            owner, weight = torch.arange(count) % 2, torch.randn(count, dtype=torch.float64)
            leaves = [leaf.requires_grad_() for leaf in (tokens, outputs, weight)]
            wanted = 2 * tokens.index_add(0, owner, outputs * weight[:, None])
            computed = compiled(tokens, outputs, owner, weight)
            torch.testing.assert_close(computed, wanted)
            grads = [torch.autograd.grad(side.square().sum(), leaves) for side in (computed, wanted)]
            torch.testing.assert_close(*grads)
        opcheck(function, (tokens, outputs, owner, weight))
