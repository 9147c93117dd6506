"""Law 15: in PyTorch an operator gives what it gives here.

It is held by ``torch.library.opcheck``, called, differentiated twice, differentiated forward, compiled for three sizes
(static and dynamic), mapped by ``vmap``, cut into DTensors of two places, and sent as a pickle. An operator that is not
registered is while the law looks at it. This takes seconds, so that it is tried where it is asked for by its number.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

from opdsl.testing.subject import LawNotTried, Subject


def check(subject: Subject) -> Iterator[str]:
    """See the module."""
    pytorch = _pytorch()
    with pytorch.registered(subject) as overload:
        for sample in subject.samples[:_SAMPLES]:
            for name, trial in pytorch.trials(subject, overload, sample):
                yield from (f"{sample}: {name}: {problem}" for problem in trial)


# Of how many samples an operator is tried.
_SAMPLES = 2


def _pytorch() -> ModuleType:
    """Import what needs torch, by name: type checkers would read all of torch for everyone who imports opdsl.

    Raises:
        LawNotTried: there is no torch.
    """
    try:
        return importlib.import_module("opdsl.testing.pytorch.trials")
    except ImportError as error:
        raise LawNotTried(f"PyTorch cannot be imported: {error}") from error
