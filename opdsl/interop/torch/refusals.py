"""Translation of torch's errors to opdsl's error classes, each of which derives from the class that torch raises."""

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

# Part of torch's message for a saved tensor that has been written since (torch/csrc/autograd/saved_variable.cpp).
_CHANGED = "modified by an inplace operation"


@contextmanager
def refused(operator: str) -> Iterator[None]:
    """Return a context manager that translates torch's errors to opdsl's.

    Args:
        operator: the name of the called operator, for the message.

    Raises:
        OpdslError: raised from torch's error; an error of opdsl passes unchanged.
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
