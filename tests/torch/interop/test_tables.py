"""Tests of bodies and formulas that make tensors of numbers, compiled by torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, dims, formula, traceable
from opdsl.interop.torch import deregister, register

lib = Library("tables")
WEIGHTS = opdsl.tensor([0.5, 1.0, 2.0])


@lib.op
@traceable
def weighted(self: Tensor) -> Tensor:
    return (self * opdsl.tensor([0.5, 1.0, 2.0])).sum(-1)


@lib.op
@formula
def weighted_by_global(self: Tensor) -> Tensor:
    return (self * WEIGHTS).sum(-1)


@lib.op
@formula
def weighted_on_device(self: Tensor) -> Tensor:
    return (self * opdsl.tensor([0.5, 1.0, 2.0], device=self.device)).sum(-1)


@lib.op
@formula
def scaled(self: Tensor) -> Tensor:
    return self * opdsl.tensor([0.5, 1.0, 2.0])


@lib.op
@formula
def appended(self: Tensor) -> Tensor:
    return opdsl.cat([self[0], opdsl.tensor([0.5, 1.0, 2.0])])


@lib.op
@formula
def looked_up(self: Tensor) -> Tensor:
    """Weights at indices that are computed from elements."""
    i, j = dims(2)
    return (opdsl.tensor([0.5, 1.0, 2.0])[self[i, j].long()] * self[i, j]).order(i, j)


@lib.op
@formula
def rotated(self: Tensor) -> Tensor:
    """Rows, each rotated by another number of columns."""
    i, j = dims(2, [None, self.shape[1]])
    return self.outside("circular")[i, j - opdsl.tensor([0, 1, 2])[i]].order(i, j)


@lib.op
@formula
def selected(self: Tensor) -> Tensor:
    return opdsl.index_select(self, 0, opdsl.tensor([2, 0]))


@pytest.fixture(autouse=True, scope="module")
def in_torch() -> Iterator[None]:
    register(lib)
    yield
    deregister(lib)
    torch._dynamo.reset()


TABLE = torch.tensor([0.5, 1.0, 2.0])
EXPECTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "weighted": lambda x: (x * TABLE).sum(-1),
    "weighted_by_global": lambda x: (x * TABLE).sum(-1),
    "weighted_on_device": lambda x: (x * TABLE).sum(-1),
    "scaled": lambda x: x * TABLE,
    "appended": lambda x: torch.cat([x[0], TABLE]),
    "looked_up": lambda x: TABLE[x.long()] * x,
    "rotated": lambda x: torch.stack([x[0], x[1].roll(1), x[2].roll(2)]),
    "selected": lambda x: x[[2, 0]],
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_bodies_that_make_tensors_of_numbers(name: str, *, dynamic: bool) -> None:
    torch._dynamo.reset()
    function = getattr(torch.ops.tables, name)
    compiled = torch.compile(lambda x: function(x) * 1, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for seed in range(2):
        values = 2.9 * torch.rand(3, 3, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(compiled(values), EXPECTED[name](values))
        one, other = (values.clone().requires_grad_() for _ in range(2))
        computed, expected = compiled(one), EXPECTED[name](other)
        torch.testing.assert_close(computed, expected)
        computed.square().sum().backward()
        expected.square().sum().backward()
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("name", EXPECTED)
def test_repeated_calls_of_bodies_that_make_tensors_of_numbers(name: str) -> None:
    values = torch.tensor([[0.1, 2.3, 1.7], [0.4, 0.6, 2.2], [1.5, 1.2, 0.3]])
    for _ in range(4):
        x = values.clone().requires_grad_()
        computed = getattr(torch.ops.tables, name)(x)
        torch.testing.assert_close(computed, EXPECTED[name](values))
        computed.sum().backward()


@pytest.mark.parametrize("name", EXPECTED)
def test_shapes_on_meta(name: str) -> None:
    result = getattr(torch.ops.tables, name)(torch.empty(3, 3, device="meta"))
    assert result.is_meta
    assert result.shape == EXPECTED[name](torch.rand(3, 3)).shape
