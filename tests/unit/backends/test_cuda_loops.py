"""Tests of random loop programs in CUDA C++, run by an emulated grid, against the interpreter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from opdsl.backends.cuda.kernel import kernel_of
from opdsl.backends.cuda.loop_program import THREADS, Step, program_of
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.making import Loops
from opdsl.kernels.loops.schedules import shared
from tests.emulation import programs as emulation
from tests.emulation.libraries import needs_compiler
from tests.unit.kernels.loop_programs import Drawn, drawn_programs

pytestmark = needs_compiler


@settings(max_examples=10)
@given(drawn=drawn_programs())
def test_the_printer_does_what_the_oracle_does(drawn: Drawn) -> None:
    expected = [array.copy() for array in drawn.arrays]
    interpret(drawn.program, [*expected, *drawn.numbers], drawn.words)
    count = len(drawn.program.parameters)
    loops = Loops(drawn.program, tuple(drawn.words), tuple(range(count)))
    programs = [
        program_of({1: [Step(loops, kernel_of("drawn", program))]})
        for program in (drawn.program, shared(drawn.program, THREADS))
    ]
    emulation.build(programs)
    for program in programs:
        copies = [array.copy() for array in drawn.arrays]
        emulation.run(program, [*copies, *drawn.numbers])
        for one, other in zip(copies, expected, strict=True):
            np.testing.assert_array_equal(one, other)
