"""The functions that users call: generated source with real parameters, whose common path is one look-up and one call.

A caller looks a **plan** up by the current state, the geometries of the tensors, the types of the Python numbers and
the values of everything else, and calls it with the tensors and numbers. What is not planned takes the slow path:
bind, dispatch, run, and ask the kernel for a plan. ``facts/calls.md`` of the project's design measured this shape.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from opdsl.dispatch.arguments import (
    MISSING,
    Kind,
    kind_of,
    mixed_form,
    mixed_key,
    out_form,
    out_key,
    spread_key,
    value_form,
    value_key,
)
from opdsl.dispatch.caller_source import free_name, write
from opdsl.dispatch.checked import with_marks
from opdsl.dispatch.differentiation import OperatorAutograd
from opdsl.dispatch.form_table import FormTable
from opdsl.dispatch.forms import MOST_VARIANTS, UNSERVED, FormPlans
from opdsl.dispatch.lowered import given_call, lower_call, lower_form
from opdsl.dispatch.plan_holders import holders
from opdsl.dispatch.recording import recorded
from opdsl.dispatch.signature import Bound, Signature, bind
from opdsl.dispatch.slots import Slot, slots_of
from opdsl.dispatch.state import PLAN_LIMIT, State, current
from opdsl.dispatch.tracebacks import shorten
from opdsl.errors import ArgumentError, NumberError, OpdslError
from opdsl.runtime import Tensor, cpu
from opdsl.runtime.contents import tensors_in
from opdsl.runtime.dumping import dump
from opdsl.runtime.forking import registering
from opdsl.runtime.interchange import operand
from opdsl.runtime.lowering import NotLoweredError, Unknown, concrete, lowering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbols import is_symbolic
from opdsl.schema.model import python_name

if TYPE_CHECKING:
    from opdsl.dispatch.packet import Packet

# All that a function was given: by position, and by name.
Everything = tuple[tuple[object, ...], dict[str, object]]


# The names that PyTorch's Python functions have for arguments beside the schema's: torchgen writes `input` for the
# `self` of a function (PythonArgument.argument_str), and the parser knows NumPy's (numpy_compatibility_arg_names in
# torch/csrc/utils/python_arg_parser.cpp).
_OTHER_NAMES = {
    "self": ("input", "x", "a", "x1"),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
}


# How the globals of a generated function begin that belong to one caller alone.
_OWN_NAMES = ("plans", "forms", "slow", "explain", "call_out", "by_other_names", "default_")


def _aliases(slots: Sequence[Slot], is_method: bool) -> dict[str, str]:
    """The other names of a function's parameters; a method's self has none, and no name that a parameter has itself."""
    names = {slot.name for slot in slots}
    named = names - {"self"} if is_method else names
    return {other: name for name in sorted(named) for other in _OTHER_NAMES.get(name, ()) if other not in names}


class Caller:
    """A function over the signatures of a packet (or of one operator), with its plans.

    Args:
        name: the function's name, as error messages and tracebacks show it.
        signatures: in the order in which they are tried.
        namespace: the globals of the generated function.
        out: whether ``out`` is a parameter: ``None`` for no, the caller of the ``out=`` forms otherwise.
        required_out: whether this is the caller of the ``out=`` forms itself.
        returns_not_implemented: whether a call that fits no overload returns ``NotImplemented``, as the special
            methods of Python's operators must.
        parameters_of: the signatures whose parameters the function has, if these are not all; the caller of the
            ``out=`` forms has those of the caller that hands calls on to it, which so mean the same in both.
        is_method: whether ``self`` is the tensor that the function is a method of.
        takes_aliases: whether arguments may be given by the names that PyTorch's Python functions have for them.
    """

    def __init__(
        self,
        name: str,
        signatures: Sequence[Signature],
        namespace: dict[str, object],
        *,
        out: Caller | None = None,
        required_out: bool = False,
        returns_not_implemented: bool = False,
        parameters_of: Sequence[Signature] | None = None,
        is_method: bool = False,
        takes_aliases: bool = False,
    ) -> None:
        self.name = name
        self.signatures = tuple(signatures)
        self.out = out
        self.required_out = required_out
        # An out= operator's own function takes its outputs by the names of the schema, too.
        names = self.signatures[0].out_names if required_out and parameters_of is None else ()
        self.out_names = () if names == ("out",) else names
        self.has_several_outs = required_out and any(len(each.out_names) > 1 for each in self.signatures)
        self.returns_not_implemented = returns_not_implemented
        union = self.signatures if parameters_of is None else parameters_of
        self.slots = slots_of(union)
        spread = {each.spread for each in union if each.spread is not None}
        self.spread = spread.pop() if len(spread) == 1 else None
        leading = next((slot for slot in self.slots if slot.may_lead_as_number and slot.required), None)
        self.number_first = None if is_method or leading is None else leading.name
        self.aliases = _aliases(self.slots, is_method) if takes_aliases else {}
        self.renames = bool(self.aliases) and self.spread is None
        # What may come by another name is missed where it is bound, not where Python calls the function.
        self.is_lenient = self.renames or not all(slot.has_one_name for slot in self.slots)
        self.defaults = {slot.name: slot.default for slot in self.slots if not slot.required}
        if out is not None:
            self.defaults["out"] = None
        self.plans: dict[State, dict[object, object]] = {}
        self.forms = FormTable(name, self)
        self.stored = 0
        self.generation = 0
        self.namespace = namespace
        # A thread may still run what was compiled into this namespace before: its objects keep their names.
        earlier = {each for each in namespace if each.startswith(_OWN_NAMES)}
        self.taken = frozenset({slot.name for slot in self.slots} | {*self.out_names} | earlier)
        self.own_globals: frozenset[str] = frozenset()
        self.clean = _cleaned(self)
        self.source = write(self)
        self.function = _compile(self)
        self._path = cast("Callable[..., tuple[object, ...]]", namespace.pop("path"))
        self._form_path = cast("Callable[..., tuple[object, ...]]", namespace.pop("form_path"))

    def by_other_names(self, values: dict[str, object], named: dict[str, object]) -> object:
        """A call with names that PyTorch knows beside the schema's; once more with the schema's.

        Args:
            values: every parameter of the function.
            named: what was given under other names.
        """
        meant = dict(values)
        for name, value in named.items():
            own = self.aliases.get(name, name)
            is_free = own in meant and not self.is_given(own, meant[own])
            # What no parameter means, or one that was given already, is for the error.
            meant[own if is_free else name] = value
        if meant.keys() == values.keys():
            return self.function(**meant)
        return self.slow((), {name: value for name, value in meant.items() if self.is_given(name, value)}, None)

    def is_given(self, name: str, value: object) -> bool:
        """Whether a parameter has another value than where it is left out."""
        return value is not MISSING and not (name in self.defaults and value is self.defaults[name])

    def forget(self) -> None:
        """Drop all plans; the ones being made now are not stored any more."""
        with registering:
            self.generation += 1
            self.plans.clear()
            self.forms.clear()
            self.stored = 0
        if self.out is not None:
            self.out.forget()

    def slow(
        self,
        given: tuple[object, ...],
        named: dict[str, object],
        path: tuple[object, ...] | None,
        everything: Everything | None = None,
        variants: list[Plan] | None = None,
    ) -> object:
        """The slow path: bind, dispatch, run, and keep a plan.

        Args:
            given: positional arguments, without those left at their default at the end.
            named: the other arguments that are not at their default.
            path: the keys under which a plan would be found, or None if they cannot be formed.
            everything: all arguments of the function, those at their default too; None for no plan.
            variants: the plans that there are under these keys, none of which has served the call.
        """
        try:
            bound = bind(self.name, self.signatures, given, named)
        except ArgumentError as error:
            if self.returns_not_implemented:
                tensors = tuple(map(operand, given))
                is_of_arrays = any(each is not one for each, one in zip(tensors, given, strict=True))
                return self.function(*tensors, **named) if is_of_arrays else NotImplemented
            if current.get().checking:
                raise with_marks(error, self.signatures, given, named) from None
            raise
        except NumberError as error:
            name_operator(error, self.name)
            raise
        state = current.get()
        generation = self.generation
        kernel = bound.operator.find(bound.arguments, state)
        try:
            is_reported = state.recording and not state.lowering
            result = (recorded(bound.operator, kernel) if is_reported else kernel)(*bound.arguments)
            result = bound.operator.named(result)
        except Exception as error:
            name_operator(error, bound.operator.name)
            raise
        if bound.requires_grad:
            if state.lowering:
                raise NotLoweredError("a leaf that is made anew by each call")
            return result.requires_grad_() if isinstance(result, Tensor) else result
        if path is None or everything is None or not state.plans or not _is_hashable(path):
            return result
        # Another library traces with sizes that are symbols of its own: each question of them would be noted there.
        if not _has_symbols(bound.arguments):
            form = self._form_of(bound, everything, state, result) if variants is None else None
            if form is None or not self._lowered(bound, form, everything, state, generation):
                self._keep(bound, kernel, everything, state, path, generation, variants or [], form)
        return result

    def _form_of(self, bound: Bound, everything: Everything, state: State, result: object) -> FormPlans | None:
        """What is known of the form of a call; None where it has no plans: on other devices than the CPU."""
        if state.recording or state.modes:
            return None
        if any(each.geometry.device is not cpu for each in tensors_in((*bound.arguments, result))):
            return None
        try:
            return self.forms.find(state, self._form_path(*everything[0], **everything[1]))
        except (AttributeError, TypeError):
            return None

    def _run(self, given: tuple[object, ...], named: dict[str, object]) -> object:
        return self.slow(given, named, None)

    def _run_as_it_is(
        self,
        bound: Bound,
        kernel: Callable[..., Any],
        state: State,
        given: tuple[object, ...],
        named: dict[str, object],
    ) -> object:
        """Note one step alone, the kernel of a call, for a call that cannot be lowered further.

        Args:
            bound, kernel, state: of the call that was made.
            given, named: the same call, as what records.
        """
        recorder = lowering.get()
        assert recorder is not None, "this is a run of a lowering"
        operator = bound.operator
        arguments = bind(self.name, self.signatures, given, named).arguments
        with concrete(), Setting(current, state):
            function: Any = kernel.beneath(bound.arguments) if isinstance(kernel, OperatorAutograd) else kernel
            shorter = function.plan(bound.arguments) if hasattr(function, "plan") else None
        if shorter is not None:
            kinds = map(kind_of, operator.schema.arguments)
            arguments = tuple([each for each, kind in zip(arguments, kinds, strict=True) if kind is not Kind.VALUE])
            function = shorter
        elif getattr(function, "direct", None) is not None:
            function = function.direct
        recorder.packets.setdefault(operator.packet, operator.packet.generation)
        (name,) = recorder.run(function, arguments, ["result"])
        if operator.result_type is not None:
            (name,) = recorder.run(operator.named, (Unknown(name),), ["result"])
        return Unknown(name)

    def _lowered(self, bound: Bound, form: FormPlans, everything: Everything, state: State, generation: int) -> bool:
        """Whether a call that no plan has served is lowered now, so that others of its form are served."""
        if form.is_hot:
            form.is_hot = False
            return False
        form.misses += 1
        if not form.wants_lowering:
            # Of a call without tensors nothing repeats but its numbers: no plan of these is worth keeping.
            return not form.reason and not form.variants and not any(map(has_tensors, bound.arguments))
        return self._lower_form(form, everything, state, generation)

    def _lower_form(self, form: FormPlans, everything: Everything, state: State, generation: int) -> bool:
        """Whether there is a plan now that serves calls of a form."""
        parameters = [slot.name for slot in self.slots] + ["out"] * self.required_out

        def make() -> tuple[Plan, dict[Packet, int]]:
            return lower_form(self.name, self._run, form, parameters, given_call(self, *everything))

        return self.forms.lower(state, form, make, generation)

    def _keep(
        self,
        bound: Bound,
        kernel: Callable[..., object],
        everything: Everything,
        state: State,
        path: tuple[object, ...],
        generation: int,
        variants: list[Plan],
        form: FormPlans | None,
    ) -> None:
        """Keep a plan for the geometries of a call.

        Args:
            bound, kernel, everything, state: the call.
            path: the keys of the call before it was made; it may have changed its arguments.
            generation: of this caller when the kernel was found.
            variants: see ``slow``.
            form: what is known of the call's form, where there is one.
        """
        if len(variants) >= MOST_VARIANTS or self.path(*self.clean(*everything)) != path:
            return
        lower = partial(self._lower_call, everything, variants)
        made = None
        # The last one serves every call, whatever would be asked of its numbers.
        if len(variants) < MOST_VARIANTS - 1:
            made = lower(self._run)
            # Sizes that elements decide, say, are in the way, which forms allow.
            others = None if made is not None else form
            if others is not None and (others.variants or self._lower_form(others, everything, state, generation)):
                others.keeps_no_others()
                return
        made = made or lower(partial(self._run_as_it_is, bound, kernel, state))
        if made is None:  # a tensor was taken for a number, say: each call takes the slow path
            return
        plan, made_of = made
        if state.recording:
            plan = recorded(bound.operator, plan)
        with registering:
            if generation != self.generation or any(packet.generation != each for packet, each in made_of.items()):
                return
            for packet in made_of:
                packet.dependents.add(self)
            variants.append(plan)
            if len(variants) == 1:
                self._store(state, path, plan)

    def _lower_call(
        self, everything: Everything, variants: list[Plan], run: Callable[..., object]
    ) -> tuple[Plan, dict[Packet, int]] | None:
        """The plan of a call, and what it is made of; None where something stands in the way."""
        handed = [slot.name for place, slot in enumerate(self.slots) if slot.is_dynamic and place != self.spread]
        handed += ["out"] * self.required_out
        missed = partial(self._missed, variants)
        try:
            return lower_call(self.name, run, missed, handed, given_call(self, *everything), variants)
        except Exception as error:
            reason = f"# {self.name} is not lowered. {type(error).__name__}: {error}\n"
            dump(f"not lowered {self.name}", ".py", lambda: reason)
            return None

    def _store(self, state: State, path: tuple[object, ...], plan: Plan) -> None:
        if self.stored >= PLAN_LIMIT:
            self.plans.clear()
            self.stored = 0
        node: dict[object, Any] = self.plans.setdefault(state, {})
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = plan
        self.stored += 1
        holders.add(self)

    def _missed(self, variants: list[Plan], given: tuple[object, ...], named: dict[str, object]) -> object:
        """A call that none of the plans under its keys has served."""
        everything = self._complete(given, named)
        cleaned = self.clean(*everything)
        return self.slow(*cleaned, self.path(*cleaned), everything, variants)

    def _complete(self, given: tuple[object, ...], named: dict[str, object]) -> Everything:
        """All arguments of the function, those at their default too."""
        by_place = [slot for slot in self.slots if not slot.keyword_only]
        rest = {slot.name: named.get(slot.name, slot.default) for slot in self.slots if slot.keyword_only}
        if self.spread is not None:
            return given, {**rest, **named}
        values = dict(zip((slot.name for slot in by_place), given, strict=False)) | named
        positional = tuple([values.pop(slot.name, slot.default) for slot in by_place])
        return positional, {**rest, **values}

    def explain(self, error: Exception, given: tuple[object, ...], named: dict[str, object]) -> None:
        """Name the operator in an error that a plan has raised, as the slow path does.

        Args:
            error: what was raised.
            given, named: the call, as the slow path takes it.
        """
        try:
            name_operator(error, bind(self.name, self.signatures, given, named).operator.name)
        except ArgumentError:
            name_operator(error, self.name)

    def path(self, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...] | None:
        """The keys of a call, as the generated function forms them."""
        try:
            return self._path(*given, **named)
        except (AttributeError, TypeError):
            return None


def name_operator(error: Exception, name: str) -> None:
    """Say in an error which operator it comes from.

    A message of ours gets the name in front, unless it begins with one: of nested calls the innermost. An exception of
    an author's own stays as it is, with a note for each operator that it passes.
    """
    if not isinstance(error, OpdslError):
        note = f"raised in a kernel of {name}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        return
    text = str(error)
    if "::" not in text.partition(" ")[0]:
        error.args = (f"{name}: {text}", *error.args[1:])


def has_tensors(value: object) -> bool:
    """Whether an argument is a tensor, or a list with one."""
    return isinstance(value, Tensor) or (isinstance(value, tuple) and any(isinstance(each, Tensor) for each in value))


def _has_symbols(arguments: Iterable[object]) -> bool:
    """Whether a number or a size among arguments is a symbol of another library (``torch.SymInt``)."""
    for value in arguments:
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Tensor):
                form = each.geometry
                if any(type(size) is not int for size in (*form.shape, *form.strides)):
                    return True
            elif type(each) is not int and is_symbolic(each):
                return True
    return False


def _is_hashable(path: tuple[object, ...]) -> bool:
    """Whether a path can be kept: a list among spread arguments cannot."""
    try:
        hash(path)
    except TypeError:
        return False
    return True


def _compile(caller: Caller) -> FunctionType:
    """Run the generated source in a namespace of its own, known to ``linecache`` so that tracebacks show it."""

    def slow(given: tuple[object, ...], named: dict[str, object]) -> object:
        cleaned = caller.clean(given, named)
        return caller.slow(*cleaned, caller.path(*cleaned), (given, named))

    def explain(error: Exception, given: tuple[object, ...], named: dict[str, object]) -> None:
        caller.explain(error, *caller.clean(given, named))
        shorten(error)

    names: dict[str, object] = {
        "plans": caller.plans,
        "forms": caller.forms.plans,
        "unserved": UNSERVED,
        "value_form": value_form,
        "mixed_form": mixed_form,
        "out_form": out_form,
        "state": current.get,
        "Tensor": Tensor,
        "value_key": value_key,
        "mixed_key": mixed_key,
        "out_key": out_key,
        "spread_key": spread_key,
        "slow": slow,
        "explain": explain,
        "shorten": shorten,
        "missing": MISSING,
        "by_other_names": caller.by_other_names,
        "call_out": None if caller.out is None else caller.out.function,
        **{
            each.__name__: each
            for each in (type, tuple, int, KeyError, AttributeError, TypeError, OverflowError, Exception)
        },
        **{f"default_{slot.name}": slot.default for slot in caller.slots},
    }
    namespace = caller.namespace
    namespace.update({free_name(name, caller.taken): value for name, value in names.items()})
    caller.own_globals = frozenset(free_name(name, caller.taken) for name in names if name.startswith(_OWN_NAMES))
    filename = f"<opdsl caller {caller.name} {id(caller):x}>"
    exec(compile(caller.source, filename, "exec"), namespace)
    linecache.cache[filename] = (len(caller.source), None, caller.source.splitlines(keepends=True), filename)
    function = namespace[python_name(caller.name)]
    assert isinstance(function, FunctionType)
    return function


def _cleaned(caller: Caller) -> Callable[..., tuple[tuple[object, ...], dict[str, object]]]:
    """What makes a call of everything that the generated function was given: without what was left at its default."""
    places = [slot for slot in caller.slots if not slot.keyword_only]
    # What only some overloads take by position is handed on by name, which all of them take.
    by_name = {each.name for one in caller.signatures for each in one.parameters if each.keyword_only}

    def clean(given: tuple[object, ...], named: dict[str, object]) -> tuple[tuple[object, ...], dict[str, object]]:
        positional: list[object] = []
        rest: dict[str, object] = {}
        pairs: Iterable[tuple[Slot, object]] = zip(places, given, strict=False)
        if caller.spread is not None:
            positional = list(given)
            pairs = ()
            own = {name: caller.aliases.get(name, name) for name in named}
            named = {name if own[name] in named else own[name]: value for name, value in named.items()}
        for slot, value in pairs:
            if not caller.is_given(slot.name, value):
                continue
            if len(positional) == places.index(slot) and slot.name not in by_name:
                positional.append(value)
            else:
                rest[slot.name] = value
        rest |= {name: value for name, value in named.items() if caller.is_given(name, value)}
        return tuple(positional), rest

    return clean


__all__ = ["Caller", "Plan", "Slot"]
