"""Plans of functions that are no operators and only call operators: subscripts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from opdsl.dispatch.binding.arguments import SIZES_FROM, Kind
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.form_table import FormTable
from opdsl.dispatch.plans.forms import UNSERVED, FormPlans, Seen
from opdsl.dispatch.plans.lowered import Given, lower_call, lower_form
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, publish
from opdsl.dispatch.state import PLAN_LIMIT, State
from opdsl.runtime import Tensor
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["FunctionPlans"]


class FunctionPlans:
    """Plans of a function that is no operator and only calls operators, as ``traceable`` has it.

    Args:
        function: what is called.
        names: of its arguments, as parameters of plans.
        numbers: those of them of whose numbers plans know the type alone.
        fixed: those that are tensors whose geometries tell forms apart, too.
        printer: prints plans.
        most_steps: how many a plan may have; None for what is usual.

    plans: by the state and whatever the caller tells calls apart by, which has to hold the geometries of all tensors.
    forms: the plans of forms, by the state and whatever the caller tells forms apart by.
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
        """The result of a call, by a plan where there is one.

        Args:
            state: of the call.
            key: what tells it apart from calls of other geometries.
            form_key: what tells its form apart.
            arguments: of the call.
        """
        plan = self.plans.get((state, key))
        if plan is not None:
            return plan(*arguments)
        served = self.forms.plans.get(state, {}).get(form_key)
        if served is not None:
            result = served(*arguments)
            if result is not UNSERVED:
                return result
        tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
        if self.lowered(state, form_key, arguments, tensors):
            return self.function(*arguments)
        return self.learn(state, key, form_key, arguments)

    def lowered(self, state: State, key: object, arguments: Sequence[object], tensors: Sequence[Tensor]) -> bool:
        """Whether a call that no plan has served is lowered now for its form.

        Args:
            state: of the call.
            key: what tells its form apart.
            arguments: of the call: tensors, numbers that may be sizes, slices, and tuples of these.
            tensors: those among them.
        """
        if not state.plans or state.recording or state.modes:
            return False
        form = self.forms.find(state, key)
        if form.is_hot:
            form.is_hot = False
            return False
        is_lowered = form.wants_lowering and self._lower_form(state, form, arguments)
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
        """The arguments of a call; numbers may be sizes where only their type is known otherwise."""
        named = zip(self.kinds.items(), arguments, strict=True)
        return [
            Given(name, None, value, kinds, None if kinds else integers_from, is_fixed=name in self.fixed)
            for (name, kinds), value in named
        ]

    def _run(self, positional: tuple[object, ...], named: dict[str, object]) -> object:
        return self.function(*positional)

    def learn(self, state: State, key: object, form_key: object, arguments: Sequence[object]) -> object:
        """Make a call, and keep a plan of calls with this key.

        Args:
            state: of the call.
            key: where the plan is kept.
            form_key: what tells its form apart.
            arguments: of the call.
        """
        if not state.plans or state.recording or (state, key) not in self.seen:
            result = self.function(*arguments)
            self.seen.add((state, key))
            return result
        name = self.function.__name__
        call = self._given(arguments, integers_from=None)
        lowered: tuple[Plan, Dependencies]
        try:
            with refusals_only(name, lambda: self.function(*arguments)):
                lowered = lower_call(name, self._run, self._run, self.names, call, [], **self.options)
        except NotLoweredError:  # sizes that elements decide, say, which forms allow
            form = self.forms.find(state, form_key)
            if form.variants or (not form.reason and self._lower_form(state, form, arguments)):
                form.keeps_no_others()
                return self.function(*arguments)
            lowered = self.function, {}
        plan, made_of = lowered
        publish(self, made_of, lambda: self._keep((state, key), plan))
        return plan(*arguments)

    def _keep(self, key: tuple[State, object], plan: Plan) -> None:
        if len(self.plans) >= PLAN_LIMIT:
            self.plans.clear()
        self.plans[key] = plan

    def forget(self) -> None:
        """Drop all plans: a kernel has changed."""
        with registering:
            self.plans.clear()
            self.forms.clear()
            self.seen.clear()
