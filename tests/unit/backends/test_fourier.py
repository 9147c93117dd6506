"""Tests of Fourier transforms by SciPy's compiled module and by its functions, against NumPy's in double precision."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy
import pytest

from opdsl.backends.cpu import fourier, pool

RANDOM = numpy.random.default_rng(0)
NORMS = ("backward", "ortho", "forward")


@pytest.fixture(autouse=True, params=["compiled", "functions"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "functions":
        monkeypatch.setattr(fourier, "_compiled", lambda: None)
    else:
        assert fourier._compiled() is not None


@pytest.mark.parametrize("normalization", range(3))
@pytest.mark.parametrize("dims", [(2,), (0, 2), (2, 1)])
@pytest.mark.parametrize(("real", "rtol"), [("float32", 2e-5), ("float64", 1e-12)])
def test_transforms(dims: tuple[int, ...], normalization: int, real: str, rtol: float) -> None:
    numbers = RANDOM.normal(size=(3, 7, 20)).astype(real)
    both = (numbers + 1j * RANDOM.normal(size=numbers.shape)).astype(f"complex{2 * int(real[-2:])}")
    norm = NORMS[normalization]
    back = NORMS[2 - normalization]

    def near(actual: numpy.ndarray, expected: numpy.ndarray) -> None:
        numpy.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * abs(expected).max())

    out = numpy.empty_like(both)
    fourier.c2c(both, dims, normalization, True, out)
    near(out, numpy.fft.fftn(both.astype(complex), axes=dims, norm=norm))
    fourier.c2c(both, dims, normalization, False, out)
    near(out, numpy.fft.ifftn(both.astype(complex), axes=dims, norm=back))
    fourier.c2c(numbers, dims, normalization, True, out)
    near(out, numpy.fft.fftn(numbers.astype(float), axes=dims, norm=norm))
    expected = numpy.fft.rfftn(numbers.astype(float), axes=dims, norm=norm)
    halved = numpy.empty_like(expected, both.dtype)
    fourier.r2c(numbers, dims, normalization, halved)
    near(halved, expected)
    for size in (both.shape[dims[-1]] + 5, both.shape[dims[-1]] * 2 - 2, 3):  # frequencies too few, right, too many
        sizes = [*(both.shape[dim] for dim in dims[:-1]), size]
        expected = numpy.fft.irfftn(both.astype(complex), s=sizes, axes=dims, norm=back)
        result = numpy.empty_like(expected, real)
        fourier.c2r(both, dims, normalization, result)
        near(result, expected)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = pool.get_num_threads()
    pool.set_num_threads(2)
    yield
    pool.set_num_threads(before)


@pytest.mark.parametrize(
    ("shape", "dims"), [((9, 40_000), (1,)), ((40_000, 9), (0,)), ((3, 200, 600), (0, 1, 2)), ((400, 3, 300), (0, 2))]
)
def test_threads_change_no_bit(shape: tuple[int, ...], dims: tuple[int, ...], two_threads: None) -> None:
    numbers = RANDOM.normal(size=shape).astype("f4")
    both = numbers + 1j * numbers[::-1]
    halved = (*shape[: dims[-1]], shape[dims[-1]] // 2 + 1, *shape[dims[-1] + 1 :])

    def found() -> list[numpy.ndarray]:
        outs = [numpy.empty(shape, "c8"), numpy.empty(halved, "c8"), numpy.empty(shape, "f4")]
        fourier.c2c(both, dims, 0, True, outs[0])
        fourier.r2c(numbers, dims, 1, outs[1])
        fourier.c2r(outs[1], dims, 1, outs[2])
        return outs

    divided = found()
    pool.set_num_threads(1)
    for one, other in zip(divided, found(), strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_scipy_can_be_imported_later() -> None:
    program = (
        "import opdsl, sys; opdsl.fft.fft(opdsl.ones(4)); assert 'scipy.fft' not in sys.modules;"
        "import scipy.fft; print(scipy.fft.fft([1.0, 1.0]).real)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        == "[2. 0.]\n"
    )
