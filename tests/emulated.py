"""Short tests for an emulated processor (see ``tests/aarch64.py``), which compare values with NumPy's."""

from __future__ import annotations

import threading
from importlib.util import find_spec

import numpy
import pytest

import opdsl
from opdsl.interop.torch.requirement import require_torch

GENERATOR = numpy.random.default_rng(11)


def test_sorting_by_a_kernel_of_numba() -> None:
    array = GENERATOR.standard_normal((3, 57))
    ordered = opdsl.sort(opdsl.tensor(array), 1)
    numpy.testing.assert_array_equal(ordered.values.numpy(), numpy.sort(array, 1))
    numpy.testing.assert_array_equal(numpy.take_along_axis(array, ordered.indices.numpy(), 1), numpy.sort(array, 1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "log1p", "sin", "tanh", "erf", "sqrt"])
def test_elementary_functions(name: str, dtype: str) -> None:
    import scipy.special

    array = abs(GENERATOR.standard_normal(101)).astype(dtype)
    expected = getattr(numpy, name, None) or getattr(scipy.special, name)
    tolerance = 4 * numpy.finfo(dtype).eps
    actual = getattr(opdsl, name)(opdsl.tensor(array)).numpy()
    numpy.testing.assert_allclose(actual, expected(array.astype("d")), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["sum", "cumsum", "prod", "amax", "var", "logsumexp"])
def test_folds_and_scans(name: str) -> None:
    array = GENERATOR.standard_normal((4, 77))
    functions = {
        "amax": lambda x: x.max(1),
        "cumsum": lambda x: x.cumsum(1),
        "logsumexp": lambda x: numpy.log(numpy.exp(x).sum(1)),
        "prod": lambda x: x.prod(1),
        "sum": lambda x: x.sum(1),
        "var": lambda x: x.var(1, ddof=1),
    }
    result = getattr(opdsl, name)(opdsl.tensor(array), 1).numpy()
    numpy.testing.assert_allclose(result, functions[name](array), rtol=1e-12, atol=1e-14)


def test_products_and_factorizations() -> None:
    a, b = GENERATOR.standard_normal((2, 5, 17, 17))
    numpy.testing.assert_allclose((opdsl.tensor(a) @ opdsl.tensor(b)).numpy(), a @ b, rtol=1e-10, atol=1e-12)
    solution = opdsl.linalg.solve(opdsl.tensor(a), opdsl.tensor(b)).numpy()
    numpy.testing.assert_allclose(a @ solution, b, rtol=1e-8, atol=1e-9)
    numpy.testing.assert_allclose(opdsl.fft.fft(opdsl.tensor(a)).numpy(), numpy.fft.fft(a), atol=1e-12)


def test_convolution() -> None:
    image, window = GENERATOR.standard_normal((2, 3, 9, 9)), GENERATOR.standard_normal((4, 3, 3, 3))
    views = numpy.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    expected = numpy.einsum("bcijkl,ockl->boij", views, window)
    convolved = opdsl.conv2d(opdsl.tensor(image), opdsl.tensor(window)).numpy()
    numpy.testing.assert_allclose(convolved, expected, rtol=1e-10, atol=1e-12)


def test_gradient() -> None:
    array = GENERATOR.standard_normal(33)
    x = opdsl.tensor(array).requires_grad_()
    opdsl.sum(opdsl.tanh(x) * x).backward()
    numpy.testing.assert_allclose(x.grad.numpy(), numpy.tanh(array) + array / numpy.cosh(array) ** 2, rtol=1e-12)


def test_several_threads_share_a_loop() -> None:
    array = GENERATOR.standard_normal(1 << 20).astype("f")
    before = opdsl.get_num_threads()
    opdsl.set_num_threads(2)
    try:
        numpy.testing.assert_array_equal(opdsl.add(opdsl.tensor(array), 1).numpy(), array + numpy.float32(1))
        results: list[object] = []
        threads = [
            threading.Thread(target=lambda: results.append(opdsl.neg(opdsl.tensor(array)).sum().item()))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 4 and len(set(results)) == 1
    finally:
        opdsl.set_num_threads(before)


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is there")
def test_without_torch_the_bridge_says_how_to_get_it() -> None:
    with pytest.raises(ImportError, match=r'none is installed\. Install it: pip install "torch'):
        require_torch()
