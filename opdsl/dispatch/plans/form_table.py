"""Table of the plans of one function, keyed by dispatcher state and form (shape class)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from opdsl.dispatch.plans.forms import FormPlans
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, PlanHolder, holders, publish
from opdsl.dispatch.plans.policy import LOWERED_FROM
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
    """Table of the plans of one function, keyed by dispatcher state and form (shape class).

    name: the function's name.
    plans: the plan of each form, by dispatcher state and then by the key of the form.
    operators: the operator that each plan computes, if it computes a single one.

    Args:
        name: the function's name.
        owner: the object that holds this table; it is notified when a kernel changes, and drops the plans.
        patience: the number of cache misses of a form before it is lowered.
    """

    __slots__ = ("_known", "_owner", "_patience", "name", "operators", "plans")

    def __init__(self, name: str, owner: PlanHolder, *, patience: int = LOWERED_FROM) -> None:
        self.name = name
        self._owner = owner
        self._patience = patience
        self._known: dict[tuple[State, object], FormPlans] = {}
        self.plans: dict[State, dict[object, Plan]] = {}
        self.operators: dict[Plan, Operator] = {}

    def find(self, state: State, key: object) -> FormPlans:
        """Return the entry for a form, creating it on first use.

        Raises:
            TypeError: the key cannot be hashed.
        """
        form_plans = self._known.get((state, key))
        if form_plans is None:
            with registering:
                if len(self._known) >= PLAN_LIMIT:
                    self.clear()
                form_plans = self._known.setdefault((state, key), FormPlans(key, self._patience))
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
        """Lower a form to a new plan, and return whether a plan that serves calls of the form was stored.

        If another thread has stored a plan of this form meanwhile, the new plan is dropped: both may be the same.

        Args:
            state, form: the dispatcher state and the entry of the form.
            make: makes the plan, and returns it with its dependencies.
            run: makes the call without a plan; None if it has been made already.
            generation: the owner's generation when it began to lower, if it counts generations.
            operator: the operator that is called, if it is a single one.
        """
        count = len(form.variants)
        misses, form.misses = form.misses, 0  # if the call raises, the form is not lowered again at the next call
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
        """Drop all plans and all entries."""
        self.plans.clear()
        self.operators.clear()
        self._known.clear()
