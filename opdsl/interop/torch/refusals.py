"""What torch refuses, in opdsl's classes: each derives from what torch raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opdsl.errors import (
    ArgumentError,
    DimensionError,
    MissingKernelError,
    OpdslError,
    OptionError,
    SavedTensorChangedError,
    TorchError,
)

__all__ = ["refused"]

_CLASSES: tuple[tuple[type[Exception], type[OpdslError]], ...] = (
    (NotImplementedError, MissingKernelError),
    (IndexError, DimensionError),
    (TypeError, ArgumentError),
    (ValueError, OptionError),
)

# What torch says of a saved tensor that has been written since (torch/csrc/autograd/saved_variable.cpp).
_CHANGED = "modified by an inplace operation"


@contextmanager
def refused(operator: str) -> Iterator[None]:
    """Translate the errors of torch that leave a block.

    Args:
        operator: the name of what is called, for the message.

    Raises:
        OpdslError: in place of torch's error, which is its cause; an error of opdsl passes.
    """
    try:
        yield
    except OpdslError:
        raise
    except Exception as error:
        text = f"{operator}: {error}"
        kind = _class_of(error)
        if kind is not None:
            raise kind(text) from error
        if isinstance(error, RuntimeError):
            raise TorchError(text) from error
        raise


def _class_of(error: Exception) -> type[OpdslError] | None:
    if isinstance(error, RuntimeError) and _CHANGED in str(error):
        return SavedTensorChangedError
    return next((ours for theirs, ours in _CLASSES if isinstance(error, theirs)), None)
