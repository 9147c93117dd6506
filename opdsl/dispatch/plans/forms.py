"""The plans of the forms of calls: where they are kept, when one is made, and when sizes come too often for them.

A plan of exact geometries costs least where shapes repeat; the plan of a form is what a call finds whose shapes no call
has had before. It computes sizes and strides from those at hand, tests what the lowering has asked of them, and runs
the steps that were recorded. Where a test fails it leaves the call to the next plan of the form, or to the slow path.
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
    """What a plan returns where a test fails."""

    def __repr__(self) -> str:
        return "<unserved>"


UNSERVED = _Unserved()

# Calls of a form with geometries of their own before one is lowered: most programs have few.
LOWERED_FROM = 2
# Plans of one form, which differ in what was asked of sizes; and how many there are before the next is a general one.
MOST_VARIANTS = 16
GENERAL_FROM = 3
# Calls with the same sizes before they get a plan of their exact geometries.
HOT_FROM = 24
# The same where numbers are told apart, too: they are data more often than shapes are. A plan pays for itself by then.
HOT_NUMBERS_FROM = 256
# Sizes whose calls are counted, of one form.
SLOTS = 256

_at_once: ContextVar[bool] = ContextVar("opdsl_lowered_at_once", default=False)
_planned_at_once: ContextVar[bool] = ContextVar("opdsl_planned_at_once", default=False)


def lowered_at_once() -> Setting[bool]:
    """Have each form lowered at its first call while this is entered in a thread or task: for tests of its plans."""
    return Setting(_at_once, True)


def planned_at_once() -> Setting[bool]:
    """Have each call lowered when it first comes while this is entered in a thread or task: for tests of plans."""
    return Setting(_planned_at_once, True)


class Seen:
    """Which calls have come before: the first of a kind is not worth a plan, for most are made once."""

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
        """Calls with this key have no plan, and are not lowered again."""
        if len(self._given_up) >= PLAN_LIMIT:
            self._given_up.clear()
        self._given_up.add(hash(key))

    def add(self, key: object) -> None:
        """A call with this key has come, and has raised nothing."""
        if len(self._marks) >= PLAN_LIMIT:
            self._marks.clear()
        self._marks.add(hash(key))

    def clear(self) -> None:
        """No call has come before."""
        self._marks.clear()
        self._given_up.clear()


class FormPlans:
    """What is known of the calls of one form.

    variants: its plans; each serves the calls in which the same was found of sizes.
    misses: how many calls none of them has served.
    is_hot: whether the last call was left to the slow path because its sizes come again and again.
    reason: why it is not lowered, where that was tried.
    runs_as_it_is: whether a call of exact geometries was not lowered either, so that no other is tried.
    key: where its plans are found.
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
        # Filled when the form is lowered: most are not.
        self.marks: list[int] = []
        self.counts: list[int] = []

    def __call__(self, *arguments: Any) -> Any:
        """What the first plan gives that serves the call, which is tried first from then on; else ``UNSERVED``."""
        for at, plan in enumerate(self.variants):
            try:
                result = plan(*arguments)
            except OverflowError:
                continue  # sizes that no 64 bits hold
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
        """Have all calls served by these plans, however often their sizes come: there are no plans of geometries."""
        if self.start[0] < 0:
            return
        self.start[0] = -1 << 62
        self.counts[:] = self.start * len(self.counts)

    def prepare(self) -> None:
        """Make room for how often sizes come."""
        if not self.marks:
            self.marks += [0] * SLOTS
            self.counts += self.start * SLOTS

    @property
    def wants_lowering(self) -> bool:
        """Whether the next call that is not served should be lowered."""
        enough = self.misses >= LOWERED_FROM or _at_once.get()
        return enough and not self.reason and len(self.variants) < MOST_VARIANTS
