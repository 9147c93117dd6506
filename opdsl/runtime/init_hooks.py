"""What is done before the first tensor is made."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opdsl.runtime.forking import held_across_fork

_before_first: list[Callable[[], None]] = []
_begun: list[Callable[[], None]] = []


def before_first_tensor(action: Callable[[], None]) -> None:
    """Have something done before the first tensor is made: the operators are its methods, and they load late."""
    _before_first.append(action)


_preparing = held_across_fork(threading.RLock())


def prepare() -> None:
    """Do what ``before_first_tensor`` noted, once. Called wherever tensors come from outside.

    Other threads wait until it is done; what it does may itself make tensors.
    """
    if not _before_first:
        return
    with _preparing:
        for action in tuple(_before_first):
            if action not in _begun:
                _begun.append(action)
                action()
                _before_first.remove(action)
