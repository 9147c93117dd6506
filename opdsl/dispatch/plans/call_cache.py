"""The functions that users call: generated source with real parameters, whose common path is one look-up and one call.

A call cache looks a **plan** up by the current state, the geometries of the tensors, the types of the Python numbers
and the values of everything else, and calls it with the tensors and numbers. What has no plan takes the slow path:
bind, dispatch, run, and lower the call to a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple, cast

from opdsl.dispatch.binding.arguments import (
    MISSING,
    Kind,
    kind_of,
    mixed_form,
    mixed_key,
    out_form,
    out_key,
    scalar_form,
    scalar_key,
    spread_key,
    value_form,
    value_key,
)
from opdsl.dispatch.binding.function_override import NO_OVERRIDE, OverriddenFunction, overridden
from opdsl.dispatch.binding.signature import BoundCall, Signature, bind
from opdsl.dispatch.binding.union_signature import Everything, UnionSignature
from opdsl.dispatch.layers.checked import with_marks
from opdsl.dispatch.layers.differentiation import OperatorAutograd
from opdsl.dispatch.layers.recording import recorded
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.plans.form_table import FormTable
from opdsl.dispatch.plans.forms import MOST_VARIANTS, UNSERVED, FormPlans, Seen
from opdsl.dispatch.plans.function_source import free_name, write
from opdsl.dispatch.plans.lowered import given_call, lower_call, lower_form
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, holders, publish
from opdsl.dispatch.plans.recorded_plans import RecordedPlans
from opdsl.dispatch.state import PLAN_LIMIT, State, current
from opdsl.errors import ArgumentError, NumberError, OpdslError
from opdsl.generated import function_from_source
from opdsl.runtime import Tensor
from opdsl.runtime.dumping import dump
from opdsl.runtime.forking import registering
from opdsl.runtime.interchange import operand
from opdsl.runtime.lowering import Unknown, concrete, lowering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.symbols import is_symbolic
from opdsl.schema.model import python_name
from opdsl.tracebacks import shorten

# How the globals of a generated function begin that belong to one call cache alone.
_OWN_NAMES = ("plans", "forms", "slow", "explain", "call_out", "by_other_names", "default_")


class Missed(NamedTuple):
    """A call that no plan has served.

    everything: all arguments of the function, those at their default too.
    path: the keys under which a plan would be found.
    variants: the plans that there are under these keys.
    generation: of the call cache when the call was made.
    is_reported: whether the call is recorded, and no plan reports it.
    """

    bound: BoundCall
    everything: Everything
    state: State
    path: tuple[object, ...]
    variants: list[Plan]
    generation: int
    is_reported: bool


class CallCache:
    """A function over the signatures of a packet (or of one operator), with its plans.

    Args:
        name: the function's name, as error messages and tracebacks show it.
        signatures: in the order in which they are tried.
        namespace: the globals of the generated function.
        out: whether ``out`` is a parameter: ``None`` for no, the call cache of the ``out=`` forms otherwise.
        required_out: whether this is the call cache of the ``out=`` forms itself.
        returns_not_implemented: whether a call that fits no overload returns ``NotImplemented``, as the special
            methods of Python's operators must.
        parameters_of: the signatures whose parameters the function has, if these are not all; the call cache of the
            ``out=`` forms has those of the call cache that hands calls on to it, which so mean the same in both.
        is_method: whether ``self`` is the tensor that the function is a method of.
        takes_aliases: whether arguments may be given by the names that PyTorch's Python functions have for them.
    """

    def __init__(
        self,
        name: str,
        signatures: Sequence[Signature],
        namespace: dict[str, object],
        *,
        out: CallCache | None = None,
        required_out: bool = False,
        returns_not_implemented: bool = False,
        parameters_of: Sequence[Signature] | None = None,
        is_method: bool = False,
        takes_aliases: bool = False,
    ) -> None:
        self.name = name
        self.union = UnionSignature(
            name,
            signatures,
            has_out=out is not None,
            required_out=required_out,
            parameters_of=parameters_of,
            is_method=is_method,
            takes_aliases=takes_aliases,
        )
        self.out = out
        self.returns_not_implemented = returns_not_implemented
        self.plans: dict[State, dict[object, object]] = {}
        self.operators: dict[Plan, Operator] = {}
        self.forms = FormTable(name, self)
        self.stored = 0
        self.seen = Seen()
        self.generation = 0
        self.namespace = namespace
        # A thread may still run what was compiled into this namespace before: its objects keep their names.
        earlier = {text for text in namespace if text.startswith(_OWN_NAMES)}
        parameters = (parameter.name for parameter in self.union.parameters)
        self.taken = frozenset({python_name(name), *parameters, *self.union.out_names, *earlier})
        self.own_globals: frozenset[str] = frozenset()
        self.source = write(self.union, self.taken)
        self.function = _compile(self)
        self._path = cast("Callable[..., tuple[object, ...]]", namespace.pop(free_name("path", self.taken)))
        self._form_path = cast("Callable[..., tuple[object, ...]]", namespace.pop(free_name("form_path", self.taken)))

    def by_other_names(self, values: dict[str, object], named: dict[str, object]) -> object:
        """A call with names that PyTorch knows beside the schema's; once more with the schema's.

        Args:
            values: every parameter of the function.
            named: what was given under other names.
        """
        meant = self.union.by_own_names(values, named)
        if meant.keys() == values.keys():
            return self.function(**meant)
        is_given = self.union.is_given
        return self.slow((), {name: value for name, value in meant.items() if is_given(name, value)}, None)

    def forget(self) -> None:
        """Drop all plans; the ones being made now are not stored any more."""
        with registering:
            self.generation += 1
            self.plans.clear()
            self.forms.clear()
            self.operators.clear()
            self.seen.clear()
            self.stored = 0
        if self.out is not None:
            self.out.forget()

    def slow(
        self,
        positional: tuple[object, ...],
        named: dict[str, object],
        path: tuple[object, ...] | None,
        everything: Everything | None = None,
        variants: list[Plan] | None = None,
    ) -> object:
        """The slow path: bind, and dispatch and run, or lower and run the plan.

        Args:
            positional: the positional arguments, without those left at their default at the end.
            named: the other arguments that are not at their default.
            path: the keys under which a plan would be found, or None if they cannot be formed.
            everything: all arguments of the function, those at their default too; None for no plan.
            variants: the plans that there are under these keys, none of which has served the call.
        """
        fault: ArgumentError | None = None
        try:
            bound = bind(self.name, self.union.signatures, positional, named)
        except ArgumentError as error:
            fault = error
        except NumberError as error:
            name_operator(error, self.name)
            raise
        if fault is not None:  # outside of the handler, so that what an argument answers shows no fault of ours
            return self._unbound(fault, positional, named)
        state = current.get()
        if state.recording and not state.lowering:
            if state not in self.plans or state not in self.forms.plans:
                self._record_plans(state)
                return self.function(*positional, **named)
            # A plan that leaves a call to others reports it with their time.
            is_reported = variants is None
            state = state.unrecorded
        else:
            is_reported = False
        # Another library traces with sizes that are symbols of its own: each question of them would be noted there.
        is_planned = state.plans and not bound.requires_grad and self.union.has_key(named)
        is_planned = is_planned and not _has_symbols(bound.arguments)
        if path is None or everything is None or not is_planned or not _is_hashable(path):
            _, result = self._call(bound, state, is_reported=is_reported)
            if bound.requires_grad and state.lowering:
                raise NotLoweredError("a leaf that is made anew by each call")
            return result.requires_grad_() if bound.requires_grad and isinstance(result, Tensor) else result
        return self._call_and_plan(Missed(bound, everything, state, path, variants or [], self.generation, is_reported))

    def _unbound(self, fault: ArgumentError, positional: tuple[object, ...], named: dict[str, object]) -> object:
        """What a call gives that fits no overload: the answer of an argument, or that of the other operand.

        Raises:
            ArgumentError: ``fault``, where there is no answer.
        """
        function = OverriddenFunction(self.name, self.union.signatures, self.function)
        answer = overridden(function, positional, named)
        if answer is not NO_OVERRIDE:
            return answer
        if self.returns_not_implemented:
            tensors = tuple(map(operand, positional))
            is_of_arrays = any(tensor is not one for tensor, one in zip(tensors, positional, strict=True))
            return self.function(*tensors, **named) if is_of_arrays else NotImplemented
        if current.get().checking:
            raise with_marks(fault, self.union.signatures, positional, named) from None
        raise fault

    def _record_plans(self, state: State) -> None:
        """Have calls that are recorded find the plans that there are."""
        with registering:
            for call_cache in (self, self.forms):
                call_cache.plans[state] = RecordedPlans(
                    call_cache.plans.setdefault(state.unrecorded, {}), call_cache.operators
                )
            holders.add(self)

    def _call(self, bound: BoundCall, state: State, *, is_reported: bool) -> tuple[Kernel, object]:
        """The kernel of a call, and its result."""
        kernel = bound.operator.find(bound.arguments, state)
        run = recorded(bound.operator, kernel, bound.arguments) if is_reported else kernel
        try:
            result = run(*bound.arguments)
            return kernel, bound.operator.named(result)
        except Exception as error:
            name_operator(error, bound.operator.name)
            raise

    def _run_missed(self, missed: Missed) -> object:
        """The result of a call, made without a plan."""
        return self._call(missed.bound, missed.state, is_reported=missed.is_reported)[1]

    def _call_and_plan(self, missed: Missed) -> object:
        """The result of a call that no plan has served; a plan of it, unless it is the first of its kind."""
        form = None if missed.variants else self._form_of(missed)
        names, plan = self._form_plan(missed, form) if form is not None else ([], None)
        is_worth_a_plan = plan is None and (form is None or self._is_worth_a_plan(missed, form))
        is_repeated = is_worth_a_plan and (bool(missed.variants) or (missed.state, missed.path) in self.seen)
        if is_repeated:
            names, plan = self._exact_plan(missed, form)
        if plan is not None:
            values = self.union.values(*missed.everything)
            handed = tuple([values[name] for name in names])
            try:
                result = (recorded(missed.bound.operator, plan, handed) if missed.is_reported else plan)(*handed)
            except Exception as error:
                name_operator(error, missed.bound.operator.name)
                raise
            if result is not UNSERVED:
                return result
        kernel, result = self._call(missed.bound, missed.state, is_reported=missed.is_reported)
        # A call that raises is never lowered: all like it take the slow path, which knows why.
        if form is not None:
            form.misses += 1
        # Where no plan of the form serves the call, and there will be no other one, nothing is tried again.
        if is_repeated and (plan is None or form is None or not form.wants_lowering):
            self._keep_as_it_is(missed, kernel)
        elif is_worth_a_plan:
            self.seen.add((missed.state, missed.path))
        return result

    def _form_of(self, missed: Missed) -> FormPlans | None:
        """What is known of the form of a call; None where it has no plans."""
        if missed.state.modes:
            return None
        try:
            return self.forms.find(missed.state, self._form_path(*missed.everything[0], **missed.everything[1]))
        except (AttributeError, TypeError):
            return None

    def _form_plan(self, missed: Missed, form: FormPlans) -> tuple[list[str], Plan | None]:
        """The plans of a form, if it is lowered now, and the names of what they take."""
        if form.is_hot:
            return [], None
        is_lowered = form.wants_lowering and self._lower_form(missed, form)
        return self._form_parameters, form if is_lowered else None

    def _is_worth_a_plan(self, missed: Missed, form: FormPlans) -> bool:
        """Whether a call may have a plan of its very geometries.

        Of a call without tensors nothing repeats but its numbers: that of its form serves all of them.
        """
        is_hot, form.is_hot = form.is_hot, False
        has_no_other = bool(form.reason or form.variants) or any(map(has_tensors, missed.bound.arguments))
        return is_hot or has_no_other

    def _run(self, positional: tuple[object, ...], named: dict[str, object]) -> object:
        return self.slow(positional, named, None)

    def _run_as_it_is(
        self,
        bound: BoundCall,
        kernel: Kernel,
        state: State,
        positional: tuple[object, ...],
        named: dict[str, object],
    ) -> object:
        """Note one step alone, the kernel of a call, for a call that cannot be lowered further.

        Args:
            bound, kernel, state: of the call that was made.
            positional, named: the same call, as what records.
        """
        recorder = lowering.get()
        assert recorder is not None, "this is a run of a lowering"
        operator = bound.operator
        arguments = bind(self.name, self.union.signatures, positional, named).arguments
        with concrete(), Setting(current, state):
            beneath = kernel.beneath(bound.arguments) if isinstance(kernel, OperatorAutograd) else kernel
            shorter = beneath.plan(bound.arguments)
        function: Callable[..., Any] = shorter or beneath.direct or beneath
        if shorter is not None:
            kinds = map(kind_of, operator.schema.arguments)
            arguments = tuple(
                [argument for argument, kind in zip(arguments, kinds, strict=True) if kind is not Kind.VALUE]
            )
        recorder.packets.setdefault(operator.packet, operator.packet.generation)
        (name,) = recorder.run(function, arguments, ["result"])
        if operator.result_type is not None:
            (name,) = recorder.run(operator.named, (Unknown(name),), ["result"])
        return Unknown(name)

    def _lower_form(self, missed: Missed, form: FormPlans) -> bool:
        """Whether there is a plan now that serves calls of a form."""

        def make() -> tuple[Plan, Dependencies]:
            call = given_call(self.union, *missed.everything)
            return lower_form(self.name, self._run, form, self._form_parameters, call)

        run = partial(self._run_missed, missed)
        return self.forms.lower(missed.state, form, make, run, missed.generation, missed.bound.operator)

    @property
    def _form_parameters(self) -> list[str]:
        return [parameter.name for parameter in self.union.parameters] + ["out"] * self.union.required_out

    def _exact_plan(self, missed: Missed, form: FormPlans | None) -> tuple[list[str], Plan | None]:
        """A new plan for the geometries of a call, or else of its form; and the names of what it takes."""
        # The last one serves every call, whatever would be asked of its numbers.
        if len(missed.variants) >= MOST_VARIANTS - 1 or (form is not None and form.runs_as_it_is):
            return [], None
        place = len(missed.variants)
        lowered = self._lower_call(missed, place, self._run)
        if lowered is not None:
            return self.union.handed, self._keep(missed, place, *lowered)
        if form is None:
            return [], None
        # Sizes that elements decide, say, are in the way, which forms allow.
        if form.variants or (not form.reason and self._lower_form(missed, form)):
            form.keeps_no_others()
            return self._form_parameters, form
        form.runs_as_it_is = bool(form.reason)
        return [], None

    def _keep_as_it_is(self, missed: Missed, kernel: Kernel) -> None:
        """Keep a plan that runs the kernel of a call, unless the call has changed what it was given."""
        place = len(missed.variants)
        lowered = None
        if place < MOST_VARIANTS and self.path(*self.union.clean(*missed.everything)) == missed.path:
            lowered = self._lower_call(missed, place, partial(self._run_as_it_is, missed.bound, kernel, missed.state))
        if lowered is not None:
            self._keep(missed, place, *lowered)
        else:  # a tensor was taken for a number, or got another shape: each call takes the slow path
            self.seen.give_up((missed.state, missed.path))

    def _lower_call(self, missed: Missed, place: int, run: Callable[..., object]) -> tuple[Plan, Dependencies] | None:
        """The plan of a call, and what it is made of; None where something stands in the way."""
        variants, handed = missed.variants, self.union.handed
        try:
            with refusals_only(self.name, partial(self._run_missed, missed)):
                call = given_call(self.union, *missed.everything)
                return lower_call(self.name, run, partial(self._missed, variants), handed, call, variants, place=place)
        except NotLoweredError as error:
            reason = f"# {self.name} is not lowered. {type(error).__name__}: {error}\n"
            dump(f"not lowered {self.name}", ".py", lambda: reason)
            return None

    def _keep(self, missed: Missed, place: int, plan: Plan, made_of: Dependencies) -> Plan | None:
        """Keep a plan, and return it; None if something that it is made of has changed.

        Where another thread has kept one at its place meanwhile, it serves this call alone.
        """

        def keep() -> None:
            if len(missed.variants) == place:
                missed.variants.append(plan)
                if place == 0:
                    self.operators[plan] = missed.bound.operator
                    self._store(missed.state, missed.path, plan)

        return plan if publish(self, made_of, keep, missed.generation) else None

    def _store(self, state: State, path: tuple[object, ...], plan: Plan) -> None:
        if self.stored >= PLAN_LIMIT:
            self.plans.clear()
            self.operators.clear()
            self.stored = 0
        node: dict[object, Any] = self.plans.setdefault(state, {})
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = plan
        self.stored += 1

    def _missed(self, variants: list[Plan], positional: tuple[object, ...], named: dict[str, object]) -> object:
        """A call that none of the plans under its keys has served: by those of its form, or else the slow path."""
        everything = self.union.complete(positional, named)
        result = self._served_by_form(everything, are_many=len(variants) >= MOST_VARIANTS - 1)
        if result is not UNSERVED:
            return result
        cleaned = self.union.clean(*everything)
        return self.slow(*cleaned, self.path(*cleaned), everything, variants)

    def _served_by_form(self, everything: Everything, *, are_many: bool) -> object:
        """Return the result of a call by the plans of its form, or ``UNSERVED``; among many others they serve all."""
        state = current.get()
        if state not in self.forms.plans or state.recording or state.modes:
            return UNSERVED
        try:
            form = self.forms.find(state, self._form_path(*everything[0], **everything[1]))
        except (AttributeError, TypeError):
            return UNSERVED
        if are_many:
            form.keeps_no_others()
        values = self.union.values(*everything)
        result = form(*[values[name] for name in self._form_parameters])
        form.is_hot = form.is_hot and result is UNSERVED
        return result

    def explain(self, error: Exception, positional: tuple[object, ...], named: dict[str, object]) -> None:
        """Name the operator in an error that a plan has raised, as the slow path does.

        Args:
            error: what was raised.
            positional, named: the call, as the slow path takes it.
        """
        try:
            name_operator(error, bind(self.name, self.union.signatures, positional, named).operator.name)
        except ArgumentError:
            name_operator(error, self.name)

    def path(self, positional: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...] | None:
        """The keys of a call, as the generated function forms them."""
        try:
            return self._path(*positional, **named)
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
    return isinstance(value, Tensor) or (
        isinstance(value, tuple) and any(isinstance(element, Tensor) for element in value)
    )


def _has_symbols(arguments: Iterable[object]) -> bool:
    """Whether a number or a size among arguments is a symbol of another library (``torch.SymInt``)."""
    for value in arguments:
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, Tensor):
                form = element.geometry
                for size in (*form.shape, *form.strides):
                    if type(size) is not int:
                        return True
            elif type(element) is not int and is_symbolic(element):
                return True
    return False


def _is_hashable(path: tuple[object, ...]) -> bool:
    """Whether a path can be kept: a list among spread arguments cannot."""
    try:
        hash(path)
    except TypeError:
        return False
    return True


def _compile(cache: CallCache) -> FunctionType:
    """The function of the generated source, in a namespace of its own."""

    def slow(positional: tuple[object, ...], named: dict[str, object]) -> object:
        cleaned = cache.union.clean(positional, named)
        return cache.slow(*cleaned, cache.path(*cleaned), (positional, named))

    def explain(error: Exception, positional: tuple[object, ...], named: dict[str, object]) -> None:
        cache.explain(error, *cache.union.clean(positional, named))
        shorten(error)

    names: dict[str, object] = {
        "plans": cache.plans,
        "forms": cache.forms.plans,
        "unserved": UNSERVED,
        "value_form": value_form,
        "mixed_form": mixed_form,
        "out_form": out_form,
        "state": current.get,
        "Tensor": Tensor,
        "value_key": value_key,
        "mixed_key": mixed_key,
        "scalar_form": scalar_form,
        "scalar_key": scalar_key,
        "out_key": out_key,
        "spread_key": spread_key,
        "slow": slow,
        "explain": explain,
        "shorten": shorten,
        "missing": MISSING,
        "by_other_names": cache.by_other_names,
        "call_out": None if cache.out is None else cache.out.function,
        **{
            function.__name__: function
            for function in (type, tuple, int, KeyError, AttributeError, TypeError, OverflowError, Exception)
        },
        **{f"default_{parameter.name}": parameter.default for parameter in cache.union.parameters},
    }
    namespace = cache.namespace
    namespace.update({free_name(name, cache.taken): value for name, value in names.items()})
    cache.own_globals = frozenset(free_name(name, cache.taken) for name in names if name.startswith(_OWN_NAMES))
    return function_from_source(python_name(cache.name), cache.source, namespace, title=f"cache {cache.name}")


__all__ = ["CallCache", "Plan"]
