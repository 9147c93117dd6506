"""Everything that keeps plans, so that all of them can be dropped at once."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

from opdsl.runtime.forking import registering

__all__ = ["PlanHolder", "forget_plans", "holders"]


class PlanHolder(Protocol):
    """What keeps plans of calls.

    generation: how often it was made to forget them, where it counts that.
    """

    generation: int

    def forget(self) -> None:
        """Drop all of them."""


holders: WeakSet[PlanHolder] = WeakSet()
"""What has kept a plan since all were dropped."""


def forget_plans() -> None:
    """Drop every plan there is: each next call takes the slow path."""
    with registering:
        while holders:
            holders.pop().forget()
