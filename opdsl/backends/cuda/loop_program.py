"""Programs of kernels that are printed from the loop IR: what they are launched with, and what tells them apart."""

from __future__ import annotations

import functools
import hashlib
import math
import struct
from collections.abc import Mapping

import attrs

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.points import Points, points_of, statements_of
from opdsl.backends.cuda.program import (
    Address,
    Argument,
    Constant,
    Launch,
    Number,
    Program,
    Source,
    Variant,
    blocks_for,
    long_long,
)
from opdsl.kernels.loops import model
from opdsl.kernels.loops.making import Given, Loops
from opdsl.kernels.loops.model import Array, Bound, Size, Update, graphs_of
from opdsl.kernels.loops.text import program_text
from opdsl.scalar.types import ScalarType

__all__ = ["THREADS", "Kernel", "kernel_of", "loop_program"]

THREADS = 256


@attrs.frozen(eq=False, slots=False)
class Kernel:
    """A kernel of a source: its name, its loops, and where arrays begin, see ``LoopKernel``."""

    entry: str
    program: model.Program
    points: Points | None

    @functools.cached_property
    def fingerprint(self) -> str:
        """What determines its text, but for the types of its layout and of numbers of a call."""
        points = self.points
        places = points and ([name for name, _ in points.begins], sorted(points.follow), points.indices)
        graphs = [graph.fingerprint for graph in graphs_of(self.program.body)]
        text = "\n".join([f"{self.entry} {places} {program_text(self.program)}", *graphs])
        return hashlib.sha256(text.encode()).hexdigest()

    @functools.cached_property
    def headers(self) -> tuple[str, ...]:
        """What it stands on."""
        kinds = {type(each) for each in statements_of(self.program.body)}
        further = {"atomics": Update, "margins": Bound}
        return ("prelude", "neighbours", *(name for name, kind in further.items() if kind in kinds))


@functools.lru_cache(maxsize=4096)
def kernel_of(entry: str, program: model.Program) -> Kernel:
    """A kernel for points that lie anywhere."""
    points = points_of(program)
    return Kernel(entry, points.program, points)


def loop_program(loops: Loops, kernels: Mapping[int, Kernel], threads: int = THREADS) -> Program:
    """The program of kernels that do the same.

    Args:
        loops: what is run.
        kernels: by the alignment that they ask for, in the order in which they are preferred.
        threads: of a block.
    """
    words = dict(zip(loops.program.words, loops.words, strict=True))
    given = {name: word for name, word in words.items() if isinstance(word, Given)}
    divisors = {name: word.divisor for name, word in given.items()}
    operands = [*_operands(loops), *(Number(word.argument, ScalarType.INT64) for word in given.values())]

    def number(size: Size) -> int:
        found = words[size] if isinstance(size, str) else size
        assert isinstance(found, int), "how many points there are, and where, does not depend on arguments"
        return found

    layouts = []
    variants = []
    for alignment, kernel in kernels.items():
        program, points = kernel.program, kernel.points
        sizes = [number(size) for _, size in program.points[0]]
        if program.vector > 1:
            sizes[-1] = -(-sizes[-1] // program.vector)
        strides = points.strides(number) if points else []
        constants: list[Constant] = [layout(sizes, strides)] if strides else []
        layouts.append(constants[0].c_type if strides else "")
        own = [number(word) for word in program.words if word not in given]
        constants += [Constant(struct.pack(f"{len(own)}q", *own), f"{kernel.entry}_words")] if own else []
        count = math.prod(sizes)
        arguments = (*operands, *constants, long_long(count))
        launch = Launch(kernel.entry, blocks_for(count, threads), (threads, 1, 1), arguments)
        variants.append(Variant(alignment, (launch,) if count else ()))
    printed = tuple(kernels.values())
    source = Source(
        f"loops {threads} {layouts} {list(divisors.values())} {' '.join(each.fingerprint for each in printed)}",
        printed[0].headers,
        functools.partial(_print, printed, threads, layouts, divisors),
    )
    return Program(source, len(loops.arguments), tuple(variants))


def _operands(loops: Loops) -> list[Argument]:
    """The parameters of a program."""
    places = [k for k, place in enumerate(loops.arguments) if place is not None]
    return [
        Address(k) if isinstance(each, Array) else Number(k, each.type)
        for each, k in zip(loops.program.parameters, places, strict=True)
    ]


def _print(kernels: tuple[Kernel, ...], threads: int, layouts: list[str], divisors: Mapping[str, int]) -> str:
    from opdsl.backends.cuda.loop_kernel import LoopKernel

    printers = [LoopKernel(each.program, each.points, divisors) for each in kernels]
    texts = [
        printer.source(kernel.entry, threads, form)
        for printer, kernel, form in zip(printers, kernels, layouts, strict=True)
    ]
    return "\n".join([*printers[0].text_of_functions(), *texts])
