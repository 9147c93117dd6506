"""Products of 16-bit matrices against sums in float64: all edges of tiles, all ways to lie, batches, numbers."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cpu.engine import has_feature

SIZES = [*itertools.product((1, 7, 8, 9, 65), (1, 2, 33), (1, 15, 17, 64, 129)), (8, 5, 8), (8, 8, 8)]
LYING = ("rows", "columns")


def matrix(random: np.random.Generator, dtype: str, lies: str, *shape: int) -> tuple[Tensor, np.ndarray]:
    """A matrix, and what it holds."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    values = random.standard_normal(shape).astype(kind)
    given = opdsl.from_numpy(values)
    if lies == "columns":
        given = given.transpose(-1, -2).contiguous().transpose(-1, -2)
    return given, values.astype(np.float64)


def check(found: Tensor, wanted: np.ndarray, inner: int) -> None:
    """Within a unit of bfloat16's last place, or of what is summed where terms cancel."""
    values = found.to(opdsl.float64).numpy()
    assert (np.abs(values - wanted) <= 2.0**-8 * np.abs(wanted) + 2.0**-9 * np.sqrt(inner)).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(LYING, LYING)))
def test_products_are_the_rounded_sums(dtype: str, first: str, second: str) -> None:
    random = np.random.default_rng(7)
    for rows, inner, columns in SIZES:
        x, left = matrix(random, dtype, first, rows, inner)
        y, right = matrix(random, dtype, second, inner, columns)
        z, added = matrix(random, dtype, first, rows, columns)
        for _ in range(3):  # the later ones by a plan
            check(x @ y, left @ right, inner)
        check(opdsl.addmm(z, x, y, alpha=0.5, beta=2), 0.5 * (left @ right) + 2 * added, inner)
        out = opdsl.empty_strided((rows, columns), (1, rows), dtype=x.dtype).fill_(float("nan"))
        check(opdsl.mm(x, y, out=out), left @ right, inner)  # what it held is not read


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_batches_and_threads(dtype: str) -> None:
    random = np.random.default_rng(8)
    x, left = matrix(random, dtype, "rows", 5, 90, 130)
    y, right = matrix(random, dtype, "columns", 5, 130, 70)
    before = opdsl.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            opdsl.set_num_threads(threads)
            found.append(opdsl.bmm(x, y))
            check(found[-1], left @ right, 130)
        # Sums of rows are those of the processor's instruction, wherever a share of the rows begins.
        is_own = dtype == "bfloat16" and has_feature("avx512bf16")
        assert not is_own or bool((found[0] == found[1]).all())
    finally:
        opdsl.set_num_threads(before)


def test_numbers_that_are_not_finite() -> None:
    x = opdsl.ones(9, 4, dtype=opdsl.bfloat16)
    x[0, 1], x[1, 2] = float("inf"), float("nan")
    found = (x @ opdsl.ones(4, 20, dtype=opdsl.bfloat16)).to(opdsl.float32).numpy()
    assert np.isposinf(found[0]).all()
    assert np.isnan(found[1]).all()
    assert (found[2:] == 4).all()
