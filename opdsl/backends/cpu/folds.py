"""LLVM text of what the driver of reductions calls: folds into sets of accumulators, their combination, results.

A set holds for each accumulator an array over ``lanes`` lanes, 8 bytes a lane at most, one array behind the other.
Accumulators are kept in registers' types (a bool as one byte).
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from opdsl.backends.cpu.loops import ACCESS, ATTRIBUTES, METADATA, PARALLEL
from opdsl.backends.cpu.operands import Operand, load_operand, number, store_operand
from opdsl.backends.cpu.storage import DECLARATIONS, MEMORY, PART, REGISTER, Text, load_pair, store_pair

_LANE_SIZE = 8
_SLOT_SIZE = 16
_WORD_SIZE = 8
# Steps that are folded between loading and storing an accumulator.
_STEPS_AT_ONCE = 8
# Bytes between a step and what is fetched meanwhile; a few steps of most dtypes.
_PREFETCH_DISTANCE = 4096
_CACHE_LINE = 64
# Lanes that are computed together, and so few of them that LLVM unrolls their loop.
_LANES_OF_A_VECTOR = 16
# How a short row is folded: by what name, how many steps of how many lanes at once.
_PARTS_OF_A_ROW = (
    ("many", _STEPS_AT_ONCE, _LANES_OF_A_VECTOR),
    ("few", 1, _LANES_OF_A_VECTOR),
    ("half", 1, _LANES_OF_A_VECTOR // 2),
    ("single", 1, 1),
)
_FEWEST_VECTORISED = 8

SYMBOLS = ("fold", "combine_sets", "reset", "collapse", "finish_set", "fold_rows")


class FoldSignature(NamedTuple):
    """What the functions of a reduction are compiled for, beside its graphs.

    inputs: for each the storage dtype, and the type of lift's parameter.
    strides: for each the bytes from lane to lane, where they are known: neighbours, or 0; None otherwise.
    with_index: whether lift takes the index too.
    accumulators: types.
    init: their values for no elements, as constants of LLVM, which tell -0.0 from 0.0.
    numbers: types of the numbers that finish takes.
    lifted_numbers: which of them lift takes too.
    outputs: the results.
    lanes: of a set.
    ordered: whether lane k holds the k-th part of the elements, so that neighbours must be combined.
    along: whether lanes take elements that are folded together, at known strides; a step mostly fills all lanes then.
    rows: whether they are so few that they are folded row by row.
    """

    inputs: tuple[Operand, ...]
    strides: tuple[int | None, ...]
    with_index: bool
    accumulators: tuple[str, ...]
    init: tuple[str, ...]
    numbers: tuple[str, ...]
    lifted_numbers: tuple[int, ...]
    outputs: tuple[Operand, ...]
    lanes: int
    ordered: bool
    along: bool
    rows: bool = False

    @property
    def set_size(self) -> int:
        """Bytes of a set."""
        return len(self.accumulators) * self.array_size

    @property
    def array_size(self) -> int:
        """Bytes of one of its arrays."""
        return self.lanes * (2 * _LANE_SIZE if any(kind in PART for kind in self.accumulators) else _LANE_SIZE)

    def __str__(self) -> str:
        init = " ".join(self.init)
        inputs, outputs = (" ".join(f"{each.dtype}:{each.value}" for each in of) for of in (self.inputs, self.outputs))
        return (
            f"{inputs} {self.strides} {self.with_index} {self.accumulators} {init} {self.numbers} "
            f"{self.lifted_numbers} -> {outputs} | {self.lanes} {self.ordered} {self.along} {self.rows}"
        )


def module_ir(signature: FoldSignature, functions: Sequence[str], declarations: Sequence[str]) -> str:
    """The module of a reduction.

    Args:
        functions: LLVM text of ``@lift``, ``@combine`` and ``@finish``.
        declarations: what they need declared.
    """
    parts = [*functions, *sorted({*declarations, *DECLARATIONS})]
    if signature.rows:
        parts += [*_rows(signature), *(_absent(each) for each in ("fold", "combine_sets", "reset", "collapse"))]
    else:
        parts += [*_fold(signature), _combine(signature), _reset(signature), _collapse(signature), _absent("fold_rows")]
    parts.append(_finish(signature))
    return "\n".join([*parts, ATTRIBUTES, METADATA, _metadata(signature, functions[:2])])


def _metadata(signature: FoldSignature, functions: Sequence[str]) -> str:
    """How loops of known length are vectorised: those over all lanes with so many accumulators side by side as
    registers can hold. LLVM would unroll them first, and see no loop then.

    It says so on stderr where it cannot do what it is told to: the C library has nothing for several numbers at once.
    """
    calls_library = any(re.search(r"call [^@]*@(?!llvm\.)", each) for each in functions)
    size = sum(8 if kind in PART or "64" in kind else 4 for kind in signature.accumulators)
    counts = {signature.lanes: max(1, _LANES_OF_A_VECTOR // size)}
    return "\n".join(
        f"{_loop_of(lanes)} = distinct !{{{_loop_of(lanes)}, !4, !5}}"
        if calls_library
        else f"""{_loop_of(lanes)} = distinct !{{{_loop_of(lanes)}, !2, !5, !{lanes}1, !{lanes}2}}
!{lanes}1 = !{{!"llvm.loop.vectorize.width", i32 {min(lanes, _LANES_OF_A_VECTOR)}}}
!{lanes}2 = !{{!"llvm.loop.interleave.count", i32 {counts.get(lanes, 1)}}}"""
        for lanes in (signature.lanes, *_halves(signature.lanes))
        if lanes >= _FEWEST_VECTORISED
    )


def _loop_of(lanes: int) -> str:
    """The metadata of a loop over a known number of lanes."""
    return f"!{lanes}0"


def constant(value: bool | int | float | complex, kind: str) -> str:
    """A number of a scalar type as LLVM text."""
    if kind in PART:
        number, part = complex(value), REGISTER[PART[kind]]
        return f"{{ {part} {constant(number.real, PART[kind])}, {part} {constant(number.imag, PART[kind])} }}"
    assert not isinstance(value, complex)
    if kind in ("float32", "float64"):
        return f"0x{struct.pack('>d', float(value)).hex()}"
    return str(int(value))


def constants(values: Sequence[bool | int | float | complex], kinds: Sequence[str]) -> tuple[str, ...]:
    """Numbers of scalar types as LLVM text."""
    return tuple(constant(value, kind) for value, kind in zip(values, kinds, strict=True))


class _Counter:
    """A loop over a counter from 0 that is at least 1 long; ``with`` it, print the body."""

    def __init__(self, text: Text, name: str, limit: str, kind: str) -> None:
        self.text, self.name, self.limit = text, name, limit
        self.kind = kind

    def __enter__(self) -> str:
        n = self.name
        self.text.line(f"  br label %{n}_head\n{n}_head:")
        self.text.line(f"  br label %{n}_loop\n{n}_loop:\n  %{n} = phi i64 [ 0, %{n}_head ], [ %{n}_next, %{n}_loop ]")
        return f"%{n}"

    def __exit__(self, *_: object) -> None:
        n = self.name
        self.text.line(f"  %{n}_next = add nuw nsw i64 %{n}, 1\n  %{n}_more = icmp ult i64 %{n}_next, {self.limit}")
        self.text.line(f"  br i1 %{n}_more, label %{n}_loop, label %{n}_end{self.kind}\n{n}_end:")


def _kind_of(lanes: str) -> str:
    """The metadata of a loop over lanes: they are independent of each other."""
    is_known = lanes.isdecimal() and int(lanes) >= _FEWEST_VECTORISED
    return f", !llvm.loop {_loop_of(int(lanes))}" if is_known else PARALLEL


def _slot(text: Text, base: str, k: int) -> str:
    return text.value(f"getelementptr i8, ptr {base}, i64 {_SLOT_SIZE * k}")


def _arrays(text: Text, signature: FoldSignature, of: str) -> list[str]:
    """The addresses of a set's arrays."""
    step = signature.array_size
    return [text.value(f"getelementptr i8, ptr {of}, i64 {step * j}") for j in range(len(signature.accumulators))]


def _lane(text: Text, signature: FoldSignature, arrays: Sequence[str], lane: str) -> list[str]:
    """The addresses of a lane's accumulators."""
    return [
        text.value(f"getelementptr {REGISTER[kind]}, ptr {array}, i64 {lane}")
        for kind, array in zip(signature.accumulators, arrays, strict=True)
    ]


def _load(text: Text, signature: FoldSignature, places: Sequence[str], suffix: str = ACCESS) -> list[str]:
    return [
        load_pair(text, kind, index, suffix)
        if kind in PART
        else text.value(f"load {REGISTER[kind]}, ptr {index}{suffix}")
        for kind, index in zip(signature.accumulators, places, strict=True)
    ]


def _store(
    text: Text, signature: FoldSignature, places: Sequence[str], values: Sequence[str], suffix: str = ACCESS
) -> None:
    for kind, index, value in zip(signature.accumulators, places, values, strict=True):
        if kind in PART:
            store_pair(text, kind, index, value, suffix)
        else:
            text.line(f"  store {REGISTER[kind]} {value}, ptr {index}{suffix}")


def _call(text: Text, name: str, arguments: Sequence[tuple[str, str]], results: Sequence[str]) -> list[str]:
    """Call a printed function: arguments as (type, value), the types of its results."""
    given = ", ".join(f"{REGISTER[kind]} {value}" for kind, value in arguments)
    types = [REGISTER[kind] for kind in results]
    if len(types) == 1:
        return [text.value(f"call {types[0]} @{name}({given})")]
    returned = f"{{ {', '.join(types)} }}"
    both = text.value(f"call {returned} @{name}({given})")
    return [text.value(f"extractvalue {returned} {both}, {k}") for k in range(len(types))]


def _combined(text: Text, signature: FoldSignature, first: Sequence[str], later: Sequence[str]) -> list[str]:
    kinds = signature.accumulators
    return _call(text, "combine", list(zip((*kinds, *kinds), (*first, *later), strict=True)), kinds)


_ROWS_PARAMETERS = "ptr %set, ptr %results, ptr %elements, i64 %rows, ptr %row_strides, i64 %length, ptr %numbers"
_FOLD_PARAMETERS = (
    "ptr %set, i64 %first, ptr %elements, i64 %lanes, ptr %lane_strides, i64 %steps, ptr %step_strides, i64 %index, "
    "i64 %index_lane, i64 %index_step, ptr %numbers"
)


def _parameters(signature: FoldSignature) -> str:
    """Those of functions that fold steps, with an address and strides for each input."""
    places = range(len(signature.inputs))
    operands = "".join(f"ptr %element{k}, i64 %lane_stride{k}, i64 %step_stride{k}, " for k in places)
    return (
        f"ptr %set, i64 %first, {operands}i64 %lanes, i64 %steps, i64 %index, i64 %index_lane, i64 %index_step, "
        "ptr %numbers"
    )


def _words(text: Text, base: str, count: int, kind: str = "i64", size: int = _WORD_SIZE) -> list[str]:
    """Words, or addresses, of an array."""
    places = [text.value(f"getelementptr i8, ptr {base}, i64 {size * k}") for k in range(count)]
    return [text.value(f"load {kind}, ptr {place}") for place in places]


def _steps(signature: FoldSignature, name: str, steps: int, lanes: str = "%lanes") -> str:
    """Fold a fixed number of steps: they are combined like a tournament, and then with what the lanes hold."""
    text = Text()
    text.line(f"define internal void @{name}({_parameters(signature)}) #0 {{\nentry:")
    numbers = _numbers(text, signature)
    arrays = _lane(text, signature, _arrays(text, signature, "%set"), "%first")
    rows = [
        [
            text.value(f"getelementptr i8, ptr %element{k}, i64 {_times(text, u, f'%step_stride{k}')}")
            for k in range(len(signature.inputs))
        ]
        for u in range(steps)
    ]
    indices = [text.value(f"add i64 %index, {_times(text, u, '%index_step')}") for u in range(steps)]
    with _Counter(text, "w", lanes, _kind_of(lanes)) as w:
        places = _lane(text, signature, arrays, w)
        at_lane = text.value(f"mul i64 {w}, %index_lane") if signature.with_index else ""
        values = [
            _lifted(text, signature, [_element(text, signature, k, row, w) for k, row in enumerate(each)], at, numbers)
            for each, at in zip(rows, [(index, at_lane) for index in indices], strict=True)
        ]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [_combined(text, signature, first, later) for first, later in pairs]
        _store(text, signature, places, _combined(text, signature, _load(text, signature, places), values[0]))
    text.line("  ret void\n}")
    return str(text)


def _times(text: Text, factor: int, value: str) -> str:
    return text.value(f"mul i64 {value}, {factor}")


def _element(text: Text, signature: FoldSignature, k: int, row: str, lane: str) -> str:
    """The address of an input's element in a lane."""
    if signature.strides[k] == 0:
        return row
    if signature.strides[k] is None:
        return text.value(f"getelementptr i8, ptr {row}, i64 {text.value(f'mul i64 {lane}, %lane_stride{k}')}")
    return text.value(f"getelementptr {MEMORY[signature.inputs[k].dtype].llvm}, ptr {row}, i64 {lane}")


def _lifted(
    text: Text, signature: FoldSignature, elements: Sequence[str], index: tuple[str, str], numbers: Sequence[str]
) -> list[str]:
    """The accumulators of elements at addresses; their index is that of the step, and what the lane adds to it."""
    arguments = [
        (operand.value, load_operand(text, operand, element, ACCESS))
        for operand, element in zip(signature.inputs, elements, strict=True)
    ]
    if signature.with_index:
        arguments.append(("int64", text.value(f"add i64 {index[0]}, {index[1]}")))
    arguments += [(signature.numbers[k], numbers[k]) for k in signature.lifted_numbers]
    return _call(text, "lift", arguments, signature.accumulators)


def _numbers(text: Text, signature: FoldSignature) -> list[str]:
    """The number arguments of the call."""
    slots = [_slot(text, "%numbers", k) for k in range(len(signature.numbers))]
    return [number(text, kind, slot) for kind, slot in zip(signature.numbers, slots, strict=True)]


def _absent(symbol: str) -> str:
    """A symbol that plans of the module do not call."""
    return f"define void @{symbol}() {{\n  unreachable\n}}"


def _fold(signature: FoldSignature) -> list[str]:
    """``@fold``: any number of steps, several at once while there are so many."""
    parts = [_steps(signature, "step", 1)]
    if not signature.along:
        parts += [_steps(signature, "some", _STEPS_AT_ONCE), _loop(signature, "fold_lanes", "some", _STEPS_AT_ONCE)]
        return [*parts, _fold_entry(signature)]
    lanes, parameters = str(signature.lanes), _parameters(signature)
    parts.append(_steps(signature, "whole", _STEPS_AT_ONCE, lanes))
    parts.append(_loop(signature, "fold_whole", "whole", _STEPS_AT_ONCE, _prefetch(signature)))
    parts.append(_loop(signature, "fold_some", "step", 1))
    return [*parts, _WHOLE_OR_SOME.format(parameters=parameters, lanes=lanes), _fold_entry(signature)]


def _fold_entry(signature: FoldSignature) -> str:
    """``@fold`` as the driver calls it: with arrays of addresses and strides."""
    text, count = Text(), len(signature.inputs)
    text.line(f"define void @fold({_FOLD_PARAMETERS}) #0 {{\nentry:")
    elements = _words(text, "%elements", count, "ptr", _SLOT_SIZE)
    strides = zip(_words(text, "%lane_strides", count), _words(text, "%step_strides", count), strict=True)
    operands = "".join(
        f"ptr {element}, i64 {lane}, i64 {step}, " for element, (lane, step) in zip(elements, strides, strict=True)
    )
    text.line(f"  call void @fold_lanes(ptr %set, i64 %first, {operands}i64 %lanes, i64 %steps, i64 %index,")
    text.line("      i64 %index_lane, i64 %index_step, ptr %numbers)\n  ret void\n}")
    return str(text)


_WHOLE_OR_SOME = """define internal void @fold_lanes({parameters}) #0 {{
entry:
  %all = icmp eq i64 %lanes, {lanes}
  br i1 %all, label %whole, label %some
whole:
  call void @fold_whole({parameters})
  ret void
some:
  call void @fold_some({parameters})
  ret void
}}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"""


def _rows(signature: FoldSignature) -> list[str]:
    """``@fold_rows`` and what it calls."""
    parts = [_steps(signature, f"row_{name}", steps, str(lanes)) for name, steps, lanes in _PARTS_OF_A_ROW]
    return [*parts, _fold_rows(signature)]


def _fold_rows(signature: FoldSignature) -> str:
    """``@fold_rows``: short rows, one after the other, into a lane each of a set of results."""
    text = Text()
    text.line(f"define void @fold_rows({_ROWS_PARAMETERS}) #0 {{\nentry:")
    arrays, results = _arrays(text, signature, "%set"), _arrays(text, signature, "%results")
    sizes = [each or 0 for each in signature.strides]
    elements = _words(text, "%elements", len(sizes), "ptr", _SLOT_SIZE)
    row_strides = _words(text, "%row_strides", len(sizes))
    # Not a _Counter: its body is one block.
    text.line("  br label %each\neach:\n  %r = phi i64 [ 0, %entry ], [ %r_next, %done ]")
    # LLVM makes a memset of a complex zero, and then says that it cannot vectorise that.
    kind = PARALLEL if any(each in PART for each in signature.accumulators) else _kind_of(str(_LANES_OF_A_VECTOR))
    with _Counter(text, "reset", str(_LANES_OF_A_VECTOR), kind) as w:
        _store(text, signature, _lane(text, signature, arrays, w), signature.init)
    rows = [
        text.value(f"getelementptr i8, ptr {element}, i64 {text.value(f'mul i64 %r, {stride}')}")
        for element, stride in zip(elements, row_strides, strict=True)
    ]
    text.line("  br label %many")
    before, start = "reset_end", "0"
    for (name, steps, lanes), (after, *_) in itertools.pairwise([*_PARTS_OF_A_ROW, ("halves", 0, 0)]):
        text.line(f"{name}:\n  %{name}_i = phi i64 [ {start}, %{before} ], [ %{name}_next, %{name}_one ]")
        text.line(f"  %{name}_next = add i64 %{name}_i, {steps * lanes}")
        text.line(f"  %{name}_fits = icmp ule i64 %{name}_next, %length")
        text.line(f"  br i1 %{name}_fits, label %{name}_one, label %{after}\n{name}_one:")
        operands = ""
        for row, size in zip(rows, sizes, strict=True):
            at = text.value(f"getelementptr i8, ptr {row}, i64 {_times(text, size, f'%{name}_i')}")
            operands += f"ptr {at}, i64 {size}, i64 {size * lanes}, "
        first = text.value(
            f"and i64 %{name}_i, {_LANES_OF_A_VECTOR // 2 - 1}"
        )  # single elements go into different lanes
        text.line(f"  call void @row_{name}(ptr %set, i64 {first}, {operands}i64 {lanes}, i64 0,")
        text.line(f"      i64 %{name}_i, i64 1, i64 {lanes}, ptr %numbers)\n  br label %{name}")
        before, start = name, f"%{name}_i"
    text.line("halves:")
    for half in _halves(_LANES_OF_A_VECTOR):
        _halve(text, signature, arrays, f"h{half}", str(half))
    _store(text, signature, _lane(text, signature, results, "%r"), _load(text, signature, arrays, ""), "")
    text.line("  br label %done\ndone:\n  %r_next = add i64 %r, 1\n  %r_more = icmp ult i64 %r_next, %rows")
    text.line("  br i1 %r_more, label %each, label %end\nend:\n  ret void\n}")
    return str(text)


def _prefetch(signature: FoldSignature) -> str:
    """Fetch what comes some steps later: the processor does so by itself too, but not early enough."""
    text = Text()
    for k, stride in enumerate(signature.strides):
        for offset in range(0, _STEPS_AT_ONCE * signature.lanes * (stride or 0), _CACHE_LINE):
            text.line(f"  %ahead{k}_{offset} = getelementptr i8, ptr %row{k}, i64 {_PREFETCH_DISTANCE + offset}")
            text.line(f"  call void @llvm.prefetch.p0(ptr %ahead{k}_{offset}, i32 0, i32 3, i32 1)")
    return str(text)


def _loop(signature: FoldSignature, symbol: str, steps: str, many: int, ahead: str = "") -> str:
    """Call a function for several steps as often as it can be, then the one for a single step.

    Args:
        symbol: the function that is printed.
        steps: the function that it calls for ``many`` steps.
        ahead: LLVM text that comes before each of the first calls.
    """
    places = range(len(signature.inputs))

    def run(name: str, function: str, counter: str) -> str:
        rows = "".join(
            f"  %{name}{k}_offset = mul i64 %{counter}, %step_stride{k}\n"
            f"  %{name}{k} = getelementptr i8, ptr %element{k}, i64 %{name}{k}_offset\n"
            for k in places
        )
        operands = "".join(f"ptr %{name}{k}, i64 %lane_stride{k}, i64 %step_stride{k}, " for k in places)
        return f"""{rows}  %{name}_steps = mul i64 %{counter}, %index_step
  %{name}_index = add i64 %index, %{name}_steps
{ahead if function == steps else ""}
  call void @{function}(ptr %set, i64 %first, {operands}i64 %lanes, i64 0, i64 %{name}_index, i64 %index_lane,
      i64 %index_step, ptr %numbers)"""

    return f"""define internal void @{symbol}({_parameters(signature)}) #0 {{
entry:
  %many = sdiv i64 %steps, {many}
  %many_steps = mul i64 %many, {many}
  %no_lanes = icmp slt i64 %lanes, 1
  br i1 %no_lanes, label %end, label %groups
groups:
  %g = phi i64 [ 0, %entry ], [ %g_next, %group ]
  %g_more = icmp slt i64 %g, %many_steps
  br i1 %g_more, label %group, label %singles
group:
{run("row", steps, "g")}
  %g_next = add i64 %g, {many}
  br label %groups
singles:
  %s = phi i64 [ %many_steps, %groups ], [ %s_next, %single ]
  %s_more = icmp slt i64 %s, %steps
  br i1 %s_more, label %single, label %end
single:
{run("last", "step", "s")}
  %s_next = add i64 %s, 1
  br label %singles
end:
  ret void
}}"""


def _over_lanes(head: str, body: Callable[[Text, str], None], prepare: Callable[[Text], None] | None = None) -> str:
    """A function that does something for each lane; lanes are at least 1."""
    text = Text()
    text.line(f"define void {head} #0 {{\nentry:")
    if prepare is not None:
        prepare(text)
    with _Counter(text, "w", "%lanes", PARALLEL) as w:
        body(text, w)
    text.line("  ret void\n}")
    return str(text)


def _combine(signature: FoldSignature) -> str:
    arrays: list[list[str]] = []

    def prepare(text: Text) -> None:
        arrays.extend([_arrays(text, signature, "%set"), _arrays(text, signature, "%later")])

    def body(text: Text, w: str) -> None:
        places = _lane(text, signature, arrays[0], w)
        first = _load(text, signature, places)
        later = _load(text, signature, _lane(text, signature, arrays[1], w))
        _store(text, signature, places, _combined(text, signature, first, later))

    return _over_lanes("@combine_sets(ptr %set, ptr %later, i64 %lanes)", body, prepare)


def _reset(signature: FoldSignature) -> str:
    arrays: list[str] = []

    def body(text: Text, w: str) -> None:
        _store(text, signature, _lane(text, signature, arrays, w), signature.init)

    return _over_lanes(
        "@reset(ptr %set, i64 %lanes)", body, lambda text: arrays.extend(_arrays(text, signature, "%set"))
    )


def _collapse(signature: FoldSignature) -> str:
    """Halve the lanes until one is left: lane k with lane k + half, or, when they are ordered, 2k with 2k + 1."""
    text = Text()
    text.line("define void @collapse(ptr %set, i64 %lanes) #0 {\nentry:")
    arrays = _arrays(text, signature, "%set")
    if signature.along:
        text.line(f"  %all = icmp eq i64 %lanes, {signature.lanes}\n  br i1 %all, label %whole, label %start\nwhole:")
        for half in _halves(signature.lanes):  # loops of known length take no time to speak of
            _halve(text, signature, arrays, f"w{half}", str(half))
        text.line("  ret void\nstart:")
    head = "start" if signature.along else "entry"
    text.line(f"  br label %round\nround:\n  %width = phi i64 [ %lanes, %{head} ], [ %half, %w_end ]")
    text.line("  %half = lshr i64 %width, 1\n  %any = icmp ugt i64 %half, 0")
    text.line("  br i1 %any, label %pairs, label %end\npairs:")
    _halve(text, signature, arrays, "w", "%half")
    text.line("  br label %round\nend:\n  ret void\n}")
    return str(text)


def _halves(lanes: int) -> list[int]:
    """The powers of two below a power of two, the largest first."""
    return [1 << index for index in reversed(range(lanes.bit_length() - 1))]


def _halve(text: Text, signature: FoldSignature, arrays: Sequence[str], name: str, half: str) -> None:
    kind = "" if signature.ordered else _kind_of(half)
    with _Counter(text, name, half, kind) as w:
        first = text.value(f"shl i64 {w}, 1") if signature.ordered else w
        second = text.value(f"or i64 {first}, 1" if signature.ordered else f"add i64 {w}, {half}")
        suffix = "" if signature.ordered else ACCESS
        one = _load(text, signature, _lane(text, signature, arrays, first), suffix)
        other = _load(text, signature, _lane(text, signature, arrays, second), suffix)
        values = _combined(text, signature, one, other)
        _store(text, signature, _lane(text, signature, arrays, w), values, suffix)


def _finish(signature: FoldSignature) -> str:
    fixed: list[list[str]] = []

    def prepare(text: Text) -> None:
        values = _numbers(text, signature)
        places = range(len(signature.outputs))
        targets = [text.value(f"getelementptr i8, ptr %outputs, i64 {_SLOT_SIZE * o}") for o in places]
        bases = [text.value(f"load ptr, ptr {target}") for target in targets]
        steps = [text.value(f"load i64, ptr {text.value(f'getelementptr i64, ptr %strides, i64 {o}')}") for o in places]
        fixed.extend([values, bases, steps, _arrays(text, signature, "%set")])

    def body(text: Text, w: str) -> None:
        values, bases, steps, arrays = fixed
        accumulators = _load(text, signature, _lane(text, signature, arrays, w))
        kinds = (*signature.accumulators, "int64", *signature.numbers)
        arguments = list(zip(kinds, (*accumulators, "%count", *values), strict=True))
        results = _call(text, "finish", arguments, [each.value for each in signature.outputs])
        for output, base, step, result in zip(signature.outputs, bases, steps, results, strict=True):
            address = text.value(f"getelementptr i8, ptr {base}, i64 {text.value(f'mul i64 {w}, {step}')}")
            store_operand(text, output, address, result)

    head = "@finish_set(ptr %set, i64 %lanes, i64 %count, ptr %numbers, ptr %outputs, ptr %strides)"
    return _over_lanes(head, body, prepare)
