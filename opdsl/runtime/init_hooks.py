"""Hooks that run before the first tensor is made."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opdsl.runtime.forking import held_across_fork

Load = Callable[[], Callable[[], None]]

_before_first: list[Load] = []


def before_first_tensor(load: Load) -> None:
    """Register a hook that runs before the first tensor is made, such as loading operators that are methods.

    Args:
        load: imports the needed modules, and returns the function to run. Threads may call it concurrently; only one of
            them runs the function.
    """
    _before_first.append(load)


_preparing = held_across_fork(threading.RLock())


def prepare() -> None:
    """Run the hooks of ``before_first_tensor``, once; called wherever tensors are made from outside data.

    Other threads wait until the hooks have run.
    """
    if not _before_first:
        return
    for load in tuple(_before_first):
        action = load()
        with _preparing:
            if load in _before_first:
                action()
                _before_first.remove(load)
