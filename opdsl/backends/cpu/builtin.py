"""Plans as Python built-in functions, the cheapest callables that CPython has.

The function's ``self`` is an ndarray whose data machine code reads (``machine/call.py``). It also owns the objects that
the call uses (code, dtypes, allocators), so a plan that is dropped while it runs in another thread stays whole until it
returns.
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
from opdsl.backends.cpu.plan_words import Table as Table
from opdsl.backends.cpu.plan_words import block_of, placed
from opdsl.runtime.lowering import Lowering, SymbolicArray, lowering, sizes_are_symbols
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import NotLoweredError, Symbol

Kernel: TypeAlias = Callable[..., Any]

_METH_FASTCALL = 0x80
_METH_KEYWORDS = 0x02
_METH_NOARGS = 0x04
_INT64 = (-(1 << 63), (1 << 63) - 1)

# The index of the plan's word that points to its inputs, and the number of words before those of its loop.
_INPUTS_FIELD = list(call.Plan.__annotations__).index("input_list")
HEADER = len(call.Plan.__annotations__)


class Input(NamedTuple):
    """Kind of a call's argument (array, float, integer, ...), and for integers the allowed range."""

    kind: int
    lowest: int = 0
    highest: int = 0


class Given(NamedTuple):
    """Output that the caller passes as a trailing argument."""


class New(NamedTuple):
    """Output that NumPy allocates.

    dtype, shape: of the array.
    strides: in bytes; None for contiguous ones.
    """

    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


class Made(NamedTuple):
    """Output that is allocated by a Python function without arguments."""

    allocate: Callable[[], numpy.ndarray[Any, Any]]


class Sized(NamedTuple):
    """Output of a plan with symbolic sizes, which a separate recorded step allocates because it may be large.

    note: function that records that step, from the recorder, the shape, the dtype and the strides.
    shape, dtype: of the array.
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
    """Return the input kind of a Python integer within bounds; a call raises OverflowError for others."""
    return Input(call.INTEGER, lowest, highest)


class Work(NamedTuple):
    """Loop that a plan runs, its division among threads, and its operands.

    loop: address of a ``void (frame, begin, end)``.
    elements: how many iterations there are; with none the loop is not called.
    grain: the smallest number of elements that is worth a separate thread; with 0 the loop stays on the calling
        thread and keeps the GIL.
    unit: every piece but the last is a multiple of this many elements.
    scratch: bytes of temporary memory for the loop; its address follows the operands in the frame.
    after: address of a ``void (frame)`` that runs after the loop has finished; 0 for none.
    details: words after the header that the loop reads.
    keeps_pieces: whether the loop gives other bits if it runs in one piece.
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
    """Memory block that machine code reads to execute a call, and the owner of all objects that the call uses.

    address: of the memory.
    owned: the objects that must live as long as the plan.
    runs_frames: whether it is a plan of ``kernel_call``, which ``run_frame`` can run on frames filled elsewhere.
    made_of: the name, work and owned objects from which ``builtin`` made it; None if ``builtin`` did not.
    ships_as: how a package of compiled operators makes its function; None if it cannot. See ``template``.
    inputs, outputs, over: see ``builtin``.
    """

    address: int
    owned: tuple[object, ...]
    runs_frames: bool = False
    made_of: tuple[str, Work, Sequence[object]] | None = None
    ships_as: Shipped | tuple[object, ...] | None = None
    inputs: Sequence[Input] = ()
    outputs: Sequence[Output] = ()
    over: Sequence[Collection[int]] = ()

    def template(self) -> Shipped | tuple[object, ...] | None:
        """Return what a package of compiled operators makes the function of: words and code, or the name of a function
        of its run time and its arguments; None if it cannot.
        """
        if self.made_of is None:
            return self.ships_as
        _, work, owned = self.made_of
        words, pointers = placed(_header(work, self.inputs, self.outputs))
        return Shipped(words, pointers, (), 0, self.inputs, self.outputs, owned)


class Shipped(NamedTuple):
    """Plan of a kernel without addresses of this process.

    words, pointers: see ``plan_words.placed``.
    patches: pairs of the index of a word and that of the size which it gets.
    sizes: how many sizes there are.
    inputs, outputs, owned: see ``builtin``.
    """

    words: Sequence[int]
    pointers: Sequence[tuple[int, int]]
    patches: Sequence[tuple[int, int]]
    sizes: int
    inputs: Sequence[Input]
    outputs: Sequence[Output]
    owned: Sequence[object]


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
    """Build the plan of a loop, and return it as a Python built-in function.

    Args:
        name: of the function, in its repr.
        work: the loop and its extent.
        inputs: one for each positional argument, in order; the given outputs follow as arguments.
        outputs: one for each result.
        owned: objects that must live as long as the function: the loop's code.
        over: for each output the indices of the inputs that it may share memory with: each element of such an input is
            read for the last time before the output element at its index is written.

    Returns:
        A function of the inputs and the given outputs. It returns the output, or a tuple when there are several. It
        trusts that arrays have the dtypes, shapes and strides that the plan was made for; an argument that is no
        ndarray, or a number that does not fit, raises TypeError or OverflowError and changes nothing.
    """
    if _is_divided(work):
        native.share_threads()
    header = _header(work, inputs, outputs)
    if sizes_are_symbols():
        return Template(name, header, inputs, outputs, owned)
    plan = plan_of(header, [*outputs, *owned])
    plan.runs_frames = True
    plan.inputs, plan.outputs, plan.over = inputs, outputs, over
    plan.made_of = name, work, owned
    return function_of(name, native.entry("kernel_call"), plan)


def _is_divided(work: Work) -> bool:
    """Return whether a loop may run on several threads."""
    return sizes_are_symbols() or work.grain != 0


def _header(work: Work, inputs: Sequence[Input], outputs: Sequence[Output]) -> list[int | Table]:
    """Return the words of the plan of a loop."""
    header: list[int | Table] = words(
        call.Plan,
        loop=work.loop,
        elements=work.elements,
        grain=work.grain,
        in_pieces=native.entry("run_in_pieces") if _is_divided(work) else 0,
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
    return [*header, *work.details]


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
    """Return the function of a plan with its outputs allocated in another way, or None if ``builtin`` did not make the
    plan.
    """
    if plan.made_of is None:
        return None
    name, work, owned = plan.made_of
    return builtin(name, work, plan.inputs, outputs, owned, plan.over)


def builtin_over(
    name: str,
    entry: str,
    header: Sequence[int | Table],
    owned: Sequence[object],
    ships_as: tuple[object, ...] | None = None,
) -> Kernel:
    """Make a built-in function that calls an entry of the shared machine code with a plan.

    Args:
        name: of the function, in its repr.
        entry: a symbol of ``native``.
        header: the words that the entry reads; a table becomes its address.
        owned: objects that must live as long as the function.
        ships_as: see ``Plan``.
    """
    plan = plan_of(header, owned)
    plan.ships_as = ships_as
    return function_of(name, native.entry(entry), plan)


def plan_of(header: Sequence[int | Table], owned: Sequence[object]) -> Plan:
    """Write a plan to memory, with addresses in place of tables, and return it as the owner of ``owned``."""
    block = block_of(header)
    plan = block.view(Plan)
    plan.address = block.__array_interface__["data"][0]
    plan.owned = (block, *owned)
    return plan


def function_of(name: str, entry: int, plan: Plan, *, takes_names: bool = False) -> Kernel:
    """Create a built-in function whose ``self`` is a plan.

    Args:
        name: in its repr.
        entry: the address of a ``PyCFunctionFast``, or of a ``PyCFunctionFastWithKeywords`` where it ``takes_names``.
        plan: the object that the entry gets as ``self``.
        takes_names: whether the function accepts keyword arguments.
    """
    flags = _METH_FASTCALL | (_METH_KEYWORDS if takes_names else 0)
    function: Kernel = _new_function(ctypes.addressof(_definition(name, entry, flags)), plan, None)
    return function


def method_of(kind: type, name: str, entry: int) -> Kernel:
    """Create a method of a class that takes no arguments but the object.

    Args:
        kind: the class; the caller sets the method as its attribute.
        name: of the method.
        entry: the address of a ``PyCFunction``.
    """
    method: Kernel = _new_method(kind, ctypes.addressof(_definition(name, entry, _METH_NOARGS)))
    return method


@kept_forever
def _definition(name: str, entry: int, flags: int) -> _MethodDefinition:
    """Return the ``PyMethodDef`` for a name and an entry, which is never freed, like those of compiled modules.

    Python reads it once more while it frees a function. If the plan owned it, the cycle collector, which clears the
    plan first where both are garbage, would free it too early.
    """
    return _MethodDefinition(name.encode(), entry, flags, None)


def header_of(elements: int) -> list[int | Table]:
    """Return the header of a plan whose only content is its number of elements, for a second plan that a loop reads."""
    header = words(call.Plan, loop=0, elements=elements)
    return [*header, *[0] * (HEADER - len(header))]


def number_words(plan: Plan, place: int, value: Any) -> tuple[int, int]:
    """Return the two 64-bit words by which a plan's frame holds a number, for the input at index ``place``."""
    inputs = (int(plan[_INPUTS_FIELD]) - plan.address) // 8
    kind = int(plan[inputs + place * len(Input._fields)])
    if kind == FLOAT.kind:
        return _bits(float(value)), 0
    if kind == COMPLEX.kind:
        return _bits(complex(value).real), _bits(complex(value).imag)
    return ctypes.c_int64(int(value)).value, 0


def _bits(value: float) -> int:
    """Return the bits of a double as an integer."""
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
    """Plan with symbolic sizes: ``builtin`` returns it instead of a function while a call is lowered for all sizes.

    Calling it records a step, whose function takes the values of the symbols before all other arguments.

    Args:
        name, inputs, outputs, owned: see ``builtin``.
        header: of the plan.

    values: the symbols.
    """

    def __init__(
        self,
        name: str,
        header: Sequence[int | Table],
        inputs: Sequence[Input],
        outputs: Sequence[Output],
        owned: Sequence[object],
    ) -> None:
        template, pointers = placed(header)
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
        known = [0 if type(word) is Symbol else word for word in numbers]
        pairs = list(zip(patches[::2], patches[1::2], strict=True))
        form: list[int | Table] = words(
            Form,
            count=len(template),
            words=Table(known),
            values=len(values),
            patches=len(patches) // 2,
            patch_list=Table(patches),
            pointers=len(pointers),
            pointer_list=Table([word for pointer in pointers for word in pointer]),
        )
        plan = plan_of(form, [*outputs, *owned])
        plan.ships_as = Shipped(known, pointers, pairs, len(values), inputs, outputs, owned)
        self.function = function_of(name, native.entry("form_call"), plan)

    def __call__(self, *arguments: Any) -> Any:
        """Record a step that runs the plan, and return the symbolic arrays of its outputs."""
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
    """Record the allocation of a sized output, and return its symbolic array."""
    return output.note(recorder, output.shape, output.dtype, output.strides)
