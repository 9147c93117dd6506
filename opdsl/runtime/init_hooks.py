"""What is done before the first tensor is made."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opdsl.runtime.forking import held_across_fork

Load = Callable[[], Callable[[], None]]

_before_first: list[Load] = []


def before_first_tensor(load: Load) -> None:
    """Have something done before the first tensor is made: the operators are its methods, and they load late.

    Args:
        load: imports what is needed, and returns what to do. Threads may call it at once; one of them does the rest.
    """
    _before_first.append(load)


_preparing = held_across_fork(threading.RLock())


def prepare() -> None:
    """Do what ``before_first_tensor`` noted, once. Called wherever tensors come from outside.

    Other threads wait until it is done.
    """
    if not _before_first:
        return
    for load in tuple(_before_first):
        action = load()
        with _preparing:
            if load in _before_first:
                action()
                _before_first.remove(load)
