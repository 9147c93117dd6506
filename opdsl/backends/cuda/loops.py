"""Programs whose kernels are printed from the loop IR: a thread for each point of the outermost loops."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.program import (
    Address,
    Argument,
    Launch,
    Number,
    Program,
    Source,
    Variant,
    blocks_for,
    long_long,
    packed,
)
from opdsl.kernels.loops import folding, schedules
from opdsl.kernels.loops import indexed as over_places
from opdsl.kernels.loops.model import Array, graphs_of
from opdsl.kernels.loops.text import program_text

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedCall, IndexedLoop, Recurring, RowCall
    from opdsl.kernels.loops import model
    from opdsl.kernels.loops.making import Loops

__all__ = ["indexed", "launched", "recurrence"]

THREADS = 256

# Few, so that rows are spread over multiprocessors.
THREADS_OF_ROWS = 64


def indexed(loop: IndexedLoop, call: IndexedCall) -> Program:
    """The program of a function of places: a thread takes all turns of a place.

    Args:
        loop: what is computed.
        call: where the operands lie.
    """
    return launched(over_places.indexed(loop, call), len(call.leading) + loop.at)


def recurrence(recurring: Recurring, call: RowCall) -> Program:
    """The program of a recurrence: a thread goes along each row, step by step.

    Args:
        recurring: what is computed at each step.
        call: where the operands lie.
    """
    return launched(folding.recurrence(recurring, call), len(call.kept), THREADS_OF_ROWS)


def launched(loops: Loops, threaded: int, threads: int = THREADS) -> Program:
    """The program of loops.

    Args:
        loops: what is run; its words are numbers.
        threaded: how many of the outermost loops are shared out among threads.
        threads: of a block.
    """
    program = schedules.threaded(loops.program, threaded)
    source = Source(
        _fingerprint(program, threads),
        ("prelude", "neighbours", "indirect", "loops"),
        functools.partial(_print, program, threads),
    )
    words = dict(zip(program.words, loops.words, strict=True))
    count = math.prod(_number(words[size] if isinstance(size, str) else size) for _, size in program.points[0])
    if count == 0:
        return Program(source, len(loops.arguments), (Variant(1, ()),))
    operands = [k for k, place in enumerate(loops.arguments) if place is not None]
    arguments = _arguments(program.parameters, operands)
    given = packed("Words", *map(ctypes.c_longlong, map(_number, loops.words)))
    launch = Launch("loops", blocks_for(count, threads), (threads, 1, 1), (*arguments, given, long_long(count)))
    return Program(source, len(loops.arguments), (Variant(1, (launch,)),))


def _number(word: object) -> int:
    assert isinstance(word, int), "words that come with a run are for kernels that take them so"
    return word


def _arguments(parameters: Sequence[Array | model.Scalar], operands: Sequence[int]) -> list[Argument]:
    return [
        Address(k) if isinstance(each, Array) else Number(k, each.type)
        for each, k in zip(parameters, operands, strict=True)
    ]


@functools.lru_cache(maxsize=4096)
def _fingerprint(program: model.Program, threads: int) -> str:
    """What determines the text of a kernel."""
    parts = [program_text(program), *(graph.fingerprint for graph in graphs_of(program.body))]
    return f"loops {threads} {hashlib.sha256(chr(10).join(parts).encode()).hexdigest()}"


def _print(program: model.Program, threads: int) -> str:
    from opdsl.backends.cuda.loop_kernel import kernel_source

    return kernel_source(program, threads)
