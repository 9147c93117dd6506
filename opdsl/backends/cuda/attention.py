"""Attention on CUDA: one kernel, whose blocks take tiles of queries, see ``opdsl.kernels.loops.attention``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import kernel_of
from opdsl.backends.cuda.launcher import runner
from opdsl.backends.cuda.loop_program import THREADS, Step, program_of
from opdsl.kernels.calls import Output
from opdsl.kernels.loops.attention import Tiling, shared_bytes
from opdsl.kernels.loops.attention import attention as loops_of
from opdsl.kernels.loops.schedules import shared

if TYPE_CHECKING:
    from opdsl.backends.cuda.kernel import Kernel
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import AttentionCall
    from opdsl.kernels.compiler import Compiled
    from opdsl.kernels.loops import model
    from opdsl.runtime.dtype import DType

__all__ = ["attends", "attention", "scheduled"]

# Shared memory that a block may take on any card since Ampere, in bytes.
_SHARED_MEMORY = 99 << 10

# Rows of a tile of queries, and keys of a tile, in order of preference.
_TILES = ((64, 64), (32, 64), (32, 32), (16, 32), (16, 16))

# Elements of a head that make a whole number of fragments.
_FRAGMENT = 16


def attends(dtype: DType, size: int, value_size: int) -> bool:
    """Return whether there are tiles for heads of a size."""
    return _tiling(dtype, size, value_size) is not None


def attention(call: AttentionCall) -> Compiled:
    """Compile attention, and return the function that launches it."""
    return runner("attention_cuda", scheduled(call), [Output(call.dtype, None)])


def scheduled(call: AttentionCall) -> Program:
    """Return the program of a call: one kernel."""
    tiling = _tiling(call.dtype, call.size, call.value_size)
    assert tiling is not None, "there are tiles for what is called"
    loops = loops_of(call, tiling)
    return program_of({1: [Step(loops, _block(loops.program))]})


@functools.lru_cache(maxsize=1024)
def _block(program: model.Program) -> Kernel:
    return kernel_of(program.name, shared(program, THREADS))


@functools.lru_cache(maxsize=1024)
def _tiling(dtype: DType, size: int, value_size: int) -> Tiling | None:
    """Return the sizes of tiles, or None if even the smallest ones exceed shared memory."""
    padded, value_padded = (max(1, -(-count // _FRAGMENT)) * _FRAGMENT for count in (size, value_size))
    # Words of neighbouring rows are in other banks: those of pairs for tensor cores, else single numbers.
    padding = 8 if dtype.itemsize == 2 else 1
    for rows, keys in _TILES:
        tiling = Tiling(rows, keys, padded, value_padded, padding, min(keys, THREADS // rows))
        if shared_bytes(dtype, tiling) <= _SHARED_MEMORY:
            return tiling
    return None
