"""A plan as a Python built-in function: the fastest thing that Python can call.

The function's ``self`` is an ndarray whose data machine code reads (``machine/call.py``). It also owns what the call
uses (code, dtypes, allocators), so a plan that is dropped while it runs in another thread stays whole until it returns.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy

from opdsl.backends.cpu import native
from opdsl.backends.cpu.machine import call
from opdsl.backends.cpu.machine.forms import Form
from opdsl.backends.cpu.machine.language import words
from opdsl.runtime.lowering import Lowering, SymbolicArray, lowering, sizes_are_symbols
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import NotLoweredError, Symbol

Kernel: TypeAlias = Callable[..., Any]

_METH_FASTCALL = 0x80
_METH_KEYWORDS = 0x02
_METH_NOARGS = 0x04
_INT64 = (-(1 << 63), (1 << 63) - 1)

# Which word of a plan leads to its inputs, and how many there are before those of its loop.
_INPUTS_FIELD = list(call.Plan.__annotations__).index("input_list")
HEADER = len(call.Plan.__annotations__)


class Table(NamedTuple):
    """Words of a plan that its header points to."""

    words: Sequence[int | Table]


class Input(NamedTuple):
    """How a call takes an argument in."""

    kind: int
    lowest: int = 0
    highest: int = 0


class Given(NamedTuple):
    """An output that is given as a trailing argument."""


class New(NamedTuple):
    """An output that NumPy allocates.

    dtype; shape; strides: in bytes, None where contiguous.
    """

    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


class Made(NamedTuple):
    """An output that a Python function without arguments allocates."""

    allocate: Callable[[], numpy.ndarray[Any, Any]]


class Sized(NamedTuple):
    """An output, which may be large, of a plan whose sizes come with the call: a step of its own makes it before.

    note: notes that step, of the record, the shape, the dtype and the strides.
    strides: in bytes; None for those of row-major order.
    """

    note: Callable[..., SymbolicArray]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: numpy.dtype[Any]


Output: TypeAlias = Given | New | Made | Sized

ARRAY = Input(call.ARRAY)
FLOAT = Input(call.FLOAT)
TRUTH = Input(call.TRUTH)
COMPLEX = Input(call.COMPLEX)
WORD = Input(call.WORD)


def integer(lowest: int = _INT64[0], highest: int = _INT64[1]) -> Input:
    """An argument that is a Python integer between bounds; others raise OverflowError."""
    return Input(call.INTEGER, lowest, highest)


class Work(NamedTuple):
    """What a plan runs.

    loop: address of a ``void (frame, begin, end)``.
    elements: how many there are; none runs nothing.
    grain: the smallest number of elements that is worth a thread of its own; 0 stays on the calling thread and keeps
        the GIL.
    unit: every piece but the last is a multiple of so many elements.
    scratch: bytes of memory that the loop gets, behind the operands in its frame.
    after: address of a ``void (frame)`` that runs when all is done; 0 for none.
    details: words after the header that the loop reads.
    keeps_pieces: whether the loop gives other bits where it runs in one piece.
    """

    loop: int
    elements: int
    grain: int = 0
    unit: int = 1
    scratch: int = 0
    after: int = 0
    details: Sequence[int | Table] = ()
    keeps_pieces: bool = False


class Plan(numpy.ndarray[Any, Any]):
    """The memory that a call reads, and the owner of everything a call uses.

    address: of the memory.
    owned: what is used.
    runs_frames: whether it is a plan of ``kernel_call``, which ``run_frame`` runs on other frames, too.
    made_of: what ``builtin`` has made it of; None of others.
    inputs, outputs, over: see ``builtin``.
    """

    address: int
    owned: tuple[object, ...]
    runs_frames: bool = False
    made_of: tuple[str, Work, Sequence[object]] | None = None
    inputs: Sequence[Input] = ()
    outputs: Sequence[Output] = ()
    over: Sequence[Collection[int]] = ()


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

_new_method = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
    ("PyDescr_NewMethod", ctypes.pythonapi)
)


def builtin(
    name: str,
    work: Work,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    owned: Sequence[object],
    over: Sequence[Collection[int]] = (),
) -> Kernel:
    """Make the built-in function of a plan.

    Args:
        name: what the function is called, in its repr.
        work: the loop and its extent.
        inputs: one for each positional argument, in order; the given outputs follow as arguments.
        outputs: one for each result.
        owned: what has to live as long as the function: the loop's code.
        over: for each output the inputs that it may lie over: an element is read for the last time when that in its
            place is written.

    Returns:
        A function of the inputs and the given outputs. It returns the output, or a tuple when there are several. It
        trusts that arrays have the dtypes, shapes and strides that the plan was made for; an argument that is no
        ndarray, or a number that does not fit, raises TypeError or OverflowError and changes nothing.
    """
    is_divided = sizes_are_symbols() or work.grain != 0
    if is_divided:
        native.share_threads()
    header: list[int | Table] = words(
        call.Plan,
        loop=work.loop,
        elements=work.elements,
        grain=work.grain,
        in_pieces=native.entry("run_in_pieces") if is_divided else 0,
        inputs=len(inputs),
        outputs=len(outputs),
        arguments=len(inputs) + sum(isinstance(output, Given | Sized) for output in outputs),
        input_list=Table([word for input in inputs for word in input]),
        output_list=Table([word for output in outputs for word in _words(output)]),
        unit=work.unit,
        scratch=work.scratch,
        after=work.after,
        keeps_pieces=int(work.keeps_pieces),
        alone=0,
    )
    header += work.details
    if sizes_are_symbols():
        return Template(name, header, outputs, owned)
    plan = plan_of(header, [*outputs, *owned])
    plan.runs_frames = True
    plan.inputs, plan.outputs, plan.over = inputs, outputs, over
    plan.made_of = name, work, owned
    return function_of(name, native.entry("kernel_call"), plan)


def allocating(compiled: Callable[..., Any], maker: Callable[[], numpy.ndarray[Any, Any]]) -> Kernel | None:
    """See ``opdsl.kernels.compiler.Compiler``."""
    plan = getattr(compiled, "__self__", None)
    if type(plan) is not Plan or len(plan.outputs) != 1 or not isinstance(plan.outputs[0], Given):
        return None
    output: Output = Made(maker)
    if isinstance(maker, functools.partial) and maker.func is numpy.empty:
        shape, dtype = maker.args
        output = New(dtype, shape, None)
    return with_outputs(plan, [output])


def with_outputs(plan: Plan, outputs: Sequence[Output]) -> Kernel | None:
    """The function of a plan whose outputs come about in other ways; None of a plan that ``builtin`` has not made."""
    if plan.made_of is None:
        return None
    name, work, owned = plan.made_of
    return builtin(name, work, plan.inputs, outputs, owned, plan.over)


def builtin_over(name: str, entry: str, header: Sequence[int | Table], owned: Sequence[object]) -> Kernel:
    """Make a built-in function from an entry of the shared code and the words of a plan.

    Args:
        entry: a symbol of ``native``.
        header: what the entry reads; a table becomes its address.
        owned: what has to live as long as the function.
    """
    return function_of(name, native.entry(entry), plan_of(header, owned))


def plan_of(header: Sequence[int | Table], owned: Sequence[object]) -> Plan:
    """The words of a plan in memory; a table becomes its address. It owns what has to live as long."""
    block = _layout(header)
    plan = block.view(Plan)
    plan.address = block.ctypes.data
    plan.owned = (block, *owned)
    return plan


def function_of(name: str, entry: int, plan: Plan, *, takes_names: bool = False) -> Kernel:
    """A built-in function whose ``self`` is a plan.

    Args:
        name: in its repr.
        entry: the address of a ``PyCFunctionFast``, or of a ``PyCFunctionFastWithKeywords`` where it ``takes_names``.
    """
    flags = _METH_FASTCALL | (_METH_KEYWORDS if takes_names else 0)
    function: Kernel = _new_function(ctypes.addressof(_definition(name, entry, flags)), plan, None)
    return function


def method_of(kind: type, name: str, entry: int) -> Kernel:
    """A method of a class, which takes nothing but the object.

    Args:
        kind: the class; the caller sets the method.
        entry: the address of a ``PyCFunction``.
    """
    method: Kernel = _new_method(kind, ctypes.addressof(_definition(name, entry, _METH_NOARGS)))
    return method


@kept_forever
def _definition(name: str, entry: int, flags: int) -> _MethodDefinition:
    """What describes functions of a name and an entry; kept for ever, like those of compiled modules.

    Python reads it once more while it frees a function. Were it one of the things that the plan owns, the collector of
    cycles, which clears the plan first where both are garbage, would have freed it before.
    """
    return _MethodDefinition(name.encode(), entry, flags, None)


def header_of(elements: int) -> list[int | Table]:
    """The header of a plan that a loop reads beside its own."""
    header = words(call.Plan, loop=0, elements=elements)
    return [*header, *[0] * (HEADER - len(header))]


def number_words(plan: Plan, place: int, value: Any) -> tuple[int, int]:
    """What the frame of a plan holds for a number that is one of its inputs."""
    inputs = (int(plan[_INPUTS_FIELD]) - plan.address) // 8
    kind = int(plan[inputs + place * len(Input._fields)])
    if kind == FLOAT.kind:
        return _bits(float(value)), 0
    if kind == COMPLEX.kind:
        return _bits(complex(value).real), _bits(complex(value).imag)
    return ctypes.c_int64(int(value)).value, 0


def _bits(value: float) -> int:
    """A double as an integer of the same bits."""
    bits: int = struct.unpack("q", struct.pack("d", value))[0]
    return bits


def _words(output: Output) -> list[int | Table]:
    if isinstance(output, Given | Sized):
        return [call.GIVEN, 0, 0, 0, 0]
    if isinstance(output, Made):
        return [call.CALL, id(output.allocate), 0, 0, 0]
    strides = 0 if output.strides is None else Table(output.strides)
    return words(
        call.Output,
        kind=call.NEW,
        maker=id(output.dtype),
        dimensions=len(output.shape),
        shape=Table(output.shape),
        strides=strides,
    )


class Template:
    """The plan of a form: what ``builtin`` makes while a call is lowered, when sizes are symbols.

    Calling it notes a step of the function that takes their values before all other arguments.

    Args:
        name, outputs, owned: see ``builtin``.
        header: of the plan.
    """

    def __init__(
        self, name: str, header: Sequence[int | Table], outputs: Sequence[Output], owned: Sequence[object]
    ) -> None:
        template, pointers = _placed(header)
        values: dict[str, Any] = {}
        patches: list[int] = []
        numbers: Sequence[Any] = template
        for index, word in enumerate(numbers):
            if type(word) is Symbol:
                text = word.text
                values.setdefault(text, word)
                patches += [index, list(values).index(text)]
        self.values = tuple(values.values())
        self.outputs = outputs
        form: list[int | Table] = words(
            Form,
            count=len(template),
            words=Table([0 if type(word) is Symbol else word for word in numbers]),
            values=len(values),
            patches=len(patches) // 2,
            patch_list=Table(patches),
            pointers=len(pointers),
            pointer_list=Table([word for pointer in pointers for word in pointer]),
        )
        self.function = function_of(name, native.entry("form_call"), plan_of(form, [*outputs, *owned]))

    def __call__(self, *arguments: Any) -> Any:
        """Note the step, and give the arrays that it will make."""
        recorder = lowering.get()
        if recorder is None:
            raise NotLoweredError("a form's kernel outside of its lowering")
        count = len(arguments) - [type(output) for output in self.outputs].count(Given)
        inputs, outs = arguments[:count], iter(arguments[count:])
        filled = [
            next(outs) if isinstance(output, Given) else _sized(recorder, output) if isinstance(output, Sized) else None
            for output in self.outputs
        ]
        operands = (*self.values, *inputs, *[array for array in filled if array is not None])
        results = recorder.run(self.function, operands, ["array"] * len(self.outputs))
        arrays = [
            SymbolicArray(result, output.dtype) if isinstance(output, New) else array
            for output, result, array in zip(self.outputs, results, filled, strict=True)
        ]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _sized(recorder: Lowering, output: Sized) -> SymbolicArray:
    """The array of an output that a step of its own makes."""
    return output.note(recorder, output.shape, output.dtype, output.strides)


def _layout(header: Sequence[int | Table]) -> numpy.ndarray[Any, numpy.dtype[numpy.int64]]:
    """The header and, behind it, every table that it points to, with addresses in place of the tables."""
    words, offsets = _placed(header)
    block = numpy.array([*words, 0], dtype=numpy.int64)
    base = block.ctypes.data
    for word, offset in offsets:
        block[word] = base + 8 * offset
    return block


def _placed(header: Sequence[int | Table]) -> tuple[list[int], list[tuple[int, int]]]:
    """The words of a header and its tables, and which of them point where."""
    words: list[Any] = []
    offsets: list[tuple[int, int]] = []
    tables: list[tuple[int | None, Sequence[int | Table]]] = [(None, header)]
    for pointer, values in tables:  # grows while tables hold tables
        if pointer is not None:
            offsets.append((pointer, len(words)))
        for value in values:
            if type(value) is Table:  # no symbol is asked for its class
                tables.append((len(words), value.words))
                words.append(0)
            else:
                words.append(value)
    return words, offsets
