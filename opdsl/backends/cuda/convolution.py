"""Convolutions on CUDA: implicit matrix products in one kernel, see ``opdsl.kernels.loops.convolutions``."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import kernel_of
from opdsl.backends.cuda.launcher import runner
from opdsl.backends.cuda.loop_program import THREADS, Step, program_of
from opdsl.kernels.calls import Output
from opdsl.kernels.loops.convolutions import Tiling, correlation
from opdsl.kernels.loops.schedules import shared

if TYPE_CHECKING:
    from opdsl.backends.cuda.kernel import Kernel
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import ConvolutionCall
    from opdsl.kernels.compiler import Compiled
    from opdsl.kernels.loops import model

__all__ = ["convolution", "scheduled"]

# The most outputs of a tile, its windows, and the most elements of windows that are multiplied at once.
_OUTPUTS, _WINDOWS, _INNER = 64, 64, 32

_FRAGMENT = 16


def convolution(call: ConvolutionCall) -> Compiled | None:
    """Compile a convolution, and return the function that launches it; return None for gradients."""
    if call.kind != "correlate":
        return None
    return runner("convolution_cuda", scheduled(call), [Output(call.dtype, None)])


def scheduled(call: ConvolutionCall) -> Program:
    """Return the program of a convolution: one kernel."""
    inner = call.channels * math.prod(window.length for window in call.windows)
    windows = math.prod(window.windows for window in call.windows)
    is_large = max(inner, windows) + _WINDOWS >= 1 << 31
    loops = correlation(call, Tiling(_tile(call.outputs, _OUTPUTS), _WINDOWS, _tile(inner, _INNER), is_large))
    return program_of({1: [Step(loops, _block(loops.program))]})


@functools.lru_cache(maxsize=1024)
def _block(program: model.Program) -> Kernel:
    return kernel_of(program.name, shared(program, THREADS))


def _tile(count: int, most: int) -> int:
    """Return the smallest tile that has space for a number of rows, or the largest one."""
    return min(most, max(_FRAGMENT, 1 << (count - 1).bit_length()))
