"""Tests of the CPU's code for random loop programs over indices, against the interpreter."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from hypothesis import given, settings

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.places_text import module_ir
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.making import evaluated
from opdsl.kernels.loops.model import Array
from tests.unit.kernels.loop_programs import Drawn, drawn_programs


@settings(max_examples=200, deadline=None)
@given(drawn_programs(for_places=True))
def test_the_printer_does_what_the_oracle_does(drawn: Drawn) -> None:
    expected = [array.copy() for array in drawn.arrays]
    interpret(drawn.program, [*expected, *drawn.numbers], drawn.words)
    for one, other in zip(ran(drawn), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def ran(drawn: Drawn) -> list[Any]:
    """Compile and run a program, and return its arrays."""
    program, copies = drawn.program, [array.copy() for array in drawn.arrays]
    words = dict(zip(program.words, drawn.words, strict=True))
    names = sorted(words, key=lambda word: words[word] < 0)  # sizes come first in a plan
    text = module_ir(program, names, "kernel")
    code = engine.compile_ir(f"drawn {text}", lambda: text, ["kernel"])
    strides = {
        stride for parameter in program.parameters if isinstance(parameter, Array) for stride in parameter.strides
    }
    handed = [words[word] * (8 if word in strides else 1) for word in names]
    plan = np.array([*[0] * builtin.HEADER, *handed], np.int64)
    frame = np.zeros(2 + 2 * len(program.parameters), np.int64)
    frame[0] = plan.ctypes.data
    frame[2::2] = [*(copy.ctypes.data for copy in copies), *drawn.numbers]
    count = math.prod(evaluated(size, words.__getitem__) for _, size in program.points[0])
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.address("kernel"))
    kernel(frame.ctypes.data, 0, count)
    return copies
