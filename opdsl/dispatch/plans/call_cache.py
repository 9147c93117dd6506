"""Generated functions that users call, each with a cache of plans: the fast path is one look-up and one call.

A call cache looks a **plan** up by the current dispatcher state, the geometries of the tensors, the types of the Python
numbers and the values of all other arguments, and calls it with the tensors and numbers. A call without a plan takes
the slow path: bind, dispatch, run, and lower the call to a plan.
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
from opdsl.dispatch.plans.forms import GUARD_FAILED, FormPlans
from opdsl.dispatch.plans.function_source import free_name, write
from opdsl.dispatch.plans.lowered import given_call, lower_call, lower_form
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, holders, publish
from opdsl.dispatch.plans.policy import HOT_FROM, MOST_VARIANTS, Next, Seen
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

# Prefixes of the globals of a generated function that belong to one call cache alone.
_OWN_NAMES = ("plans", "forms", "slow", "explain", "call_out", "by_other_names", "default_")


class Missed(NamedTuple):
    """Cache miss: a call that no plan has served, with the keys under which its plan would be stored.

    bound: the operator and its converted arguments.
    everything: all arguments of the function, including those at their default.
    state: the dispatcher state at the call.
    path: the keys under which a plan is looked up.
    variants: the plans that exist under these keys.
    generation: the generation of the call cache when the call was made.
    is_reported: whether the call is reported to the profiler (``record_calls``), and no plan reports it.
    """

    bound: BoundCall
    everything: Everything
    state: State
    path: tuple[object, ...]
    variants: list[Plan]
    generation: int
    is_reported: bool


class CallCache:
    """Cache of the plans of one function that users call, over the signatures of a packet or of one operator.

    Args:
        name: the function's name, as error messages and tracebacks show it.
        signatures: the signatures of the overloads, in the order in which they are tried.
        namespace: the globals of the generated function.
        out: makes the call cache of the ``out=`` forms, at their first call; None if the function has no parameter
            ``out``.
        required_out: whether this is the call cache of the ``out=`` forms itself.
        returns_not_implemented: whether a call that fits no overload returns ``NotImplemented``, as the special
            methods of Python's operators must.
        parameters_of: the signatures that define the function's parameters, if these are not ``signatures``. The call
            cache of the ``out=`` forms uses those of the call cache that forwards calls to it, so that arguments mean
            the same in both.
        is_method: whether the function is a method, whose ``self`` is the tensor.
        takes_aliases: whether PyTorch's alternative keyword names (``input``, ``axis``) are accepted.
    """

    def __init__(
        self,
        name: str,
        signatures: Sequence[Signature],
        namespace: dict[str, object],
        *,
        out: Callable[[], CallCache] | None = None,
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
        self.make_out = out
        self.out: CallCache | None = None
        self.returns_not_implemented = returns_not_implemented
        self.plans: dict[State, dict[object, object]] = {}
        self.operators: dict[Plan, Operator] = {}
        self.forms = FormTable(name, self)
        self.stored = 0
        self.seen = Seen()
        self.generation = 0
        self.namespace = namespace
        # A thread may still run code that was compiled into this namespace before, so its globals keep their names.
        earlier = {text for text in namespace if text.startswith(_OWN_NAMES)}
        parameters = (parameter.name for parameter in self.union.parameters)
        self.taken = frozenset({python_name(name), *parameters, *self.union.out_names, *earlier})
        self.own_globals: frozenset[str] = frozenset()
        self.source = write(self.union, self.taken)
        self.function = _compile(self)
        self._path = cast("Callable[..., tuple[object, ...]]", namespace.pop(free_name("path", self.taken)))
        self._form_path = cast("Callable[..., tuple[object, ...]]", namespace.pop(free_name("form_path", self.taken)))

    def by_other_names(self, values: dict[str, object], named: dict[str, object]) -> object:
        """Make a call again whose keyword arguments use PyTorch's alternative names, with the names of the schema.

        Args:
            values: the value of every parameter of the function.
            named: the arguments given under other names.
        """
        meant = self.union.by_own_names(values, named)
        if meant.keys() == values.keys():
            return self.function(**meant)
        is_given = self.union.is_given
        return self.slow((), {name: value for name, value in meant.items() if is_given(name, value)}, None)

    def call_out(self, /, *positional: object, **named: object) -> object:
        """Make the first call with ``out``; the call cache that this creates serves later ones directly."""
        assert self.make_out is not None, "the function has a parameter out"
        with registering:
            if self.out is None:
                self.out = self.make_out()
                self.namespace[free_name("call_out", self.taken)] = self.out.function
        return self.out.function(*positional, **named)

    def forget(self) -> None:
        """Drop all plans, and keep plans that are being lowered at this moment from being stored."""
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
        """Run the slow path of a call: bind it, then dispatch and run it, or lower it to a plan and run the plan.

        Args:
            positional: the positional arguments, without trailing ones that are at their default.
            named: the other arguments that are not at their default.
            path: the keys under which a plan is looked up, or None if they cannot be computed.
            everything: all arguments of the function, including those at their default; None to make no plan.
            variants: the plans that exist under these keys, none of which has served the call.
        """
        fault: ArgumentError | None = None
        try:
            bound = bind(self.name, self.union.signatures, positional, named)
        except ArgumentError as error:
            fault = error
        except NumberError as error:
            name_operator(error, self.name)
            raise
        # outside of the handler, so that an error of the argument's own method does not show ours as its context
        if fault is not None:
            return self._unbound(fault, positional, named)
        state = current.get()
        if state.recording and not state.lowering:
            if state not in self.plans or state not in self.forms.plans:
                self._record_plans(state)
                return self.function(*positional, **named)
            # A plan that leaves a call to the slow path reports the call itself, including the time of the slow path.
            is_reported = variants is None
            state = state.unrecorded
        else:
            is_reported = False
        # Another library may be tracing with its own symbolic sizes: each comparison would add a guard to its trace.
        is_planned = state.plans and not bound.requires_grad and self.union.has_key(named)
        is_planned = is_planned and not _has_symbols(bound.arguments)
        if path is None or everything is None or not is_planned or not _is_hashable(path):
            _, result = self._call(bound, state, is_reported=is_reported)
            if bound.requires_grad and state.lowering:
                raise NotLoweredError("a leaf that is made anew by each call")
            return result.requires_grad_() if bound.requires_grad and isinstance(result, Tensor) else result
        return self._call_and_plan(Missed(bound, everything, state, path, variants or [], self.generation, is_reported))

    def _unbound(self, fault: ArgumentError, positional: tuple[object, ...], named: dict[str, object]) -> object:
        """Return the result of a call that fits no overload: that of an argument with ``__opdsl_function__``, or
        ``NotImplemented`` for an operator method whose other operand may handle the call.

        Raises:
            ArgumentError: ``fault``, if neither applies.
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
        """Install plan tables for a state that records calls: they wrap the existing plans, which then report."""
        with registering:
            for call_cache in (self, self.forms):
                call_cache.plans[state] = RecordedPlans(
                    call_cache.plans.setdefault(state.unrecorded, {}), call_cache.operators
                )
            holders.add(self)

    def _call(self, bound: BoundCall, state: State, *, is_reported: bool) -> tuple[Kernel, object]:
        """Dispatch and run a call without a plan, and return the kernel that was used with the result."""
        kernel = bound.operator.find(bound.arguments, state)
        run = recorded(bound.operator, kernel, bound.arguments) if is_reported else kernel
        try:
            result = run(*bound.arguments)
            return kernel, bound.operator.named(result)
        except Exception as error:
            name_operator(error, bound.operator.name)
            raise

    def _run_missed(self, missed: Missed) -> object:
        """Return the result of a call, run without a plan."""
        return self._call(missed.bound, missed.state, is_reported=missed.is_reported)[1]

    def _call_and_plan(self, missed: Missed) -> object:
        """Return the result of a call that no plan serves; make a plan for it unless it is the first of its kind."""
        form = None if missed.variants else self._form_of(missed)
        decision = self._decide(missed, form)
        names: list[str] = self.union.names
        plan: Plan | None = form if decision is Next.FORM else None
        if form is not None and decision is Next.FORM and not self._lower_form(missed, form):
            decision, plan = self._decide(missed, form, may_lower=False), None
        if decision is Next.EXACT:
            names, plan = self._exact_plan(missed, form)
        if plan is not None:
            values = self.union.values(*missed.everything)
            handed = tuple([values[name] for name in names])
            try:
                result = (recorded(missed.bound.operator, plan, handed) if missed.is_reported else plan)(*handed)
            except Exception as error:
                name_operator(error, missed.bound.operator.name)
                raise
            if result is not GUARD_FAILED:
                return result
        kernel, result = self._call(missed.bound, missed.state, is_reported=missed.is_reported)
        # A call that raises is never lowered: equal calls take the slow path again, which raises the error.
        if form is not None:
            form.misses += 1
        # If no plan of the form serves the call and no further one will be made, lowering is not tried again.
        if decision is Next.EXACT and (plan is None or form is None or not form.wants_lowering):
            self._keep_as_it_is(missed, kernel)
        elif decision in (Next.EXACT, Next.REMEMBER):
            self.seen.add((missed.state, missed.path))
        return result

    def _decide(self, missed: Missed, form: FormPlans | None, *, may_lower: bool = True) -> Next:
        """Return what a cache miss makes."""

        def repeats() -> int:
            return HOT_FROM if missed.variants else self.seen.repeats((missed.state, missed.path))

        if form is None:
            return Next.EXACT if repeats() else Next.REMEMBER
        has_any = partial(any, map(has_tensors, missed.bound.arguments))
        return form.decide(repeats=repeats, has_tensors=has_any, may_lower=may_lower)

    def _form_of(self, missed: Missed) -> FormPlans | None:
        """Return the plans of a call's form (shape class); None if modes are active or the call has no form."""
        if missed.state.modes:
            return None
        try:
            return self.forms.find(missed.state, self._form_path(*missed.everything[0], **missed.everything[1]))
        except (AttributeError, TypeError):
            return None

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
        """Record a call that cannot be lowered further as a single step that runs its kernel.

        Args:
            bound, kernel, state: the call that was made, the kernel that served it and the dispatcher state.
            positional, named: the arguments of the same call as symbolic tensors and numbers.
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
        (variable,) = recorder.run(function, arguments, ["result"])
        if operator.result_type is not None:
            (variable,) = recorder.run(operator.named, (Unknown(variable),), ["result"])
        return Unknown(variable)

    def _lower_form(self, missed: Missed, form: FormPlans) -> bool:
        """Lower the form of a call, and return whether a plan that serves calls of the form was stored."""

        def make() -> tuple[Plan, Dependencies]:
            call = given_call(self.union, *missed.everything)
            returns_list = missed.bound.operator.returns_list
            return lower_form(self.name, self._run, form, self.union.names, call, returns_list=returns_list)

        run = partial(self._run_missed, missed)
        return self.forms.lower(missed.state, form, make, run, missed.generation, missed.bound.operator)

    def _exact_plan(self, missed: Missed, form: FormPlans | None) -> tuple[list[str], Plan | None]:
        """Make a plan for a call's exact geometries, else for its form; return its parameter names and the plan."""
        # The last variant has no guards on numbers, so that it serves every call.
        if len(missed.variants) >= MOST_VARIANTS - 1 or (form is not None and form.runs_as_it_is):
            return [], None
        place = len(missed.variants)
        lowered = self._lower_call(missed, place, self._run)
        if lowered is not None:
            return self.union.handed, self._keep(missed, place, *lowered)
        if form is None:
            return [], None
        # Exact plans refuse sizes that depend on elements, for example; plans of forms allow them.
        if form.variants or (not form.reason and self._lower_form(missed, form)):
            form.keeps_no_others()
            return self.union.names, form
        form.runs_as_it_is = bool(form.reason)
        return [], None

    def _keep_as_it_is(self, missed: Missed, kernel: Kernel) -> None:
        """Store a plan that only runs the kernel of a call, unless the call has changed its arguments."""
        place = len(missed.variants)
        lowered = None
        if place < MOST_VARIANTS and self.path(*self.union.clean(*missed.everything)) == missed.path:
            lowered = self._lower_call(missed, place, partial(self._run_as_it_is, missed.bound, kernel, missed.state))
        if lowered is not None:
            self._keep(missed, place, *lowered)
        else:  # a tensor was read as a number, or was resized: each call takes the slow path
            self.seen.give_up((missed.state, missed.path))

    def _lower_call(self, missed: Missed, place: int, run: Callable[..., object]) -> tuple[Plan, Dependencies] | None:
        """Lower a call for its exact geometries to a plan with its dependencies; None if it cannot be lowered."""
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
        """Store a plan and return it; return None if a dependency of the plan has changed meanwhile.

        If another thread has stored a plan at this index meanwhile, the new plan serves this call only.
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
        """Serve a call that none of the plans under its keys accepts, by a plan of its form or by the slow path."""
        everything = self.union.complete(positional, named)
        result = self._served_by_form(everything, are_many=len(variants) >= MOST_VARIANTS - 1)
        if result is not GUARD_FAILED:
            return result
        cleaned = self.union.clean(*everything)
        return self.slow(*cleaned, self.path(*cleaned), everything, variants)

    def _served_by_form(self, everything: Everything, *, are_many: bool) -> object:
        """Return the result of a call by a plan of its form, or ``GUARD_FAILED`` if no plan of the form accepts it.

        Args:
            everything: all arguments of the function, including those at their default.
            are_many: whether the call has many plans of exact geometries; the form's plans then serve all later calls.
        """
        state = current.get()
        if state not in self.forms.plans or state.recording or state.modes:
            return GUARD_FAILED
        try:
            form = self.forms.find(state, self._form_path(*everything[0], **everything[1]))
        except (AttributeError, TypeError):
            return GUARD_FAILED
        if are_many:
            form.keeps_no_others()
        values = self.union.values(*everything)
        result = form(*[values[name] for name in self.union.names])
        form.is_hot = form.is_hot and result is GUARD_FAILED
        return result

    def explain(self, error: Exception, positional: tuple[object, ...], named: dict[str, object]) -> None:
        """Add the operator's name to an error that a plan has raised, as the slow path does.

        Args:
            error: the exception.
            positional, named: the arguments of the call, as the slow path takes them.
        """
        try:
            name_operator(error, bind(self.name, self.union.signatures, positional, named).operator.name)
        except ArgumentError:
            name_operator(error, self.name)

    def path(self, positional: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...] | None:
        """Return the keys of a call as the generated function computes them, or None if an argument has no key."""
        try:
            return self._path(*positional, **named)
        except (AttributeError, TypeError):
            return None


def name_operator(error: Exception, name: str) -> None:
    """Add the name of an operator to an error that was raised in a call of it.

    The message of an opdsl error gets the name as a prefix, unless it has one already: of nested calls the innermost
    counts. Any other exception keeps its message and gets a note for each operator that it passes through.
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
    """Return whether an argument is a tensor or a tuple that contains one."""
    return isinstance(value, Tensor) or (
        isinstance(value, tuple) and any(isinstance(element, Tensor) for element in value)
    )


def _has_symbols(arguments: Iterable[object]) -> bool:
    """Return whether an argument is or contains a symbolic size of another library (``torch.SymInt``)."""
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
    """Return whether the keys of a call can be hashed; a list among spread arguments cannot."""
    try:
        hash(path)
    except TypeError:
        return False
    return True


def _compile(cache: CallCache) -> FunctionType:
    """Compile the generated source to a function whose globals are the cache's own namespace."""

    def slow(positional: tuple[object, ...], named: dict[str, object]) -> object:
        cleaned = cache.union.clean(positional, named)
        return cache.slow(*cleaned, cache.path(*cleaned), (positional, named))

    def explain(error: Exception, positional: tuple[object, ...], named: dict[str, object]) -> None:
        cache.explain(error, *cache.union.clean(positional, named))
        shorten(error)

    names: dict[str, object] = {
        "plans": cache.plans,
        "forms": cache.forms.plans,
        "guard_failed": GUARD_FAILED,
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
        "call_out": cache.call_out,
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
