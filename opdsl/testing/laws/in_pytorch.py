"""Law 15: an operator gives the same results in PyTorch as in opdsl.

It is checked by ``torch.library.opcheck``, called, differentiated twice, differentiated in forward mode, compiled for
three sizes (static and dynamic), mapped by ``vmap``, run on DTensors of two ranks, and pickled. An operator that is not
registered in torch is registered for the check. This takes seconds, so the law is tried only if requested by number.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

from opdsl.testing.subject import LawNotTried, Subject


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    pytorch = _pytorch()
    with pytorch.registered(subject) as overload:
        for sample in subject.samples[:_SAMPLES]:
            for name, trial in pytorch.trials(subject, overload, sample):
                yield from (f"{sample}: {name}: {problem}" for problem in trial)


# Number of samples to try.
_SAMPLES = 2


def _pytorch() -> ModuleType:
    """Import the module that needs torch by name, so that type checkers do not analyze torch for every user of opdsl.

    Raises:
        LawNotTried: there is no torch.
    """
    try:
        return importlib.import_module("opdsl.testing.pytorch.trials")
    except ImportError as error:
        raise LawNotTried(f"PyTorch cannot be imported: {error}") from error
