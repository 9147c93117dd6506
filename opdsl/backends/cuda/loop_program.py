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
from opdsl.kernels.loops.model import Array, Range, Scalar, Size, graphs_of
from opdsl.scalar.types import ScalarType

__all__ = ["THREADS", "Taken", "loop_program", "sequence", "team_program"]

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
        count = math.prod(_sizes(kernel.ranges, kernel.vector, number))
        arguments, forms = _arguments(loops, kernel, number)
        layouts.append(forms)
        launch = Launch(kernel.entry, blocks_for(count, threads), (threads, 1, 1), (*arguments, long_long(count)))
        variants.append(Variant(alignment, (launch,) if count else ()))
    source = _source(tuple(kernels.values()), _given(loops), tuple(layouts), threads)
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
    source = _source(tuple(kernel for _, kernel, *_ in steps), _given(first.loops), tuple(layouts), THREADS)
    return Program(source, len(first.loops.arguments), (Variant(1, tuple(launches) if points else ()),), size)


def sequence(steps: Sequence[tuple[Loops, Kernel, Sequence[Argument]]], operands: int, scratch: int) -> Program:
    """The program of kernels that are run one after another, each with a thread, or a block, for each point.

    Args:
        steps: loops, the kernel that takes them, and what it is handed for their arguments.
        operands: of the program.
        scratch: bytes of its scratch memory.
    """
    launches, layouts = [], {}
    for loops, kernel, memory in steps:
        number = number_of(loops)
        points = math.prod(_sizes(kernel.ranges, kernel.vector, number))
        arguments, forms = _arguments(loops, kernel, number)
        handed = [memory[each.operand] if isinstance(each, Address) else each for each in arguments]
        lanes = kernel.program.lanes
        grid = (points, 1, 1) if lanes > 1 else blocks_for(points, THREADS)
        if points:
            launches.append(Launch(kernel.entry, grid, (THREADS, 1, 1), (*handed, long_long(points))))
        layouts[kernel] = forms
    source = _source(tuple(layouts), (), tuple(layouts.values()), THREADS)
    return Program(source, operands, (Variant(1, tuple(launches)),), scratch)


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
    given = _given(loops)
    arguments, names, size = _handed(kernel, loops.program.parameters, loops.arguments, given)
    forms = [
        layout(_sizes(points.ranges, kernel.vector if points is kernel.points else 1, number), points.strides(number))
        for points in (kernel.points, kernel.turns)
        if points and points.is_anywhere
    ]
    words = [Constant(struct.pack(size, *map(number, names)), f"{kernel.entry}_words")] if names else []
    return [*arguments, *scratch, *forms, *words], tuple(each.c_type for each in forms)


@functools.lru_cache(maxsize=4096)
def _handed(
    kernel: Kernel,
    parameters: tuple[Array | Scalar, ...],
    places: tuple[int | None, ...],
    given: tuple[tuple[str, Given], ...],
) -> tuple[tuple[Argument, ...], tuple[str, ...], str]:
    """The operands that a kernel takes, its own words, and how these are packed."""
    operands = [k for k, place in enumerate(places) if place is not None]
    arguments = [
        Address(k) if isinstance(each, Array) else Number(k, each.type)
        for each, k in zip(parameters, operands, strict=True)
    ]
    words = tuple(word for word in kernel.program.words if word not in dict(given))
    handed = [Number(word.argument, ScalarType.INT64) for _, word in given]
    return (*arguments, *handed), words, f"{len(words)}q"


def _given(loops: Loops) -> tuple[tuple[str, Given], ...]:
    """The words that are numbers of a call."""
    words = zip(loops.program.words, loops.words, strict=True)
    return tuple((name, word) for name, word in words if isinstance(word, Given))


def _sizes(ranges: Sequence[Range], vector: int, number: Callable[[Size], int]) -> list[int]:
    """How many threads there are along each range, the last of which is taken by so many neighbours."""
    sizes = [number(size) for _, size in ranges]
    if vector > 1:
        sizes[-1] = -(-sizes[-1] // vector)
    return sizes


@functools.lru_cache(maxsize=4096)
def _source(
    kernels: tuple[Kernel, ...],
    given: tuple[tuple[str, Given], ...],
    layouts: tuple[tuple[str, ...], ...],
    threads: int,
) -> Source:
    """The source of kernels, which have their scalar functions in common.

    Args:
        kernels: in the order in which they are printed.
        given: the words that are numbers of a call.
        layouts: for each kernel the types of its layouts.
        threads: of a block.
    """
    divisors = {name: word.divisor for name, word in given}
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
