"""Everything that keeps plans, so that all of them can be dropped at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from opdsl.runtime.forking import registering

__all__ = ["Dependencies", "Dependency", "PlanHolder", "forget_plans", "holders", "publish"]


class PlanHolder(Protocol):
    """What keeps plans of calls.

    generation: how often it was made to forget them, where it counts that.
    """

    generation: int

    def forget(self) -> None:
        """Drop all of them."""


class Dependency:
    """What plans are made of: those that were made before it changed are not used again.

    generation: how often it has changed.
    dependents: what keeps plans that are made of it.
    """

    __slots__ = ("__weakref__", "dependents", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self.dependents: WeakSet[PlanHolder] = WeakSet()

    def forget(self) -> None:
        """It has changed: drop all plans that are made of it."""
        self.generation += 1
        if self.dependents:
            dependents, self.dependents = self.dependents, WeakSet()
            for dependent in dependents:
                dependent.forget()


Dependencies = dict[Dependency, int]
"""What a plan is made of, each with its generation when it was."""


holders: WeakSet[PlanHolder] = WeakSet()
"""What has kept a plan since all were dropped."""


def publish(
    owner: PlanHolder, made_of: Dependencies, keep: Callable[[], object], generation: int | None = None
) -> bool:
    """Have an owner keep a plan until what it is made of changes; every plan that calls find is published here.

    Args:
        owner: forgets its plans then.
        made_of: what the plan is made of.
        keep: stores the plan where calls find it.
        generation: of the owner when the plan was begun, where it counts that.

    Returns:
        Whether it is kept: not where something has changed since the plan was begun.
    """
    with registering:
        if generation is not None and generation != owner.generation:
            return False
        for key, known in made_of.items():
            if key.generation != known:
                return False
        for dependency in made_of:
            dependency.dependents.add(owner)
        holders.add(owner)
        keep()
    return True


def forget_plans() -> None:
    """Drop every plan there is: each next call takes the slow path."""
    with registering:
        while holders:
            holders.pop().forget()
