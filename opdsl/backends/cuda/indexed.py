"""Programs of loops over places: a thread for each place of the result, which folds all turns.

Where values are added at positions, a thread takes the place that they come from, and adds atomically.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.pointwise import parameters
from opdsl.backends.cuda.program import (
    Launch,
    Program,
    Source,
    Variant,
    blocks_for,
    long_long,
    operand_arguments,
    packed,
)
from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, stored_type
from opdsl.kernels.definitions.monoid import initial
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.indexed import SKIP
from opdsl.scalar.types import BOOL, FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedAccess, IndexedCall, IndexedLoop, OperandSpec

__all__ = ["indexed"]

THREADS = 256

# What memory itself can add to.
_ADDED = (ScalarType.FLOAT32, ScalarType.FLOAT64, ScalarType.INT32, ScalarType.INT64)

_REPEATED = {"replicate": "replicated", "reflect": "reflected", "circular": "wrapped"}


def indexed(loop: IndexedLoop, call: IndexedCall) -> Program:
    """The program of a function of places.

    Args:
        loop: what is computed.
        call: where the operands lie.
    """
    kinds = [ScalarType(each) for each in ([loop.values[0]] if loop.writes else loop.results)]
    operands = [*zip(call.inputs, _input_kinds(loop, call), strict=True), *zip(call.outputs, kinds, strict=True)]
    words = _words(call)
    finish = "" if loop.finish is None else loop.finish.fingerprint
    stored = " ".join(spec.dtype.name for spec, _ in operands)
    shape = (len(call.leading), [len(each) for each in call.dimensions])
    rest = (loop.at, loop.over, loop.words, loop.numbers, loop.reads, loop.writes, loop.fold, loop.with_place)
    text = f"indexed {loop.graph.fingerprint} {finish} {stored} {shape} {rest}"
    body = functools.partial(_print, loop, call, operands, len(words))
    source = Source(text, ("prelude", "neighbours", "indirect", "indexed"), body)
    count = math.prod((*call.leading, *call.sizes[: loop.at]))
    if count == 0:
        return Program(source, len(operands), (Variant(1, ()),))
    given = packed(f"PlaceWords<{len(words)}>", *map(ctypes.c_longlong, words))
    arguments = (*operand_arguments(operands), given, long_long(count))
    launch = Launch("indexed", blocks_for(count, THREADS), (THREADS, 1, 1), arguments)
    return Program(source, len(operands), (Variant(1, (launch,)),))


def _input_kinds(loop: IndexedLoop, call: IndexedCall) -> list[ScalarType]:
    """The types in which inputs are taken."""
    kinds = [kind for _, kind in loop.graph.parameters]
    first = loop.at + loop.over + loop.words
    read = {each.array: kind for each, kind in zip(loop.reads, kinds[len(kinds) - len(loop.reads) :], strict=True)}
    return [read[k] for k in range(len(call.dimensions))] + kinds[first : first + loop.numbers]


def _words(call: IndexedCall) -> list[int]:
    """What the kernel is told of a call: sizes, whole numbers, then strides and own sizes of each array and output."""
    found = [*call.leading, *call.sizes, *call.words]
    for spec, own in zip(call.inputs, call.dimensions, strict=False):
        found += [*(spec.strides or ()), *own]
    for spec in call.outputs:
        found += [*(spec.strides or ()), *call.written]
    return found


def _print(loop: IndexedLoop, call: IndexedCall, operands: Sequence[tuple[OperandSpec, ScalarType]], words: int) -> str:
    from opdsl.backends.cuda.printer import function_source

    kernel = _Kernel(loop, call)
    body = kernel.adding() if loop.writes else kernel.folding()
    functions = [function_source(graph, name) for name, graph in kernel.functions.items()]
    return f"""{chr(10).join(functions)}
extern "C" __global__ void __launch_bounds__({THREADS}) indexed(
    {parameters(operands, len(call.inputs))}, const PlaceWords<{words}> words, long long count) {{
    const long long position = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (position < count) {{
{chr(10).join(f"        {each}" for each in [*kernel.located(), *body])}
    }}
}}"""


class _Kernel:
    """The kernel of one function and the layout of one call.

    functions: the graphs that it calls, by name.
    """

    def __init__(self, loop: IndexedLoop, call: IndexedCall) -> None:
        self.loop, self.call = loop, call
        self.leading = len(call.leading)
        self.dims = self.leading + loop.at
        self.count = self.dims + loop.over
        self.kinds = [kind for _, kind in loop.graph.parameters]
        self.functions: dict[str, TypedGraph] = {}
        self._word = self.count
        self.words = [self._next() for _ in range(loop.words)]
        written = loop.writes[0].dims if loop.writes else loop.at
        own = [*(len(each) for each in call.dimensions), *[written] * len(call.outputs)]
        self.strides: list[list[str]] = []
        self.own: list[list[str]] = []
        for operand, dims in enumerate(own):
            is_output = operand >= len(call.dimensions)
            self.strides.append([self._next() for _ in range(self.leading + dims)])
            self.own.append([self._next() for _ in range(dims if loop.writes or not is_output else 0)])
        accesses = (*loop.reads, *loop.writes)
        for k, access in enumerate(accesses):
            if access.dims:
                self._part(f"place{k}", loop.graph.results[access.first : access.first + access.dims])
        self._part("value", loop.graph.results[sum(each.dims for each in accesses) :])
        if loop.finish is not None:
            self.functions["finish"] = loop.finish

    def _next(self) -> str:
        self._word += 1
        return f"words.word[{self._word - 1}]"

    def _part(self, name: str, results: Sequence[int]) -> None:
        builder = GraphBuilder()
        positions = builder.inline(self.loop.graph)
        self.functions[name] = builder.finish(name, [positions[at] for at in results])

    def located(self) -> list[str]:
        """The indices of a thread's place."""
        lines = ["long long rest = position;"]
        for dim in reversed(range(self.dims)):
            lines.append(f"const long long i{dim} = rest % words.word[{dim}];")
            lines.append(f"rest /= words.word[{dim}];")
        return lines

    # ---------------------------------------------------------------------------------------------------- a turn

    @property
    def _first(self) -> list[str]:
        """Indices and numbers."""
        indices = [f"i{dim}" for dim in range(self.leading, self.count)]
        first = len(self.call.dimensions)
        kinds = self.kinds[self.loop.at + self.loop.over + self.loop.words :]
        numbers = [
            f"convert<{VALUE_TYPES[kind]}>(operand{first + k})"
            for k, kind in zip(range(self.loop.numbers), kinds, strict=False)
        ]
        return [*indices, *self.words, *numbers]

    def _arguments(self, read: int) -> list[str]:
        """The arguments of a function; what has not been read yet is of no account."""
        given = [*self._first, *(f"r{k}" for k in range(min(read, len(self.loop.reads))))]
        return given + ["{}"] * (len(self.kinds) - len(given))

    def _place(self, k: int, access: IndexedAccess, operand: int) -> list[str]:
        """Where an access leads: positions ``p``, and whether these lie inside."""
        names = [f"p{k}_{dim}" for dim in range(access.dims)]
        lines = [f"long long {', '.join(names)};", f"place{k}({', '.join([*self._arguments(k), *names])});"]
        if not access.dims:
            lines = []
        if isinstance(access.margin, str) and access.margin != SKIP:
            function = _REPEATED[access.margin]
            pairs = zip(names, self.own[operand], strict=True)
            return [*lines, *(f"{name} = {function}({name}, {size});" for name, size in pairs)]
        tests = [f"is_inside({name}, {size})" for name, size in zip(names, self.own[operand], strict=True)]
        if access.margin is not None:
            lines.append(f"const bool inside{k} = {' && '.join(tests) or 'true'};")
        return lines

    def _element(self, k: int, access: IndexedAccess, operand: int, spec: OperandSpec, name: str) -> str:
        """The element that an access leads to."""
        strides = self.strides[operand]
        steps = [f"i{dim} * {strides[dim]}" for dim in range(self.leading if access.leads else 0)]
        steps += [f"p{k}_{dim} * {strides[self.leading + dim]}" for dim in range(access.dims)]
        return f"element<{stored_type(spec.dtype)}>({name}, {' + '.join(steps) or '0'})"

    def read_all(self, leave: str) -> list[str]:
        """Everything that is read; ``leave`` ends a turn that is left out."""
        from opdsl.backends.cuda.printer import constant_text

        lines = []
        first = len(self.kinds) - len(self.loop.reads)
        for k, access in enumerate(self.loop.reads):
            kind = self.kinds[first + k]
            value, spec = VALUE_TYPES[kind], self.call.inputs[access.array]
            lines += self._place(k, access, access.array)
            found = self._element(k, access, access.array, spec, f"operand{access.array}")
            loaded = f"convert<{value}>(load({found}))"
            if access.margin == SKIP:
                lines.append(f"if (!inside{k}) {{ {leave} }}")
            elif access.margin is not None and not isinstance(access.margin, str):
                outside = constant_text(initial(access.margin, str(kind)), kind)
                lines += [f"{value} r{k} = {outside};", f"if (inside{k}) {{ r{k} = {loaded}; }}"]
                continue
            lines.append(f"const {value} r{k} = {loaded};")
        return lines

    def value(self) -> list[str]:
        """The values of a turn, ``v``."""
        declared = [f"{VALUE_TYPES[ScalarType(kind)]} v{k};" for k, kind in enumerate(self.loop.values)]
        names = [f"v{k}" for k in range(len(self.loop.values))]
        return [*declared, f"value({', '.join([*self._arguments(len(self.loop.reads)), *names])});"]

    def _turns(self, body: Sequence[str], first: int) -> list[str]:
        """A body for all turns."""
        heads = [
            f"for (long long i{dim} = 0; i{dim} < words.word[{dim}]; ++i{dim}) {{" for dim in range(first, self.count)
        ]
        return [*heads, *(f"    {each}" for each in body), *("}" for _ in heads)]

    def _added(self, kind: str) -> str:
        """The function that adds two numbers."""
        name = f"added_{kind}"
        scalar = ScalarType(kind)
        builder = GraphBuilder()
        given = tuple(builder.parameter(each, scalar) for each in "ab")
        op = "bitwise_or" if scalar.category == BOOL else "add"
        self.functions[name] = builder.finish(name, [builder.node(op, given, scalar)])
        return name

    # ------------------------------------------------------------------------------------------------ whole bodies

    def folding(self) -> list[str]:
        """What a place of the result becomes."""
        from opdsl.backends.cuda.printer import constant_text

        loop = self.loop
        if not loop.fold:
            return [*self.read_all(""), *self.value(), *self.stores([f"v{k}" for k in range(len(loop.values))])]
        first = {"sum": 0.0, "max": -math.inf, "min": math.inf}[loop.fold]
        lines = []
        for k, name in enumerate(loop.folded):
            kind = ScalarType(name)
            lines.append(f"{VALUE_TYPES[kind]} a{k} = {constant_text(initial(first, name), kind)};")
        lines.append("long long turn = -1, place = -1;")
        body = ["++turn;", *self.read_all("continue;"), *self.value()]
        if loop.fold == "sum":
            body += [f"{self._added(name)}(a{k}, v{k}, a{k});" for k, name in enumerate(loop.values)]
        else:
            beyond = f"v0 {'>' if loop.fold == 'max' else '<'} a0"
            is_nan = " || v0 != v0" if ScalarType(loop.values[0]).category == FLOAT else ""
            is_first = " || place < 0" if loop.with_place else ""
            place = "v1" if len(loop.values) > len(loop.folded) else "turn"
            body.append(f"if ({beyond}{is_nan}{is_first}) {{ a0 = v0; place = {place}; }}")
        return [*lines, *self._turns(body, self.dims), *self.stores([f"a{k}" for k in range(len(loop.folded))])]

    def stores(self, values: Sequence[str]) -> list[str]:
        """Finish and store the results of a place."""
        loop, lines = self.loop, []
        if loop.finish is not None:
            indices = [f"i{dim}" for dim in range(self.leading, self.dims)]
            given = [*values, *indices, *self._first[loop.at + loop.over :]]
            values = [f"f{k}" for k in range(len(loop.finish.result_types))]
            lines += [
                f"{VALUE_TYPES[kind]} {name};" for name, kind in zip(values, loop.finish.result_types, strict=True)
            ]
            lines.append(f"finish({', '.join([*given, *values])});")
        values = [*values, "place"] if loop.with_place else values
        first = len(self.call.inputs)
        for k, (spec, value) in enumerate(zip(self.call.outputs, values, strict=True)):
            strides = self.strides[len(self.call.dimensions) + k]
            steps = " + ".join(f"i{dim} * {strides[dim]}" for dim in range(self.dims)) or "0"
            place = f"element<{stored_type(spec.dtype)}>(operand{first + k}, {steps})"
            lines.append(f"store({place}, convert<{loaded_type(spec.dtype)}>({value}));")
        return lines

    def adding(self) -> list[str]:
        """What is added at positions."""
        loop, (spec,) = self.loop, self.call.outputs
        target, kind = len(self.call.dimensions), ScalarType(loop.values[0])
        body = [*self.read_all("continue;"), *self.value()]
        for k, access in enumerate(loop.writes, start=len(loop.reads)):
            value = f"v{k - len(loop.reads)}"
            place = self._element(k, access, target, spec, f"operand{len(self.call.inputs)}")
            if spec.dtype.name == kind and kind in _ADDED:
                add = [f"add_atomically({place}, {value});"]
            else:
                loaded = loaded_type(spec.dtype)
                add = [
                    f"atomically({place}, [&]({stored_type(spec.dtype)}& there) {{",
                    f"    {VALUE_TYPES[kind]} sum;",
                    f"    {self._added(str(kind))}(convert<{VALUE_TYPES[kind]}>(load(there)), {value}, sum);",
                    f"    store(there, convert<{loaded}>(sum));",
                    "});",
                ]
            body += self._write(k, access, target, add)
        # A turn that is left out goes on with the next one.
        return (
            self._turns(body, self.dims)
            if loop.over
            else ["do {", *(f"    {each}" for each in body), "} while (false);"]
        )

    def _write(self, k: int, access: IndexedAccess, target: int, add: list[str]) -> list[str]:
        lines = self._place(k, access, target)
        if access.margin == SKIP:
            return [*lines, f"if (inside{k}) {{", *(f"    {each}" for each in add), "}"]
        return [*lines, *add]
