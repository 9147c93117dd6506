"""Programs of kernels that are printed from the loop IR: what they are launched with, and what tells them apart."""

from __future__ import annotations

import ctypes
import functools
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from opdsl.backends.cuda.kernel import Kernel
from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.points import Points
from opdsl.backends.cuda.program import (
    Address,
    Argument,
    Constant,
    Launch,
    Number,
    Program,
    Scratch,
    Source,
    Variant,
    blocks_for,
    long_long,
    packed,
)
from opdsl.kernels.loops.making import Given, Loops, number_of
from opdsl.kernels.loops.model import Array, Size, graphs_of
from opdsl.scalar.types import ScalarType

__all__ = ["THREADS", "Taken", "loop_program", "team_program"]

THREADS = 256

# Of arrays in scratch memory, in bytes.
_ALIGNMENT = 16


def loop_program(loops: Loops, kernels: Mapping[int, Kernel], threads: int = THREADS) -> Program:
    """The program of kernels that do the same, with a thread for each point.

    Args:
        loops: what is run.
        kernels: by the alignment that they ask for, in the order in which they are preferred.
        threads: of a block.
    """
    number = number_of(loops)
    layouts = []
    variants = []
    for alignment, kernel in kernels.items():
        sizes = [number(size) for _, size in kernel.program.points[0]]
        if kernel.program.vector > 1:
            sizes[-1] = -(-sizes[-1] // kernel.program.vector)
        count = math.prod(sizes)
        arguments, forms = _arguments(loops, kernel, number)
        layouts.append(forms)
        launch = Launch(kernel.entry, blocks_for(count, threads), (threads, 1, 1), (*arguments, long_long(count)))
        variants.append(Variant(alignment, (launch,) if count else ()))
    source = _source(loops, tuple(kernels.values()), layouts, threads)
    return Program(source, len(loops.arguments), tuple(variants))


class Taken(NamedTuple):
    """How teams take the points of a program.

    log: lanes of a team, as a power of two. parts: of each point.
    """

    loops: Loops
    kernel: Kernel
    log: int
    parts: int = 1


def team_program(steps: Sequence[Taken], points: int) -> Program:
    """The program of kernels that are run one after another, with teams for so many points.

    What the first one has in scratch memory is an element for each part.
    """
    first = steps[0]
    number = number_of(first.loops)
    scratch, size = _scratch(first.kernel, points * first.parts)
    launches, layouts = [], []
    for loops, kernel, log, parts in steps:
        arguments, forms = _arguments(loops, kernel, number, scratch)
        layouts.append(forms)
        counts = (long_long(points), packed("int", ctypes.c_int(log)))
        grid = (-(-points // (THREADS >> log)), parts, 1)
        launches.append(Launch(kernel.entry, grid, (THREADS, 1, 1), (*arguments, *counts)))
    source = _source(first.loops, tuple(kernel for _, kernel, *_ in steps), layouts, THREADS)
    return Program(source, len(first.loops.arguments), (Variant(1, tuple(launches) if points else ()),), size)


def _scratch(kernel: Kernel, count: int) -> tuple[list[Scratch], int]:
    """Where arrays of so many elements lie in scratch memory, and how much of it they take."""
    found, end = [], 0
    for each in kernel.program.scratch:
        found.append(Scratch(end))
        end += -(-count * each.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
    return found, end


def _arguments(
    loops: Loops, kernel: Kernel, number: Callable[[Size], int], scratch: Sequence[Argument] = ()
) -> tuple[list[Argument], tuple[str, ...]]:
    """The parameters that a kernel begins with, and the types of its layouts."""
    places = [k for k, place in enumerate(loops.arguments) if place is not None]
    given = _given(loops)
    arguments: list[Argument] = [
        Address(k) if isinstance(each, Array) else Number(k, each.type)
        for each, k in zip(loops.program.parameters, places, strict=True)
    ]
    arguments += [Number(word.argument, ScalarType.INT64) for word in given.values()]
    arguments += scratch
    forms = [_layout(points, number) for points in (kernel.points, kernel.turns) if points and points.is_anywhere]
    own = [number(word) for word in kernel.program.words if word not in given]
    words = [Constant(struct.pack(f"{len(own)}q", *own), f"{kernel.entry}_words")] if own else []
    return [*arguments, *forms, *words], tuple(each.c_type for each in forms)


def _given(loops: Loops) -> dict[str, Given]:
    """The words that are numbers of a call."""
    return {name: word for name, word in zip(loops.program.words, loops.words, strict=True) if isinstance(word, Given)}


def _layout(points: Points, number: Callable[[Size], int]) -> Constant:
    """Where points lie."""
    sizes = [number(size) for _, size in points.ranges]
    if points.program.vector > 1:
        sizes[-1] = -(-sizes[-1] // points.program.vector)
    return layout(sizes, points.strides(number))


def _source(loops: Loops, kernels: tuple[Kernel, ...], layouts: Sequence[tuple[str, ...]], threads: int) -> Source:
    """The source of kernels, which have their scalar functions in common.

    Args:
        loops: what they come from.
        kernels: in the order in which they are printed.
        layouts: for each the types of its layouts.
        threads: of a block.
    """
    divisors = {name: word.divisor for name, word in _given(loops).items()}
    return Source(
        f"loops {threads} {layouts} {list(divisors.values())} {' '.join(each.fingerprint for each in kernels)}",
        kernels[0].headers,
        functools.partial(_print, kernels, threads, layouts, divisors),
    )


def _print(
    kernels: tuple[Kernel, ...], threads: int, layouts: Sequence[tuple[str, ...]], divisors: Mapping[str, int]
) -> str:
    from opdsl.backends.cuda.loop_kernel import LoopKernel
    from opdsl.backends.cuda.team_kernel import TeamKernel

    graphs = dict.fromkeys(graph for each in kernels for graph in graphs_of(each.program.body))
    functions = {graph: f"function_{k}" for k, graph in enumerate(graphs)}
    printers = [(LoopKernel if each.team is None else TeamKernel)(each, divisors, functions) for each in kernels]
    texts = [printer.source(threads, forms) for printer, forms in zip(printers, layouts, strict=True)]
    return "\n".join([*printers[0].text_of_functions(), *texts])
