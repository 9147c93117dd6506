"""Plans per form (shape class) of a call: when a plan is lowered, and when repeated sizes get their own plans.

A plan of exact geometries is cheapest where shapes repeat; the plan of a form serves calls with shapes that are new. It
computes sizes and strides from those of the arguments, tests the guards that the lowering recorded, and runs the
recorded steps. If a guard fails, the call goes to the next plan of the form, or to the slow path.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from opdsl.dispatch.state import PLAN_LIMIT
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.scopes import Setting

__all__ = [
    "GENERAL_FROM",
    "HOT_FROM",
    "HOT_NUMBERS_FROM",
    "MOST_VARIANTS",
    "SLOTS",
    "UNSERVED",
    "FormPlans",
    "Seen",
    "lowered_at_once",
    "planned_at_once",
]


class _Unserved:
    """Type of ``UNSERVED``, the value that a plan returns if one of its guards fails."""

    def __repr__(self) -> str:
        return "<unserved>"


UNSERVED = _Unserved()

# Cache misses of a form before it is lowered: in most programs, a form has few geometries.
LOWERED_FROM = 2
# The most plans of one form, which differ in their guards on sizes; the number after which plans are general ones.
MOST_VARIANTS = 16
GENERAL_FROM = 3
# Calls with the same sizes before they get a plan of their exact geometries.
HOT_FROM = 24
# The same if the key contains numbers too: these are data more often than shapes are. By then a plan pays off.
HOT_NUMBERS_FROM = 256
# Counters of repeated sizes per form.
SLOTS = 256

_at_once: ContextVar[bool] = ContextVar("opdsl_lowered_at_once", default=False)
_planned_at_once: ContextVar[bool] = ContextVar("opdsl_planned_at_once", default=False)


def lowered_at_once() -> Setting[bool]:
    """Return a context manager under which each form is lowered at its first call, for tests of plans."""
    return Setting(_at_once, True)


def planned_at_once() -> Setting[bool]:
    """Return a context manager under which each call is lowered the first time it is made, for tests of plans."""
    return Setting(_planned_at_once, True)


class Seen:
    """Set of calls made before, by hash: the first call of a kind gets no plan, since most calls are made once."""

    __slots__ = ("_given_up", "_marks")

    def __init__(self) -> None:
        self._marks: set[int] = set()
        self._given_up: set[int] = set()

    def __contains__(self, key: object) -> bool:
        mark = hash(key)
        if mark in self._given_up:
            return False
        return mark in self._marks or _at_once.get() or _planned_at_once.get()

    def give_up(self, key: object) -> None:
        """Mark calls with this key as impossible to lower, so that lowering is not tried again."""
        if len(self._given_up) >= PLAN_LIMIT:
            self._given_up.clear()
        self._given_up.add(hash(key))

    def add(self, key: object) -> None:
        """Record that a call with this key was made without an error."""
        if len(self._marks) >= PLAN_LIMIT:
            self._marks.clear()
        self._marks.add(hash(key))

    def clear(self) -> None:
        """Forget all recorded calls."""
        self._marks.clear()
        self._given_up.clear()


class FormPlans:
    """Plans of one form (shape class), with the counters that decide when to lower the next one.

    variants: the plans; each serves the calls that satisfy its guards on sizes.
    misses: the number of calls that none of them has served.
    is_hot: whether the last call was sent to the slow path because its sizes repeat often.
    reason: why the form cannot be lowered, if that was tried.
    runs_as_it_is: whether lowering a call of exact geometries has failed as well, so that none is tried again.
    key: the key under which the plans are stored.
    """

    __slots__ = ("counts", "is_hot", "key", "marks", "misses", "reason", "runs_as_it_is", "start", "variants")

    def __init__(self, key: object) -> None:
        self.key: Any = key
        self.variants: list[Plan] = []
        self.misses = 0
        self.is_hot = False
        self.reason = ""
        self.runs_as_it_is = False
        self.start = [0]
        # Filled when the form is lowered, since most forms never are.
        self.marks: list[int] = []
        self.counts: list[int] = []

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the first plan that accepts the call, and prefer that plan later; else ``UNSERVED``."""
        for at, plan in enumerate(self.variants):
            try:
                result = plan(*arguments)
            except OverflowError:
                continue  # sizes that do not fit 64 bits
            if result is not UNSERVED:
                if at:
                    self._prefer(plan)
                return result
        return UNSERVED

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

    @property
    def wants_lowering(self) -> bool:
        """Return whether the next cache miss should lower the form."""
        enough = self.misses >= LOWERED_FROM or _at_once.get()
        return enough and not self.reason and len(self.variants) < MOST_VARIANTS
