"""Tests of machine code on vectors: lanes hold the values that NumPy computes, and sums of tiles stay in registers."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import platform
import re
import subprocess
import sys
from typing import cast

import numpy
import pytest

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.machine import turn
from opdsl.backends.cpu.machine.language import exported, exports, local, unrolled
from opdsl.backends.cpu.machine.text import module_text
from opdsl.backends.cpu.machine.vectors import (
    ATTRIBUTES,
    LANES,
    Real,
    Reals,
    Vector,
    first_lanes,
    fma,
    given,
    load,
    load_some,
    shuffle,
    spread,
    store,
    store_some,
    sum_of_lanes,
)

ELEMENTS = pytest.mark.parametrize(
    ("element", "dtype", "lanes"), [("float", "float32", 4), ("float", "float32", 16), ("double", "float64", 2)]
)
# A store of a vector relative to the stack pointer.
_SPILLED = re.compile(r"vmov[ua]p[sd]\s+%[xyz]mm\d+, -?\d*\(%r[sb]p\)|st[rp]\s+q.*\[sp")


def _turned(lanes: int) -> tuple[int, ...]:
    return tuple(reversed(range(lanes)))


@exported
def whole(x: Reals, y: Reals, out: Reals) -> None:
    first = load(x)
    total = fma(first, load(y), spread(x[0]) + first * first)
    store(out, shuffle(total, first, _turned(LANES)))


@exported
def some(x: Reals, out: Reals, count: int) -> None:
    sums = local(Vector, 2)
    for k in unrolled(range(2)):
        sums[k] = spread(cast(Real, 0.0))
    for j in range(0, count, 2 * LANES):
        for k in unrolled(range(2)):
            place = j + k * LANES
            values = load_some(x + place, first_lanes(count - place))
            sums[k] = sums[k] + values
            store_some(out + place, values, first_lanes(count - place))
    out[0] = sum_of_lanes(sums[0] + sums[1])


@functools.cache
def _code(element: str, lanes: int) -> engine.Code:
    here = [sys.modules[__name__]]
    text = module_text(here, given(element, lanes), ATTRIBUTES)
    return engine.compile_ir(text, lambda: text, exports(here))


def _run(name: str, element: str, lanes: int, *arguments: numpy.ndarray | int) -> None:
    given_ = [argument if isinstance(argument, int) else argument.ctypes.data for argument in arguments]
    kinds = [ctypes.c_int64 if isinstance(argument, int) else ctypes.c_void_p for argument in arguments]
    ctypes.CFUNCTYPE(None, *kinds)(_code(element, lanes).address(name))(*given_)


@ELEMENTS
def test_arithmetic_and_shuffles_of_whole_vectors(element, dtype, lanes):
    x, y = numpy.arange(2, 2 + lanes, dtype=dtype), numpy.arange(lanes, dtype=dtype)[::-1].copy()
    out = numpy.zeros(lanes, dtype)
    _run("whole", element, lanes, x, y, out)
    assert out.tolist() == (x * y + x[0] + x * x)[::-1].tolist()


@ELEMENTS
@pytest.mark.parametrize("count", [1, 7, 33])
def test_lanes_in_a_mask_are_read_and_written(element, dtype, lanes, count):
    x, out = numpy.arange(1, 65, dtype=dtype), numpy.full(64, -1, dtype)
    _run("some", element, lanes, x, out, count)
    assert out[0] == x[:count].sum()
    assert out[1:].tolist() == [*x[1:count], *[-1] * (64 - count)]


@pytest.mark.parametrize(("element", "dtype", "lanes"), [("half", "float16", 8), ("float", "float32", 16)])
@pytest.mark.parametrize("shape", [(1, 1), (9, 20), (33, 16)])
def test_tiles_are_turned(element, dtype, lanes, shape):
    text = module_text([turn], given(element, lanes), ATTRIBUTES)
    code = engine.compile_ir(text, lambda: text, exports([turn]))
    height, width = shape
    x = numpy.arange(width * height, dtype=dtype).reshape(width, height)
    out = numpy.zeros(shape, dtype)
    operands = (ctypes.c_int64 * 4)(x.ctypes.data, 0, out.ctypes.data, 0)
    columns, rows = (
        (ctypes.c_int64 * 2)(*steps) for steps in ((x.strides[0], x.itemsize), (x.itemsize, out.strides[0]))
    )
    kinds = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    turn_tile = ctypes.CFUNCTYPE(None, *kinds)(code.address("turning"))
    turn_tile(ctypes.addressof(operands), width, ctypes.addressof(columns), height, ctypes.addressof(rows))
    assert out.tolist() == x.T.tolist()


TILES = """
import json
from opdsl.backends.cpu import convolution, engine, processor
from opdsl.backends.cpu.machine import convolution as convolution_kernels

if processor.platform.machine() == "x86_64":  # nothing runs what is compiled, so this machine need not have it
    features = {name: True for level in processor._LEVELS.values() for name in level}
    processor._host_features = lambda: features
target = convolution.target("float32", 4)
text = engine.assembly(convolution.text(convolution_kernels, target))
names = [f"tile_{shape.rows}_{width}" for shape in target.tiles for width in shape.vectors]
print(json.dumps({name: text.split(f"\\n{name}:")[1].split("\\n.Lfunc_end")[0] for name in names}))
"""


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"] if platform.machine() == "x86_64" else [""])
def test_sums_of_tiles_are_kept_in_registers(level: str) -> None:
    """Code for an x86-64 level keeps sums of tiles in registers; for one processor (AMD's Zen 4) LLVM may spill some at
    no cost.
    """
    environment = os.environ | ({"OPDSL_CPU": level} if level else {})
    run = subprocess.run([sys.executable, "-c", TILES], env=environment, capture_output=True, text=True, check=True)
    tiles = json.loads(run.stdout)
    assert [name for name, body in tiles.items() if _SPILLED.search(body)] == []
