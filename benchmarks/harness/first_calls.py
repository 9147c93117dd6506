"""Calls that ``first_uses.py`` makes besides the library's operators: features, and calls with ever new sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import opdsl
from opdsl import Tensor


def _ones(*shape: int) -> Tensor:
    return opdsl.ones(*shape)


def _gradient(function: Callable[[Tensor], Tensor], *shape: int) -> object:
    x = opdsl.arange(float(numpy.prod(shape))).reshape(*shape).div(7).detach().requires_grad_()
    function(x).sum().backward()
    return x.grad


def _compiled() -> object:
    function = opdsl.compile(lambda a: (a * 2 + 1).exp().sum(0))
    return [function(_ones(3, size)) for size in (2, 2, 5, 6)]


FEATURES: tuple[Callable[[], object], ...] = (
    lambda: _ones(4, 4) @ _ones(4, 4),
    lambda: _ones(2, 4, 4).bmm(_ones(2, 4, 4)),
    lambda: (_ones(4, 4).to(opdsl.bfloat16) @ _ones(4, 4).to(opdsl.bfloat16)).to(opdsl.float32),
    lambda: _ones(4, 4).to(opdsl.complex64) @ _ones(4, 4).to(opdsl.complex64),
    lambda: opdsl.linalg.solve(_ones(4, 4) + opdsl.eye(4), _ones(4, 2)),
    lambda: opdsl.linalg.svdvals(opdsl.eye(4)),
    lambda: opdsl.linalg.eigh(opdsl.eye(3))[0],
    lambda: opdsl.linalg.cholesky(opdsl.eye(3) * 4),
    lambda: opdsl.linalg.qr(opdsl.eye(3))[1],
    lambda: opdsl.fft.fft(_ones(8)),
    lambda: opdsl.fft.rfft2(_ones(4, 6)),
    lambda: opdsl.conv2d(_ones(1, 1, 8, 8), _ones(1, 1, 3, 3)),
    lambda: opdsl.conv1d(_ones(1, 2, 8), _ones(3, 2, 3)),
    lambda: opdsl.nn.functional.layer_norm(_ones(2, 5), (5,)),
    lambda: opdsl.nn.functional.scaled_dot_product_attention(_ones(1, 2, 4, 4), _ones(1, 2, 4, 4), _ones(1, 2, 4, 4)),
    lambda: opdsl.einsum("ij,jk->ik", _ones(3, 4), _ones(4, 2)),
    lambda: opdsl.vmap(lambda a: a.cumsum(0))(_ones(3, 4)),
    lambda: opdsl.array_api.sum(opdsl.array_api.ones((3, 4))),
    _compiled,
    lambda: _gradient(lambda x: x.sigmoid() * x, 3, 4),
    lambda: _gradient(lambda x: x.softmax(1) * x, 3, 4),
    lambda: _gradient(lambda x: x.cumsum(0).std(), 3, 4),
    lambda: _gradient(lambda x: x @ x.t(), 3, 4),
    lambda: _gradient(lambda x: opdsl.nn.functional.gelu(x).logsumexp(0), 3, 4),
    lambda: repr(_ones(2, 2)),
    lambda: opdsl.trace(lambda a: a + 1, _ones(2)).source,
)

# ``T`` is opdsl or torch, ``n`` a size from 1.
STREAMS = tuple(
    line.strip()
    for line in """
    T.arange(n) - 5
    (lambda x: x[x > 0])(T.arange(n) - 5)
    T.ones(n).add(1).sum()
    T.ones(n, 3).exp().neg()
    T.ones(3, n).sum(1)
    T.ones(n, 2).mean(0)
    T.ones(n, n).tril()
    T.eye(n).diagonal()
    T.arange(n).flip(0)
    T.arange(n).roll(1)
    T.ones(n, 4).t() + 1
    T.ones(n, 4).reshape(-1)
    T.ones(n, 4).transpose(0, 1).contiguous()
    T.arange(2 * n).view(2, n).sum(0)
    T.cat([T.ones(n), T.zeros(2)])
    T.stack([T.ones(n), T.zeros(n)])
    T.ones(n).unsqueeze(0).expand(3, n)
    T.ones(n, 3) @ T.ones(3, n)
    T.ones(2, n, 3).matmul(T.ones(3, 2))
    T.ones(n).dot(T.ones(n))
    T.outer(T.ones(n), T.ones(3))
    T.ones(n, 3).softmax(1)
    T.ones(3, n).softmax(1)
    T.ones(3, n).log_softmax(1)
    T.ones(n).cumsum(0)
    T.ones(n, 2).cumprod(0)
    T.arange(n).float().std(0, correction=0)
    T.arange(n).float().var(0, correction=0)
    T.arange(n).max()
    T.arange(n).argmax()
    T.arange(n).float().sort(descending=True)[0]
    T.arange(n).float().topk(1)[0]
    T.arange(n).remainder(3).unique()
    T.arange(n).bincount()
    T.where(T.arange(n) > 2, T.ones(n), T.zeros(n))
    T.ones(n).masked_fill(T.arange(n) > 1, 4.0)
    T.arange(n).float().clamp(1, 3)
    T.linspace(0, 1, n)
    T.full((n, 2), 3.0)
    T.zeros(n, dtype=T.int64).bool()
    T.ones(n).to(T.float64) / 3
    T.ones(n).gather(0, T.zeros(n, dtype=T.int64))
    T.zeros(n).scatter_add(0, T.zeros(n, dtype=T.int64), T.ones(n))
    T.zeros(n).index_add(0, T.arange(n), T.ones(n))
    T.arange(n).index_select(0, T.zeros(2, dtype=T.int64))
    T.arange(n).repeat(2)
    T.arange(n).repeat_interleave(2)
    T.tril_indices(n, 2)
    T.meshgrid(T.arange(n), T.arange(2), indexing="ij")[0]
    T.nn.functional.pad(T.ones(n), (1, 2))
    T.nn.functional.relu(T.arange(n).float() - 2)
    T.nn.functional.gelu(T.ones(n))
    T.nn.functional.layer_norm(T.arange(3 * n).float().view(3, n), (n,))
    T.nn.functional.one_hot(T.arange(n), n)
    T.nn.functional.conv1d(T.ones(1, 1, n + 2), T.ones(1, 1, 3))
    T.nn.functional.max_pool1d(T.ones(1, 1, n + 2), 2)
    T.nn.functional.interpolate(T.ones(1, 1, n + 1), scale_factor=2)
    T.arange(n).split(2)[0]
    T.isin(T.arange(n), T.arange(2))
    T.ones(n, 3)[:, 1:]
    """.strip().splitlines()
)


def stream(text: str, library: Any, size: int) -> Any:
    """Evaluate a line of ``STREAMS`` for a library and a size."""
    return eval(text, {"T": library, "n": size})
