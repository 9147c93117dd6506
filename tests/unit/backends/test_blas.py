"""Tests of the threads of BLAS and LAPACK, and of LAPACK on stacks of matrices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import opdsl
from opdsl.backends.cpu import lapack
from opdsl.errors import ArgumentError

RANDOM = numpy.random.default_rng(0)

_BUSY = """
import json, os, sys, time, opdsl

def of(thread):
    words = open(f"/proc/self/task/{thread}/stat").read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])

def ticks():
    return sum(map(of, os.listdir("/proc/self/task")))

def own():
    return of(os.getpid())

matrix, vector = opdsl.rand(400, 400), opdsl.rand(400)
square = matrix @ matrix.t() + 400 * opdsl.eye(400)
calls = [
    lambda: matrix @ matrix, lambda: matrix @ vector, lambda: opdsl.linalg.solve(square, vector),
    lambda: opdsl.linalg.cholesky(square), lambda: opdsl.linalg.eigh(square[:150, :150]),
    lambda: opdsl.linalg.svd(matrix[:100, :100]), lambda: opdsl.fft.rfft(opdsl.rand(8, 65536)),
]
for call in calls:
    call()
time.sleep(0.3)  # until what started with the libraries sleeps
before, own_before = ticks(), own()
end = time.process_time() + 0.5
while time.process_time() < end:
    for call in calls:
        call()
print(json.dumps([own() - own_before, ticks() - before]))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for the times of threads")
def test_one_thread_is_one_thread() -> None:
    variables = {**os.environ, "OPDSL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "4"}
    done = subprocess.run([sys.executable, "-c", _BUSY], env=variables, capture_output=True, text=True, check=True)
    own, all_threads = json.loads(done.stdout)
    assert own >= 20
    assert all_threads - own <= 1


def test_number_of_threads_in_the_environment() -> None:
    program = "import opdsl; print(opdsl.get_num_threads())"

    def run(value: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "OPDSL_NUM_THREADS": value}
        return subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)

    assert run("3").stdout == "3\n"
    assert ArgumentError.__name__ in run("many").stderr


def test_scipy_can_be_imported_later() -> None:
    program = (
        "import opdsl, sys; x = opdsl.eye(3); x @ x; opdsl.linalg.inv(x); assert 'scipy.linalg' not in sys.modules;"
        "import scipy.linalg; print(scipy.linalg.cython_blas.__pyx_capi__ and scipy.linalg.det([[2.0]]))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "2.0\n"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_stacks(dtype: str) -> None:
    values = RANDOM.normal(size=(2, 3, 5, 5)) + 1j * RANDOM.normal(size=(2, 3, 5, 5))
    matrices = (values if dtype.startswith("complex") else values.real).astype(dtype)
    definite = matrices @ matrices.conj().swapaxes(-1, -2) + 5 * numpy.eye(5, dtype=dtype)
    rtol = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    ours = opdsl.from_numpy(definite)
    numpy.testing.assert_allclose(opdsl.linalg.cholesky(ours).numpy(), numpy.linalg.cholesky(definite), rtol=rtol)
    numpy.testing.assert_allclose(opdsl.linalg.eigvalsh(ours).numpy(), numpy.linalg.eigvalsh(definite), rtol=rtol)
    numpy.testing.assert_allclose(opdsl.linalg.svdvals(ours).numpy(), numpy.linalg.svd(definite)[1], rtol=rtol)
    inverse = opdsl.cholesky_inverse(opdsl.linalg.cholesky(ours))
    numpy.testing.assert_allclose((inverse @ ours).numpy(), definite @ numpy.linalg.inv(definite), atol=rtol)


def test_failures_are_reported_for_each_matrix() -> None:
    matrices = numpy.stack([numpy.eye(3), -numpy.eye(3), numpy.eye(3)]).swapaxes(1, 2)
    assert lapack.potrf("L", matrices).tolist() == [0, 1, 0]
