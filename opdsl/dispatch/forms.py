"""Plans for forms: a call is lowered once on symbols, and the plan serves every call that differs in its sizes alone.

A plan of exact geometries costs least where shapes repeat; the plan of a form is what a call finds whose shapes no call
has had before. It computes sizes and strides from those at hand, tests what the lowering has asked of them, and runs
the steps that were recorded. Where a test fails it leaves the call to the next plan of the form, or to the slow path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.arguments import Kind
from opdsl.dispatch.code import code_of
from opdsl.dispatch.state import Guard
from opdsl.runtime import Tensor, bump_version, version_of
from opdsl.runtime.contents import tensors_in
from opdsl.runtime.geometry import Creation, Geometry, contiguous_strides, geometry
from opdsl.runtime.lowering import (
    Check,
    Lowering,
    NotLoweredError,
    Record,
    Step,
    Symbol,
    SymbolicArray,
    concrete,
    is_symbol,
    least,
    lowering,
)
from opdsl.runtime.roots import base_for_view, storage_root
from opdsl.runtime.scopes import Setting

if TYPE_CHECKING:
    from opdsl.dispatch.caller import Caller
    from opdsl.dispatch.packet import Packet
    from opdsl.dispatch.slots import Slot

__all__ = ["UNSERVED", "FormPlans", "given_call", "lower", "lowered_at_once"]

Plan = Callable[..., Any]


class _Unserved:
    """What a plan returns where a test fails."""

    def __repr__(self) -> str:
        return "<unserved>"


UNSERVED = _Unserved()

# Calls of a form with geometries of their own before it is lowered: most programs have few.
LOWERED_FROM = 3
# Plans of one form, which differ in what was asked of sizes.
MOST_VARIANTS = 8
# Larger ones are no sizes of memory that there is; what is wrong with them the slow path says.
_LARGEST_SIZE = 1 << 40
# Calls with the same sizes before they get a plan of their exact geometries.
_HOT_FROM = 24
_SLOTS = 256

_LOWERING = Guard(lambda state: state.change(lowering=True), keep=True)
_at_once: ContextVar[bool] = ContextVar("opdsl_lowered_at_once", default=False)


def lowered_at_once() -> Setting[bool]:
    """Have each form lowered at its first call while this is entered in a thread or task: for tests of its plans."""
    return Setting(_at_once, True)


class FormPlans:
    """What is known of the calls of one form.

    variants: its plans; each serves the calls in which the same was found of sizes.
    misses: how many calls none of them has served.
    is_hot: whether the last call was left to the slow path because its sizes come again and again.
    reason: why it is not lowered, where that was tried.
    key: where its plans are found.
    """

    __slots__ = ("counts", "is_hot", "key", "marks", "misses", "reason", "start", "variants")

    def __init__(self, key: object) -> None:
        self.key = key
        self.variants: list[Plan] = []
        self.misses = 0
        self.is_hot = False
        self.reason = ""
        self.start = [0]
        # Filled when the form is lowered: most are not.
        self.marks: list[int] = []
        self.counts: list[int] = []

    def __call__(self, *given: Any) -> Any:
        """What the first plan gives that serves the call; ``UNSERVED`` where none does."""
        for plan in self.variants:
            result = plan(*given)
            if result is not UNSERVED:
                return result
        return UNSERVED

    def keeps_no_others(self) -> None:
        """Have all calls served by these plans, however often their sizes come: there are no plans of geometries."""
        self.start[0] = -1 << 62
        self.counts[:] = self.start * len(self.counts)

    def prepare(self) -> None:
        """Make room for how often sizes come."""
        if not self.marks:
            self.marks += [0] * _SLOTS
            self.counts += self.start * _SLOTS

    @property
    def wants_lowering(self) -> bool:
        """Whether the next call that is not served should be lowered."""
        enough = self.misses >= LOWERED_FROM or _at_once.get()
        return enough and not self.reason and len(self.variants) < MOST_VARIANTS


class _Inputs:
    """The arguments of a call as symbols, and the lines that read them.

    Args:
        recorder: what records.
    """

    def __init__(self, recorder: Lowering) -> None:
        self.recorder = recorder
        self.lines: list[str] = []
        self.checks: list[str] = []
        self.symbols: dict[int, Symbol] = {}
        self.tensors: list[tuple[Tensor, str]] = []
        self.seen: dict[int, Tensor] = {}
        self.numbers: list[str] = []

    def taken(self, value: Any, text: str, kind: set[Kind], *, sized: bool) -> Any:
        """An argument, or an element of one, as the lowered call gets it.

        Args:
            text: its expression.
            kind: what plans know of it.
            sized: whether it may be a size.
        """
        if isinstance(value, Tensor):
            return self._tensor(value, text)
        if type(value) is slice:
            bounds = [(getattr(value, each), f"{text}.{each}") for each in ("start", "stop", "step")]
            return slice(*[self.taken(each, place, kind, sized=sized) for each, place in bounds])
        if type(value) in (tuple, list):
            parts = [self.taken(each, f"{text}[{place}]", kind, sized=sized) for place, each in enumerate(value)]
            return type(value)(parts)
        if type(value) is int and sized and value >= 2:
            return self._size(value, text)
        if type(value) in (bool, int, float, complex) and kind & {Kind.NUMBER, Kind.TENSOR}:
            return self._number(value, text)
        return value

    def _size(self, value: int, text: str) -> Symbol:
        known = self.symbols.get(value)
        if known is not None:
            self.checks.append(f"{text} != {known.text}")
            return known
        name = self.recorder.name("s")
        self.lines.append(f"{name} = {text}")
        self.checks.append(f"{name} > {_LARGEST_SIZE}")
        made = self.symbols[value] = self.recorder.size(name, value)
        return made

    def _number(self, value: Any, text: str) -> Symbol:
        self.numbers.append(text)
        if type(value) is int:
            return self.recorder.size(text, value, None)
        return self.recorder.number(text, value)

    def _tensor(self, tensor: Tensor, text: str) -> Tensor:
        if type(tensor) is not Tensor or tensor.geometry.device.type != "cpu":
            raise NotLoweredError("a tensor elsewhere than on the CPU")
        known = self.seen.get(id(tensor))
        if known is not None:
            self.checks.append(f"{text} is not {next(name for each, name in self.tensors if each is known)}")
            return known
        form = tensor.geometry
        shape = self._read(form.shape, f"{text}.geometry.shape")
        order = form.form.order
        if order is None:
            strides = self._read(form.strides, f"{text}.geometry.strides")
        elif order == tuple(range(form.ndim)):
            strides = contiguous_strides(shape)
        else:
            strides = _in_order(shape, order)
        made = Tensor()
        made.geometry = geometry(
            form.dtype,
            form.device,
            shape,
            strides,
            requires_grad=form.requires_grad,
            is_view=form.is_view,
            creation=form.creation,
            is_inference=form.is_inference,
            read_only=form.read_only,
        )
        version = self.recorder.constant(version_of)
        made._writes = self.recorder.size(f"{version}({text})", 0, 0)  # type: ignore[assignment]
        made._base = None
        root = text
        if tensor._base is not None:
            made._base = base = Tensor()
            base._base = None
            base._writes = made._writes
            base.geometry = made.geometry
            root = f"{self.recorder.constant(storage_root)}({text})"
        offset: Any = 0
        if tensor._base is not None or hasattr(tensor, "_memory"):
            offset = self.recorder.size(f"{text}.storage_offset()", tensor.storage_offset(), 0)
        made.array = SymbolicArray(f"{text}.array", form.dtype.numpy, offset)
        self.recorder.arguments[storage_root(made)] = root
        self.tensors.append((made, text))
        self.seen[id(tensor)] = made
        return made

    def _read(self, values: tuple[int, ...], text: str) -> tuple[Any, ...]:
        """Sizes or strides, each of two or more as a symbol; equal ones are one."""
        made: list[Any] = []
        names: list[str] = []
        for value in values:
            if value < 2:
                names.append("_")
                made.append(value)
            elif value in self.symbols:
                names.append(self.recorder.name("t"))
                self.checks.append(f"{names[-1]} != {self.symbols[value].text}")
                made.append(self.symbols[value])
            else:
                names.append(self.recorder.name("s"))
                self.symbols[value] = self.recorder.size(names[-1], value)
                made.append(self.symbols[value])
        if any(name != "_" for name in names):
            self.lines.append(f"({', '.join(names)},) = {text}")
        return tuple(made)


def _in_order(shape: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    strides: list[Any] = [0] * len(shape)
    step: Any = 1
    for dim in reversed(order):
        strides[dim] = step
        step = step * (shape[dim] or 1)
    return tuple(strides)


def lower(
    name: str,
    run: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    plans: FormPlans,
    parameters: Sequence[str],
    call: Sequence[tuple[str, str | None, Any, set[Kind], bool]],
) -> tuple[Plan, dict[Packet, int]]:
    """The plan of a form.

    Args:
        name: of what is called, for tracebacks.
        run: makes the call, with the arguments that are given by position and by name.
        plans: those of the form that there are.
        parameters: of the plan: those of the caller's function.
        call: of each argument that is given: its expression; its name where it is given by name; its value; what plans
            know of it; whether it may be a size.

    Raises:
        NotLoweredError: the call does what no such plan can do.
    """
    recorder = Lowering({*parameters, "plan_of_form"})
    with Setting(lowering, recorder), _LOWERING:
        inputs = _Inputs(recorder)
        given: list[Any] = []
        named: dict[str, Any] = {}
        for text, key, value, kind, sized in call:
            made = inputs.taken(value, text, kind, sized=sized)
            if key is None:
                given.append(made)
            else:
                named[key] = made
        result = run(tuple(given), named)
        text = _Emitter(recorder, inputs, plans).function(parameters, result)
    namespace: dict[str, Any] = dict(recorder.constants)
    exec(code_of(text, f"form {name}"), namespace)
    plan: Plan = namespace["plan_of_form"]
    return plan, recorder.packets


class _Emitter:
    """Prints what was recorded as a function.

    Args:
        recorder: what was recorded.
        inputs: the arguments.
        plans: those of the form.
    """

    def __init__(self, recorder: Lowering, inputs: _Inputs, plans: FormPlans) -> None:
        self.recorder = recorder
        self.inputs = inputs
        self.texts = {id(each): text for each, text in inputs.tensors}
        self.plans = plans
        self.unserved = f"return {recorder.constant(UNSERVED)}"
        self.lines: list[str] = []
        self.made: dict[int, str] = {}

    def function(self, parameters: Sequence[str], result: Any) -> str:
        """The source of the plan."""
        for step in self.recorder.steps:
            self._step(step)
        returned = self._returned(result)
        body = [*self.lines, *self._writes(), f"return {returned}"]
        checks = [*self.inputs.checks]
        checks += [f"not {text}" if outcome else text for text, outcome in self.recorder.guards.items()]
        head = [*self.inputs.lines]
        if checks:
            head += [f"if {' or '.join(f'({each})' for each in checks)}:", f"    {self.unserved}"]
        self.plans.prepare()
        sizes = [each.text for each in self.inputs.symbols.values()] or self.inputs.numbers
        if not sizes:
            # One geometry is all that there is of this form.
            raise NotLoweredError("a form without sizes")
        head += self._leaves_repeated(sizes)
        return "\n    ".join([f"def plan_of_form({', '.join(parameters)}):", *head, *body]) + "\n"

    def _leaves_repeated(self, sizes: Sequence[str]) -> list[str]:
        """The lines that leave calls to the slow path whose sizes come so often that a plan of their own pays."""
        constant, plans = self.recorder.constant, self.plans
        mark, at, count = (self.recorder.name(each) for each in ("mark", "at", "count"))
        marks, counts = constant(plans.marks), constant(plans.counts)
        return [
            f"{mark} = hash(({', '.join(sizes)},))",
            f"{at} = {mark} % {_SLOTS}",
            f"if {marks}[{at}] != {mark}:",
            f"    {marks}[{at}] = {mark}",
            f"    {counts}[{at}] = {constant(plans.start)}[0]",
            "else:",
            f"    {counts}[{at}] = {count} = {counts}[{at}] + 1",
            f"    if {count} >= {_HOT_FROM}:",
            f"        {constant(plans)}.is_hot = True",
            f"        {self.unserved}",
        ]

    def _step(self, step: Step | Check | Record) -> None:
        if isinstance(step, Check):
            self.lines.append(f"if {'not ' * step.outcome}{step.text}: {self.unserved}")
            return
        if isinstance(step, Record):
            self._record(step)
            return
        operands = ", ".join([self._operand(each) for each in step.operands])
        call = f"{self.recorder.constant(step.function)}({operands})"
        self.lines.append(f"{', '.join(step.results)} = {call}" if step.results else call)

    def _record(self, step: Record) -> None:
        arguments, results = self._operand(step.arguments), self._returned(step.results)
        name = self.recorder.name("recorded")
        operands = ", ".join([arguments, results, *step.operands])
        self.lines.append(f"{name} = {self.recorder.constant(step.function)}({operands})")
        if isinstance(step.results, Tensor):
            self.texts[id(step.results)] = name
        else:
            self.texts |= {id(each): f"{name}[{place}]" for place, each in enumerate(step.results)}

    def _operand(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self._tensor(value)
        if type(value) is tuple and any(True for _ in tensors_in(value)):
            return f"({''.join(f'{self._operand(each)}, ' for each in value)})"
        return self.recorder.source(value)

    def _writes(self) -> list[str]:
        """What counts the writes to the arguments."""
        lines = []
        for tensor, text in self.inputs.tensors:
            first = self.recorder.size(f"{self.recorder.constant(version_of)}({text})", 0, 0)
            counted: Any = version_of(tensor) - first
            if type(counted) is not int:
                raise NotLoweredError("a version that is not counted")
            lines += [f"{self.recorder.constant(bump_version)}({text})"] * counted
        return lines

    def _returned(self, result: Any) -> str:
        if isinstance(result, Tensor):
            return self._tensor(result)
        if isinstance(result, (tuple, list)):
            parts = "".join(f"{self._returned(each)}, " for each in result)
            if type(result) is list:
                return f"[{parts}]"
            return f"({parts})" if type(result) is tuple else f"{self.recorder.constant(type(result))}({parts})"
        if result is None:
            return "None"
        raise NotLoweredError("a result that is no tensor")

    def _tensor(self, tensor: Tensor) -> str:
        known = self.texts.get(id(tensor)) or self.made.get(id(tensor))
        if known is not None:
            return known
        array = getattr(tensor, "array", None)
        if type(array) is not SymbolicArray or hasattr(tensor, "_memory") or hasattr(tensor, "autograd"):
            raise NotLoweredError("a tensor that was not made by steps")
        base = "None" if tensor._base is None else self._base(tensor._base)
        name = self.recorder.name("tensor")
        self.made[id(tensor)] = name
        writes = self.recorder.source(tensor._writes)
        self.lines += [
            f"{name} = {self.recorder.constant(Tensor)}()",
            f"{name}.array = {array.text}",
            f"{name}.geometry = {self._geometry(tensor.geometry)}",
            *self._known_form(name, tensor.geometry),
            f"{name}._writes = {writes}",
            f"{name}._base = {base}",
        ]
        return name

    def _base(self, base: Tensor) -> str:
        """The base of a view: an argument, that of an argument, or a tensor that was made on the way."""
        for tensor, text in self.inputs.tensors:
            if tensor is base:
                return text
            if tensor._base is base:
                return f"{self.recorder.constant(base_for_view)}({text})"
        return self._tensor(base)

    def _geometry(self, form: Geometry) -> str:
        source = self.recorder.source
        parts = [source(form.dtype), source(form.device), self._sizes(form.shape), self._sizes(form.strides)]
        flags = ("requires_grad", "is_view", "is_inference", "read_only")
        parts += [f"{flag}=True" for flag in flags if getattr(form, flag)]
        if form.creation is not Creation.DEFAULT:
            parts.append(f"creation={source(form.creation)}")
        return f"{self.recorder.constant(geometry)}({', '.join(parts)})"

    def _known_form(self, name: str, form: Geometry) -> list[str]:
        """The line that tells a geometry its form, where no sizes change it."""
        with concrete():
            example = form.replace(shape=_examples(form.shape), strides=_examples(form.strides))
        strides = zip(form.strides, contiguous_strides(form.shape), strict=True)
        is_contiguous = all(_is_same(one, other) for one, other in strides)
        if not is_contiguous or not all(not is_symbol(size) or (least(size) or 0) >= 2 for size in form.shape):
            return []
        return [f"{name}.geometry._form = {self.recorder.constant(example.form)}"]

    def _sizes(self, sizes: tuple[Any, ...]) -> str:
        return f"({''.join(f'{self.recorder.source(each)}, ' for each in sizes)})"


def _is_same(one: Any, other: Any) -> bool:
    """Whether two sizes are the same expression, which no guard has to say."""
    if is_symbol(one) and is_symbol(other):
        return bool(one.terms == other.terms)
    return type(one) is type(other) is int and one == other


def _examples(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple([each.example if is_symbol(each) else each for each in sizes])


def given_call(
    caller: Caller, given: Sequence[Any], named: dict[str, Any]
) -> tuple[list[str], list[tuple[str, str | None, Any, set[Kind], bool]]]:
    """The arguments of a call of a caller's function, as ``lower`` takes them, and the parameters of its plans."""
    call: list[tuple[str, str | None, Any, set[Kind], bool]] = []
    parameters = [slot.name for slot in caller.slots]
    places = [slot for slot in caller.slots if not slot.keyword_only]
    by_name = {each.name for one in caller.signatures for each in one.parameters if each.keyword_only}
    values = dict(zip((slot.name for slot in places), given, strict=False)) | named
    # Where an option is given, a number at its default is in no key: another one may come in its place.
    options = [slot for slot in caller.slots if slot.name in caller.defaults and slot.name in values]
    has_options = any(values[slot.name] is not slot.default for slot in options)

    def is_handed(slot: Slot, value: object) -> bool:
        changes = Kind.NUMBER in slot.kinds or slot.is_sized
        is_number = isinstance(value, (int, float, complex))
        return caller.is_given(slot.name, value) or (has_options and changes and is_number)

    positional = True
    for place, slot in enumerate(places):
        if caller.spread == place:
            rest = given[place:]
            call += [(f"{slot.name}[{at}]", None, each, slot.kinds, slot.is_sized) for at, each in enumerate(rest)]
            break
        value = given[place]
        if not is_handed(slot, value):
            positional = False
            continue
        positional = positional and slot.name not in by_name
        call.append((slot.name, None if positional else slot.name, value, slot.kinds, slot.is_sized))
    for name, value in named.items():
        known = next((each for each in caller.slots if each.name == name), None)
        if known is None:
            if caller.is_given(name, value):
                call.append((name, name, value, {Kind.TENSORS}, False))
        elif is_handed(known, value):
            call.append((name, name, value, known.kinds, known.is_sized))
    if caller.required_out:
        parameters.append("out")
    return parameters, call
