"""Tests of LAPACK and BLAS on stacks of matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import opdsl


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_triangles_of_a_stack(count: int, left: bool) -> None:
    draw = numpy.random.default_rng(count)
    triangle = numpy.tril(draw.normal(size=(count, 4, 4))) + 3 * numpy.eye(4)
    wanted = draw.normal(size=(count, 4, 4))
    inputs = triangle @ wanted if left else wanted @ triangle
    tensors = [opdsl.from_numpy(operand) for operand in (triangle, inputs)]
    for _ in range(2):  # by the kernel, and by its plan
        actual = opdsl.linalg.solve_triangular(*tensors, upper=False, left=left)
        numpy.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-10)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = opdsl.get_num_threads()
    opdsl.set_num_threads(2)
    yield
    opdsl.set_num_threads(before)


@pytest.mark.parametrize("rows", [7, 60])
def test_stacks_are_shared_among_threads(rows: int, two_threads: None) -> None:
    draw = numpy.random.default_rng(rows)
    matrices = draw.normal(size=(-(-(2**20) // rows**3) + 5, rows, rows)) + rows * numpy.eye(rows)
    right = draw.normal(size=(*matrices.shape[:2], 2))
    result = opdsl.linalg.solve(opdsl.from_numpy(matrices), opdsl.from_numpy(right))
    numpy.testing.assert_allclose(result.numpy(), numpy.linalg.solve(matrices, right), rtol=1e-7)


def test_each_matrix_of_a_shared_stack_tells_what_failed(two_threads: None) -> None:
    matrices = numpy.tile(numpy.eye(64), (40, 1, 1))
    matrices[[3, 31], [5, 9], [5, 9]] = -1
    info = opdsl.linalg.cholesky_ex(opdsl.from_numpy(matrices)).info.numpy()
    numpy.testing.assert_array_equal(numpy.flatnonzero(info), [3, 31])
    numpy.testing.assert_array_equal(info[[3, 31]], [6, 10])
