"""Tests of random numbers drawn by rejection sampling: distributions are compared with SciPy, gradients with
PyTorch.
"""

from collections.abc import Callable

import numpy
import pytest
import scipy.stats
import torch

import opdsl
from opdsl.errors import ShapeError

COUNT = 20000


def numbers(draw: Callable[..., opdsl.Tensor], *tensors: opdsl.Tensor) -> numpy.ndarray:
    return draw(*tensors, generator=opdsl.Generator().manual_seed(7)).numpy()


@pytest.mark.parametrize("rate", [0.0, 0.3, 12.0, 4e4])
def test_numbers_of_events(rate: float) -> None:
    result = numbers(opdsl.poisson, opdsl.full((COUNT,), rate, dtype=opdsl.float64))
    assert result.mean() == pytest.approx(rate, abs=5 * (rate / COUNT) ** 0.5)
    assert result.var() == pytest.approx(rate, rel=0.06)
    assert (result == numpy.floor(result)).all()


@pytest.mark.parametrize(("count", "chance"), [(1.0, 0.3), (40.0, 0.9), (1e6, 0.01), (5.0, 0.0), (5.0, 1.0)])
def test_numbers_of_trials_that_succeed(count: float, chance: float) -> None:
    inputs = (opdsl.full((COUNT,), number, dtype=opdsl.float64) for number in (count, chance))
    result, spread = numbers(opdsl.binomial, *inputs), count * chance * (1 - chance)
    assert result.mean() == pytest.approx(count * chance, abs=5 * (spread / COUNT) ** 0.5)
    assert result.var() == pytest.approx(spread, rel=0.06)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 9.5])
def test_gamma_distributed_numbers(alpha: float) -> None:
    result = numbers(opdsl._standard_gamma, opdsl.full((COUNT,), alpha, dtype=opdsl.float64))
    assert scipy.stats.kstest(result, scipy.stats.gamma(alpha).cdf).pvalue > 1e-3


def test_dirichlet_distributed_numbers() -> None:
    alpha = numpy.array([0.5, 2.0, 3.5])
    result = numbers(opdsl._sample_dirichlet, opdsl.from_numpy(alpha).expand(COUNT, 3))
    numpy.testing.assert_allclose(result.sum(1), 1.0)
    for column, concentration in zip(result.T, alpha, strict=True):
        assert (
            scipy.stats.kstest(column, scipy.stats.beta(concentration, alpha.sum() - concentration).cdf).pvalue > 1e-3
        )


def test_numbers_repeat_with_the_seed_and_have_the_dtype() -> None:
    rates = opdsl.full((100,), 3.0)
    assert (numbers(opdsl.poisson, rates) == numbers(opdsl.poisson, rates)).all()
    assert opdsl.poisson(rates).dtype is opdsl.float32
    assert (opdsl.poisson(rates) != opdsl.poisson(rates)).any()
    with pytest.raises(ShapeError, match="invalid Poisson rate"):
        opdsl.poisson(-rates)


def test_derivatives_of_gamma_numbers_are_pytorchs() -> None:
    alpha = torch.rand(3000, dtype=torch.float64) * 20 + 1e-3
    drawn = torch.distributions.Gamma(alpha, 1.0).sample()
    gradients = opdsl._standard_gamma_grad(opdsl.from_dlpack(alpha), opdsl.from_dlpack(drawn))
    torch.testing.assert_close(
        torch.from_dlpack(gradients), torch._standard_gamma_grad(alpha, drawn), rtol=1e-10, atol=0
    )


def test_derivatives_of_dirichlet_numbers_are_pytorchs() -> None:
    alpha, beta = torch.rand(2, 3000, dtype=torch.float64) * 12 + 1e-2
    drawn = torch.distributions.Beta(alpha, beta).sample()
    inputs = drawn, alpha, alpha + beta
    gradients = opdsl._dirichlet_grad(*map(opdsl.from_dlpack, inputs))
    torch.testing.assert_close(torch.from_dlpack(gradients), torch._dirichlet_grad(*inputs), rtol=1e-10, atol=0)


def test_gradients_reach_the_parameters() -> None:
    alpha = opdsl.full((4,), 2.5, dtype=opdsl.float64, requires_grad=True)
    drawn = opdsl._standard_gamma(alpha)
    drawn.sum().backward()
    wanted = torch._standard_gamma_grad(torch.full((4,), 2.5).double(), torch.from_dlpack(drawn.detach()))
    torch.testing.assert_close(torch.from_dlpack(alpha.grad), wanted)


def test_shapes_of_negative_zero() -> None:
    zeros = opdsl.tensor([-0.0, 1.0])
    assert opdsl._standard_gamma(zeros)[0] == opdsl.finfo(opdsl.float32).tiny
    assert opdsl._sample_dirichlet(zeros).tolist()[1] > 0.99
