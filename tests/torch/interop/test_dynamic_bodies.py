"""Tests of kernels that call operators of the library, traced by torch with symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register
from opdsl.nn import functional

BODIES: dict[str, Callable[[Tensor], Tensor]] = {
    "flatten": lambda x: opdsl.flatten(x) * 1,
    "reshape": lambda x: x.reshape(x.shape[1], -1) * 1,
    "repeat": lambda x: x.repeat(2, 3),
    "outer": lambda x: opdsl.outer(x[0], x[1]),
    "tensordot": lambda x: opdsl.tensordot(x, x, ([1], [1])),
    "quantile": lambda x: opdsl.quantile(x, 0.5, 1),
    "max_pool1d": lambda x: functional.max_pool1d(x[None], 2),
    "avg_pool2d": lambda x: functional.avg_pool2d(x[None], 2),
    "adaptive_avg_pool1d": lambda x: functional.adaptive_avg_pool1d(x[None], 2),
    "arange": lambda x: x * opdsl.arange(x.shape[1], device=x.device),
    "arange of floats": lambda x: x * opdsl.arange(0.5, x.shape[1] + 0.5, device=x.device),
    "cov": lambda x: opdsl.cov(x),
    "einsum": lambda x: opdsl.einsum("ij,kj->ik", x, x),
    "mode": lambda x: x.mode(1)[0],
    "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
    "tensor_split": lambda x: opdsl.cat(opdsl.tensor_split(x, 2, 0), 0),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_under_dynamic_shapes(name):
    """Dtypes, sizes and elements equal those of an eager call, whose sizes are numbers."""
    with Library("dynamic_bodies") as lib:

        @lib.op
        def f(self: Tensor) -> Tensor: ...

        f.kernel("CPU", "Meta")(lambda self: BODIES[name](self))
        register(lib)
        call = torch.compile(lambda x: torch.ops.dynamic_bodies.f(x), backend="aot_eager", fullgraph=True, dynamic=True)
        for shape in ((6, 9), (8, 12)):
            x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
            expected = torch.from_dlpack(BODIES[name](opdsl.from_dlpack(x)))
            torch.testing.assert_close(call(x), expected)
    torch._dynamo.reset()


def test_padded_reads_under_dynamic_shapes():
    """Reads at computed indices make no plans of their own where sizes are torch's symbols."""
    lib = Library("dynamic_reads")

    @lib.op
    @formula
    def widened(self: Tensor, count: int) -> Tensor:
        i = opdsl.dim(self.shape[-1] + count)
        return self.outside(0.0)[..., i - count].order(..., i)

    register(lib)
    torch._dynamo.reset()
    call = torch.compile(lambda x, count: torch.ops.dynamic_reads.widened(x, count), backend="aot_eager", dynamic=True)
    for size in (3, 4, 6, 9, 2):
        call(torch.ones(2, size), 2)
        call(torch.ones(2, size, requires_grad=True), 2)
        torch.testing.assert_close(call(torch.ones(2, size), 2), torch.nn.functional.pad(torch.ones(2, size), (2, 0)))
    torch._dynamo.reset()
    lib.close()
