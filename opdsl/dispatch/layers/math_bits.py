"""Conjugate and negative views: a tensor may stand for the conjugates, or the negatives, of what lies in its memory.

The bits are part of a tensor's geometry and put the keys Conjugate and Negative into the key sets of calls. Their
fallback hands kernels tensors without bits in place of those that have them, and stores in these what was written
(aten/src/ATen/native/MathBitsFallback.h). Views pass, and keep the bits. So a kernel never sees a bit, and calls of
plain tensors test nothing for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opdsl.dispatch.binding.boxed import PerCallKernel
from opdsl.dispatch.binding.results import written_values
from opdsl.dispatch.keys import DispatchKey, KeySet
from opdsl.dispatch.layers.effects import changes_itself
from opdsl.dispatch.model.kernel import Kernel
from opdsl.runtime import Tensor
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.values import has_bits

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

__all__ = ["math_bit_fallbacks", "resolved", "stored_as", "without_bits"]

BITS = KeySet("Conjugate", "Negative")


class MathBits(PerCallKernel):
    """What both keys run for every operator that has nothing of its own there."""

    __slots__ = ()

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """The kernel beneath of what looks at no element; of others one that resolves arguments for it."""
        beneath = operator.find_in(keys - BITS)
        is_passed = operator.schema.is_view or changes_itself(operator)
        return beneath if is_passed else _Resolving(operator, beneath)

    def __str__(self) -> str:
        return "conjugate and negative views"


class _Resolving(Kernel):
    """The kernel of one operator on tensors without bits.

    Args:
        operator: which is called.
        beneath: the kernel that a call without bits would reach.
    """

    __slots__ = ("beneath", "operator")

    # What is checked of a call is checked of the kernel beneath.
    hands_on = True

    def __init__(self, operator: Operator, beneath: Kernel) -> None:
        self.operator = operator
        self.beneath = beneath

    def __call__(self, *arguments: object) -> object:
        """Run the kernel, and store what it has written where the bits are."""
        tensors = {id(tensor): tensor for tensor in tensors_in(arguments) if has_bits(tensor)}
        handed = {at: resolved(value) for at, value in tensors.items()}
        written = {id(tensor) for tensor in tensors_in(written_values(self.operator.schema, arguments))}
        result = self.beneath(*_replaced(arguments, handed))
        for at in tensors.keys() & written:
            _store(tensors[at], handed[at])
        return _replaced(result, {id(handed[at]): tensors[at] for at in tensors})


def _store(tensor: Tensor, elements: Tensor) -> None:
    """Give a tensor elements, and their shape."""
    if tensor.shape != elements.shape:
        tensor.resize_(elements.shape)
    without_bits(tensor).copy_(stored_as(tensor, elements))


def _replaced(value: Any, others: dict[int, Tensor]) -> Any:
    """Arguments or results with other tensors in the place of some."""
    if isinstance(value, Tensor):
        return others.get(id(value), value)
    if not isinstance(value, (tuple, list)):
        return value
    parts = [_replaced(element, others) for element in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def without_bits(tensor: Tensor) -> Tensor:
    """A view of what lies in the memory of a tensor."""
    if tensor.geometry.is_neg:
        tensor = tensor._neg_view()
    return tensor._conj() if tensor.geometry.is_conj else tensor


def stored_as(tensor: Tensor, elements: Tensor) -> Tensor:
    """What has to lie in the memory of a tensor that stands for these elements; also what it stands for, of that."""
    if tensor.geometry.is_conj:
        elements = elements.conj_physical()
    return elements.neg() if tensor.geometry.is_neg else elements


def resolved(tensor: Tensor) -> Tensor:
    """The elements that a tensor stands for, in memory of their own; itself where they lie in its memory."""
    return stored_as(tensor, without_bits(tensor)) if has_bits(tensor) else tensor


def math_bit_fallbacks() -> dict[DispatchKey, Kernel]:
    """The fallbacks of a registry at the keys of both bits."""
    return dict.fromkeys(BITS, MathBits())
