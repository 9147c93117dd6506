"""Plans while calls are recorded: those that there are without it, each of which reports what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.layers.recording import recorded
from opdsl.runtime.plan_call import Plan

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

__all__ = ["RecordedPlans"]


class RecordedPlans(dict[object, Any]):
    """A table of plans that report, filled from one of plans that do not.

    Args:
        plans: of the same state without recording.
        operators: which operator a plan computes.
    """

    __slots__ = ("_operators", "_plans")

    def __init__(self, plans: Mapping[object, Any], operators: Mapping[Plan, Operator]) -> None:
        super().__init__()
        self._plans = plans
        self._operators = operators

    def __missing__(self, key: object) -> Any:
        """What is kept under a key, made when it is first looked up.

        Raises:
            KeyError: there is no plan.
        """
        plan = self._plans[key]
        missing = RecordedPlans(plan, self._operators) if type(plan) is dict else self._reporting(key, plan)
        self[key] = missing
        return missing

    def _reporting(self, key: object, plan: Plan) -> Plan:
        """A plan that reports; its first call shows what types its arguments have."""
        operator = self._operators[plan]

        def first(*arguments: Any) -> Any:
            call = self[key] = recorded(operator, plan, arguments)
            return call(*arguments)

        return first
