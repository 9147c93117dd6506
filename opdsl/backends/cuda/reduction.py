"""Reduction programs: teams of threads fold rows; long rows are cut into parts, which a second kernel folds.

How a call is cut depends on its geometry alone, so that it gives the same bits on every card.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.monoid import fingerprint, finished, fold_structure
from opdsl.backends.cuda.program import (
    Argument,
    Constant,
    Launch,
    Program,
    Scratch,
    Source,
    Variant,
    operand_arguments,
    packed,
)
from opdsl.backends.cuda.storage import VALUE_TYPES, number_type, stored_type
from opdsl.kernels.calls import OperandSpec

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, ReductionCall
    from opdsl.scalar.types import ScalarType

__all__ = ["reduction"]

THREADS = 256
WARP = 32

# Threads that keep a large card busy, and the blocks that do.
ENOUGH_THREADS = 1 << 17
ENOUGH_BLOCKS = 1024

_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8

# Loads of a lane that are worth a lane, and a part, of their own.
_LOADS_OF_A_LANE = 4
_LOADS_OF_A_PART = 16

# Bytes of an accumulator in scratch memory, at most.
ACCUMULATOR = 16


class Cut(NamedTuple):
    """How a reduction is cut.

    along: whether the lanes of a team take elements that follow each other; otherwise teams do.
    vector: elements that are loaded at once.
    rows, elements: kept elements, and elements that are folded into each.
    log: lanes of a team, as a power of two.
    parts: of a row.
    part: elements of one.
    """

    along: bool
    vector: int
    rows: int
    elements: int
    log: int
    parts: int
    part: int

    @property
    def blocks(self) -> int:
        """That take all rows once."""
        return -(-self.rows // (THREADS >> self.log))

    def constant(self, log: int) -> Constant:
        """The structure ``Cut`` of ``reduce.cuh``."""
        words = [ctypes.c_longlong(each) for each in (self.rows, self.elements, self.part)]
        return packed("Cut", *words, ctypes.c_int(self.parts), ctypes.c_int(log))


def reduction(folding: Folding, call: ReductionCall) -> Program:
    """The program of a reduction.

    Args:
        folding: the monoid.
        call: where the operands lie.
    """
    kernels = _Kernels(folding, call)
    cut = kernels.cut
    if cut.rows == 0:
        return Program(kernels.source(), len(kernels.operands), (Variant(1, ()),))
    block = (THREADS, 1, 1)
    grid = (cut.blocks, cut.parts, 1)
    reads = (kernels.arguments[0], kernels.kept, kernels.reduced)
    rest = tuple(kernels.arguments[1:])
    if cut.parts == 1:
        launches = [Launch("whole", grid, block, (*reads, cut.constant(cut.log), *rest))]
    else:
        scratch = Scratch(0)
        log = (min(THREADS, cut.parts) - 1).bit_length()
        finish = -(-cut.rows // (THREADS >> log))
        launches = [
            Launch("parts", grid, block, (*reads, cut.constant(cut.log), *rest, scratch)),
            Launch("rest", (finish, 1, 1), block, (kernels.kept, cut.constant(log), *rest, scratch)),
        ]
    size = len(folding.init) * ACCUMULATOR * cut.rows * cut.parts if cut.parts > 1 else 0
    return Program(kernels.source(), len(kernels.operands), (Variant(1, tuple(launches)),), size)


class _Kernels:
    """The kernels of one monoid and one call."""

    def __init__(self, folding: Folding, call: ReductionCall) -> None:
        self.folding, self.call = folding, call
        self.numbers = [kind for _, kind in folding.finish.parameters[len(folding.init) + 1 :]]
        self.operands: list[tuple[OperandSpec, ScalarType]] = [
            (call.input, folding.lift.parameters[0][1]),
            *((OperandSpec(dtype, None), kind) for dtype, kind in zip(call.numbers, self.numbers, strict=True)),
            *zip(call.outputs, folding.finish.result_types, strict=True),
        ]
        strides = call.input.strides or ()
        kept = [strides[: len(call.kept)], *(spec.strides or () for spec in call.outputs)]
        reduced = [strides[len(call.kept) :]]
        self.kept = layout(call.kept, kept)
        self.reduced = layout(call.reduced, reduced)
        self.cut = cut(call, in_order=folding.in_order)

    @property
    def arguments(self) -> list[Argument]:
        """The input, numbers, outputs."""
        return operand_arguments(self.operands)

    def source(self) -> Source:
        """The translation unit."""
        call = self.call
        stored = " ".join(f"{spec.dtype.name}:{kind}" for spec, kind in self.operands)
        form = (self.cut.along, self.cut.vector, self.cut.parts > 1, self.kept.c_type, self.reduced.c_type)
        options = (self.folding.with_index, self.folding.in_order, self.folding.lifted_numbers)
        text = f"reduction {fingerprint(self.folding)} {stored} {len(call.outputs)} {form} {options}"
        return Source(text, ("prelude", "neighbours", "team", "reduce"), self._print)

    def _print(self) -> str:
        folding, call, form = self.folding, self.call, self.cut
        structure = fold_structure(
            folding,
            call.input,
            call.outputs,
            self.numbers,
            self._finish(),
            with_index=folding.with_index,
            lifted_numbers=folding.lifted_numbers,
        )
        along, ordered = (str(each).lower() for each in (form.along, folding.in_order))
        declared = [f"{self._type(k)} operand{k}" for k in range(1, len(self.operands))]
        fold = ", ".join(f"operand{k}" for k in range(1, len(self.operands)))
        kept, reduced = self.kept.c_type, self.reduced.c_type
        head = f'extern "C" __global__ void __launch_bounds__({THREADS})'
        stored = stored_type(call.input.dtype)
        whole = form.parts == 1
        shape = f"const char* input, const {kept} kept, const {reduced} reduced, const Cut cut"
        given = [shape, *declared] if whole else [shape, *declared, "Fold::Accumulators* partial"]
        kernels = [
            f"""{head} {"whole" if whole else "parts"}({", ".join(given)}) {{
    const Fold fold{{{fold}}};
    reduce<Fold, {stored}, {along}, {ordered}, {form.vector}, {str(whole).lower()}>(
        fold, input, {"nullptr" if whole else "partial"}, kept, reduced, cut);
}}"""
        ]
        if not whole:
            given = [f"const {kept} kept, const Cut cut", *declared, "const Fold::Accumulators* partial"]
            kernels.append(
                f"""{head} rest({", ".join(given)}) {{
    const Fold fold{{{fold}}};
    reduce_parts(fold, partial, kept, cut);
}}"""
            )
        return "\n".join([structure, *kernels])

    def _finish(self) -> list[str]:
        """The member that stores the results of a row."""
        further = ["count", *(f"convert<{VALUE_TYPES[kind]}>(number{at})" for at, kind in enumerate(self.numbers))]
        places = [
            f"element<{stored_type(spec.dtype)}>(output{at}, offsets[{at + 1}])"
            for at, spec in enumerate(self.call.outputs)
        ]
        return [
            "    __device__ void finish(const Accumulators& found, long long count, const long long* offsets) const {",
            *(f"        {each}" for each in finished(self.folding, "found", further, self.call.outputs, places)),
            "    }",
        ]

    def _type(self, k: int) -> str:
        spec, kind = self.operands[k]
        return number_type(kind) if spec.strides is None else f"{stored_type(spec.dtype)}*"


def cut(call: ReductionCall, *, in_order: bool) -> Cut:
    """How a call is cut."""
    rows, count = math.prod(call.kept), math.prod(call.reduced)
    strides, size = call.input.strides or (), call.input.dtype.itemsize
    inner = abs(strides[-1]) if call.reduced else 0
    beside = abs(strides[len(call.kept) - 1]) if call.kept else inner
    along = inner <= beside
    contiguous = along and len(call.reduced) == 1 and strides[-1] == size
    vector = max(1, min(_LARGEST_VECTOR // size, _MOST_ELEMENTS)) if contiguous else 1
    loads = -(-count // vector)
    log = floor_log(max(1, loads // _LOADS_OF_A_LANE))
    widest = floor_log(THREADS) if along else floor_log(max(THREADS // WARP, THREADS // max(1, rows)))
    log = min(log, widest)
    if not along:
        log = 0
    while log < widest and 2 << log <= loads and rows << log < ENOUGH_THREADS:
        log += 1
    blocks = -(-rows // (THREADS >> log))
    parts = max(1, min(-(-ENOUGH_BLOCKS // max(1, blocks)), loads // (_LOADS_OF_A_PART << log)))
    part = -(-loads // parts) * vector
    return Cut(along, vector, rows, count, log, max(1, -(-count // max(1, part))), part)


def floor_log(value: int) -> int:
    """The largest power of two that a whole number has room for.

    >>> floor_log(1), floor_log(7), floor_log(8)
    (0, 2, 3)
    """
    return value.bit_length() - 1
