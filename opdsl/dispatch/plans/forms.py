"""Plans per form (shape class) of a call; ``policy`` decides when they are made.

A plan of exact geometries is cheapest where shapes repeat; the plan of a form serves calls with shapes that are new. It
computes sizes and strides from those of the arguments, tests the guards that the lowering recorded, and runs the
recorded steps. If a guard fails, the call goes to the next plan of the form, or to the slow path.
"""

from __future__ import annotations

from typing import Any

from opdsl.dispatch.plans.policy import LOWERED_FROM, SLOTS, FormPolicy
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan

__all__ = ["GUARD_FAILED", "FormPlans"]


class _GuardFailed:
    """Type of ``GUARD_FAILED``, the value that a plan returns if one of its guards fails."""

    def __repr__(self) -> str:
        return "<guard failed>"


GUARD_FAILED = _GuardFailed()


class FormPlans(FormPolicy):
    """Plans of one form (shape class), each of which serves the calls that satisfy its guards on sizes.

    runs_as_it_is: whether lowering a call of exact geometries has failed as well, so that none is tried again.
    key: the key under which the plans are stored.
    """

    __slots__ = ("counts", "key", "marks", "runs_as_it_is", "start")

    def __init__(self, key: object, patience: int = LOWERED_FROM) -> None:
        super().__init__(patience)
        self.key: Any = key
        self.runs_as_it_is = False
        self.start = [0]
        # Filled when the form is lowered, since most forms never are.
        self.marks: list[int] = []
        self.counts: list[int] = []

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the first plan that accepts a call, which is preferred later; else ``GUARD_FAILED``."""
        for at, plan in enumerate(self.variants):
            try:
                result = plan(*arguments)
            except OverflowError:
                continue  # sizes that do not fit 64 bits
            if result is not GUARD_FAILED:
                if at:
                    self._prefer(plan)
                return result
        return GUARD_FAILED

    def _prefer(self, plan: Plan) -> None:
        with registering:
            if plan in self.variants:
                self.variants = [plan, *(variant for variant in self.variants if variant is not plan)]

    def keeps_no_others(self) -> None:
        """Let these plans serve all calls of the form, so that repeated sizes get no plans of exact geometries."""
        if self.start[0] < 0:
            return
        self.start[0] = -1 << 62
        self.counts[:] = self.start * len(self.counts)

    def prepare(self) -> None:
        """Allocate the counters of repeated sizes, if they do not exist yet."""
        if not self.marks:
            self.marks += [0] * SLOTS
            self.counts += self.start * SLOTS
