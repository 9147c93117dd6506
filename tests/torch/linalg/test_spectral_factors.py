"""Tests of eigenvectors and singular vectors, which are unique up to direction: the spaces they span, and their
order.
"""

from __future__ import annotations

import numpy
import pytest
import torch

import opdsl

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def ours(tensor: torch.Tensor) -> opdsl.Tensor:
    return opdsl.from_numpy(tensor.numpy().copy())


def tolerance(dtype: torch.dtype) -> float:
    return 1e-4 if dtype in (torch.float32, torch.complex64) else 1e-11


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_gives_what_the_triangle_is_made_of(dtype: torch.dtype, uplo: str) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(2, 5, 5, dtype=dtype)
    whole = matrix.tril() + matrix.tril(-1).mH if uplo == "L" else matrix.triu() + matrix.triu(1).mH
    whole = whole - 1j * whole.diagonal(0, -2, -1).imag.diag_embed() if dtype.is_complex else whole
    values, vectors = (factor.numpy() for factor in opdsl.linalg.eigh(ours(matrix), uplo))
    numpy.testing.assert_allclose(values, torch.linalg.eigvalsh(whole).numpy(), atol=tolerance(dtype))
    product = vectors * values[:, None] @ vectors.conj().swapaxes(-1, -2)
    numpy.testing.assert_allclose(product, whole.numpy(), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 5), (3, 3)], ids=str)
@pytest.mark.parametrize("full", [True, False])
def test_svd_gives_the_factors_of_the_matrix(dtype: torch.dtype, shape: tuple[int, ...], full: bool) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(shape, dtype=dtype)
    left, values, right = (factor.numpy() for factor in opdsl.linalg.svd(ours(matrix), full))
    numpy.testing.assert_allclose(values, torch.linalg.svdvals(matrix).numpy(), atol=tolerance(dtype))
    count = values.shape[-1]
    product = left[..., :count] * values[..., None, :] @ right[..., :count, :]
    numpy.testing.assert_allclose(product, matrix.numpy(), atol=tolerance(dtype))
    unit = left.conj().swapaxes(-1, -2) @ left
    numpy.testing.assert_allclose(
        unit, numpy.broadcast_to(numpy.eye(unit.shape[-1]), unit.shape), atol=tolerance(dtype)
    )


def test_equal_singular_values_have_gradients() -> None:
    matrix = opdsl.eye(3, dtype=opdsl.float64).requires_grad_()
    opdsl.linalg.svdvals(matrix).sum().backward()
    numpy.testing.assert_allclose(matrix.grad.numpy(), numpy.eye(3), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 5), (3, 3)], ids=str)
def test_gradients_of_magnitudes_of_singular_vectors(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(shape, dtype=dtype, requires_grad=True)
    weights = [torch.randn_like(factor.abs()) for factor in torch.linalg.svd(matrix.detach(), False)]
    sum(
        (w * factor.abs() ** 2).sum() for w, factor in zip(weights, torch.linalg.svd(matrix, False), strict=True)
    ).backward()
    own = ours(matrix.detach()).requires_grad_()
    parts = [
        (ours(w) * factor.abs() * factor.abs()).sum()
        for w, factor in zip(weights, opdsl.linalg.svd(own, False), strict=True)
    ]
    (parts[0] + parts[1] + parts[2]).backward()
    numpy.testing.assert_allclose(own.grad.numpy(), matrix.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_gradients_of_magnitudes_of_eigenvectors(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(2, 4, 4, dtype=dtype)
    matrix = (matrix + matrix.mH).resolve_conj().requires_grad_()
    weights = torch.randn(2, 4, 4, dtype=torch.float64)
    values, vectors = torch.linalg.eigh(matrix)
    ((weights * vectors.abs() ** 2).sum() + (values**3).sum()).backward()
    own = ours(matrix.detach()).requires_grad_()
    values, vectors = opdsl.linalg.eigh(own)
    ((ours(weights) * vectors.abs() * vectors.abs()).sum() + (values * values * values).sum()).backward()
    numpy.testing.assert_allclose(own.grad.numpy(), matrix.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eig_gives_what_the_matrix_is_made_of(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(2, 5, 5, dtype=dtype)
    values, vectors = (factor.numpy() for factor in opdsl.linalg.eig(ours(matrix)))
    numpy.testing.assert_allclose(
        matrix.numpy() @ vectors, vectors * values[:, None], atol=tolerance(dtype), rtol=tolerance(dtype)
    )
    numpy.testing.assert_allclose(numpy.linalg.norm(vectors, axis=-2), 1, rtol=tolerance(dtype))
    numpy.testing.assert_allclose(values.prod(-1), torch.linalg.det(matrix).numpy(), rtol=10 * tolerance(dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_gradients_of_magnitudes_of_vectors_of_any_matrix(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(2, 4, 4, dtype=dtype, requires_grad=True)
    values, vectors = torch.linalg.eig(matrix)
    weights = torch.randn(2, 4, 4, dtype=torch.float64)
    ((weights * vectors.abs() ** 2).sum() + (values.abs() * weights[0, 0]).sum()).backward()
    own = ours(matrix.detach()).requires_grad_()
    eigenvalues, directions = opdsl.linalg.eig(own)
    distances = eigenvalues.detach().numpy()[:, None] - values.detach().numpy()[:, :, None]
    place = opdsl.from_numpy(numpy.abs(distances).argmin(2))
    sizes = (directions.abs() * directions.abs()).gather(2, place.unsqueeze(1).expand((2, 4, 4)))
    ((ours(weights) * sizes).sum() + (eigenvalues.abs().gather(1, place) * ours(weights[0, 0])).sum()).backward()
    numpy.testing.assert_allclose(own.grad.numpy(), matrix.grad.numpy(), rtol=1e-8, atol=1e-10)
