"""Row programs: a team of threads computes each row of a row function, stage by stage.

Elements of rows that are short enough are held in registers, so that memory is read once and what costs much is
computed once. Longer rows are read again for every stage, tile by tile.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.monoid import monoid_members
from opdsl.backends.cuda.program import Launch, Program, Source, Variant, operand_arguments, packed
from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, number_type, stored_type
from opdsl.kernels.loops.making import pairwise, used_parameters
from opdsl.kernels.loops.rows import OPERATIONS, nothing

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec, RowCall
    from opdsl.scalar.graph import TypedGraph
    from opdsl.scalar.rows import RowProgram, Stage
    from opdsl.scalar.types import ScalarType

__all__ = ["row"]

THREADS = 256
WARP = 32

# Elements of a row that a lane holds, and the registers that all of its elements may take.
_ITEMS = (4, 16, 32)
_REGISTERS = 96

# Blocks that a multiprocessor runs at once, where rows are taken in tiles.
_BLOCKS_OF_TILES = 3

_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8


class Cut(NamedTuple):
    """How a row call is cut.

    along: whether the lanes of a team take elements that follow each other; otherwise teams do.
    log: lanes of a team, as a power of two.
    items: elements that a lane holds.
    vector: elements that are loaded at once.
    tiled: whether a row is several times as long as what a team holds, and so is read for each stage.
    """

    along: bool
    log: int
    items: int
    vector: int
    tiled: bool


def row(graph: TypedGraph, call: RowCall) -> Program:
    """The program of a row function.

    Args:
        graph: the function; its first parameters are those of the arrays, the others those of the numbers.
        call: where the operands lie.
    """
    inputs = list(zip(call.inputs, (kind for _, kind in graph.parameters), strict=True))
    operands = [*inputs, *zip(call.outputs, graph.result_types, strict=True)]
    arrays = [spec for spec, _ in operands if spec.strides is not None]
    strides = [spec.strides or () for spec in arrays]
    form = cut(graph, call)
    kept = layout(call.kept, [each[:-1] for each in strides])
    stored = " ".join(f"{spec.dtype.name if spec.strides else 'number'}:{kind}" for spec, kind in operands)
    fingerprint = f"row {graph.fingerprint} {stored} {kept.c_type} {form.along} {form.items} {form.vector} {form.tiled}"
    body = functools.partial(_print, graph, operands, len(inputs), kept.c_type, form)
    source = Source(fingerprint, ("prelude", "neighbours", "team", "row"), body)
    rows = math.prod(call.kept)
    if rows == 0:
        return Program(source, len(operands), (Variant(1, ()),))
    words = [ctypes.c_longlong(each) for each in (rows, call.length, form.log)]
    steps = packed(f"Steps<{len(arrays)}>", *(ctypes.c_longlong(each[-1]) for each in strides))
    arguments = (*operand_arguments(operands), kept, steps, packed("Rows", *words))
    launch = Launch("rows", (-(-rows // (THREADS >> form.log)), 1, 1), (THREADS, 1, 1), arguments)
    return Program(source, len(operands), (Variant(1, (launch,)),))


def cut(graph: TypedGraph, call: RowCall) -> Cut:
    """How a call is cut."""
    arrays = [spec for spec in (*call.inputs, *call.outputs) if spec.strides]
    along = runs_along(call)
    largest = max(spec.dtype.itemsize for spec in arrays)
    vector = max(1, min(_LARGEST_VECTOR // largest, _MOST_ELEMENTS)) if along else 1
    widest = THREADS if along else THREADS // WARP
    for items in _ITEMS:
        held = max(items, vector)
        lanes = 1 << (-(-call.length // held) - 1).bit_length() if call.length else 1
        # A few elements for each lane of a warp, or many for each lane of a block.
        enough = lanes <= (WARP if items == _ITEMS[0] else widest)
        if enough and lanes <= widest and held * _words(graph, call) <= _REGISTERS:
            return Cut(along, lanes.bit_length() - 1, held, vector, False)
    return Cut(along, widest.bit_length() - 1, max(_ITEMS[0], vector), vector, True)


def runs_along(call: RowCall) -> bool:
    """Whether neighbours in a row lie closer than rows do, in the operand that steps the least."""

    def closest(place: int) -> int:
        steps = [abs(each.strides[place]) for each in (*call.inputs, *call.outputs) if each.strides]
        return min((step for step in steps if step), default=0)

    return not call.kept or call.length == 1 or closest(-1) <= closest(-2)


def _words(graph: TypedGraph, call: RowCall) -> int:
    """How many registers an element takes in all operands, and in what is kept of it."""
    specs = [spec for spec in (*call.inputs, *call.outputs[:1]) if spec.strides]
    program = _program(graph, sum(spec.strides is not None for spec in call.inputs), keep=True)
    kept = sum(_kept_size(stage) for stage in program.stages)
    return sum(-(-spec.dtype.itemsize // 4) for spec in specs) + kept


def _kept_size(stage: Stage) -> int:
    return sum(-(-kind.bits // 32) for kind in stage.graph.result_types[len(stage.folds) :])


@functools.lru_cache(maxsize=1024)
def _program(graph: TypedGraph, arrays: int, *, keep: bool) -> RowProgram:
    from opdsl.scalar.rows import row_program

    return row_program(graph, arrays, keep=keep)


def _print(
    graph: TypedGraph, operands: Sequence[tuple[OperandSpec, ScalarType]], inputs: int, kept: str, form: Cut
) -> str:
    return _Kernel(graph, operands, inputs, form).text(kept)


class _Kernel:
    """The kernel of one row function."""

    def __init__(
        self, graph: TypedGraph, operands: Sequence[tuple[OperandSpec, ScalarType]], inputs: int, form: Cut
    ) -> None:
        self.operands, self.inputs, self.form = operands, inputs, form
        self.arrays = [k for k, (spec, _) in enumerate(operands) if spec.strides is not None]
        self.program = _program(graph, sum(k < inputs for k in self.arrays), keep=not form.tiled)
        self.loaded: set[int] = set()
        self.folds: list[str] = []
        self.kept: list[str] = []
        self.lines: list[str] = []

    def text(self, kept: str) -> str:
        """Functions and kernel."""
        from opdsl.backends.cuda.printer import function_source

        program = self.program
        graphs = {f"stage{index}": stage.graph for index, stage in enumerate(program.stages)}
        graphs |= {"elements": program.elements, "rows": program.rows}
        functions = [function_source(each, f"{name}_function") for name, each in graphs.items() if each.results]
        structures = [_monoid(index, stage) for index, stage in enumerate(program.stages)]
        for index, stage in enumerate(program.stages):
            self._stage(index, stage)
        self._elements()
        self._rows()
        # Tiles leave registers for the threads of several blocks, whose loads hide each other's latency.
        bounds = f"{THREADS}, {_BLOCKS_OF_TILES}" if self.form.tiled else f"{THREADS}"
        declared = [
            f"{number_type(kind)} operand{k}"
            if spec.strides is None
            else f"{'const ' * (k < self.inputs)}{stored_type(spec.dtype)}* operand{k}"
            for k, (spec, kind) in enumerate(self.operands)
        ]
        head = f"""extern "C" __global__ void __launch_bounds__({bounds}) rows(
    {", ".join(declared)}, const {kept} kept, const Steps<{len(self.arrays)}> steps,
    const Rows cut) {{
    const Team<{str(self.form.along).lower()}> team(static_cast<int>(cut.log));
    const long long row = team.row();
    const long long length = cut.length, count = row < cut.rows ? length : 0;
    long long offsets[{len(self.arrays)}] = {{}};
    if (row < cut.rows) {{
        kept.offsets(row, offsets);
    }}"""
        return "\n".join([*functions, *structures, head, *self.lines, "}"])

    # ------------------------------------------------------------------------------------------------------ phases

    def _stage(self, place: int, stage: Stage) -> None:
        """A loop over the row, and what it folds."""
        kept = stage.graph.result_types[len(stage.folds) :]
        names = [f"kept{len(self.kept) + at}" for at in range(len(kept))]
        self.lines += [
            f"    {VALUE_TYPES[kind]} {name}[{self.form.items}];" for kind, name in zip(kept, names, strict=True)
        ]
        made = [*(f"value.a{at}" for at in range(len(stage.folds))), *(f"{name}[item]" for name in names)]
        self.lines.append(f"    Stage{place}::Accumulators found{place} = Stage{place}::none();")
        statements = [
            f"Stage{place}::Accumulators value;",
            f"stage{place}_function({', '.join([*self._arguments(stage.graph), *made])});",
            f"found{place} = Stage{place}::combine(found{place}, value);",
        ]
        self._loop(stage.graph, statements)
        self.lines.append(f"    found{place} = from_first_lane(team, combined<Stage{place}>(team, found{place}));")
        self.folds += [f"found{place}.a{at}" for at in range(len(stage.folds))]
        self.kept += [f"{name}[item]" for name in names]

    def _elements(self) -> None:
        """The results of each element."""
        graph = self.program.elements
        outputs = self._outputs(of_elements=True)
        if not outputs:
            return
        results = [f"result{at}" for at in range(len(outputs))]
        statements = [
            *(f"{VALUE_TYPES[kind]} {name};" for kind, name in zip(graph.result_types, results, strict=True)),
            f"elements_function({', '.join([*self._arguments(graph), *results])});",
            *(self._store(k, f"made{k}[item]", name) for k, name in zip(outputs, results, strict=True)),
        ]
        self._loop(graph, statements, outputs)

    def _rows(self) -> None:
        """The results of the row as a whole."""
        graph = self.program.rows
        outputs = self._outputs(of_elements=False)
        if not outputs:
            return
        results = [f"whole{at}" for at in range(len(outputs))]
        declared = [f"{VALUE_TYPES[kind]} {name};" for kind, name in zip(graph.result_types, results, strict=True)]
        given = self._arguments(graph)
        at = {k: f"element<{self._stored(k)}>(operand{k}, offsets[{self.arrays.index(k)}])" for k in outputs}
        stores = [self._store(k, at[k], name) for k, name in zip(outputs, results, strict=True)]
        call = f"rows_function({', '.join([*given, *results])});"
        body = [f"        {each}" for each in (*declared, call, *stores)]
        self.lines += ["    if (row < cut.rows && team.lane == 0) {", *body, "    }"]

    # ------------------------------------------------------------------------------------------------------- parts

    def _loop(self, graph: TypedGraph, statements: Sequence[str], outputs: Sequence[int] = ()) -> None:
        """What is done for each element: loads of what a graph uses, statements, stores of outputs."""
        form = self.form
        left = "left" if form.tiled else "count"
        given = [
            k for k in sorted(used_parameters(graph)) if k < self.inputs and k in self.arrays and k not in self.loaded
        ]
        if not form.tiled:
            self.loaded.update(given)
        lines = []
        for k in given:
            lines.append(f"{self._stored(k)} loaded{k}[{form.items}] = {{}};")
            lines.append(f"load_row<{form.items}, {form.vector}>(team, loaded{k}, {self._row(k)}, {left});")
        lines += [f"{self._stored(k)} made{k}[{form.items}] = {{}};" for k in outputs]
        lines += [
            "#pragma unroll",
            f"for (int item = 0; item < {form.items}; ++item) {{",
            f"    if (place<{form.vector}>(team, item) < {left}) {{",
            *(f"        {each}" for each in statements),
            "    }",
            "}",
            *(f"store_row<{form.items}, {form.vector}>(team, made{k}, {self._row(k)}, {left});" for k in outputs),
        ]
        if form.tiled:
            lines = [
                f"for (long long tile = 0; tile < count; tile += {form.items}LL * team.lanes) {{",
                "    const long long left = count - tile;",
                *(f"    {each}" for each in lines),
                "}",
            ]
        self.lines += [f"    {each}" for each in lines]

    def _arguments(self, graph: TypedGraph) -> list[str]:
        """The arguments of a printed function; zeros stand for what it does not use."""
        used = used_parameters(graph)
        given = [f"load(loaded{k}[item])" if k in self.arrays else f"operand{k}" for k in range(self.inputs)]
        given = [
            f"convert<{VALUE_TYPES[kind]}>({value})" if k in used else f"nothing<{VALUE_TYPES[kind]}>()"
            for k, (value, (_, kind)) in enumerate(zip(given, self.operands, strict=False))
        ]
        place = f"place<{self.form.vector}>(team, item)" + (" + tile" if self.form.tiled else "")
        further = ["length", place, *self.folds, *self.kept]
        kinds = [kind for _, kind in graph.parameters[self.inputs :]]
        taken = [
            value if self.inputs + at in used else f"nothing<{VALUE_TYPES[kind]}>()"
            for at, (value, kind) in enumerate(zip(further, kinds, strict=True))
        ]
        return [*given, *taken]

    def _row(self, k: int) -> str:
        """Where a row, or a tile of it, begins, and how far apart its elements lie."""
        at = self.arrays.index(k)
        tile = f" + tile * steps.step[{at}]" if self.form.tiled else ""
        return f"&element<{self._stored(k)}>(operand{k}, offsets[{at}]{tile}), steps.step[{at}]"

    def _store(self, k: int, place: str, value: str) -> str:
        return f"store({place}, convert<{loaded_type(self.operands[k][0].dtype)}>({value}));"

    def _stored(self, k: int) -> str:
        return stored_type(self.operands[k][0].dtype)

    def _outputs(self, *, of_elements: bool) -> list[int]:
        return [self.inputs + at for at, is_element in enumerate(self.program.is_element) if is_element is of_elements]


def _monoid(place: int, stage: Stage) -> str:
    """The structure of what a stage folds."""
    from opdsl.backends.cuda.printer import function_source

    kinds = stage.graph.result_types[: len(stage.folds)]
    combine = pairwise(tuple(OPERATIONS[op] for op in stage.folds), kinds)
    init = [nothing(op, kind) for op, kind in zip(stage.folds, kinds, strict=True)]
    function = f"combine{place}_function"
    return "\n".join(
        [
            function_source(combine, function),
            f"struct Stage{place} {{",
            *monoid_members(init, combine, function),
            "};",
        ]
    )
