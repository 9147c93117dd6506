"""Stacks of matrices that LAPACK and BLAS solve."""

from __future__ import annotations

import numpy
import pytest

import opdsl


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_triangles_of_a_stack(count: int, left: bool) -> None:
    draw = numpy.random.default_rng(count)
    triangle = numpy.tril(draw.normal(size=(count, 4, 4))) + 3 * numpy.eye(4)
    wanted = draw.normal(size=(count, 4, 4))
    given = triangle @ wanted if left else wanted @ triangle
    tensors = [opdsl.from_numpy(each) for each in (triangle, given)]
    for _ in range(2):  # by the kernel, and by its plan
        found = opdsl.linalg.solve_triangular(*tensors, upper=False, left=left)
        numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10)
