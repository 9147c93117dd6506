"""Prints loop programs whose points fold as CUDA C++, where a team of threads takes a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from opdsl.backends.c_printer import constant_text
from opdsl.backends.cuda.kernel import Kernel
from opdsl.backends.cuda.loop_kernel import LoopKernel
from opdsl.backends.cuda.storage import VALUE_TYPES, stored_type
from opdsl.kernels.loops.model import Fold, For, Load, Local, Range, Statement, Store, locals_of
from opdsl.runtime.dtype import DType
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["TeamKernel"]

# Blocks that a multiprocessor runs at once, where rows are taken in tiles: their loads hide each other's latency.
_BLOCKS_OF_TILES = 3


class TeamKernel(LoopKernel):
    """The text of one kernel: folds and loops of each point, which a team shares, then what its first lane does.

    A loop around a fold of turns takes blocks along the grid's second dimension. The last parameter is how many lanes a
    team has, as a power of two.

    packs: of rows that a team holds, elements are loaded once. spreads: whether all lanes are to know what is folded.
    """

    counts = (("long long", "count_"), ("int", "log_"))

    def __init__(self, kernel: Kernel, divisors: Mapping[str, int], functions: dict[TypedGraph, str]) -> None:
        super().__init__(kernel, divisors, functions)
        assert kernel.team is not None and self.points is not None, "a team takes a point"
        self.team = kernel.team
        self.held = {each.array.name for each in locals_of(kernel.program.body)}
        self.spreads = False

    def bounds(self, threads: int) -> str:
        """See ``LoopKernel``."""
        return f"{threads}, {_BLOCKS_OF_TILES}" if self.team.tiled else str(threads)

    def print_body(self) -> None:
        """See ``LoopPrinter``."""
        for word in self.program.words:
            self.types[word] = ScalarType.INT64
        ranges, body = self.program.points
        self.located(ranges)
        while not self.team.items and isinstance(body[0], For):
            self.declared(body[0].index, ScalarType.INT64, "blockIdx.y")
            body = body[0].body
        taken = max((place for place, each in enumerate(body, 1) if isinstance(each, (Fold, For))), default=0)
        for place, each in enumerate(body[:taken], 1):
            self.spreads = place < taken
            self.block([each])
        if taken < len(body):
            with self.braces("if (team_.lane == 0 && is_point_)"):
                self.block(body[taken:])

    def located(self, ranges: Sequence[Range]) -> None:
        """See ``LoopPrinter``."""
        assert self.points is not None, "a team takes a point"
        self.say(f"const Team<{_text(self.team.along)}> team_(log_);")
        self.say("const long long point_ = team_.row();")
        self.say("const bool is_point_ = point_ < count_;")
        if self.points.is_anywhere:
            self.say(f"long long offsets_[{len(self.begins) + len(self.points.indices)}] = {{}};")
            self.say("if (is_point_) points_.offsets(point_, offsets_);")
        for place, name in enumerate(self.points.indices, len(self.begins)):
            self.declared(name, ScalarType.INT64, f"offsets_[{place}]")

    # -------------------------------------------------------------------------------------------------------- folds

    def fold(self, each: Fold) -> None:
        """See ``LoopPrinter``: lanes take turns, and the first one gets what all have folded."""
        assert each.where is None, "all turns of a team's fold count"
        monoid = self.monoid(each)
        found = self.fresh("found")
        if self.team.items:
            own = f"own_{found}"
            self.say(f"{monoid}::Accumulators {own} = {monoid}::none();")
            with self.along(each.ranges[0], each.body):
                self.block(each.body)
                self.say(f"{own} = {monoid}::combine({own}, {{{', '.join(each.values)}}});")
            whole = f"combined<{monoid}>(team_, {own})"
            self.say(f"const auto {found} = {f'from_first_lane(team_, {whole})' if self.spreads else whole};")
        else:
            self.turns_folded(each, monoid, found)
        for place, (name, kind) in enumerate(zip(each.names, each.combine.result_types, strict=True)):
            self.declared(name, kind, f"{found}.a{place}")

    def turns_folded(self, each: Fold, monoid: str, found: str) -> None:
        """What is folded turn by turn."""
        vector = self.team.vector
        self.say(f"const long long total_ = {' * '.join(str(size) for _, size in each.ranges) or '1'};")
        # Without parts this is 0: loops over vectors take fewer registers if the compiler does not know.
        part, size = each.part or ("blockIdx.y" if vector > 1 else "0", "total_")
        self.say(f"const long long first_ = {part} * {size}, end_ = first_ + {size};")
        self.say("const long long last_ = is_point_ ? (end_ < total_ ? end_ : total_) : first_;")
        if vector > 1:
            (load,) = [other for other in each.body if isinstance(other, Load)]
            stored = stored_type(self.arrays[load.array].dtype)
            head = f"fold_vectors<{monoid}, {_text(each.in_order)}, {vector}>(team_, "
            head += f"&{self.begun(load.array, '0')}, first_, last_"
            taken = f"const {stored}& element_, long long {each.ranges[0][0]}"
            self.packs[load.array] = "element_"
        else:
            head = f"fold_lane<{monoid}, {_text(each.in_order)}>(team_, first_, last_"
            taken = "long long turn_"
        self.say(f"const auto {found} = combined<{monoid}>(team_, {head}, [&]({taken}) {{")
        self.depth += 1
        self.turn_of(each, is_counted=vector > 1)
        self.block(each.body)
        self.say(f"return {monoid}::Accumulators{{{', '.join(each.values)}}};")
        self.depth -= 1
        self.say("}));")
        self.packs = {}

    def turn_of(self, each: Fold, *, is_counted: bool) -> None:
        """Where a turn is: at an index that counts, or where a layout says."""
        turns = self.kernel.turns
        for index, _ in each.ranges:
            self.types[index] = ScalarType.INT64
        if turns is None:
            if not is_counted:
                ((index, _),) = each.ranges
                self.say(f"const long long {index} = turn_;")
            return
        if turns.is_anywhere:
            self.say(f"long long inner_[{len(turns.begins) + len(turns.indices)}] = {{}};")
            self.say("turns_.offsets(turn_, inner_);")
        for place, (name, _) in enumerate(turns.begins):
            self.begins[name] = " + ".join(filter(None, [self.begins.get(name), f"inner_[{place}]"]))
        for place, name in enumerate(turns.indices, len(turns.begins)):
            self.say(f"const long long {name} = inner_[{place}];")

    def monoid(self, each: Fold) -> str:
        """Declare what ``team.cuh`` calls a monoid; its name."""
        kinds = each.combine.result_types
        name = f"{self.kernel.entry}_{each.names[0]}"
        fields = [f"a{k}" for k in range(len(kinds))]
        declared = " ".join(f"{VALUE_TYPES[kind]} {field};" for kind, field in zip(kinds, fields, strict=True))
        none = ", ".join(constant_text(self.to, value, kind) for value, kind in zip(each.neutral, kinds, strict=True))
        given = [f"{side}.{field}" for side in ("first", "later", "made") for field in fields]
        self.local += [
            f"struct {name} {{",
            f"    struct Accumulators {{ {declared} }};",
            f"    static __device__ Accumulators none() {{ return {{{none}}}; }}",
            "    static __device__ Accumulators combine(const Accumulators& first, const Accumulators& later) {",
            f"        Accumulators made;\n        {self.functions[each.combine]}({', '.join(given)});",
            "        return made;\n    }\n};",
        ]
        return name

    # --------------------------------------------------------------------------------------------------------- rows

    def kept(self, each: Local) -> None:
        """See ``LoopPrinter``: lanes hold what is kept of their elements."""
        name = each.array.name
        self.say(f"{VALUE_TYPES[ScalarType(each.array.dtype.name)]} {name}[{self.team.items}];")
        self.packs[name] = f"{name}[item_]"

    def loaded(self, array: str, place: str, dtype: DType, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        return self.packs[array] if array in self.held else super().loaded(array, place, dtype, kind)

    def stored(self, array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        is_held = array in self.held
        return f"{self.packs[array]} = {value};" if is_held else super().stored(array, place, dtype, value, kind)

    def loop(self, each: For) -> None:
        """See ``LoopPrinter``: lanes take elements."""
        with self.along((each.index, each.size), each.body):
            self.block(each.body)

    @contextmanager
    def along(self, along: Range, body: Sequence[Statement]) -> Iterator[None]:
        """Statements for each element that a lane holds of a row, or of a tile of it.

        What they read is loaded before, unless it is there since an earlier loop; what they write is stored behind.
        """
        index, size = along
        items, vector, is_tiled = self.team.items, self.team.vector, self.team.tiled
        before, row, self.types[index] = dict(self.packs), self.fresh("row"), ScalarType.INT64
        self.say(f"const long long {row} = is_point_ ? {size} : 0;")
        head = f"for (long long tile_ = 0; tile_ < {row}; tile_ += {items}LL * team_.lanes)"
        left, tile = (f"{row} - tile_", " + tile_") if is_tiled else (row, "")
        with self.braces(head) if is_tiled else nullcontext():
            stores = self.taken(index, body, left)
            self.say("#pragma unroll")
            item, inside = f"for (int item_ = 0; item_ < {items}; ++item_)", f"place<{vector}>(team_, item_) < {left}"
            with self.braces(item), self.braces(f"if ({inside})"):
                self.say(f"const long long {index} = place<{vector}>(team_, item_){tile};")
                yield
            for line in stores:
                self.say(line)
        if is_tiled:
            self.packs = before

    def taken(self, index: str, body: Sequence[Statement], left: str) -> list[str]:
        """Load what statements read along a row, and make room for what they write; the lines that store that."""
        stores = []
        for each in body:
            if not isinstance(each, (Load, Store)) or each.array in self.packs:
                continue
            array, pack = self.arrays[each.array], self.fresh("pack")
            stored, place = stored_type(array.dtype), "tile_" if self.team.tiled else 0
            begin = self.begun(array.name, self.place(array.name, [place if at == index else at for at in each.index]))
            self.say(f"{stored} {pack}[{self.team.items}] = {{}};")
            verb = "load" if isinstance(each, Load) else "store"
            step = f"{array.strides[-1]} * sizeof({stored})"
            line = f"{verb}_row<{self.team.items}, {self.team.vector}>(team_, {pack}, &{begin}, {step}, {left});"
            if isinstance(each, Load):
                self.say(line)
            else:
                stores.append(line)
            self.packs[array.name] = f"{pack}[item_]"
        return stores


def _text(value: bool) -> str:
    return str(value).lower()
