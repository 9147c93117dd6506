"""Tests of products of tiles, by the interpreter and on the emulated grid, against NumPy."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from opdsl.backends.cuda.kernel import kernel_of, memory_offsets
from opdsl.backends.cuda.loop_program import THREADS, Step, program_of
from opdsl.errors import KernelError
from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.making import Loops, Maker
from opdsl.kernels.loops.model import Array, For, Load, Local, Store, TileProduct
from opdsl.kernels.loops.schedules import shared
from opdsl.kernels.loops.text import program_text
from opdsl.runtime import DType, bfloat16, float16, float32, float64
from opdsl.scalar.narrow_values import narrow, widen
from opdsl.scalar.types import ScalarType
from tests.emulation import programs as emulation
from tests.emulation.libraries import needs_compiler

RANDOM = np.random.default_rng(0)


def product_of(dtype: DType, sizes: tuple[int, int, int], *, padding: int, is_transposed: bool, adds: bool) -> Loops:
    """Return the loops that multiply two matrices in local memory, and add the product to a third one if ``adds``."""
    rows, inner, columns = sizes
    wide = float64 if dtype is float64 else float32
    kind = ScalarType(wide.name)
    right_rows, right_columns = (columns, inner) if is_transposed else (inner, columns)
    steps = columns + padding, inner + padding, right_columns + padding
    maker = Maker("product")
    body: list[Local | For | TileProduct] = []
    counts = {"out": (wide, rows * steps[0]), "left": (wide, rows * steps[1]), "right": (dtype, right_rows * steps[2])}
    body += [Local(Array(f"{name}_tile", stored, (count,), (1,))) for name, (stored, count) in counts.items()]
    for name, (stored, count) in counts.items():
        array = maker.array(name, OperandSpec(stored, (0, stored.itemsize)), (("", 1), ("", count)))
        load = Load(f"{name}_element", array, (0, f"{name}_at"), kind)
        store = Store(f"{name}_tile", (f"{name}_at",), f"{name}_element")
        body.append(For(f"{name}_at", count, (load, store)))
    body.append(TileProduct("out_tile", "left_tile", "right_tile", rows, inner, columns, steps, is_transposed, adds))
    end = Load("result", "out_tile", ("end_at",), kind), Store("out", (0, "end_at"), "result")
    body.append(For("end_at", counts["out"][1], end))
    return maker.finish([For("point", 1, tuple(body))])


@needs_compiler
@pytest.mark.parametrize("dtype", [float32, float64, bfloat16, float16], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize(("is_transposed", "adds"), [(True, False), (False, True)])
@pytest.mark.parametrize("sizes", [(64, 64, 64), (16, 48, 80), (32, 16, 16), (64, 32, 112)])
def test_threads_multiply_tiles(sizes: tuple[int, int, int], is_transposed: bool, adds: bool, dtype: DType) -> None:
    padding = 8 if dtype.itemsize == 2 else 1
    loops = product_of(dtype, sizes, padding=padding, is_transposed=is_transposed, adds=adds)
    check_program(loops.program)
    arrays = []
    for parameter in loops.program.parameters:
        assert isinstance(parameter, Array)
        count = parameter.sizes[1]
        assert isinstance(count, int)
        numbers = RANDOM.integers(-8, 8, count).astype(np.float32)  # exact in 16 bits, and so are their sums
        arrays.append(
            narrow(numbers, dtype.name) if parameter.dtype.itemsize == 2 else numbers.astype(parameter.dtype.name)
        )
    expected = [array.copy() for array in arrays]
    interpret(loops.program, expected, [word for word in loops.words if isinstance(word, int)])
    left, right = (widen(array, dtype.name) if array.dtype == np.uint16 else array for array in arrays[1:])
    rows, inner, columns = sizes
    one = left.reshape(rows, -1)[:, :inner]
    other = right.reshape(columns if is_transposed else inner, -1)[:, : inner if is_transposed else columns]
    before = arrays[0].reshape(rows, -1)[:, :columns] * adds
    whole = before + one @ (other.T if is_transposed else other)
    np.testing.assert_array_equal(expected[0].reshape(rows, -1)[:, :columns], whole)
    program = program_of({1: [Step(loops, kernel_of("product", shared(loops.program, THREADS)))]})
    emulation.run(program, arrays)
    np.testing.assert_array_equal(arrays[0], expected[0])


def test_more_shared_memory_than_a_kernel_declares_is_that_of_the_launch() -> None:
    small, large = (
        shared(product_of(float32, sizes, padding=1, is_transposed=True, adds=False).program, THREADS)
        for sizes in ((64, 16, 16), (64, 64, 128))
    )
    assert memory_offsets(small) == ({}, 0)
    offsets, total = memory_offsets(large)
    assert list(offsets) == ["out_tile", "left_tile", "right_tile"]
    assert all(offset % 16 == 0 for offset in offsets.values())
    assert total > 48 << 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "left_tile"}, "other memory"),
        ({"left": "left"}, "local memory"),
        ({"inner": 64}, "rows of 64 elements"),
    ],
)
def test_products_of_tiles_are_checked(change: dict[str, object], message: str) -> None:
    loops = product_of(float32, (16, 16, 16), padding=1, is_transposed=False, adds=True)
    (point,) = loops.program.body
    assert isinstance(point, For)
    body = tuple(
        attrs.evolve(statement, **change) if isinstance(statement, TileProduct) else statement
        for statement in point.body
    )
    with pytest.raises(KernelError, match=message):
        check_program(attrs.evolve(loops.program, body=(attrs.evolve(point, body=body),)))


def test_a_product_of_tiles_has_a_text() -> None:
    text = program_text(product_of(float32, (16, 32, 16), padding=1, is_transposed=True, adds=True).program)
    assert "out_tile += left_tile @ right_tile^T of 16 x 32 x 16 in rows of 17, 33, 33" in text
