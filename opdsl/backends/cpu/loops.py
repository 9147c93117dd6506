"""LLVM text of row kernels: a loop over the innermost dimension around a printed scalar function.

A row kernel is ``void (operands, count, strides)`` with a count of at least 1 (``walk`` calls it). It is printed for
a layout: for each operand whether it is contiguous in a row, a single element, or strided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from opdsl.backends.cpu.storage import DECLARATIONS, MEMORY, PART, REGISTER, Text, convert, load, store

CONTIGUOUS, SINGLE, STRIDED, NUMBER = "c", "s", "x", "n"

_SLOT_SIZE = 16

# Elements that are looked at together for rare ones: few enough to be in the first cache still when they are computed.
_STRETCH = 1024

ACCESS = ", !llvm.access.group !0"
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" }'

# !1: elements are independent of each other: an output may be an input, element for element, and nothing else overlaps.
# !3: a loop that calls the C library for every element; more than one at a time would be more code and no faster.
METADATA = """!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
!3 = distinct !{!3, !4, !5}
!4 = !{!"llvm.loop.vectorize.enable", i1 false}
!5 = !{!"llvm.loop.unroll.disable"}
!30 = distinct !{!30, !4, !31}
!31 = !{!"llvm.loop.unroll.count", i32 4}"""
PARALLEL, ONE_BY_ONE, UNROLLED = "!1", "!3", "!30"


class Operand(NamedTuple):
    """One input or output of a loop.

    dtype: how it is stored (``float32``); empty for a Python number.
    value: the scalar type of the function's parameter or result.
    """

    dtype: str
    value: str

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number, the same for all elements."""
        return not self.dtype


class Signature(NamedTuple):
    """What a pointwise loop is compiled for, beside the function: its operands.

    inputs, outputs: in the order of the function's parameters and results.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    def __str__(self) -> str:
        inputs = " ".join(f"{each.dtype or 'number'}:{each.value}" for each in self.inputs)
        outputs = " ".join(f"{each.dtype}:{each.value}" for each in self.outputs)
        return f"{inputs} -> {outputs}"


def symbol(layout: str) -> str:
    """The name of the row kernel for a layout, a letter for each operand."""
    return f"row_{layout}"


def module_ir(
    signature: Signature,
    layouts: Collection[str],
    function: str,
    declarations: Collection[str],
    variants: str | None = None,
    lanes: int = 1,
    *,
    is_staged: bool = False,
) -> str:
    """The module with a row kernel for each layout.

    Args:
        layouts: a letter for each operand: ``c`` contiguous, ``s`` single, ``x`` strided, ``n`` number.
        function: LLVM text that defines ``@function`` over the operands' value types.
        declarations: what that text needs declared, one line each.
        variants: LLVM text that defines ``@function.fast``, which vectorises, and ``@function.rare``, which tells for
            which elements it is wrong; None when ``@function`` itself is as fast.
        lanes: more than 1 where ``function`` defines that function (the faster one) for so many elements at once, too,
            with ``.lanes`` behind its name, ``.cheap`` and ``.costly`` (see ``lanes_ir``).
        is_staged: whether strided operands are brought together before they are computed with, and apart afterwards:
            LLVM has no vectors of elements that lie apart, and the function costs more than the way there and back.
    """
    rows = []
    for layout in layouts:
        row = Row(signature, layout, lanes=lanes)
        row.staged = [k for k, each in enumerate(layout) if each == STRIDED and is_staged]
        rows.append(_row(row) if variants is None and not row.staged else _row_of_stretches(row, variants is not None))
    texts = [function, *([] if variants is None else [variants]), *sorted({*declarations, *DECLARATIONS})]
    return "\n".join([*texts, *rows, ATTRIBUTES, METADATA])


def _row(row: Row) -> str:
    """One loop over all elements."""
    row.compute_all("all", "0", "%count", "function")
    row.text.line("  ret void\n}")
    return str(row.text)


def _row_of_stretches(row: Row, has_rare: bool) -> str:
    """A stretch of elements after the other: the loop that vectorises, if no element of the stretch is a rare one.

    Both loops give the same bits for elements that are not rare, so where stretches begin does not matter.
    """
    text = row.text
    row.make_stages()
    text.line("  br label %stretch\nstretch:\n  %begin = phi i64 [ 0, %entry ], [ %end, %stretch_done ]")
    text.line(f"  %far = add nuw nsw i64 %begin, {_STRETCH}\n  %full = icmp ult i64 %far, %count")
    text.line("  %end = select i1 %full, i64 %far, i64 %count")
    row.bring_together("%begin", "%end")
    if has_rare:
        found = row.any_rare("%begin", "%end")
        text.line(f"  %slow = icmp ne i8 {found}, 0\n  br i1 %slow, label %slowly, label %swiftly\nslowly:")
        row.compute("slow", "%begin", "%end", "function", ONE_BY_ONE)
        text.line("  br label %computed\nswiftly:")
        row.compute_all("fast", "%begin", "%end", "function.fast")
    else:
        row.compute_all("all", "%begin", "%end", "function")
    text.line("  br label %computed\ncomputed:")
    row.bring_apart("%begin", "%end")
    text.line("  br label %stretch_done\nstretch_done:\n  %more = icmp ult i64 %end, %count")
    text.line("  br i1 %more, label %stretch, label %done\ndone:\n  ret void\n}")
    return str(text)


class Row:
    """A row kernel under construction.

    signature: of all operands. called: of the function, which may take fewer of them.
    lanes: how many elements are computed at once.
    text: what is printed so far; at first the part that comes before any element.
    fixed: values of the inputs that are the same for the whole row, by position.
    moving: for the other operands the address of their first element, and their stride unless they are contiguous.
    staged: those of them of which a stretch is brought together; see ``module_ir``.
    """

    staged: Sequence[int] = ()

    def __init__(self, signature: Signature, layout: str, called: Signature | None = None, lanes: int = 1) -> None:
        self.signature = signature
        self.lanes = lanes
        self.called = called or signature
        self.text = text = Text()
        text.line(f"define void @{symbol(layout)}(ptr %operands, i64 %count, ptr %strides) #0 {{\nentry:")
        if lanes > 1:
            text.line(f"  %flags = alloca i8, i64 {_STRETCH}\n  %places = alloca i64, i64 {_STRETCH + lanes}")
            for o, output in enumerate(signature.outputs):
                text.line(f"  %found{o} = alloca {REGISTER[output.value]}, i64 {_STRETCH}")
        places = [_slot(text, k) for k in range(len(signature.operands))]
        inputs = enumerate(signature.inputs)
        self.fixed = {k: _fixed(text, each, places[k]) for k, each in inputs if layout[k] in (NUMBER, SINGLE)}
        self.moving = {
            k: (_address(text, places[k]), _stride(text, k) if layout[k] == STRIDED else None)
            for k in range(len(places))
            if k not in self.fixed
        }

    def make_stages(self) -> None:
        """Memory for stretches of the operands that are brought together."""
        for k in self.staged:
            kind = MEMORY[self.signature.operands[k].dtype].llvm
            self.text.line(f"  %stage{k} = alloca {kind}, i64 {_STRETCH}, align 64")
        self.apart = {k: self.moving[k] for k in self.staged}

    def bring_together(self, begin: str, end: str) -> None:
        """Copy a stretch of the inputs to where elements are neighbours, and have outputs written there."""
        text = self.text
        for k in self.staged:
            size = MEMORY[self.signature.operands[k].dtype].itemsize
            before = text.value(f"sub i64 0, {text.value(f'mul i64 {begin}, {size}')}")
            self.moving[k] = text.value(f"getelementptr i8, ptr %stage{k}, i64 {before}"), None
        self._copy("together", [k for k in self.staged if k < len(self.signature.inputs)], begin, end)

    def bring_apart(self, begin: str, end: str) -> None:
        """Copy a stretch of the outputs to where they belong."""
        self._copy("apart", [k for k in self.staged if k >= len(self.signature.inputs)], begin, end)

    def _copy(self, name: str, operands: Sequence[int], begin: str, end: str) -> None:
        """Copy a stretch of operands, of inputs to their stages, of outputs from them."""
        for k in operands:
            operand = self.signature.operands[k]
            kind = MEMORY[operand.dtype].llvm
            with _Elements(self.text, f"{name}{k}", begin, end, UNROLLED) as i:
                near, far = self.place(k, i), _element(self.text, operand, self.apart[k][0], i, self.apart[k][1])
                source, target = (far, near) if name == "together" else (near, far)
                value = self.text.value(f"load {kind}, ptr {source}, align 1{ACCESS}")
                self.text.line(f"  store {kind} {value}, ptr {target}, align 1{ACCESS}")

    def compute_all(self, name: str, begin: str, end: str, function: str) -> None:
        """``compute``; of a function with loops a stretch of elements after the other.

        Elements for which a loop takes a turn are found first and computed several at once, wherever they stand, into
        memory of their own: an output may be an input. Then all are written, the others as they are without loops.
        """
        if self.lanes == 1:
            self.compute(name, begin, end, function)
            return
        text, n = self.text, f"{name}_part"
        text.line(f"  br label %{n}_head\n{n}_head:\n  br label %{n}_next\n{n}_next:")
        text.line(f"  %{n}_from = phi i64 [ {begin}, %{n}_head ], [ %{n}_to, %{n}_end ]")
        text.line(f"  %{n}_far = add nuw nsw i64 %{n}_from, {_STRETCH}\n  %{n}_full = icmp ult i64 %{n}_far, {end}")
        text.line(f"  %{n}_to = select i1 %{n}_full, i64 %{n}_far, i64 {end}")
        first, last = f"%{n}_from", f"%{n}_to"
        self.compute_costly(name, self.find_costly(name, first, last, function), first, function)
        self.write_found(name, first, last, function)
        text.line(f"  br label %{n}_end\n{n}_end:\n  %{n}_more = icmp ult i64 {last}, {end}")
        text.line(f"  br i1 %{n}_more, label %{n}_next, label %{n}_done\n{n}_done:")

    def find_costly(self, name: str, begin: str, end: str, function: str) -> str:
        """Flags and places of the elements for which a loop takes a turn; how many there are."""
        text = self.text
        with _Elements(text, f"{name}_flag", begin, end, PARALLEL) as i:
            flag = text.value(f"call i8 @{function}.costly({_arguments(self.called, self.inputs(i))})")
            text.line(f"  store i8 {flag}, ptr {self.own('flags', 'i8', i, begin)}{ACCESS}")
        n = f"{name}_place"
        with _Elements(text, n, begin, end, ONE_BY_ONE) as i:
            text.line(f"  %{n}_count = phi i64 [ 0, %{n}_head ], [ %{n}_counted, %{n}_loop ]")
            text.line(f"  store i64 {i}, ptr {text.value(f'getelementptr i64, ptr %places, i64 %{n}_count')}")
            flag = text.value(f"load i8, ptr {self.own('flags', 'i8', i, begin)}")
            text.line(f"  %{n}_counted = add i64 %{n}_count, {text.value(f'zext i8 {flag} to i64')}")
        for lane in range(self.lanes):  # the last ones may be too few
            place = text.value(f"add i64 %{n}_counted, {lane}")
            text.line(f"  store i64 {begin}, ptr {text.value(f'getelementptr i64, ptr %places, i64 {place}')}")
        return f"%{n}_counted"

    def compute_costly(self, name: str, count: str, begin: str, function: str) -> None:
        """The results of the elements that were found, several at once."""
        text, n, outputs = self.text, f"{name}_lanes", self.signature.outputs
        text.line(f"  br label %{n}_head\n{n}_head:\n  br label %{n}_test\n{n}_test:")
        text.line(f"  %{n}_k = phi i64 [ 0, %{n}_head ], [ %{n}_next, %{n}_loop ]")
        text.line(f"  %{n}_any = icmp ult i64 %{n}_k, {count}\n  br i1 %{n}_any, label %{n}_loop, label %{n}_end")
        text.line(f"{n}_loop:\n  %{n}_next = add nuw nsw i64 %{n}_k, {self.lanes}")
        at = [text.value(f"add nuw nsw i64 %{n}_k, {lane}") for lane in range(self.lanes)]
        places = [text.value(f"getelementptr i64, ptr %places, i64 {each}") for each in at]
        indices = [text.value(f"load i64, ptr {each}") for each in places]
        vectors = [self.vector(k, indices) for k in range(len(self.called.inputs))]
        types = [self.many(output.value) for output in outputs]
        returned = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
        given = zip(self.called.inputs, vectors, strict=True)
        arguments = ", ".join(f"{self.many(each.value)} {vector}" for each, vector in given)
        result = text.value(f"call {returned} @{function}.lanes({arguments})")
        for o, output in enumerate(outputs):
            found = result if len(types) == 1 else text.value(f"extractvalue {returned} {result}, {o}")
            for lane, index in enumerate(indices):
                kind = REGISTER[output.value]
                value = text.value(f"extractelement {types[o]} {found}, i32 {lane}")
                text.line(f"  store {kind} {value}, ptr {self.own(f'found{o}', kind, index, begin)}")
        text.line(f"  br label %{n}_test\n{n}_end:")

    def write_found(self, name: str, begin: str, end: str, function: str) -> None:
        """Store the results of a stretch: what was found, and where nothing was, what there is without loops."""
        text, outputs = self.text, self.signature.outputs
        with _Elements(text, f"{name}_write", begin, end, PARALLEL) as i:
            values = self.inputs(i)
            places = [self.place(len(self.signature.inputs) + o, i) for o in range(len(outputs))]
            flag = text.value(f"load i8, ptr {self.own('flags', 'i8', i, begin)}{ACCESS}")
            is_costly = text.value(f"icmp ne i8 {flag}, 0")
            cheap = _call(text, self.called, f"{function}.cheap", values)
            for o, (output, index, value) in enumerate(zip(outputs, places, cheap, strict=True)):
                kind = REGISTER[output.value]
                found = text.value(f"load {kind}, ptr {self.own(f'found{o}', kind, i, begin)}{ACCESS}")
                store_operand(text, output, index, text.value(f"select i1 {is_costly}, {kind} {found}, {kind} {value}"))

    def own(self, array: str, kind: str, i: str, begin: str) -> str:
        """Where memory of its own has something of an element of a stretch."""
        offset = self.text.value(f"sub nuw nsw i64 {i}, {begin}")
        return self.text.value(f"getelementptr {kind}, ptr %{array}, i64 {offset}")

    def many(self, kind: str) -> str:
        """The type of a value for all elements that are computed at once."""
        return f"<{self.lanes} x {REGISTER[kind]}>"

    def vector(self, k: int, indices: Sequence[str]) -> str:
        """Some elements of an input."""
        text, operand, many = self.text, self.called.inputs[k], self.many(self.called.inputs[k].value)
        found = "poison"
        for lane, index in enumerate(indices):
            value = f"{REGISTER[operand.value]} {self.value(k, index)}"
            found = text.value(f"insertelement {many} {found}, {value}, i32 {lane}")
        return found

    def compute(self, name: str, begin: str, end: str, function: str, kind: str = PARALLEL) -> None:
        """A loop that calls a function and stores its results."""
        text, outputs = self.text, self.signature.outputs
        with _Elements(text, name, begin, end, kind) as i:
            values = self.inputs(i)
            places = [self.place(len(self.signature.inputs) + o, i) for o in range(len(outputs))]
            results = _call(text, self.called, function, values)
            for output, index, value in zip(outputs, places, results, strict=True):
                store_operand(text, output, index, value)

    def any_rare(self, begin: str, end: str) -> str:
        """A loop that finds out whether an element is a rare one; an i8 that tells."""
        with _Elements(self.text, "rare", begin, end, PARALLEL) as i:
            self.text.line("  %before = phi i8 [ 0, %rare_head ], [ %found, %rare_loop ]")
            arguments = _arguments(self.called, self.inputs(i))
            self.text.line(f"  %found = or i8 %before, {self.text.value(f'call i8 @function.rare({arguments})')}")
        return "%found"

    def inputs(self, i: str) -> list[str]:
        """The function's arguments for an element; all are read before anything is written."""
        return [self.value(k, i) for k in range(len(self.called.inputs))]

    def value(self, k: int, i: str) -> str:
        """Element i of an input."""
        if k in self.fixed:
            return self.fixed[k]
        return load_operand(self.text, self.signature.operands[k], self.place(k, i), ACCESS)

    def place(self, k: int, i: str) -> str:
        """Where element i of an operand lies."""
        base, stride = self.moving[k]
        return _element(self.text, self.signature.operands[k], base, i, stride)


class _Elements:
    """A loop over a range that is not empty; ``with`` it, print the body."""

    def __init__(self, text: Text, name: str, begin: str, end: str, kind: str) -> None:
        self.text, self.name, self.begin, self.end, self.kind = text, name, begin, end, kind

    def __enter__(self) -> str:
        n = self.name
        self.text.line(f"  br label %{n}_head\n{n}_head:\n  br label %{n}_loop\n{n}_loop:")
        self.text.line(f"  %{n}_i = phi i64 [ {self.begin}, %{n}_head ], [ %{n}_next, %{n}_loop ]")
        return f"%{n}_i"

    def __exit__(self, *_: object) -> None:
        n = self.name
        self.text.line(f"  %{n}_next = add nuw nsw i64 %{n}_i, 1\n  %{n}_more = icmp ult i64 %{n}_next, {self.end}")
        self.text.line(f"  br i1 %{n}_more, label %{n}_loop, label %{n}_end, !llvm.loop {self.kind}\n{n}_end:")


def _slot(text: Text, k: int) -> str:
    return text.value(f"getelementptr i8, ptr %operands, i64 {_SLOT_SIZE * k}")


def _fixed(text: Text, operand: Operand, slot: str) -> str:
    """A number, or an element that is the same for the whole row."""
    if operand.is_number:
        return number(text, operand.value, slot)
    return load_operand(text, operand, _address(text, slot), "")


def _address(text: Text, slot: str) -> str:
    return text.value(f"load ptr, ptr {slot}")


def _stride(text: Text, k: int) -> str:
    return text.value(f"load i64, ptr {text.value(f'getelementptr i64, ptr %strides, i64 {k}')}")


def number(text: Text, kind: str, slot: str) -> str:
    """A number of a frame, which holds doubles, pairs of them, and i64, as a value of a scalar type."""
    if kind in PART:
        return convert(text, load(text, "complex128", slot), "complex128", kind)
    wide = "float64" if kind in ("float32", "float64") else "int64"
    return convert(text, text.value(f"load {REGISTER[wide]}, ptr {slot}"), wide, kind)


def _element(text: Text, operand: Operand, base: str, i: str, stride: str | None) -> str:
    if stride is None:
        return text.value(f"getelementptr {MEMORY[operand.dtype].llvm}, ptr {base}, i64 {i}")
    return text.value(f"getelementptr i8, ptr {base}, i64 {text.value(f'mul i64 {i}, {stride}')}")


def load_operand(text: Text, operand: Operand, address: str, suffix: str) -> str:
    """An element as the type in which the function takes it."""
    loaded = load(text, operand.dtype, address, suffix)
    return convert(text, loaded, MEMORY[operand.dtype].value, operand.value)


def store_operand(text: Text, operand: Operand, address: str, value: str) -> None:
    """Store a result of the function as an element."""
    stored = convert(text, value, operand.value, MEMORY[operand.dtype].value)
    store(text, operand.dtype, address, stored, ACCESS)


def _call(text: Text, signature: Signature, function: str, values: list[str]) -> list[str]:
    """A function's results."""
    types = [REGISTER[output.value] for output in signature.outputs]
    returned = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
    result = text.value(f"call {returned} @{function}({_arguments(signature, values)})")
    if len(types) == 1:
        return [result]
    return [text.value(f"extractvalue {returned} {result}, {o}") for o in range(len(types))]


def _arguments(signature: Signature, values: list[str]) -> str:
    return ", ".join(f"{REGISTER[each.value]} {value}" for each, value in zip(signature.inputs, values, strict=True))
