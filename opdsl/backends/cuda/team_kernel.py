"""Prints loop programs whose points fold as CUDA C++, where a team of threads takes a point."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.backends.c_printer import constant_text
from opdsl.backends.cuda.loop_kernel import LoopKernel
from opdsl.backends.cuda.storage import VALUE_TYPES, stored_type
from opdsl.kernels.loops.model import Fold, For, Load, Range
from opdsl.scalar.types import ScalarType

__all__ = ["TeamKernel"]


class TeamKernel(LoopKernel):
    """The text of one kernel: a fold for each point, then what its first lane does with the accumulators.

    A loop around the fold takes blocks along the grid's second dimension. The last parameter is how many lanes a team
    has, as a power of two.
    """

    counts = (("long long", "count_"), ("int", "log_"))

    def print_body(self) -> None:
        """See ``LoopPrinter``."""
        for word in self.program.words:
            self.types[word] = ScalarType.INT64
        ranges, body = self.program.points
        self.located(ranges)
        while isinstance(body[0], For):
            self.declared(body[0].index, ScalarType.INT64, "blockIdx.y")
            body = body[0].body
        fold, *rest = body
        assert isinstance(fold, Fold), "a fold is what points begin with"
        self.fold(fold)
        with self.braces("if (team_.lane == 0 && is_point_)"):
            self.block(rest)

    def located(self, ranges: Sequence[Range]) -> None:
        """See ``LoopPrinter``."""
        assert self.kernel.team is not None and self.points is not None, "a team takes a point"
        self.say(f"const Team<{_text(self.kernel.team.along)}> team_(log_);")
        self.say("const long long point_ = team_.row();")
        self.say("const bool is_point_ = point_ < count_;")
        if self.points.is_anywhere:
            self.say(f"long long offsets_[{len(self.begins) + len(self.points.indices)}] = {{}};")
            self.say("if (is_point_) points_.offsets(point_, offsets_);")
        for place, name in enumerate(self.points.indices, len(self.begins)):
            self.declared(name, ScalarType.INT64, f"offsets_[{place}]")

    def fold(self, each: Fold) -> None:
        """See ``LoopPrinter``: lanes take turns, and the first one gets what all have folded."""
        team, kinds = self.kernel.team, each.combine.result_types
        assert team is not None and each.where is None, "all turns of a team's fold count"
        self.say(f"const long long total_ = {' * '.join(str(size) for _, size in each.ranges) or '1'};")
        # Without parts this is 0: loops over vectors take fewer registers if the compiler does not know.
        part, size = each.part or ("blockIdx.y" if team.vector > 1 else "0", "total_")
        self.say(f"const long long first_ = {part} * {size}, end_ = first_ + {size};")
        self.say("const long long last_ = is_point_ ? (end_ < total_ ? end_ : total_) : first_;")
        monoid = self.monoid(each)
        if team.vector > 1:
            (load,) = [other for other in each.body if isinstance(other, Load)]
            stored = stored_type(self.arrays[load.array].dtype)
            head = f"fold_vectors<{monoid}, {_text(each.in_order)}, {team.vector}>(team_, "
            head += f"&{self.begun(load.array, '0')}, first_, last_"
            taken = f"const {stored}& element_, long long {each.ranges[0][0]}"
            self.packs[load.array] = "element_"
        else:
            head = f"fold_lane<{monoid}, {_text(each.in_order)}>(team_, first_, last_"
            taken = "long long turn_"
        self.say(f"const auto found_ = combined<{monoid}>(team_, {head}, [&]({taken}) {{")
        self.depth += 1
        self.turn_of(each, is_counted=team.vector > 1)
        self.block(each.body)
        self.say(f"return {monoid}::Accumulators{{{', '.join(each.values)}}};")
        self.depth -= 1
        self.say("}));")
        for place, (name, kind) in enumerate(zip(each.names, kinds, strict=True)):
            self.declared(name, kind, f"found_.a{place}")
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
        name = f"{self.kernel.entry}_fold"
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


def _text(value: bool) -> str:
    return str(value).lower()
