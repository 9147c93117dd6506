"""Law 15: in PyTorch an operator gives what it gives here.

It is held by ``torch.library.opcheck``, called, differentiated twice, differentiated forward, compiled for three sizes
(static and dynamic), mapped by ``vmap``, cut into DTensors of two places, and sent as a pickle. An operator that is not
registered is while the law looks at it. This takes seconds, so that it is tried where it is asked for by its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opdsl.errors import MissingDependencyError, OpdslError
from opdsl.testing.subject import LawNotTried, Subject


def check(subject: Subject) -> Iterator[str]:
    """See the module."""
    with _registered(subject) as overload:
        from opdsl.testing.pytorch.trials import trials

        for sample in subject.samples[:_SAMPLES]:
            for name, trial in trials(subject, overload, sample):
                yield from (f"{sample}: {name}: {problem}" for problem in trial)


# Of how many samples an operator is tried.
_SAMPLES = 2


@contextmanager
def _registered(subject: Subject) -> Iterator[Any]:
    """What torch calls; registered for the time being, if it is not.

    Raises:
        LawNotTried: there is no torch, or the operator is torch's own.
    """
    try:
        from opdsl.interop.torch import deregister, register
        from opdsl.interop.torch.registration import bridge_of
    except ImportError as error:
        raise LawNotTried(f"PyTorch cannot be imported: {error}") from error
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
