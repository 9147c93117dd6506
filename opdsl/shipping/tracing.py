"""Plans that run without opdsl: a call is lowered as usual, and printed as a function of the run time of packages."""

from __future__ import annotations

import builtins
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any

import attrs
import numpy

from opdsl.backends.cpu import builtin, memory, native
from opdsl.backends.cpu.builtin import Input, Shipped
from opdsl.backends.cpu.engine import Code, Source
from opdsl.backends.cpu.machine import call as machine_call
from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.lowered import Given, Inputs, Record, record_call
from opdsl.generated import function_from_source
from opdsl.kernels.iteration import numbers
from opdsl.runtime import Tensor
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import Check, Lowering, SymbolicArray, Written
from opdsl.runtime.storage import storage_root
from opdsl.runtime.symbol import NotLoweredError, Symbol
from opdsl.runtime.tensor import MetaArray
from opdsl.shipping.runtime.code import Bounds, Entry

__all__ = ["Kernels", "NotShippedError", "Plan", "Shapes", "trace", "trace_shapes"]

_WORDS = re.compile(r"\w+")

# Words of a template that could be addresses of this process: those of user space.
_ADDRESSES = range(1 << 40, 1 << 48)

# Functions that plans call, and those of the run time that do the same.
_FUNCTIONS: Mapping[Any, str] = {
    memory.allocated: "arrays.allocated",
    inspect.unwrap(numbers.wrap): "numbers.wrap",
    inspect.unwrap(numbers._converted): "numbers.convert",
    inspect.unwrap(numbers.round_to): "numbers.round_to",
}

_KINDS = {
    machine_call.ARRAY: "a",
    machine_call.FLOAT: "f",
    machine_call.TRUTH: "t",
    machine_call.COMPLEX: "c",
    machine_call.WORD: "w",
}


class NotShippedError(Exception):
    """Raised when a call needs more than compiled kernels and arrays."""


class Kernels:
    """Machine code that plans refer to: the sources of kernels, by the names that they get in the shared library."""

    def __init__(self) -> None:
        self.sources: dict[str, tuple[Source, Mapping[str, str]]] = {}
        self._shared = native.shipped_symbols()

    def entry(self, template: Shipped) -> Entry:
        """Return the table entry of a template.

        Raises:
            NotShippedError: it refers to memory of this process that is no code.
        """
        names = dict(self._shared)
        for code in template.owned:
            if isinstance(code, Code):
                names |= self._named(code)
        patched = {at for at, _ in template.patches} | {at for at, _ in template.pointers}
        symbols = [(at, names[word]) for at, word in enumerate(template.words) if word in names and at not in patched]
        words = [0 if word in names else word for word in template.words]
        if any(word in _ADDRESSES for word in words):
            raise NotShippedError("its kernel reads memory of this process")
        return Entry(
            tuple(words),
            tuple(template.patches),
            tuple(template.pointers),
            tuple(symbols),
            template.sizes,
            tuple(map(_kind, template.inputs)),
            len(template.outputs),
        )

    def _named(self, code: Code) -> dict[int, str]:
        """Return the names that the functions of a kernel get, by their addresses in this process."""
        if code.source is None:
            raise NotShippedError("its kernel has no source")
        key = code.source.fingerprint
        if key not in self.sources:
            place = len(self.sources)
            names = {symbol: f"kernel{place}_{symbol}" for symbol in code.symbols.values()}
            self.sources[key] = code.source, names
        names = dict(self.sources[key][1])
        return {address: names[symbol] for address, symbol in code.symbols.items()}


def _kind(input: Input) -> str | Bounds:
    """Return an input's kind as the run time knows it."""
    return (input.lowest, input.highest) if input.kind == machine_call.INTEGER else _KINDS[input.kind]


@attrs.frozen
class Plan:
    """Plan of the calls of a form that satisfy its conditions.

    text: source of a function of the run time's arrays that returns the plan, without its name.
    shapes: source of the same for a function that returns the sizes, dtype and strides of each result, and tests no
        conditions.
    accepts: tests whether arguments satisfy the conditions.
    """

    text: str
    shapes: str
    accepts: Callable[..., bool]


@attrs.frozen
class Shapes(Plan):
    """Plan that returns the sizes, dtype and strides of each result.

    layouts: that function.
    """

    layouts: Callable[..., Any]


@attrs.frozen
class _Typed:
    """Function of the run time that gives the memory of a result its dtype, which NumPy lacks."""

    dtype: str


class _Reader(Inputs):
    """Reader of arguments whose layouts are known, of which a plan gets arrays."""

    def _taken(self, value: Any, text: str, argument: Given) -> Any:
        if isinstance(value, TensorMeta):
            return self._array(value, text)
        return super()._taken(value, text, argument)

    def _array(self, form: TensorMeta, text: str) -> Tensor:
        tensor = Tensor()
        tensor.geometry = self.symbolic(form, f"{text}.shape", f"{text}.strides")
        tensor.array = SymbolicArray(text, form.dtype.numpy)
        tensor._writes = self.recorder.size(f"{text}_writes", 0, 0)  # type: ignore[assignment]
        tensor._base = None
        self.recorder.arguments[tensor] = text
        self.tensors.append((tensor, text))
        self.forms.append(tensor.geometry)
        return tensor


class _MetaReader(Inputs):
    """Reader of arguments of a shape function, which have no elements."""

    def _taken(self, value: Any, text: str, argument: Given) -> Any:
        if not isinstance(value, TensorMeta):
            return super()._taken(value, text, argument)
        tensor = Tensor()
        of_meta = geometry(value.dtype, Device("meta"), value.shape, value.strides)
        tensor.geometry = self.symbolic(of_meta, f"{text}.shape", f"{text}.strides")
        tensor.array = MetaArray(0)
        tensor._writes = 0
        tensor._base = None
        self.recorder.arguments[tensor] = text
        self.tensors.append((tensor, text))
        self.forms.append(tensor.geometry)
        return tensor


class _MetaPrinter(Emitter):
    """Emitter of shape functions, which return layouts of tensors."""

    def _step(self, step: Any) -> None:
        """Emit conditions alone: sizes depend on no step."""
        if isinstance(step, Check):
            super()._step(step)

    def _tensor(self, tensor: Tensor) -> str:
        if self.recorder.is_late(_geometry(tensor.geometry)):
            raise NotShippedError("elements decide the size of a result")
        return "None"


class _Printer(Emitter):
    """Emitter of plans whose tensors are arrays."""

    def _operand(self, value: Any) -> str:
        if isinstance(value, Tensor):
            raise NotShippedError("it runs Python code on tensors")
        return super()._operand(value)

    def _written(self, step: Written) -> None:
        """See ``Emitter``; arrays have no versions."""

    def _tensor(self, tensor: Tensor) -> str:
        array: Any = getattr(tensor, "array", None)
        if type(array) is not SymbolicArray or hasattr(tensor, "_memory"):
            raise NotShippedError("a result is not computed by kernels")
        if storage_root(tensor) in self.recorder.arguments:
            raise NotShippedError("a result shares the memory of an argument")
        if tensor.geometry.is_conj or tensor.geometry.is_neg:
            raise NotShippedError("a result is the conjugate or negative of its memory")
        dtype = tensor.geometry.dtype
        if dtype.name == dtype.numpy.name:
            return array.text
        return f"{self.recorder.constant(_Typed(dtype.name))}({array.text})"


class _WritingPrinter(_Printer):
    """Emitter of plans that write arguments, and return nothing: the run time returns the arguments that it took."""

    has_written = False

    def _step(self, step: Any) -> None:
        """Emit a step; conditions come before the first write, since the next plan may be tried if one fails."""
        if isinstance(step, Check) and self.has_written:
            raise NotShippedError("it reads elements after it has written some")
        super()._step(step)

    def _written(self, step: Written) -> None:
        """See ``Emitter``."""
        self.has_written = self.has_written or storage_root(step.counter) in self.recorder.arguments

    def _tensor(self, tensor: Tensor) -> str:
        return "None"


def trace(
    name: str,
    run: Callable[..., Any],
    names: Sequence[str],
    values: Sequence[Any],
    kinds: Sequence[Kind],
    kernels: Kernels,
    *,
    is_general: bool,
    writes: bool = False,
) -> Plan:
    """Lower a call to a plan.

    Args:
        name: of the operator.
        run: computes the call from all arguments.
        names: of the parameters.
        values: the arguments: geometries of tensors, numbers, other values.
        kinds: of the arguments.
        kernels: get those of the plan.
        is_general: whether few conditions matter more than speed, see ``may_choose``.
        writes: whether the results are arguments that the call writes.

    Raises:
        NotShippedError: the call cannot run without opdsl.
    """
    how = (_Reader, _WritingPrinter if writes else _Printer)
    record, results = _recorded(name, run, names, values, kinds, how, is_general=is_general)
    lines = _lines(record, record.body)
    layouts = [_geometry(result.geometry) for result in results]
    return Plan(
        _factory(_constants(record, lines, kernels), names, lines),
        _factory({}, names, [*record.inputs.lines, f"return ({', '.join(layouts)},)"]),
        _accepting(record, names),
    )


def trace_shapes(
    name: str, run: Callable[..., Any], names: Sequence[str], values: Sequence[Any], kinds: Sequence[Kind]
) -> Shapes:
    """Lower a call of a shape function, on tensors without elements; the arguments are those of ``trace``.

    Raises:
        NotShippedError: the sizes cannot be computed without opdsl.
    """
    record, results = _recorded(name, run, names, values, kinds, (_MetaReader, _MetaPrinter), is_general=True)
    layouts = [_geometry(result.geometry) for result in results]
    lines = _lines(record, [f"return ({', '.join(layouts)},)"])
    text = _factory(_constants(record, lines, None), names, lines)
    return Shapes(
        text,
        text,
        _accepting(record, names),
        function_from_source("plan_of_call", _function(names, lines), dict(record.recorder.constants), title="layouts"),
    )


def _recorded(
    name: str,
    run: Callable[..., Any],
    names: Sequence[str],
    values: Sequence[Any],
    kinds: Sequence[Kind],
    how: tuple[type[Inputs], type[Emitter]],
    *,
    is_general: bool,
) -> tuple[Record, tuple[Tensor, ...]]:
    """Trace a call, and return the record and the results.

    Raises:
        NotShippedError: the call cannot be lowered, or does not return tensors.
    """
    call = [Given(name, None, value, {kind}) for name, value, kind in zip(names, values, kinds, strict=True)]
    outcome: list[Any] = []

    def recorder_of(guesses: Any) -> Lowering:
        recorder = Lowering({*names, "plan_of_call", "arrays"}, is_general=is_general, guesses=guesses)
        recorder.allocates_apart = True
        return recorder

    def compute(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        outcome[:] = [run(*positional)]
        return outcome[0]

    def leaving(recorder: Lowering) -> str:
        return f"return {recorder.constant(GUARD_FAILED)}"

    try:
        record = record_call(name, compute, call, recorder_of, how[0], how[1], leaving)
    except NotLoweredError as error:
        raise NotShippedError(str(error)) from error
    results = outcome[0] if isinstance(outcome[0], (tuple, list)) else (outcome[0],)
    if not all(isinstance(result, Tensor) for result in results):
        raise NotShippedError("a result is no tensor")
    return record, tuple(results)


def _lines(record: Record, body: Sequence[str]) -> list[str]:
    """Return the lines of a plan, which read the arguments, test the conditions, and run a body."""
    recorder, inputs, emitter, _ = record
    emitter.parts = {name: text for text, name in recorder.parts.items()}
    return [*inputs.lines, *emitter.tests(inputs.checks), *emitter.parts_of(*body), *body]


def _accepting(record: Record, names: Sequence[str]) -> Callable[..., bool]:
    """Return the function that tests whether arguments satisfy the conditions of a plan."""
    recorder, inputs, emitter, _ = record
    emitter.parts = {name: text for text, name in recorder.parts.items()}
    lines = [*inputs.lines, *emitter.tests(inputs.checks), "return True"]
    accepts = function_from_source("plan_of_call", _function(names, lines), dict(recorder.constants), title="accepts")
    return lambda *arguments: accepts(*arguments) is True


def _constants(record: Record, lines: Sequence[str], kernels: Kernels | None) -> dict[str, str]:
    """Return the sources of the constants that the lines of a plan read."""
    used = set(_WORDS.findall("\n".join(lines)))
    return {key: _constant(value, kernels) for key, value in record.recorder.constants.items() if key in used}


def _geometry(geometry: TensorMeta) -> str:
    """Return the expression of a result's sizes, dtype and strides."""
    shape, strides = (
        f"({''.join(f'{_size(size)}, ' for size in sizes)})" for sizes in (geometry.shape, geometry.strides)
    )
    return f"({shape}, {geometry.dtype.name!r}, {strides})"


def _size(size: Any) -> str:
    return size.text if type(size) is Symbol else repr(size)


def _function(names: Sequence[str], lines: Sequence[str]) -> str:
    return "\n    ".join([f"def plan_of_call({', '.join(names)}):", *lines]) + "\n"


def _factory(constants: Mapping[str, str], names: Sequence[str], lines: Sequence[str]) -> str:
    """Return the source of a function that makes a plan, without its name."""
    head = [f"{key} = {text}" for key, text in constants.items()]
    inner = textwrap.indent(_function(names, lines), "    ")
    return "\n    ".join(["(arrays):", *head, ""]) + "\n" + inner + "\n    return plan_of_call\n"


def _constant(value: Any, kernels: Kernels | None) -> str:
    """Return the source of a plan's constant in a package.

    Raises:
        NotShippedError: the run time has no such value.
    """
    if value is GUARD_FAILED:
        return "arrays.GUARD_FAILED"
    if isinstance(value, (numpy.dtype, DType)):
        return repr(_dtype_name(value))
    if type(value) in (bool, int, str, type(None)):
        return repr(value)
    if type(value) in (float, complex):
        return f"{type(value).__name__}({str(value)!r})"
    if isinstance(value, _Typed):
        return f"arrays.typed({value.dtype!r})"
    if value in _FUNCTIONS:
        return str(_FUNCTIONS[value])
    if isinstance(value, BuiltinFunctionType):
        return _function_text(value, kernels)
    raise NotShippedError(f"it calls {getattr(value, '__qualname__', value)}, which runs Python code")


def _function_text(function: BuiltinFunctionType, kernels: Kernels | None) -> str:
    if getattr(builtins, function.__name__, None) is function:
        return str(function.__name__)
    if getattr(math, function.__name__, None) is function:
        return f"math.{function.__name__}"
    plan = function.__self__
    ships_as = plan.template() if isinstance(plan, builtin.Plan) else None
    if isinstance(ships_as, builtin.Shipped) and kernels is not None:
        if any(not isinstance(output, (builtin.Given, builtin.Sized)) for output in ships_as.outputs):
            raise NotShippedError("its kernel allocates results itself")
        return f"arrays.step(Entry{tuple(kernels.entry(ships_as))!r})"
    if isinstance(ships_as, tuple):
        name, *arguments = ships_as
        return f"arrays.{name}({', '.join(repr(_dtype_name(argument)) for argument in arguments)})"
    raise NotShippedError(f"it calls {function.__name__}, which is not compiled for packages")


def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, by which all libraries know it."""
    return str(dtype.name)
