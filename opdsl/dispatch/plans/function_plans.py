"""Plan caches for Python functions that only call operators, such as subscripts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from opdsl.dispatch.binding.arguments import SIZES_FROM, Kind
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.form_table import FormTable
from opdsl.dispatch.plans.forms import GUARD_FAILED, FormPlans
from opdsl.dispatch.plans.lowered import Given, lower_call, lower_form
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, publish
from opdsl.dispatch.plans.policy import MOST_VARIANTS, Next, Seen
from opdsl.dispatch.state import PLAN_LIMIT, State, current
from opdsl.runtime import Tensor
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["FunctionPlans"]


class FunctionPlans:
    """Plan cache of a Python function that is no operator and only calls operators (see ``traceable``).

    Args:
        function: the function to call.
        names: the names of its arguments, as parameters of plans.
        numbers: the arguments of which plans know only the number type, and not the value.
        fixed: the tensor arguments whose exact geometries are part of a form's key.
        printer: the emitter of plans.
        most_steps: the largest number of steps of a plan; None for the default.

    plans: the plans by dispatcher state and key; the caller's key has to contain the geometries of all tensors.
    forms: the plans of forms by dispatcher state and the caller's key of the form.
    """

    generation = 0

    def __init__(
        self,
        function: Plan,
        names: Sequence[str],
        numbers: Collection[str] = (),
        *,
        fixed: Collection[str] = (),
        printer: type[Emitter] = Emitter,
        most_steps: int | None = None,
    ) -> None:
        self.function = function
        self.names = names
        self.fixed = frozenset(fixed)
        self.options: dict[str, Any] = {"printer": printer, "most_steps": most_steps}
        self.kinds: dict[str, set[Kind]] = {name: {Kind.NUMBER} if name in numbers else set() for name in names}
        self.plans: dict[tuple[State, object], Plan] = {}
        self.forms = FormTable(function.__name__, self)
        self.seen = Seen()

    def call(self, state: State, key: object, form_key: object, arguments: Sequence[object]) -> object:
        """Return the result of a call, by a plan if there is one.

        Args:
            state: the dispatcher state.
            key: the key of the call, which distinguishes geometries.
            form_key: the key of the call's form.
            arguments: the arguments of the call.
        """
        plan = self.plans.get((state, key))
        if plan is not None:
            return plan(*arguments)
        served = self.forms.plans.get(state, {}).get(form_key)
        if served is not None:
            result = served(*arguments)
            if result is not GUARD_FAILED:
                return result
        tensors = [input for input in arguments if isinstance(input, Tensor)]
        if self.lowered(state, form_key, arguments, tensors):
            return self.function(*arguments)
        return self.learn(state, key, form_key, arguments)

    def lowered(self, state: State, key: object, arguments: Sequence[object], tensors: Sequence[Tensor]) -> bool:
        """Lower the form of a call that no plan has served if it was called often enough, and return whether it was
        lowered.

        Args:
            state: the dispatcher state.
            key: the key of the call's form.
            arguments: the arguments of the call: tensors, numbers that may be sizes, slices, and tuples of these.
            tensors: the tensors among them.
        """
        if not state.plans or state.recording or state.modes:
            return False
        form = self.forms.find(state, key)
        is_lowered = form.decide() is Next.FORM and self._lower_form(state, form, arguments)
        form.misses += 1
        return is_lowered

    def _lower_form(self, state: State, form: FormPlans, arguments: Sequence[object]) -> bool:
        call = self._given(arguments, integers_from=SIZES_FROM)
        return self.forms.lower(
            state,
            form,
            lambda: lower_form(self.function.__name__, self._run, form, self.names, call, **self.options),
            lambda: self.function(*arguments),
        )

    def _given(self, arguments: Sequence[object], *, integers_from: int | None) -> list[Given]:
        """Return the arguments of a call as ``Given`` records; with ``integers_from``, large integers become sizes."""
        named = zip(self.kinds.items(), arguments, strict=True)
        return [
            Given(name, None, value, kinds, None if kinds else integers_from, is_fixed=name in self.fixed)
            for (name, kinds), value in named
        ]

    def _run(self, positional: tuple[object, ...], named: dict[str, object]) -> object:
        return self.function(*positional)

    def learn(self, state: State, key: object, form_key: object, arguments: Sequence[object]) -> object:
        """Make a call, and store a plan for later calls with this key unless it is the first.

        Args:
            state: the dispatcher state.
            key: the key under which the plan is stored.
            form_key: the key of the call's form.
            arguments: the arguments of the call.
        """
        if not state.plans or state.recording or (state, key) not in self.seen:
            result = self.function(*arguments)
            self.seen.add((state, key))
            return result
        variants: list[Plan] = []
        try:
            plan, made_of = self._lower_call(state, key, arguments, variants)
        except NotLoweredError:  # for example sizes that depend on elements, which forms allow
            form = self.forms.find(state, form_key)
            # Within a mode sizes may be another library's symbols.
            may_lower = not (form.reason or state.modes)
            if form.variants or (may_lower and self._lower_form(state, form, arguments)):
                form.keeps_no_others()
                return self.function(*arguments)
            plan, made_of = self.function, {}
        publish(self, made_of, lambda: self._keep((state, key), plan, variants))
        return plan(*arguments)

    def _lower_call(
        self, state: State, key: object, arguments: Sequence[object], variants: list[Plan]
    ) -> tuple[Plan, Dependencies]:
        """Lower a call to a plan for its exact geometries, which leaves calls that it does not accept to the next one.

        Args:
            state, key, arguments: see ``learn``.
            variants: the other plans for the same key.

        Raises:
            NotLoweredError: no such plan can compute the call.
        """
        function_name, call = self.function.__name__, self._given(arguments, integers_from=None)
        place, missed = len(variants), partial(self._missed, state, key, variants)
        with refusals_only(function_name, lambda: self.function(*arguments)):
            return lower_call(function_name, self._run, missed, self.names, call, variants, place=place, **self.options)

    def _missed(
        self,
        state: State,
        key: object,
        variants: list[Plan],
        positional: tuple[object, ...],
        named: dict[str, object],
    ) -> object:
        """Make a call that no plan for its key accepts, and store a further plan for calls like it unless it is the
        first.
        """
        place, run = len(variants), self.function
        mark = state, key, place
        if place >= MOST_VARIANTS or current.get() is not state or mark not in self.seen:
            result = run(*positional)
            self.seen.add(mark)
            return result
        try:
            plan, made_of = self._lower_call(state, key, positional, variants)
        except NotLoweredError:
            self.seen.give_up(mark)
            return run(*positional)

        def keep() -> None:
            if len(variants) == place:
                variants.append(plan)

        publish(self, made_of, keep)
        return plan(*positional)

    def _keep(self, key: tuple[State, object], plan: Plan, variants: list[Plan]) -> None:
        if len(self.plans) >= PLAN_LIMIT:
            self.plans.clear()
        self.plans[key] = plan
        variants.append(plan)

    def forget(self) -> None:
        """Drop all plans, since a kernel has changed."""
        with registering:
            self.plans.clear()
            self.forms.clear()
            self.seen.clear()
