"""Registry of all plan caches and of the objects on which their plans depend, so that plans can be invalidated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from opdsl.runtime.forking import registering

__all__ = ["Dependencies", "Dependency", "PlanHolder", "forget_plans", "holders", "publish"]


class PlanHolder(Protocol):
    """Protocol of objects that cache plans of calls.

    generation: how often its plans were dropped, if it counts that.
    """

    generation: int

    def forget(self) -> None:
        """Drop all cached plans."""


class Dependency:
    """Object that plans depend on, such as a packet: plans made before a change of it are not used again.

    generation: how often it has changed.
    dependents: the plan caches with plans that depend on it.
    """

    __slots__ = ("__weakref__", "dependents", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self.dependents: WeakSet[PlanHolder] = WeakSet()

    def forget(self) -> None:
        """Record a change, and drop all plans that depend on this object."""
        self.generation += 1
        if self.dependents:
            dependents, self.dependents = self.dependents, WeakSet()
            for dependent in dependents:
                dependent.forget()


Dependencies = dict[Dependency, int]
"""Dependencies of a plan, each with its generation when the plan was begun."""


holders: WeakSet[PlanHolder] = WeakSet()
"""Plan caches that have stored a plan since all plans were last dropped."""


def publish(
    owner: PlanHolder, made_of: Dependencies, keep: Callable[[], object], generation: int | None = None
) -> bool:
    """Store a plan in a cache, to be dropped when a dependency changes; every plan is published by this function.

    Args:
        owner: the plan cache; its plans are dropped when a dependency changes.
        made_of: the dependencies of the plan, with their generations when the plan was begun.
        keep: stores the plan in the cache.
        generation: the owner's generation when the plan was begun, if it counts generations.

    Returns:
        Whether the plan was stored: it was not if something has changed since it was begun.
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
    """Drop all plans of all caches, so that the next call of each function takes the slow path."""
    with registering:
        while holders:
            holders.pop().forget()
