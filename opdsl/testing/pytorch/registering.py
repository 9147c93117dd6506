"""Temporary registration of an operator in torch, for law 15."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opdsl.errors import MissingDependencyError, OpdslError
from opdsl.interop.torch import deregister, register
from opdsl.interop.torch.registration import bridge_of
from opdsl.testing.subject import LawNotTried, Subject

__all__ = ["registered"]


@contextmanager
def registered(subject: Subject) -> Iterator[Any]:
    """Return a context manager that yields the torch operator; the operator is registered meanwhile if it is not
    already.

    Raises:
        LawNotTried: torch cannot be used, or the operator is torch's own.
    """
    bridge = bridge_of(subject.operator)
    if bridge is not None:
        yield bridge.overload
        return
    if subject.operator.schema.name.namespace is None:
        raise LawNotTried("operators of aten are PyTorch's own there")
    try:
        register(subject.function)
    except MissingDependencyError as error:
        raise LawNotTried(str(error)) from error
    try:
        bridge = bridge_of(subject.operator)
        if bridge is None:
            raise OpdslError(f"{subject.operator.name} is not in PyTorch")
        yield bridge.overload
    finally:
        deregister(subject.function)
