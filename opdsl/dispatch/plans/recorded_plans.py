"""Plan table used while calls are recorded: wraps existing plans so that each reports its calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.layers.recording import recorded
from opdsl.runtime.plan_call import Plan

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

__all__ = ["RecordedPlans"]


class RecordedPlans(dict[object, Any]):
    """Plan table whose plans report their calls, filled on demand from a table of plans that do not.

    Args:
        plans: the plans of the same dispatcher state without recording.
        operators: the operator that each plan computes.
    """

    __slots__ = ("_operators", "_plans")

    def __init__(self, plans: Mapping[object, Any], operators: Mapping[Plan, Operator]) -> None:
        super().__init__()
        self._plans = plans
        self._operators = operators

    def __missing__(self, key: object) -> Any:
        """Return the reporting plan or nested table of a key, made at its first look-up.

        Raises:
            KeyError: there is no plan.
        """
        plan = self._plans[key]
        missing = RecordedPlans(plan, self._operators) if type(plan) is dict else self._reporting(key, plan)
        self[key] = missing
        return missing

    def _reporting(self, key: object, plan: Plan) -> Plan:
        """Wrap a plan so that it reports its calls; the first call shows the types of its arguments."""
        operator = self._operators[plan]

        def first(*arguments: Any) -> Any:
            call = self[key] = recorded(operator, plan, arguments)
            return call(*arguments)

        return first
