"""Fallback for conjugate and negative views: tensors that represent the conjugates or negatives of their memory.

The two bits are part of a tensor's geometry and add the keys Conjugate and Negative to the key sets of calls. The
fallback replaces such tensors by resolved ones, and afterwards stores the elements that the kernel wrote into the
originals (aten/src/ATen/native/MathBitsFallback.h). View operators keep the bits. So kernels never see a bit, and calls
of plain tensors do not test for it.
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
    """Fallback of the keys Conjugate and Negative, for every operator without its own kernel for these keys."""

    __slots__ = ()

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """Return the kernel below for view operators, which read no elements, else one that resolves arguments."""
        beneath = operator.find_in(keys - BITS)
        is_passed = operator.schema.is_view or changes_itself(operator)
        return beneath if is_passed else _Resolving(operator, beneath)

    def __str__(self) -> str:
        return "conjugate and negative views"


class _Resolving(Kernel):
    """Kernel that runs an operator's kernel on tensors without conjugate or negative bits.

    Args:
        operator: the operator that is called.
        beneath: the kernel that a call without bits would reach.
    """

    __slots__ = ("beneath", "operator")

    # Checked mode checks the kernel below.
    hands_on = True

    def __init__(self, operator: Operator, beneath: Kernel) -> None:
        self.operator = operator
        self.beneath = beneath

    def __call__(self, *arguments: object) -> object:
        """Run the kernel on resolved tensors, and store the elements that it has written into the original tensors."""
        tensors = {id(tensor): tensor for tensor in tensors_in(arguments) if has_bits(tensor)}
        handed = {at: resolved(value) for at, value in tensors.items()}
        written = {id(tensor) for tensor in tensors_in(written_values(self.operator.schema, arguments))}
        result = self.beneath(*_replaced(arguments, handed))
        for at in tensors.keys() & written:
            _store(tensors[at], handed[at])
        return _replaced(result, {id(handed[at]): tensors[at] for at in tensors})


def _store(target: Tensor, elements: Tensor) -> None:
    """Store elements into a tensor with bits, resizing it to their shape."""
    if target.shape != elements.shape:
        target.resize_(elements.shape)
    without_bits(target).copy_(stored_as(target, elements))


def _replaced(value: Any, others: dict[int, Tensor]) -> Any:
    """Return arguments or results with some of their tensors replaced by others."""
    if isinstance(value, Tensor):
        return others.get(id(value), value)
    if not isinstance(value, (tuple, list)):
        return value
    parts = [_replaced(element, others) for element in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def without_bits(tensor: Tensor) -> Tensor:
    """Return a view of a tensor's memory without its conjugate and negative bits."""
    if tensor.geometry.is_neg:
        tensor = tensor._neg_view()
    return tensor._conj() if tensor.geometry.is_conj else tensor


def stored_as(tensor: Tensor, elements: Tensor) -> Tensor:
    """Apply a tensor's conjugate and negative bits to elements: from values to stored elements, or back."""
    if tensor.geometry.is_conj:
        elements = elements.conj_physical()
    return elements.neg() if tensor.geometry.is_neg else elements


def resolved(tensor: Tensor) -> Tensor:
    """Return a tensor with its conjugate and negative bits applied, in new memory; the tensor itself if it has none."""
    return stored_as(tensor, without_bits(tensor)) if has_bits(tensor) else tensor


def math_bit_fallbacks() -> dict[DispatchKey, Kernel]:
    """Return the fallbacks of a registry at the keys Conjugate and Negative."""
    return dict.fromkeys(BITS, MathBits())
