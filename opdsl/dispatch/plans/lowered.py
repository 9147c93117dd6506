"""Lowering of a call: the call is traced once on symbolic arguments, and the trace is printed as a plan.

``lower_form`` makes the plan for every call of a form: sizes are symbols. ``lower_call`` makes the plan for the exact
geometries of one call: sizes are numbers. Both run the same kernels through the same layers, and print the same record.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy

from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.dispatch.binding.union_signature import UnionParameter, UnionSignature
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.forms import GUARD_FAILED, FormPlans
from opdsl.dispatch.plans.function_source import free_name
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies
from opdsl.dispatch.plans.policy import GENERAL_FROM, HOT_FROM, HOT_NUMBERS_FROM, SLOTS
from opdsl.dispatch.state import Guard
from opdsl.errors import OpdslError
from opdsl.generated import function_from_source
from opdsl.runtime import Tensor, version_of
from opdsl.runtime.dumping import dump
from opdsl.runtime.events import timed
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.guesses import Guesses
from opdsl.runtime.lowering import Lowering, SymbolicArray, concrete, lowering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.scopes import Setting
from opdsl.runtime.storage import storage_root
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import NotLoweredError, Symbol
from opdsl.runtime.tensor import MetaArray

__all__ = [
    "Given",
    "Inputs",
    "Record",
    "given_call",
    "lower_call",
    "lower_form",
    "lower_kernel",
    "record_call",
    "recording",
]

# Makes a call with the given positional and keyword arguments.
Run = Callable[[tuple[Any, ...], dict[str, Any]], Any]

# No tensor has a larger size; the slow path raises the error for larger numbers.
_LARGEST_SIZE = 1 << 40

# Shortens constants in dumps of plans: counters of sizes are long lists.
_SHORTER = reprlib.Repr()
_SHORTER.maxlist, _SHORTER.maxtuple, _SHORTER.maxstring, _SHORTER.maxother = 8, 16, 200, 200

_LOWERING = Guard(lambda state: state.change(lowering=True), keep=True)


class Given(NamedTuple):
    """Argument of a call that is being lowered.

    text: its expression in the plan.
    name: its keyword if it is passed by name; None if by position.
    value: its value in this call.
    kinds: how plans depend on it (see ``Kind``).
    integers_from: the least integer that plans read instead of knowing it; None if they know all. See ``value_form``.
    is_handed: whether plans of exact geometries take it as a parameter; else its value is a constant in them.
    is_fixed: whether it is a tensor that has the same geometry in every call of the form.
    """

    text: str
    name: str | None
    value: Any
    kinds: set[Kind]
    integers_from: int | None = None
    is_handed: bool = True
    is_fixed: bool = False


@contextmanager
def recording(recorder: Lowering) -> Iterator[None]:
    """Record the calls that are made within the context."""
    with Setting(lowering, recorder), _LOWERING:
        yield


class Record(NamedTuple):
    """Trace of a call: the recorder, the symbolic arguments, the emitter that prints it, and the lines of its plan."""

    recorder: Lowering
    inputs: Inputs
    emitter: Emitter
    body: list[str]


def record_call(
    name: str,
    run: Run,
    call: Sequence[Given],
    recorder_of: Callable[[Guesses], Lowering],
    reader: Callable[[Lowering], Inputs],
    printer: type[Emitter],
    leaving: Callable[[Lowering], str],
) -> Record:
    """Trace a call on symbolic arguments, and retry with another guess about elements if the call raises an error.

    Args:
        name, run, call, printer: see ``lower_form``.
        recorder_of: makes the recorder.
        reader: makes the symbolic arguments.
        leaving: returns the line that a failed guard runs.

    Raises:
        NotLoweredError: no plan can compute the call, or elements decide whether it raises an error.
    """
    guesses = Guesses()
    while True:
        recorder = recorder_of(guesses)
        try:
            with timed("plan", name), Setting(lowering, recorder), _LOWERING:
                inputs = reader(recorder)
                result = run(*inputs.taken_in(call))
                inputs.check_kept()
                emitter = printer(name, recorder, inputs.tensors, leaving(recorder))
                return Record(recorder, inputs, emitter, emitter.body(result))
        except NotLoweredError:
            raise
        except Exception as error:
            if not (isinstance(error, OpdslError) or guesses.was_turned):
                raise
            if guesses.turn():
                continue
            if guesses.was_asked:
                raise NotLoweredError(f"elements decide whether the call is refused ({error})") from error
            raise


def lower_form(
    name: str,
    run: Run,
    plans: FormPlans | None,
    parameters: Sequence[str],
    call: Sequence[Given],
    *,
    reader: type[Inputs] | None = None,
    printer: type[Emitter] = Emitter,
    most_steps: int | None = None,
    is_exact: bool = False,
    returns_list: bool = False,
) -> tuple[Plan, Dependencies]:
    """Lower a call to a plan for all calls of its form; return the plan and its dependencies with their generations.

    Args:
        name: the name of the function, for tracebacks.
        run: makes the call.
        plans: the plans of the form, which send calls whose sizes repeat often to plans of exact geometries; None if
            there are none of those.
        parameters: the parameters of the plan: those of the call cache's function.
        call: the arguments that are given.
        reader, printer: how tensors are read and made, if they are another library's; ours by default.
        most_steps: the largest number of steps of the plan; None for the default.
        is_exact: whether every call has the geometries of this one, which the reader's lines guarantee.
        returns_list: whether the number of results may depend on sizes.

    Raises:
        NotLoweredError: no such plan can compute the call.
    """
    is_general = plans is not None and len(plans.variants) >= GENERAL_FROM

    def recorder_of(guesses: Guesses) -> Lowering:
        taken = {*parameters, "plan_of_call"}
        return Lowering(taken, is_exact=is_exact, is_general=is_general, most_steps=most_steps, guesses=guesses)

    recorder, inputs, emitter, body = record_call(
        name,
        run,
        call,
        recorder_of,
        reader or Inputs,
        printer,
        lambda recorder: f"return {recorder.constant(GUARD_FAILED)}",
    )
    head = [*inputs.lines, *emitter.tests(inputs.checks)]
    if plans is not None:
        plans.is_of_counts = returns_list and recorder.is_pinned
        sizes = [*[symbol.text for symbol in inputs.symbols.values()], *inputs.floats] or inputs.numbers
        if not sizes:
            # The form has a single geometry, so that exact plans suffice.
            raise NotLoweredError("a form without sizes")
        hot_from = HOT_NUMBERS_FROM if inputs.reads_numbers else HOT_FROM
        head += _leaves_repeated(recorder, plans, sizes, emitter.leaving, hot_from)
    head += emitter.parts_of(*body)
    return _compiled(f"form {name}", parameters, [*head, *body], recorder.constants), recorder.packets


def lower_call(
    name: str,
    run: Run,
    missed: Callable[..., Any],
    parameters: Sequence[str],
    call: Sequence[Given],
    variants: list[Plan],
    *,
    place: int = 0,
    printer: type[Emitter] = Emitter,
    most_steps: int | None = None,
) -> tuple[Plan, Dependencies]:
    """Lower a call to a plan for its exact geometries; return the plan and its dependencies with their generations.

    Args:
        name: see ``lower_form``.
        run: makes the call.
        missed: serves the calls that the plan does not accept; takes the positional and the keyword arguments.
        parameters: the parameters of the plan.
        call: the arguments that are given.
        variants: the other plans for the same geometries.
        place: the index in ``variants`` at which the new plan may be stored. It leaves calls to the next one.
        printer, most_steps: see ``lower_form``.

    Raises:
        NotLoweredError: no such plan can compute the call.
    """
    missing = free_name("missed", parameters)
    leaving = f"return {missing}({', '.join(parameters)})"

    def recorder_of(may_hand_numbers: bool, guesses: Guesses) -> Lowering:
        taken = {*parameters, "plan_of_call", missing}
        recorder = Lowering(taken, is_exact=True, most_steps=most_steps, guesses=guesses)
        recorder.may_hand_numbers = may_hand_numbers
        return recorder

    for may_hand_numbers in (True, False):
        recorder, inputs, emitter, body = record_call(
            name,
            run,
            call,
            partial(recorder_of, may_hand_numbers),
            Inputs,
            printer,
            lambda _: leaving,
        )
        # If a number does not fit, the slow path repeats the call: the plan must not have written anything by then.
        if not (recorder.hands_numbers and recorder.writes() and emitter.writes_often):
            break
    head = emitter.tests(inputs.checks)
    leave = _missing(name, parameters, call, missed, variants, place + 1)
    if not head:
        native = emitter.native(parameters, leave, converts=recorder.hands_numbers)
        if native is not None:
            _dump(
                f"plan {name}",
                _text(parameters, ["# One function of the backend does this.", *body]),
                recorder.constants,
            )
            return native, recorder.packets
    body = [*emitter.parts_of(*body), *body]
    if recorder.hands_numbers:
        body = ["try:", *(f"    {line}" for line in body), "except OverflowError:", f"    {leaving}"]
    constants = {**recorder.constants, missing: leave}
    return _compiled(f"plan {name}", parameters, [*head, *body], constants), recorder.packets


def lower_kernel(operator: Operator, kernel: Callable[..., Any], arguments: Sequence[Any]) -> Plan:
    """Lower a kernel to a plan for the geometries of a call; a plan that calls the kernel if that fails.

    Args:
        operator: the operator of the kernel.
        kernel: takes all arguments, in the order of the schema.
        arguments: the arguments of the call.

    Returns:
        A function of those arguments whose values a plan does not know.
    """
    named = [(argument.python_name, kind_of(argument)) for argument in operator.schema.arguments]
    call = [
        Given(name, None, value, {kind}, None, kind is not Kind.VALUE)
        for (name, kind), value in zip(named, arguments, strict=True)
    ]

    def run(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return kernel(*positional)

    handed = [argument.text for argument in call if argument.is_handed]
    try:
        with refusals_only(operator.name):
            plan, _ = lower_call(operator.name, run, run, handed, call, [])
    except NotLoweredError:
        return _missing(operator.name, handed, call, run, [], 0)
    return plan


def _missing(
    name: str,
    parameters: Sequence[str],
    call: Sequence[Given],
    missed: Callable[..., Any],
    variants: list[Plan],
    place: int,
) -> Plan:
    """Return the fallback of a plan: it calls the plan at an index of ``variants`` if there is one, else ``missed``."""
    names = Lowering(parameters)
    others = names.constant(variants)

    def text(value: Any, source: str) -> str:
        if isinstance(value, slice):
            parts = [
                text(getattr(value, attribute), f"{source}.{attribute}") for attribute in ("start", "stop", "step")
            ]
            return f"{names.constant(slice)}({', '.join(parts)})"
        return names.constant(value)

    places = [
        (argument.name, argument.text if argument.is_handed else text(argument.value, argument.text))
        for argument in call
    ]
    word = "".join(f"{source}, " for key, source in places if key is None)
    named = ", ".join(f"{key!r}: {source}" for key, source in places if key is not None)
    lines = [
        f"if {names.constant(len)}({others}) > {place}:",
        f"    return {others}[{place}]({', '.join(parameters)})",
        f"return {names.constant(missed)}(({word}), {{{named}}})",
    ]
    return _compiled("missed", parameters, lines, names.constants)


def _compiled(name: str, parameters: Sequence[str], body: Sequence[str], constants: dict[str, Any]) -> Plan:
    """Compile the lines of a plan to a function."""
    text = _text(parameters, body)
    _dump(name, text, constants)
    return function_from_source("plan_of_call", text, dict(constants), title=name)


def _text(parameters: Sequence[str], body: Sequence[str]) -> str:
    return "\n    ".join([f"def plan_of_call({', '.join(parameters)}):", *body]) + "\n"


def _dump(name: str, text: str, constants: dict[str, Any]) -> None:
    if name == "missed":
        return
    values = (f"# {key} = {_SHORTER.repr(value)}\n" for key, value in constants.items())
    dump(name, ".py", lambda: "\n".join([text, "".join(values)]))


def _leaves_repeated(
    recorder: Lowering, plans: FormPlans, sizes: Sequence[str], leaving: str, hot_from: int
) -> list[str]:
    """Return the lines that send calls to the slow path whose sizes repeat so often that a plan for these sizes pays
    off.
    """
    plans.prepare()
    constant = recorder.constant
    mark, at, count = map(recorder.name, ("mark", "at", "count"))
    marks, counts = constant(plans.marks), constant(plans.counts)
    return [
        f"{mark} = hash(({', '.join(sizes)},))",
        f"{at} = {mark} % {SLOTS}",
        f"if {marks}[{at}] != {mark}:",
        f"    {marks}[{at}] = {mark}",
        f"    {counts}[{at}] = {constant(plans.start)}[0]",
        "else:",
        f"    {counts}[{at}] = {count} = {counts}[{at}] + 1",
        f"    if {count} >= {hot_from}:",
        f"        {constant(plans)}.is_hot = True",
        f"        {leaving}",
    ]


class Inputs:
    """Symbolic arguments of a call that is being lowered, and the lines of the plan that read them.

    Args:
        recorder: the recorder of the call.
    """

    def __init__(self, recorder: Lowering) -> None:
        self.recorder = recorder
        self.lines: list[str] = []
        self.checks: list[str] = []
        self.symbols: dict[int, Symbol] = {}
        self.tensors: list[tuple[Tensor, str]] = []
        self.seen: dict[int, Tensor] = {}
        self.numbers: list[str] = []
        self.floats: list[str] = []
        self.forms: list[TensorMeta] = []
        self._geometries: dict[TensorMeta, TensorMeta] = {}
        self.reads_numbers = False

    def check_kept(self) -> None:
        """Check that the call has not changed the geometries of its arguments.

        Raises:
            NotLoweredError: the geometry of an argument has changed.
        """
        followed = [id(tensor) for tensor in self.recorder.followed]
        kept = zip(self.tensors, self.forms, strict=True)
        for (tensor, _), form in kept:
            if tensor.geometry is not form and id(tensor) not in followed:
                raise NotLoweredError("an argument that gets another geometry")

    def taken_in(self, call: Sequence[Given]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the symbolic arguments with which the call is traced: positional ones and keyword arguments."""
        taken = [(argument.name, self._taken(argument.value, argument.text, argument)) for argument in call]
        values = tuple([value for name, value in taken if name is None])
        return values, {name: value for name, value in taken if name is not None}

    def _taken(self, value: Any, text: str, argument: Given) -> Any:
        """Return the symbolic counterpart of an argument, or of an element of one."""
        if isinstance(value, Tensor):
            if not argument.is_handed:
                raise NotLoweredError("a tensor that no plan is handed")
            return self._tensor(value, text, is_fixed=argument.is_fixed)
        if isinstance(value, TensorMeta):
            return value if self.recorder.is_exact else self.symbolic(value, f"{text}.shape", f"{text}.strides")
        if type(value) is slice:
            bounds = [(getattr(value, attribute), f"{text}.{attribute}") for attribute in ("start", "stop", "step")]
            return slice(*[self._taken(bound, index, argument) for bound, index in bounds])
        if type(value) in (tuple, list):
            parts = [self._taken(element, f"{text}[{index}]", argument) for index, element in enumerate(value)]
            return type(value)(parts)
        if argument.integers_from is not None and not self.recorder.is_exact:
            if type(value) is int and abs(value) >= argument.integers_from:
                self.reads_numbers = True
                return self._size(value, text) if value > 0 else -self._size(-value, f"-{text}")
            if type(value) is float:
                self.reads_numbers = True
                self.floats.append(text)
                return self.recorder.number(text, value)
        if not (argument.is_handed and argument.kinds & {Kind.NUMBER, Kind.TENSOR}):
            return value
        if isinstance(value, (numpy.generic, numpy.ndarray)):
            raise NotLoweredError("a number of NumPy's, of which plans know the type alone")
        return self._number(value, text) if type(value) in (bool, int, float, complex) else value

    def _size(self, value: int, text: str) -> Symbol:
        known = self.symbols.get(value)
        if known is not None:
            self.checks.append(f"{text} != {known.text}")
            return known
        variable = self.recorder.name("s")
        self.lines.append(f"{variable} = {text}")
        self.checks.append(f"{variable} > {_LARGEST_SIZE}")
        size = self.symbols[value] = self.recorder.size(variable, value)
        return size

    def _number(self, value: Any, text: str) -> Symbol:
        self.numbers.append(text)
        if type(value) is int:
            return self.recorder.size(text, value, None)
        return self.recorder.number(text, value)

    def _tensor(self, tensor: Tensor, text: str, *, is_fixed: bool) -> Tensor:
        if type(tensor) is not Tensor:
            raise NotLoweredError("a tensor of another class")
        known = self.seen.get(id(tensor))
        if known is not None:
            self.checks.append(f"{text} is not {next(name for operand, name in self.tensors if operand is known)}")
            return known
        output = Tensor()
        form = tensor.geometry
        is_exact = self.recorder.is_exact or is_fixed
        output.geometry = (
            form if is_exact else self.symbolic(form, f"{text}.geometry.shape", f"{text}.geometry.strides")
        )
        version = self.recorder.constant(version_of)
        output._writes = self.recorder.size(f"{version}({text})", 0, 0)  # type: ignore[assignment]
        output._base = None
        root = text
        if tensor._base is not None:
            output._base = base = Tensor()
            base._base = None
            base._writes = output._writes
            base.geometry = output.geometry
            root = f"{self.recorder.constant(storage_root)}({text})"
        offset: Any = 0
        if tensor._base is not None or hasattr(tensor, "_memory"):
            with concrete():
                example = tensor.storage_offset()
            offset = self.recorder.size(f"{text}.storage_offset()", example, 0)
        if not tensor.is_meta:
            output.array = SymbolicArray(f"{text}.array", tensor.geometry.dtype.numpy, offset)
            if tensor.is_cpu:
                self.recorder.arrays[id(output)] = output.array.text
        elif tensor.geometry.is_view:
            output.array = MetaArray(offset)
        self.recorder.arguments[storage_root(output)] = root
        self.recorder.roots[storage_root(output)] = id(storage_root(tensor))
        self.tensors.append((output, text))
        self.forms.append(output.geometry)
        self.seen[id(tensor)] = output
        return output

    def symbolic(self, form: TensorMeta, shape_text: str, strides_text: str) -> Any:
        """Return a geometry of the same form whose sizes are symbols.

        Args:
            form: the geometry of the tensor in this call.
            shape_text, strides_text: the expressions of its sizes and strides.
        """
        shape = self._read(form.shape, shape_text)
        known = self._geometries.get(form)
        if known is not None:
            return known
        order = form.form.order
        if order is None:
            strides = self._read(form.strides, strides_text)
        elif order == tuple(range(form.ndim)):
            strides = contiguous_strides(shape)
        else:
            strides = _in_order(shape, order)
        symbolic = form.replace(shape=shape, strides=strides)
        if order is not None:
            symbolic.lies_like(form)
            self._geometries[form] = symbolic  # whose strides follow from the sizes, which were read and checked above
        return symbolic

    def _read(self, values: tuple[int, ...], text: str) -> tuple[Any, ...]:
        """Return sizes or strides with each value of 2 or more replaced by a symbol; equal values share one symbol."""
        sizes: list[Any] = []
        names: list[str] = []
        for value in values:
            if value < 2:
                names.append("_")
                sizes.append(value)
            elif value in self.symbols:
                names.append(self.recorder.name("t"))
                self.checks.append(f"{names[-1]} != {self.symbols[value].text}")
                sizes.append(self.symbols[value])
            else:
                names.append(self.recorder.name("s"))
                self.symbols[value] = self.recorder.size(names[-1], value)
                sizes.append(self.symbols[value])
        if names.count("_") < len(names):
            self.lines.append(f"({', '.join(names)},) = {text}")
        return tuple(sizes)


def _in_order(shape: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    strides: list[Any] = [0] * len(shape)
    step: Any = 1
    for dim in reversed(order):
        strides[dim] = step
        step = step * (shape[dim] or 1)
    return tuple(strides)


def given_call(union: UnionSignature, place_values: Sequence[Any], named: dict[str, Any]) -> list[Given]:
    """Return the arguments of a call of a call cache's function as ``Given`` records, for lowering."""
    call: list[Given] = []
    places = union.by_place
    values = dict(zip(union.place_names, place_values, strict=False)) | named
    # If an option is given, the key contains only the types of numbers, even of those at their default: later calls may
    # pass other values.
    options = [
        parameter for parameter in union.parameters if parameter.name in union.defaults and parameter.name in values
    ]
    has_options = any(values[parameter.name] is not parameter.default for parameter in options)

    def is_handed(parameter: UnionParameter, value: object) -> bool:
        changes = Kind.NUMBER in parameter.kinds or parameter.integers_from is not None
        is_number = isinstance(value, (int, float, complex))
        return union.is_given(parameter.name, value) or (has_options and changes and is_number)

    def note(parameter: UnionParameter, text: str, name: str | None, value: object, *, is_handed: bool) -> None:
        call.append(Given(text, name, value, parameter.kinds, parameter.integers_from, is_handed))

    positional = True
    for index, parameter in enumerate(places):
        if union.spread == index:
            for at, element in enumerate(place_values[index:]):
                note(parameter, f"{parameter.name}[{at}]", None, element, is_handed=False)
            break
        value = place_values[index]
        if not is_handed(parameter, value):
            positional = False
            continue
        positional = positional and parameter.name not in union.by_name
        note(parameter, parameter.name, None if positional else parameter.name, value, is_handed=parameter.is_dynamic)
    for name, value in named.items():
        known = next((parameter for parameter in union.parameters if parameter.name == name), None)
        if known is None:
            if union.is_given(name, value):
                call.append(Given(name, name, value, {Kind.TENSORS}))
        elif is_handed(known, value):
            note(known, name, name, value, is_handed=known.is_dynamic)
    return call
