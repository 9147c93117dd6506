"""Saved tensors whose elements no gradient formula reads: autograd saves zeros of their shape instead, to free
memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch

from opdsl.autograd.derivative import Formula
from opdsl.autograd.saving import without_elements
from opdsl.dispatch import current
from opdsl.interop.torch.states import state_of_call
from opdsl.interop.torch.tensors import DTYPES, to_opdsl
from opdsl.runtime import Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.geometry import geometry
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbols import is_symbolic

__all__ = ["UnreadTensors", "unread_tensors"]

# Maximum number of cached keys of calls, which include numeric arguments.
_MOST_KINDS = 256


def unread_tensors(names: Sequence[str], tensors: Sequence[int], formulas: Sequence[Formula]) -> UnreadTensors | None:
    """Return a finder of saved tensors whose elements formulas do not read; None if all are read. See
    ``UnreadTensors``.
    """
    asks = len(formulas) == 1 and formulas[0].unread is not None
    return UnreadTensors(names, tensors, formulas[0]) if asks else None


class UnreadTensors:
    """Finder of saved tensors whose elements a derivative formula does not read, depending on the call.

    Args:
        names: of the operator's arguments.
        tensors: the indices of arguments that are saved.
        formula: of the gradients, which has ``unread``.
    """

    def __init__(self, names: Sequence[str], tensors: Sequence[int], formula: Formula) -> None:
        self.names = tuple(names)
        self.tensors = tuple(tensors)
        self.formula = formula
        self._known: dict[tuple[Hashable, ...], frozenset[int]] = {}

    def replaced(self, kept: list[Any], values: Sequence[Any]) -> list[Any]:
        """Return the saved tensors of a call, with zeros in place of those that are not read.

        Args:
            kept: the saved tensors.
            values: the arguments of the call.
        """
        try:
            places = self._places(values)
        except _UnknownNumberError:
            return kept
        if not places:
            return kept
        return [_zeros_like(saved) if at in places else saved for at, saved in enumerate(kept)]

    def _places(self, values: Sequence[Any]) -> frozenset[int]:
        key = (torch.get_default_dtype(), *map(_kind, values))
        known = self._known.get(key)
        if known is None:
            samples: Mapping[str, Any] = dict(zip(self.names, map(_sample, values), strict=True))
            with Setting(current, state_of_call()):
                unread = self.formula.unread_for(samples)
            if len(self._known) >= _MOST_KINDS:
                self._known.clear()
            places = (place for place, at in enumerate(self.tensors) if self.names[at] in unread)
            known = self._known[key] = frozenset(places)
        return known


class _UnknownNumberError(Exception):
    """Raised when an argument is a symbolic number, on which it may depend which tensors are read."""


def _kind(value: Any) -> Hashable:
    """Return a key for calls that read the same tensors: dtype and rank of a tensor, type and value of any other
    argument.

    Raises:
        _UnknownNumberError: the value is symbolic.
    """
    if isinstance(value, torch.Tensor):
        return value.dtype, value.ndim
    if is_symbolic(value):
        raise _UnknownNumberError
    return (list, *map(_kind, value)) if isinstance(value, list | tuple) else (type(value), value)


def _sample(value: Any) -> Any:
    return to_opdsl(value, _sample_tensor)


def _sample_tensor(value: torch.Tensor) -> Tensor:
    return without_elements(geometry(DTYPES[value.dtype], cpu, (3,) * value.ndim))


def _zeros_like(value: torch.Tensor) -> torch.Tensor:
    """Return zeros in the shape of a tensor, expanded from one element."""
    return value.new_zeros(()).expand(value.shape)
