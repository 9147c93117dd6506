"""Tests of oneMKL as a library of the CPU backend, and that without its package nothing calls it."""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import subprocess
import sys
import threading

import numpy
import pytest
import scipy.fft

import opdsl
from opdsl.backends.cpu import mkl
from opdsl.backends.cpu.blas import blas

installed = pytest.mark.skipif(mkl.path() is None, reason='pip install "opdsl[mkl]", or make mkl')


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NAMES = "from opdsl.backends.cpu import blas, fourier, mkl; print(blas.blas().name, type(fourier._compiled()).__name__)"


def test_switched_off_scipy_computes() -> None:
    assert run(NAMES, OPDSL_MKL="0") == "SciPy's module\n"


def test_doctor_names_the_library() -> None:
    code = "from opdsl.cli.probes import _libraries; print(_libraries('libraries'))"
    text = run(code, OPDSL_MKL="0")
    assert "SciPy 1." in text and "matrix products, LAPACK, Fourier transforms; oneMKL is switched off" in text


def test_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    assert mkl.path.__wrapped__() is None


@pytest.mark.skipif(sys.platform != "linux", reason="the library's name")
def test_library_that_does_not_load(tmp_path: object) -> None:
    code = f"""
import pathlib
from opdsl.backends.cpu import mkl
file = pathlib.Path({str(tmp_path)!r}, "libmkl_rt.so.3")
file.write_text("no library")
mkl.path = lambda: file
assert mkl.mkl() is None
print(mkl.problem())
{NAMES}"""
    lines = run(code).splitlines()
    assert lines[0].startswith("cannot be loaded (") and lines[1] == "SciPy's module"


@installed
def test_mkl_computes() -> None:
    assert blas().name == "oneMKL"
    assert run(NAMES, OPDSL_MKL="1") == "oneMKL MklFourier\n"
    assert "oneMKL 20" in run("from opdsl.cli.probes import _libraries; print(_libraries('libraries'))")


# PyTorch's copy of the library, loaded before or after opdsl's, on all threads at once.
BESIDE_TORCH = """
import {first}
import {second}
import threading
import numpy, torch, opdsl
from opdsl.backends.cpu.blas import blas
assert blas().name == "oneMKL"
generator = numpy.random.default_rng(0)
a = generator.standard_normal((40, 60, 60)) + 8 * numpy.eye(60)
b = generator.standard_normal((40, 60, 60))
expected = numpy.linalg.solve(a, b)
def work():
    for _ in range(10):
        ours = opdsl.linalg.solve(opdsl.tensor(a), opdsl.tensor(b)).numpy()
        theirs = torch.linalg.solve(torch.tensor(a), torch.tensor(b)).numpy()
        numpy.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-10)
        numpy.testing.assert_allclose(theirs, expected, rtol=1e-8, atol=1e-10)
        numpy.testing.assert_allclose(opdsl.fft.fft(opdsl.tensor(b)).numpy(), numpy.fft.fft(b), atol=1e-10)
        done.append(None)
done = []
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))
"""


@installed
@pytest.mark.parametrize("order", [("torch", "opdsl"), ("opdsl", "torch")], ids="-".join)
def test_mkl_works_together_with_torchs_copy(order: tuple[str, str]) -> None:
    pytest.importorskip("torch")
    assert run(BESIDE_TORCH.format(first=order[0], second=order[1])) == "40\n"


DIMS = [dims for count in (1, 2, 3) for dims in itertools.permutations(range(3), count)]


@installed
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_of_any_dims_and_strides(dtype: str, norm: str) -> None:
    generator = numpy.random.default_rng(7)
    whole = (generator.standard_normal((6, 10, 14)) + 1j * generator.standard_normal((6, 10, 14))).astype(dtype)
    tolerance = {"atol": 2000 * numpy.finfo(dtype).eps, "rtol": 0}
    views = [whole, whole[::2, 1:], whole.transpose(2, 0, 1), whole[::-1, :, ::3]]
    for array, dims in itertools.product(views, DIMS):
        x, real = opdsl.tensor(array), opdsl.tensor(array.real)
        forward = scipy.fft.fftn(array, axes=dims, norm=norm)
        numpy.testing.assert_allclose(opdsl.fft.fftn(x, dim=dims, norm=norm).numpy(), forward, **tolerance)
        back = scipy.fft.ifftn(array, axes=dims, norm=norm)
        numpy.testing.assert_allclose(opdsl.fft.ifftn(x, dim=dims, norm=norm).numpy(), back, **tolerance)
        half = scipy.fft.rfftn(array.real, axes=dims, norm=norm)
        numpy.testing.assert_allclose(opdsl.fft.rfftn(real, dim=dims, norm=norm).numpy(), half, **tolerance)
        whole_again = scipy.fft.irfftn(array, axes=dims, norm=norm)
        numpy.testing.assert_allclose(opdsl.fft.irfftn(x, dim=dims, norm=norm).numpy(), whole_again, **tolerance)


@installed
@pytest.mark.parametrize("size", [1, 2, 31, 97, 128, 1009, 3 * 4096])
def test_transforms_of_many_lines(size: int) -> None:
    array = numpy.random.default_rng(size).standard_normal((37, size))
    result = opdsl.fft.fft(opdsl.tensor(array)).numpy()
    numpy.testing.assert_allclose(result, scipy.fft.fft(array), atol=1e-10 * max(size, 10) ** 0.5)


@installed
def test_one_transform_in_many_threads() -> None:
    arrays = [numpy.random.default_rng(k).standard_normal((64, 300)) for k in range(8)]
    results: dict[int, object] = {}

    def work(k: int) -> None:
        for _ in range(20):
            results[k] = opdsl.fft.rfft(opdsl.tensor(arrays[k])).numpy()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, array in enumerate(arrays):
        numpy.testing.assert_allclose(results[k], numpy.fft.rfft(array), atol=1e-11)


@installed
def test_bits_do_not_depend_on_where_an_array_begins() -> None:
    generator = numpy.random.default_rng(5)
    first, second = generator.standard_normal((2, 61, 61)).astype("f")
    products, transforms = set(), set()
    for shift in range(17):
        memory = numpy.zeros(61 * 61 + 17, "f")
        place = memory[shift : shift + 61 * 61].reshape(61, 61)
        place[...] = first
        moved = opdsl.from_numpy(place)
        products.add(opdsl.mm(moved, opdsl.from_numpy(second)).numpy().tobytes())
        transforms.add(opdsl.fft.rfft(moved).numpy().tobytes())
    assert len(products) == len(transforms) == 1


@installed
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(33, 4000, 31), (257, 129, 513), (2000, 40, 2000), (700, 700, 1)]
)
def test_bits_of_products_do_not_depend_on_threads(dtype: str, rows: int, inner: int, columns: int) -> None:
    generator = numpy.random.default_rng(6)
    first = opdsl.tensor(generator.standard_normal((rows, inner)).astype(dtype))
    second = opdsl.tensor(generator.standard_normal((inner, columns)).astype(dtype))
    before = opdsl.get_num_threads()
    results = set()
    try:
        for threads in (1, 2, 3):
            opdsl.set_num_threads(threads)
            results.add(opdsl.mm(first, second).numpy().tobytes())
    finally:
        opdsl.set_num_threads(before)
    assert len(results) == 1
