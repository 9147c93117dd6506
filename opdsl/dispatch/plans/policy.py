"""Policy of plans: what a cache miss makes.

Every cache of plans (of calls, functions, backward passes, graphs of PyTorch) follows ``FormPolicy.decide``; no other
code decides.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum

from opdsl.dispatch.state import PLAN_LIMIT
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.scopes import Setting

__all__ = [
    "GENERAL_FROM",
    "HOT_FROM",
    "HOT_NUMBERS_FROM",
    "LOWERED_FROM",
    "MOST_COUNTS",
    "MOST_VARIANTS",
    "SLOTS",
    "FormPolicy",
    "Next",
    "Seen",
    "lowered_at_once",
    "planned_at_once",
]

# Cache misses of a form before it is lowered: in most programs, a form has few geometries.
LOWERED_FROM = 2
# The most plans of one form, which differ in their guards on sizes; the number after which plans are general ones.
MOST_VARIANTS = 16
# The most plans of a form whose plans serve one number of results each: their cost grows with that number.
MOST_COUNTS = 4
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


class Next(Enum):
    """Decision about a call that no plan serves.

    FORM: lower the form (shape class), whose plan serves other sizes as well.
    EXACT: make a plan of the call's exact geometries.
    REMEMBER: run the kernel, and make a plan of the exact geometries if they come again.
    RUN: run the kernel.
    """

    FORM = 1
    EXACT = 2
    REMEMBER = 3
    RUN = 4


class Seen:
    """Counters of calls made before, by hash: the first call of a kind gets no plan, since most calls are made once."""

    __slots__ = ("_given_up", "_marks")

    def __init__(self) -> None:
        self._marks: dict[int, int] = {}
        self._given_up: set[int] = set()

    def __contains__(self, key: object) -> bool:
        return self.repeats(key) > 0

    def repeats(self, key: object) -> int:
        """Return the number of calls with this key that were made before; 0 if they are impossible to lower."""
        mark = hash(key)
        if mark in self._given_up:
            return 0
        return HOT_FROM if _at_once.get() or _planned_at_once.get() else self._marks.get(mark, 0)

    def give_up(self, key: object) -> None:
        """Mark calls with this key as impossible to lower, so that lowering is not tried again."""
        if len(self._given_up) >= PLAN_LIMIT:
            self._given_up.clear()
        self._given_up.add(hash(key))

    def add(self, key: object) -> None:
        """Record that a call with this key was made without an error."""
        if len(self._marks) >= PLAN_LIMIT:
            self._marks.clear()
        mark = hash(key)
        self._marks[mark] = self._marks.get(mark, 0) + 1

    def clear(self) -> None:
        """Forget all recorded calls."""
        self._marks.clear()
        self._given_up.clear()


def _always() -> bool:
    return True


class FormPolicy:
    """Counters of one form, and the decision that a cache miss of the form makes.

    variants: the form's plans.
    misses: the number of calls that none of them has served.
    patience: the number of misses before the form is lowered.
    is_hot: whether the last call was sent to the slow path because its sizes repeat often.
    is_of_counts: whether each plan serves a single number of results, as those of ``unbind`` do.
    reason: why the form cannot be lowered, if that was tried.
    """

    __slots__ = ("is_hot", "is_of_counts", "misses", "patience", "reason", "variants")

    def __init__(self, patience: int = LOWERED_FROM) -> None:
        self.variants: list[Plan] = []
        self.misses = 0
        self.patience = patience
        self.is_hot = False
        self.is_of_counts = False
        self.reason = ""

    @property
    def wants_lowering(self) -> bool:
        """Return whether the next cache miss should lower the form."""
        enough = self.misses >= self.patience or _at_once.get()
        most = MOST_COUNTS if self.is_of_counts else MOST_VARIANTS
        return enough and not self.reason and len(self.variants) < most

    def decide(
        self,
        *,
        repeats: Callable[[], int] = lambda: 1,
        has_tensors: Callable[[], bool] = _always,
        may_lower: bool = True,
    ) -> Next:
        """Decide what a cache miss makes.

        Args:
            repeats: returns how many calls with the same exact geometries were made before.
            has_tensors: returns whether the call has tensors; others differ in their numbers alone, so that the plan of
                their form serves all of them.
            may_lower: whether the form may be lowered; False once that was tried for this call.
        """
        is_hot, self.is_hot = self.is_hot, False
        if may_lower and not is_hot and self.wants_lowering:
            return Next.FORM
        if not (is_hot or self.reason or self.variants or has_tensors()):
            return Next.RUN
        return Next.EXACT if repeats() >= (HOT_FROM if self.is_of_counts else 1) else Next.REMEMBER
