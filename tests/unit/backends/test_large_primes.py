"""Tests of Fourier transforms of sizes with a large prime factor, which are reduced to smaller ones, against NumPy in
float64.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from opdsl.backends.cpu import fourier, large_primes

RANDOM = numpy.random.default_rng(0)
NORMS = ("backward", "ortho", "forward")

# Shapes and dimensions: 66536 = 8 * 8317, 8078 = 2 * 7 * 577, 40022 = 2 * 20011.
CASES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 66536), (1,)),
    ((2, 3, 8078), (2,)),
    ((66536, 2), (0,)),
    ((4, 66536), (0, 1)),
    ((33268, 5), (1, 0)),
    ((2, 40022), (1,)),
]
# The rounding error of a transform, relative to its largest number.
ROUNDING = {"float32": 1e-6, "float64": 1e-14}


def numbers(shape: Any, dtype: str, *, real: bool) -> numpy.ndarray:
    both = RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)
    return both.real.astype(dtype) if real else both.astype("c8" if dtype == "float32" else "c16")


def assert_close(result: numpy.ndarray, expected: numpy.ndarray, dtype: str) -> None:
    assert abs(result - expected).max() / abs(expected).max() < ROUNDING[dtype]


def test_the_cases_are_halved() -> None:
    assert all(large_primes.is_halved(shape[dims[-1]]) for shape, dims in CASES)


@pytest.mark.parametrize("normalization", range(3))
@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize(("shape", "dims"), CASES)
class TestTransforms:
    def test_of_real_numbers(self, shape: Any, dims: Any, dtype: str, normalization: int) -> None:
        x = numbers(shape, dtype, real=True)
        expected = numpy.fft.rfftn(x.astype("f8"), axes=dims, norm=NORMS[normalization])
        actual = numpy.empty(expected.shape, numbers((), dtype, real=False).dtype)
        fourier.r2c(x, dims, normalization, actual)
        assert_close(actual, expected, dtype)

    @pytest.mark.parametrize("forward", [True, False])
    def test_of_complex_numbers(self, shape: Any, dims: Any, dtype: str, normalization: int, forward: bool) -> None:
        x = numbers(shape, dtype, real=False)
        actual = numpy.empty_like(x)
        fourier.c2c(x, dims, normalization, forward, actual)
        if forward:
            expected = numpy.fft.fftn(x.astype("c16"), axes=dims, norm=NORMS[normalization])
        else:
            expected = numpy.fft.ifftn(x.astype("c16"), axes=dims, norm=NORMS[2 - normalization])
        assert_close(actual, expected, dtype)

    @pytest.mark.parametrize("more", [0, 1, -1], ids=["all", "more", "fewer"])
    def test_back_to_real_numbers(self, shape: Any, dims: Any, dtype: str, normalization: int, more: int) -> None:
        """The imaginary parts of frequencies that must be real are ignored, and so are superfluous frequencies."""
        frequencies = list(shape)
        frequencies[dims[-1]] = shape[dims[-1]] // 2 + 1 + more
        x = numbers(frequencies, dtype, real=False)
        actual = numpy.empty(shape, dtype)
        fourier.c2r(x, dims, normalization, actual)
        sizes = [shape[dim] for dim in dims]
        expected = numpy.fft.irfftn(x.astype("c16"), s=sizes, axes=dims, norm=NORMS[2 - normalization])
        assert_close(actual, expected, dtype)
