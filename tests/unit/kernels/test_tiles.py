"""Tests of tiles of transposed operands, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.making import pairwise
from opdsl.kernels.loops.model import Program, locals_of
from opdsl.kernels.loops.schedules import shared
from opdsl.kernels.loops.tiles import in_tiles
from opdsl.runtime.dtype import float32
from opdsl.scalar.types import ScalarType
from tests.unit.kernels.computations import elements

ADD = pairwise(("add",), (ScalarType.FLOAT32,))


def tiled(shape: tuple[int, int, int]) -> tuple[Program, list[int]]:
    """Return the program that adds a tensor and another one that is contiguous along dimension 1, and its words."""
    _, rows, columns = shape
    plain = OperandSpec(float32, (4 * rows * columns, 4 * columns, 4))
    turned = OperandSpec(float32, (4 * rows * columns, 4, 4 * rows))
    loops = lowered(*elements(ADD, shape, (plain, turned), (plain,)))
    ranges, _ = loops.program.points
    words = [word for word in loops.words if isinstance(word, int)]
    return in_tiles(loops.program, [loops.program.parameters[1].name], ranges[1][0]), words


@pytest.mark.parametrize("shape", [(1, 32, 32), (2, 33, 40), (3, 70, 31), (1, 5, 100), (2, 1, 1)])
def test_tiles_give_what_elements_give(shape: tuple[int, int, int]) -> None:
    program, words = tiled(shape)
    check_program(program)
    random = np.random.default_rng(0)
    one, other = (random.standard_normal(size).astype(np.float32) for size in (shape, (shape[0], *shape[:0:-1])))
    result = np.zeros(shape, np.float32)
    interpret(program, [one.reshape(-1), other.reshape(-1), result.reshape(-1)], words)
    np.testing.assert_array_equal(result, one + other.transpose(0, 2, 1))


def test_threads_share_a_tile() -> None:
    program, _ = tiled((1, 64, 64))
    assert shared(program, 256).lanes == 256
    (local,) = locals_of(program.body)
    assert local.array.sizes == (32 * 33,)
