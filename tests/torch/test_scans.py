"""Tests of formulas with scans in PyTorch, compared with loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.library import opcheck

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.interop.torch import register


def reference(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
    h, outputs = torch.zeros((), dtype=x.dtype), []
    for t in range(x.shape[-2]):
        h = torch.exp(dt[..., t, :, None] * a) * h + dt[..., t, :, None] * b[..., t, None, :] * x[..., t, :, None]
        outputs.append((c[..., t, None, :] * h).sum(-1))
    return torch.stack(outputs, -2)


@pytest.fixture(scope="module")
def selective_scan() -> Iterator[Callable[..., Any]]:
    with Library("torch_scans") as lib:

        @lib.op
        @formula
        def selective_scan(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
            """Compute Mamba's state space model."""
            t, c, n = dims(3)
            decay, drive = opdsl.exp(dt[..., t, c] * A[c, n]), dt[..., t, c] * B[..., t, n] * x[..., t, c]
            h = opdsl.scan(lambda h, a, b: a * h + b, 0.0, decay, drive, along=t)
            return (C[..., t, n] * h).sum(n).order(..., t, c)

        register(lib)
        yield torch.ops.torch_scans.selective_scan.default


def arguments(batch: int, time: int, channels: int, states: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(time)
    shapes = [(batch, time, channels)] * 2 + [(channels, states)] + [(batch, time, states)] * 2
    tensors = [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]
    tensors[2] = -tensors[2].abs()
    return [value.requires_grad_() for value in tensors]


def test_opcheck_and_gradients(selective_scan: Callable[..., Any]) -> None:
    opcheck(selective_scan, tuple(arguments(2, 5, 3, 4)))
    small = tuple(arguments(1, 3, 2, 2))
    assert torch.autograd.gradcheck(selective_scan, small)
    assert torch.autograd.gradgradcheck(selective_scan, small)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(selective_scan: Callable[..., Any], dynamic: bool) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda *inputs: selective_scan(*inputs) * 2, dynamic=dynamic, backend="aot_eager")
    for time in (5, 6, 9):
        inputs = arguments(2, time, 3, 4)
        computed, wanted = compiled(*inputs), 2 * reference(*inputs)
        torch.testing.assert_close(computed, wanted)
        torch.testing.assert_close(
            torch.autograd.grad(computed.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs)
        )


def test_transforms(selective_scan: Callable[..., Any]) -> None:
    inputs = [input.detach() for input in arguments(2, 5, 3, 4)]
    batch = torch.stack([inputs[0], 2 * inputs[0], inputs[0] - 1])
    mapped = torch.vmap(lambda x: selective_scan(x, *inputs[1:]))(batch)
    torch.testing.assert_close(mapped, torch.stack([reference(sample, *inputs[1:]) for sample in batch]))
    tangents = tuple(input.cos() for input in inputs)
    torch.testing.assert_close(
        torch.func.jvp(selective_scan, tuple(inputs), tangents), torch.func.jvp(reference, tuple(inputs), tangents)
    )


def test_initial_states_and_tuples() -> None:
    """A scan can carry the maximum and sum of a running softmax together, from states that are arguments."""
    with Library("torch_scan_states") as lib:

        @lib.op
        @formula
        def running(x: Tensor, start: Tensor) -> Tensor:
            """Compute the running ``logsumexp``."""
            t, c = dims(2)

            def step(carry: tuple[Tensor, Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
                most, total = carry
                larger = opdsl.maximum(most, x)
                return larger, total * opdsl.exp(most - larger) + opdsl.exp(x - larger)

            most, total = opdsl.scan(step, (start[c], 1.0), x[..., t, c], along=t)
            return (most + opdsl.log(total)).order(..., t, c)

        register(lib)
        function = torch.ops.torch_scan_states.running.default
        x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
        start = torch.randn(3, dtype=torch.float64, requires_grad=True)
        wanted = torch.logcumsumexp(torch.cat([start.expand(2, 1, 3), x], 1), 1)[:, 1:]
        torch.testing.assert_close(function(x, start), wanted)
        assert torch.autograd.gradcheck(function, (x, start))
        opcheck(function, (x, start))
