"""CUDA programs of loop IR kernels: computes their launch parameters, and the fingerprint of their source."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from opdsl.backends.cuda.kernel import HEADERS, Kernel, is_coarse, memory_offsets
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
)
from opdsl.kernels.loops import model
from opdsl.kernels.loops.making import Given, Loops, number_of
from opdsl.kernels.loops.model import Array, Range, Size, graphs_of
from opdsl.scalar.types import ScalarType

__all__ = ["ALIGNMENT", "THREADS", "Step", "program_of"]

THREADS = 256

ALIGNMENT = 16
"""Alignment of arrays in scratch memory, in bytes."""


class Step(NamedTuple):
    """Loop nest and the kernel that computes it, with one thread, team or block for each point.

    handed: the kernel's arguments for the operands of the loops; None if these are the operands of the program.
    threads: threads of a block. log: binary logarithm of the lanes of a team. parts: parts that each point is cut into.
    """

    loops: Loops
    kernel: Kernel
    handed: Sequence[Argument] | None = None
    threads: int = THREADS
    log: int = 0
    parts: int = 1


def program_of(
    variants: Mapping[int, Sequence[Step]], *, arrays: Sequence[bool] | None = None, scratch: int = 0
) -> Program:
    """Return the program that runs a sequence of kernels.

    Args:
        variants: kernels that are run one after another, by the alignment that they require, in order of preference.
        arrays: for each operand whether it is an array; None if the operands are the arguments of the loops.
        scratch: bytes of scratch memory that are passed to the steps.
    """
    layouts: dict[Kernel, tuple[str, ...]] = {}
    first = next(iter(variants.values()))[0]
    loops, number, call_words = first.loops, number_of(first.loops), _given(first.loops)
    common, scratch = _scratch(loops.program, number, scratch)
    aligned_variants = []
    for alignment, steps in variants.items():
        launches = []
        for step in steps:
            if step.loops is not loops:
                loops, number, call_words = step.loops, number_of(step.loops), _given(step.loops)
            arguments, layouts[step.kernel] = _arguments(step, number, call_words, common)
            count = math.prod(_sizes(step.kernel.ranges, step.kernel.vector, number))
            if count:
                launches.append(_launch(step, count, arguments))
        aligned_variants.append(Variant(alignment, tuple(launches)))
    source = _source(tuple(layouts), call_words, tuple(layouts.values()), first.threads)
    if arrays is None:
        parameters = loops.program.parameters
        arrays = [place is not None and isinstance(parameters[place], Array) for place in loops.arguments]
    return Program(source, tuple(arrays), tuple(aligned_variants), scratch)


def _scratch(program: model.Program, number: Callable[[Size], int], begin: int) -> tuple[list[Argument], int]:
    """Assign each array of a program an offset in scratch memory; return the kernel arguments, and the number of bytes
    used.
    """
    arguments: list[Argument] = []
    for buffer in program.scratch:
        arguments.append(Scratch(begin))
        size = math.prod(map(number, buffer.sizes)) * buffer.dtype.itemsize
        begin += -(-size // ALIGNMENT) * ALIGNMENT
    return arguments, begin


def _arguments(
    step: Step,
    number: Callable[[Size], int],
    call_words: tuple[tuple[str, Given], ...],
    common: Sequence[Argument],
) -> tuple[list[Argument], tuple[str, ...]]:
    """Return a kernel's parameters without those that ``_launch`` adds, and the types of its layouts."""
    loops, kernel = step.loops, step.kernel
    arguments, names, size = _handed(kernel, loops.program, loops.arguments, call_words)
    if step.handed is not None:
        arguments = tuple(
            step.handed[argument.operand] if isinstance(argument, Address) else argument for argument in arguments
        )
    forms = [
        layout(_sizes(points.ranges, kernel.vector if points is kernel.points else 1, number), points.strides(number))
        for points in (kernel.points, kernel.turns)
        if points and points.is_anywhere
    ]
    words = [Constant(struct.pack(size, *map(number, names)), f"{kernel.entry}_words")] if names else []
    return [*arguments, *common, *forms, *words], tuple(form.c_type for form in forms)


def _launch(step: Step, count: int, arguments: Sequence[Argument]) -> Launch:
    """Return the launch of a kernel for ``count`` points."""
    if step.kernel.team is not None:
        grid = -(-count // (THREADS >> step.log)), step.parts, 1
        log = [Constant(struct.pack("i", step.log), "int")]
    else:
        grid = (count if step.kernel.program.lanes > 1 else -(-count // step.threads)), 1, 1
        log = []
    points = Constant(struct.pack("q", count), "long long")
    _, shared = memory_offsets(step.kernel.program)
    return Launch(step.kernel.entry, grid, (step.threads, 1, 1), (*arguments, points, *log), shared)


@functools.lru_cache(maxsize=4096)
def _handed(
    kernel: Kernel,
    program: model.Program,
    places: tuple[int | None, ...],
    call_words: tuple[tuple[str, Given], ...],
) -> tuple[tuple[Argument, ...], tuple[str, ...], str]:
    """Return the operands that a kernel takes, the names of its own words, and the ``struct`` format that packs the
    words.
    """
    operands = [k for k, place in enumerate(places) if place is not None]
    arguments = [
        Address(k) if isinstance(parameter, Array) else Number(k, parameter.type)
        for parameter, k in zip(program.parameters, operands, strict=True)
    ]
    words = tuple(word for word in kernel.program.words if word not in dict(call_words))
    handed = [Number(word.argument, ScalarType.INT64) for _, word in call_words]
    return (*arguments, *handed), words, f"{len(words)}q"


def _given(loops: Loops) -> tuple[tuple[str, Given], ...]:
    """Return the words of a program that are numbers of a call."""
    words = zip(loops.program.words, loops.words, strict=True)
    return tuple((name, word) for name, word in words if isinstance(word, Given))


def _sizes(ranges: Sequence[Range], vector: int, number: Callable[[Size], int]) -> list[int]:
    """Return the number of threads along each range, where a thread takes ``vector`` neighboring points along the last
    one.
    """
    sizes = [number(size) for _, size in ranges]
    if vector > 1:
        sizes[-1] = -(-sizes[-1] // vector)
    return sizes


@functools.lru_cache(maxsize=4096)
def _source(
    kernels: tuple[Kernel, ...],
    call_words: tuple[tuple[str, Given], ...],
    layouts: tuple[tuple[str, ...], ...],
    threads: int,
) -> Source:
    """Return the source of kernels that share their scalar functions.

    Args:
        kernels: in the order in which they are printed.
        call_words: the words that are numbers of a call.
        layouts: for each kernel the types of its layouts.
        threads: threads of a block.
    """
    divisors = {name: word.divisor for name, word in call_words}
    stands_on = {name for kernel in kernels for name in kernel.headers}
    return Source(
        f"loops {threads} {layouts} {list(divisors.values())} {' '.join(kernel.fingerprint for kernel in kernels)}",
        tuple(name for name in HEADERS if name in stands_on),
        functools.partial(_print, kernels, threads, layouts, divisors),
    )


def _print(
    kernels: tuple[Kernel, ...], threads: int, layouts: Sequence[tuple[str, ...]], divisors: Mapping[str, int]
) -> str:
    from opdsl.backends.c_printer import conversions
    from opdsl.backends.cuda.dialect import CUDA
    from opdsl.backends.cuda.loop_kernel import LoopKernel
    from opdsl.backends.cuda.team_kernel import TeamKernel
    from opdsl.backends.loop_printer import margins

    graphs = dict.fromkeys(graph for kernel in kernels for graph in graphs_of(kernel.program.body))
    functions = {graph: f"function_{k}" for k, graph in enumerate(graphs)}
    printers = [(LoopKernel if kernel.team is None else TeamKernel)(kernel, divisors, functions) for kernel in kernels]
    texts = [printer.source(threads, forms) for printer, forms in zip(printers, layouts, strict=True)]
    converters = conversions(CUDA, (ScalarType.FLOAT32, ScalarType.FLOAT64))
    coarse = all(is_coarse(kernel.program) for kernel in kernels)
    return "\n".join([*converters, margins(CUDA), *printers[0].text_of_functions(coarse=coarse), *texts])
