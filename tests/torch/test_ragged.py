"""Tests of dims with ragged ranges in a running PyTorch, compared with loops over the ranges."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.interop.torch import register

lib = Library("ragged_in_torch")


@lib.op
@formula
def ragged_attention(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor) -> Tensor:
    """Attend with one query for each sequence, over the keys of that sequence."""
    b, d, e = dims(3)
    u = dim(range(offsets[b], offsets[b + 1]))
    p = ((q[b, d] * k[u, d]).sum(d) / q.shape[-1] ** 0.5).softmax(u)
    return (p * v[u, e]).sum(u).order(b, e)


@lib.op
@formula
def ragged_scan(x: Tensor, decay: Tensor, offsets: Tensor) -> Tensor:
    s, d = dims(2)
    u = dim(range(offsets[s], offsets[s + 1]))
    return opdsl.scan(lambda h, a, x: a * h + x, 0.0, decay[s], x[u, d], along=u).order(u, d)


@pytest.fixture(scope="module", autouse=True)
def registered():
    register(lib)


def attention(q, k, v, offsets):
    ends = offsets.tolist()
    return torch.stack(
        [((k[a:b] @ q[s]) / q.shape[-1] ** 0.5).softmax(0) @ v[a:b] for s, (a, b) in enumerate(pairwise(ends))]
    )


def scan(x, decay, offsets):
    ends, states = offsets.tolist(), []
    for s, (a, b) in enumerate(pairwise(ends)):
        carry = torch.zeros_like(x[0])
        for p in range(a, b):
            carry = decay[s] * carry + x[p]
            states.append(carry)
    return torch.stack(states)


def inputs(name, lengths, dtype=torch.float64):
    torch.manual_seed(0)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    count, total = len(lengths), sum(lengths)
    shapes = {"attention": [(count, 4), (total, 4), (total, 3)], "scan": [(total, 2), (count,)]}[name]
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes], offsets


CALLS = {
    "attention": (lambda *x: torch.ops.ragged_in_torch.ragged_attention(*x), attention),
    "scan": (lambda *x: torch.ops.ragged_in_torch.ragged_scan(*x), scan),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_gradients_and_transforms(name):
    call, plain = CALLS[name]
    tensors, offsets = inputs(name, [2, 1, 3])
    assert torch.allclose(call(*tensors, offsets), plain(*tensors, offsets))
    assert torch.autograd.gradcheck(lambda *x: call(*x, offsets), tensors)
    assert torch.autograd.gradgradcheck(lambda *x: call(*x, offsets), tensors)
    plains = tuple(one.detach() for one in tensors)
    tangents = tuple(map(torch.ones_like, plains))
    wanted = torch.func.jvp(lambda *x: plain(*x, offsets), plains, tangents)
    got = torch.func.jvp(lambda *x: call(*x, offsets), plains, tangents)
    assert all(map(torch.allclose, got, wanted))
    several = tuple(torch.stack([one, 2 * one]) for one in plains)
    mapped = torch.func.vmap(lambda *x: call(*x, offsets))(*several)
    assert torch.allclose(mapped[1], plain(*[2 * one for one in plains], offsets))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_compiled(name, dynamic):
    call, plain = CALLS[name]
    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for lengths in ([2, 1, 3], [1, 4, 2, 2], [3]):
        tensors, offsets = inputs(name, lengths)
        loss = compiled(*tensors, offsets)
        assert torch.allclose(loss, plain(*tensors, offsets))
        gradients = torch.autograd.grad(loss.square().sum(), tensors)
        wanted = torch.autograd.grad(plain(*tensors, offsets).square().sum(), tensors)
        assert all(map(torch.allclose, gradients, wanted))


@pytest.mark.parametrize("name", CALLS)
def test_opcheck_and_refusals(name):
    call, _ = CALLS[name]
    tensors, offsets = inputs(name, [2, 1, 3])
    operator = getattr(torch.ops.ragged_in_torch, f"ragged_{name}").default
    torch.library.opcheck(operator, (*tensors, offsets))
    for wrong in ([0, 3, 2, 6], [0, 2, 3, 9], [-1, 2, 3, 6]):
        with pytest.raises((RuntimeError, IndexError), match=r"are not consecutive|out of (range|bounds)"):
            call(*tensors, torch.tensor(wrong))
