"""The plans of all forms in which one function is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from opdsl.dispatch.plans.forms import FormPlans
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, PlanHolder, holders, publish
from opdsl.dispatch.plans.recorded_plans import RecordedPlans
from opdsl.dispatch.state import PLAN_LIMIT, State
from opdsl.runtime.dumping import dump
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.symbol import NotLoweredError

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

__all__ = ["FormTable"]


class FormTable:
    """The plans of all forms in which one function is called.

    name: of the function.
    plans: by the state, then by the key of a form.
    operators: which operator a plan computes, where it computes one.

    Args:
        name: of the function.
        owner: keeps this table; packets whose kernels change have it forget its plans.
    """

    __slots__ = ("_known", "_owner", "name", "operators", "plans")

    def __init__(self, name: str, owner: PlanHolder) -> None:
        self.name = name
        self._owner = owner
        self._known: dict[tuple[State, object], FormPlans] = {}
        self.plans: dict[State, dict[object, Plan]] = {}
        self.operators: dict[Plan, Operator] = {}

    def find(self, state: State, key: object) -> FormPlans:
        """What is known of a form.

        Raises:
            TypeError: the key cannot be kept.
        """
        form_plans = self._known.get((state, key))
        if form_plans is None:
            with registering:
                if len(self._known) >= PLAN_LIMIT:
                    self.clear()
                form_plans = self._known.setdefault((state, key), FormPlans(key))
                holders.add(self._owner)
        return form_plans

    def lower(
        self,
        state: State,
        form: FormPlans,
        make: Callable[[], tuple[Plan, Dependencies]],
        run: Callable[[], object] | None,
        generation: int | None = None,
        operator: Operator | None = None,
    ) -> bool:
        """Whether there is a plan now that serves calls of a form.

        Where another thread has kept one of this form meanwhile, that one stays alone: both may be the same.

        Args:
            state, form: of the calls.
            make: makes the plan, and gives the packets that it is made of with their generations.
            run: makes the call without a plan; None where it has been made.
            generation: of the owner when it decided so, where it has one.
            operator: what is called, if it is one operator.
        """
        count = len(form.variants)
        misses, form.misses = form.misses, 0  # a call that raises is not lowered again at once
        try:
            with refusals_only(self.name, run):
                plan, made_of = make()
        except NotLoweredError as error:
            form.reason = f"{type(error).__name__}: {error}"
            dump(f"no form {self.name}", ".py", lambda: f"# No plan of the form. {form.reason}\n")
            return False
        form.misses = misses

        def keep() -> None:
            if len(form.variants) == count:
                self._keep(state, form, plan, operator)

        return publish(self._owner, made_of, keep, generation)

    def _keep(self, state: State, form: FormPlans, plan: Plan, operator: Operator | None) -> None:
        form.variants.append(plan)
        kept = plan if len(form.variants) == 1 else form
        if operator is not None:
            self.operators[kept] = operator
        self.plans.setdefault(state, {})[form.key] = kept
        for functions in self.plans.values():
            if type(functions) is RecordedPlans:
                functions.pop(form.key, None)

    def clear(self) -> None:
        """Drop all plans."""
        self.plans.clear()
        self.operators.clear()
        self._known.clear()
