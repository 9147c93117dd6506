"""Printer of loop programs with folds, scans and row loops as CUDA C++, where a team of threads takes each point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from opdsl.backends.c_printer import loaded_kind
from opdsl.backends.cuda.dialect import CUDA, VALUE_TYPES
from opdsl.backends.cuda.kernel import Kernel
from opdsl.backends.cuda.loop_kernel import LoopKernel
from opdsl.kernels.loops.model import Array, Fold, For, Index, Load, Local, Range, Scan, Statement, Store
from opdsl.runtime.dtype import DType
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["TeamKernel"]

# Blocks that a multiprocessor runs at once if rows are read in tiles: their loads hide each other's latency.
_BLOCKS_OF_TILES = 3


class TeamKernel(LoopKernel):
    """Printer of one kernel: a team shares the folds, loops and scans of each point; the rest runs on its first lane.

    A loop around folds and scans takes blocks along the grid's second dimension. The last parameter is the binary
    logarithm of the number of lanes of a team.

    packs: registers with the elements of rows that a team holds, which are loaded once.
    spreads: whether all lanes need the result of a fold.
    monoids: C++ names of the monoids for ``team.cuh``.
    """

    counts = (("long long", "count_"), ("int", "log_"))

    def __init__(self, kernel: Kernel, divisors: Mapping[str, int], functions: dict[TypedGraph, str]) -> None:
        super().__init__(kernel, divisors, functions)
        assert kernel.team is not None and self.points is not None, "a team takes a point"
        self.team = kernel.team
        self.spreads = False
        self.monoids: dict[TypedGraph, str] = {}

    def bounds(self, threads: int) -> str:
        """See ``LoopKernel``."""
        return f"{threads}, {_BLOCKS_OF_TILES}" if self.team.tiled else str(threads)

    def at_point(self, ranges: Sequence[Range], body: Sequence[Statement]) -> None:
        """See ``LoopPrinter``."""
        while isinstance(body[0], For) and isinstance(body[0].body[0], (Fold, Scan)):
            self.declared(body[0].index, ScalarType.INT64, "blockIdx.y")
            body = body[0].body
        taken = max(
            (place for place, statement in enumerate(body, 1) if isinstance(statement, (Fold, For, Scan))), default=0
        )
        for place, statement in enumerate(body[:taken], 1):
            self.spreads = place < taken
            self.block([statement])
        if taken < len(body):
            with self.braces("if (team_.lane == 0 && is_point_)"):
                self.block(body[taken:])

    def located(self, ranges: Sequence[Range]) -> None:
        """See ``LoopPrinter``."""
        assert self.points is not None, "a team takes a point"
        self.say(f"const Team<{_text(self.team.along)}> team_(log_);")
        self.say("const long long point_ = team_.row();")
        self.say("const bool is_point_ = point_ < count_;")
        self.offsets("offsets_", "if (is_point_) points_.offsets(point_, offsets_);", self.points)

    # -------------------------------------------------------------------------------------------------------- folds

    def fold(self, fold: Fold) -> None:
        """See ``LoopPrinter``: lanes share the iterations, and the first lane gets the result."""
        monoid = self.monoid(fold.names, fold.neutral, fold.combine)
        fresh = self.fresh("found")
        if self.team.items and not fold.in_order:
            assert fold.where is None and fold.part is None, "rows are folded as a whole"
            own = f"own_{fresh}"
            self.say(f"{monoid}::Accumulators {own} = {monoid}::none();")
            with self.along(fold.ranges[0], fold.body):
                self.block(fold.body)
                self.say(f"{own} = {monoid}::combine({own}, {{{', '.join(fold.values)}}});")
            self.say(f"const auto {fresh} = {self.spread(f'combined<{monoid}>(team_, {own})')};")
        else:
            self.turns_folded(fold, monoid, fresh)
        for place, (name, kind) in enumerate(zip(fold.names, fold.combine.result_types, strict=True)):
            self.declared(name, kind, f"{fresh}.a{place}")

    def turns_folded(self, fold: Fold, monoid: str, text: str) -> None:
        """Print a fold whose elements are loaded in each iteration, and not held in registers."""
        vector = self.team.vector
        self.say(f"const long long total_ = {' * '.join(str(size) for _, size in fold.ranges) or '1'};")
        # Without parts ``blockIdx.y`` is 0, but loops over vectors take fewer registers if the compiler does not know.
        part, size = fold.part or ("blockIdx.y" if vector > 1 else "0", "total_")
        self.say(f"const long long first_ = {part} * {size}, end_ = first_ + {size};")
        self.say("const long long last_ = is_point_ ? (end_ < total_ ? end_ : total_) : first_;")
        if vector > 1:
            (load,) = [other for other in fold.body if isinstance(other, Load)]
            head = f"fold_vectors<{monoid}, {_text(fold.in_order)}, {vector}>(team_, "
            head += f"&{self.begun(load.array, '0')}, first_, last_"
            taken = f"{VALUE_TYPES[loaded_kind(self.arrays[load.array].dtype)]} value_, long long {fold.ranges[0][0]}"
            self.values[load.array] = "value_"
        else:
            head = f"fold_lane<{monoid}, {_text(fold.in_order)}>(team_, first_, last_"
            taken = "long long turn_"
        begin, end = self.spread(f"combined<{monoid}>(team_, \n)").split("\n")
        self.say(f"const auto {text} = {begin}{head}, [&]({taken}) {{")
        self.depth += 1
        self.turn_of(fold, is_counted=vector > 1)
        self.block(fold.body)
        counts = "" if fold.where is None else f"!{fold.where} ? {monoid}::none() : "
        self.say(f"return {counts}{monoid}::Accumulators{{{', '.join(fold.values)}}};")
        self.depth -= 1
        self.say(f"}}){end};")
        self.values = {}

    def spread(self, whole: str) -> str:
        """Return the C++ expression that copies the first lane's value to all lanes, if they need it; else the value's
        expression.
        """
        return f"from_first_lane(team_, {whole})" if self.spreads else whole

    def turn_of(self, fold: Fold, *, is_counted: bool) -> None:
        """Print the indices and array offsets of one iteration of a fold: its index itself, or offsets from a
        layout.
        """
        turns = self.kernel.turns
        for index, _ in fold.ranges:
            self.types[index] = ScalarType.INT64
        if turns is None:
            if not is_counted:
                ((index, _),) = fold.ranges
                self.say(f"const long long {index} = turn_;")
            return
        self.offsets("inner_", "turns_.offsets(turn_, inner_);", turns)
        for place, (name, _) in enumerate(turns.begins):
            self.begins[name] = " + ".join(filter(None, [self.begins.get(name), f"inner_[{place}]"]))

    def monoid(self, names: Sequence[str], neutral: Sequence[Number | str], combine: TypedGraph) -> str:
        """Return the C++ name of a monoid, and declare it on first use."""
        if combine in self.monoids:  # a fold has declared it already, as for a scan whose parts were folded before
            return self.monoids[combine]
        kinds = combine.result_types
        name = self.monoids[combine] = f"{self.kernel.entry}_{names[0]}"
        fields = [f"a{k}" for k in range(len(kinds))]
        declared = " ".join(f"{VALUE_TYPES[kind]} {field};" for kind, field in zip(kinds, fields, strict=True))
        none = ", ".join(self.initial(value, kind) for value, kind in zip(neutral, kinds, strict=True))
        texts = [f"{side}.{field}" for side in ("first", "later", "made") for field in fields]
        self.structures += [
            f"struct {name} {{",
            f"    struct Accumulators {{ {declared} }};",
            f"    static __device__ Accumulators none() {{ return {{{none}}}; }}",
            "    static __device__ Accumulators combine(const Accumulators& first, const Accumulators& later) {",
            f"        Accumulators made;\n        {self.functions[combine]}({', '.join(texts)});",
            "        return made;\n    }\n};",
        ]
        return name

    # --------------------------------------------------------------------------------------------------------- rows

    def kept(self, local: Local) -> None:
        """See ``LoopPrinter``: each lane holds the kept values of its elements in registers."""
        name = local.array.name
        self.say(f"{VALUE_TYPES[ScalarType(local.array.dtype.name)]} {name}[{self.team.items}];")
        self.packs[name] = name

    def loaded(self, array: str, place: str, dtype: DType, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        return f"{self.packs[array]}[item_]" if array in self.own else super().loaded(array, place, dtype, kind)

    def stored(self, array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        is_held = array in self.own
        return f"{self.packs[array]}[item_] = {value};" if is_held else super().stored(array, place, dtype, value, kind)

    def loop(self, loop: For) -> None:
        """See ``LoopPrinter``: the lanes of a team share the loop's elements."""
        with self.along((loop.index, loop.size), loop.body):
            self.block(loop.body)

    @contextmanager
    def along(self, along: Range, body: Sequence[Statement]) -> Iterator[None]:
        """Print statements in a loop over the elements of a row, or of a tile of it, that a lane holds.

        Elements that the statements read are loaded before, unless an earlier loop has loaded them; written ones are
        stored after the loop. Packs of elements are converted together, and their bounds are checked at once if rows
        are whole numbers of packs.
        """
        index, size = along
        items, vector, is_tiled = self.team.items, self.team.vector, self.team.tiled
        before, row, self.types[index] = dict(self.packs), self.fresh("row"), ScalarType.INT64
        self.say(f"const {'long long' if is_tiled else 'int'} {row} = is_point_ ? {size} : 0;")
        head = f"for (long long tile_ = 0; tile_ < {row}; tile_ += {items} * team_.lanes)"
        left, tile = ("left_", " + tile_") if is_tiled else (row, "")
        with self.braces(head) if is_tiled else nullcontext():
            if is_tiled:
                self.say(
                    f"const int left_ = {row} - tile_ < {items} * team_.lanes ? {row} - tile_ : {items} * team_.lanes;"
                )
            stores = self.held(index, body, "tile_" if is_tiled else 0, left)
            self.say("#pragma unroll")
            packs = f"for (int pack_ = 0; pack_ < {items}; pack_ += {vector})"
            with self.braces(packs), self.braces(f"if (place<{vector}>(team_, pack_) < {left})"):
                written = self.unpacked(body)
                self.say("#pragma unroll")
                inside = self.braces(f"if (place<{vector}>(team_, pack_ + at_) < {left})")
                items_of_pack = self.braces(f"for (int at_ = 0; at_ < {vector}; ++at_)")
                with items_of_pack, nullcontext() if self.team.whole else inside:
                    self.say("const int item_ = pack_ + at_;")
                    self.say(f"const long long {index} = place<{vector}>(team_, item_){tile};")
                    yield
                for line in written:
                    self.say(line)
            for line in stores:
                self.say(line)
        self.values = {}
        if is_tiled:
            self.packs = before

    def unpacked(self, body: Sequence[Statement]) -> list[str]:
        """Print conversions of the elements of a pack that statements read; return those of the elements that they
        write.
        """
        written = []
        for statement in body:
            if not isinstance(statement, (Load, Store)) or statement.array in self.own:
                continue
            array, values = statement.array, self.fresh("values")
            self.say(f"{VALUE_TYPES[loaded_kind(self.arrays[array].dtype)]} {values}[{self.team.vector}] = {{}};")
            self.values[array] = f"{values}[at_]"
            if isinstance(statement, Load):
                self.say(f"unpack({values}, {self.packs[array]} + pack_);")
            else:
                written.append(f"pack({self.packs[array]} + pack_, {values});")
        return written

    def held(self, index: str, body: Sequence[Statement], begin: Index, left: str) -> list[str]:
        """Print loads of the elements of a row that statements read, and declare registers for those that they write;
        return the lines that store them.

        Args:
            index: the index along the row.
            body: the statements.
            begin: where in the row the elements begin.
            left: the number of elements from there, as C++ text.
        """
        stores = []
        for statement, array, first in self.moved_along(index, body, begin):
            pack, stored = self.fresh("pack"), CUDA.stored_type(array.dtype)
            self.say(f"{stored} {pack}[{self.team.items}] = {{}};")
            packs = self.team.whole and array.strides[-1] == 1
            step = "" if packs else f", {array.strides[-1]} * sizeof({stored})"
            function = f"{'move_packs' if packs else 'move_row'}<{type(statement).__name__.upper()}"
            line = f"{function}, {self.team.items}, {self.team.vector}>(team_, {pack}, &{first}{step}, {left});"
            if isinstance(statement, Load):
                self.say(line)
            else:
                stores.append(line)
            self.packs[array.name] = pack
        return stores

    def moved_along(
        self, index: str, body: Sequence[Statement], begin: Index
    ) -> Iterator[tuple[Load | Store, Array, str]]:
        """Yield the loads and stores of arrays that are not in registers yet, each with its array and the C++ text of
        its element at ``begin``.
        """
        for statement in body:
            if isinstance(statement, (Load, Store)) and statement.array not in self.packs:
                array = self.arrays[statement.array]
                place = self.place(array.name, [begin if at == index else at for at in statement.index])
                yield statement, array, self.begun(array.name, place)

    def scan(self, scan: Scan) -> None:
        """See ``LoopPrinter``: each lane scans neighboring elements, then combines them with earlier lanes' results,
        tile by tile.
        """
        assert scan.is_associative, "lanes take turns at once"
        kinds, items, (index, size) = scan.step.result_types, self.team.items, scan.range
        self.types[index] = ScalarType.INT64
        monoid = self.monoid(scan.names, scan.first, scan.step)
        if scan.part is None:
            self.say(f"const long long from_ = 0, until_ = {size};")
        else:
            part, turns = scan.part
            self.say(f"const long long from_ = {part} * {turns}, next_ = from_ + {turns};")
            self.say(f"const long long until_ = next_ < {size} ? next_ : {size};")
        first = ", ".join(self.initial(value, kind) for value, kind in zip(scan.first, kinds, strict=True))
        self.say(f"{monoid}::Accumulators carry_ = {{{first}}};")
        # All threads of a block loop over the same tiles, since they synchronize with each other.
        with self.braces(f"for (long long tile_ = from_; tile_ < until_; tile_ += {items}LL * team_.lanes)"):
            self.say(f"const long long begin_ = tile_ + team_.lane * {items}, stop_ = is_point_ ? until_ : begin_;")
            self.taken(index, scan.body)
            self.say(f"{monoid}::Accumulators found_[{items}], all_ = {monoid}::none();")
            with self.items(index):
                with self.braces(f"if ({index} < stop_)"):
                    self.block(scan.body)
                    self.say(f"all_ = {monoid}::combine(all_, {{{', '.join(scan.values)}}});")
                self.say("found_[item_] = all_;")
            self.say(f"const auto others_ = scanned<{monoid}>(team_, all_);")
            self.say(f"const auto before_ = {monoid}::combine(carry_, others_.before);")
            stores = self.taken(index, scan.after)
            with self.items(index):
                self.say(f"const auto now_ = {monoid}::combine(before_, found_[item_]);")
                for place, (name, kind) in enumerate(zip(scan.names, kinds, strict=True)):
                    self.declared(name, kind, f"now_.a{place}")
                self.block(scan.after)
            for line in stores:
                self.say(line)
            self.say(f"carry_ = {monoid}::combine(carry_, others_.all);")

    @contextmanager
    def items(self, index: str) -> Iterator[None]:
        """Print a loop over the neighboring elements of a row that a lane holds."""
        self.say("#pragma unroll")
        with self.braces(f"for (int item_ = 0; item_ < {self.team.items}; ++item_)"):
            self.say(f"const long long {index} = begin_ + item_;")
            yield

    def taken(self, index: str, body: Sequence[Statement]) -> list[str]:
        """Print loads of the neighboring elements that a lane scans, and declare registers for those that it writes;
        return the lines that store them.
        """
        stores = []
        for statement, array, first in self.moved_along(index, body, 0):
            pack, stored = self.fresh("pack"), CUDA.stored_type(array.dtype)
            self.say(f"{stored} {pack}[{self.team.items}] = {{}};")
            step, direction = f"{array.strides[-1]} * sizeof({stored})", type(statement).__name__.upper()
            line = f"move_neighbours<{direction}, {self.team.items}>({pack}, &{first}, {step}, begin_, stop_);"
            if isinstance(statement, Load):
                self.say(line)
            else:
                stores.append(line)
            self.packs[array.name] = f"{pack}[item_]"
        return stores


def _text(value: bool) -> str:
    return str(value).lower()
