"""Tests of formulas that make and take apart complex numbers over dims: PyTorch's results, and in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.interop.torch import register
from opdsl.testing import gradcheck

lib = Library("dims_complex")


@lib.op
@formula
def built(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Build complex numbers from two vectors, and take products of them apart."""
    i, j = dims(2)
    product = opdsl.complex(x[i], y[j]) * opdsl.polar(x[i] * 1, y[j] + 0).conj()
    difference = opdsl.rsub(x[i], y[j], alpha=2)
    return product.order(i, j), product.real.order(j, i), opdsl.imag(product).order(i, j), difference.order(i, j)


def built_by_torch(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    one, other = torch.broadcast_tensors(x[:, None], y)
    product = torch.complex(one, other) * torch.polar(one, other).conj()
    return product, product.real.t(), product.imag, torch.rsub(one, other, alpha=2)


@lib.op
@formula
def parts(z: Tensor) -> Tensor:
    """Add squares of parts, and one of the parts."""
    i = dim()
    pairs = opdsl.view_as_real(z[i])
    part = z[i].imag if z[i].real > 0 else opdsl.real(z[i])
    return (pairs.square().sum(-1) + part).order(i)


@lib.op
@formula
def state_space_kernel(log_decay: Tensor, frequency: Tensor, weight: Tensor, length: int = 6) -> Tensor:
    """Compute the convolution kernel of a diagonal state space (Gu et al., 2022)."""
    h, n, t = dims(3, [None, None, length])
    state = opdsl.complex(-log_decay[h, n].exp(), frequency[h, n])
    return (2 * (weight[h, n] * opdsl.exp(state * t)).sum(n).real).order(h, t)


def kernel_by_torch(log_decay: torch.Tensor, frequency: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    state = torch.complex(-log_decay.exp(), frequency)[..., None] * torch.arange(6)
    return 2 * (weight[..., None] * state.exp()).sum(1).real


@pytest.mark.parametrize("sizes", ((3, 2), (1, 4), (0, 2)))
def test_built(sizes: tuple[int, int]) -> None:
    x, y = (torch.rand(size, dtype=torch.float64) for size in sizes)
    for actual, expected in zip(built(*map(opdsl.from_dlpack, (x, y))), built_by_torch(x, y), strict=True):
        torch.testing.assert_close(torch.from_dlpack(actual.resolve_conj()), expected)
    gradcheck(built, [opdsl.from_dlpack(x).requires_grad_(), opdsl.from_dlpack(y).requires_grad_()])


def test_parts() -> None:
    z = torch.randn(5, dtype=torch.complex128)
    expected = torch.view_as_real(z).square().sum(-1) + torch.where(z.real > 0, z.imag, z.real)
    torch.testing.assert_close(torch.from_dlpack(parts(opdsl.from_dlpack(z))), expected)
    gradcheck(parts, [opdsl.from_dlpack(z).requires_grad_()])


def test_kernel() -> None:
    arguments = [torch.randn(2, 3, dtype=torch.float64) for _ in range(3)]
    result = state_space_kernel(*map(opdsl.from_dlpack, arguments))
    torch.testing.assert_close(torch.from_dlpack(result), kernel_by_torch(*arguments))
    gradcheck(state_space_kernel, [opdsl.from_dlpack(leaf).requires_grad_() for leaf in arguments])


def test_batches_in_torch() -> None:
    register(lib)
    z = torch.randn(4, 3, dtype=torch.complex128)
    expected = torch.stack([torch.ops.dims_complex.parts(row) for row in z])
    torch.testing.assert_close(torch.vmap(torch.ops.dims_complex.parts)(z), expected)
    x: Any = torch.rand(4, 3, dtype=torch.float64)
    (products, *_) = torch.vmap(torch.ops.dims_complex.built)(x, x)
    torch.testing.assert_close(products[1], built_by_torch(x[1], x[1])[0])
