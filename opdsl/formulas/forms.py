"""Forms of arguments that formulas are read for, and the readings: one serves all arguments of a form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.runtime import DType, Tensor
from opdsl.runtime.symbol import is_symbol
from opdsl.runtime.symbols import is_symbolic, symbolic_kind

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

__all__ = [
    "ElementFunction",
    "Form",
    "NotElementwiseError",
    "NumberParameter",
    "RandomNumbersError",
    "Reading",
    "form_of",
    "is_leaf",
    "leaves_of",
    "pinned",
]

# What numbers of a call are parameters of a kernel; others choose what is computed.
_NUMBERS = (int, float, complex)


class NotElementwiseError(Exception):
    """A formula does more than compute elements of elements at the same place."""


class RandomNumbersError(NotElementwiseError):
    """A formula draws random numbers."""


class NumberParameter(NamedTuple):
    """A number of a kernel.

    text: its expression, of the operator's number arguments and of sizes.
    dtype: that it is computed in.
    wraps: whether it stands for a tensor, so that nothing checks whether the dtype holds it.
    """

    text: str
    dtype: DType
    wraps: bool


class ElementFunction(NamedTuple):
    """Scalar function of a formula, and its operands.

    function: of the tensors in ``tensors``, then of ``numbers``.
    tensors: names of the operator's arguments.
    numbers: what else it takes.
    dtypes: of the results.
    reads: for each result, the tensors that it is computed of.
    divisors: functions like ``function`` of what must not be 0, where they are integers.
    """

    function: ScalarFunction
    tensors: tuple[str, ...]
    numbers: tuple[NumberParameter, ...]
    dtypes: tuple[DType, ...]
    reads: tuple[frozenset[str], ...]
    divisors: tuple[ScalarFunction, ...]


class Form(NamedTuple):
    """Key of a reading: what all arguments that it serves have in common.

    names: of the operator's arguments.
    kinds: of each: dtype and number of dimensions of a tensor, the type of a number, or the value itself.
    default: the default dtype.
    """

    names: tuple[str, ...]
    kinds: tuple[Any, ...]
    default: DType


class Reading(NamedTuple):
    """Result of reading a formula for a form.

    elements: what it computes.
    ask: from the arguments that are tensors and numbers to the numbers of the kernel; ``UNSERVED`` where the formula
        decides otherwise than it did when it was read. None where it needs no numbers and asks nothing.
    reads_sizes: whether it computes with sizes, or asks something of them.
    """

    elements: ElementFunction
    ask: Callable[..., Any] | None
    reads_sizes: bool

    def numbers(self, arguments: Sequence[Any]) -> Any:
        """Return the numbers of the kernel for some arguments, or ``UNSERVED``."""
        return () if self.ask is None else self.ask(*leaves_of(arguments))


def form_of(names: tuple[str, ...], arguments: Sequence[Any], default: DType, *, with_layout: bool = False) -> Form:
    """Return the form of some arguments.

    Args:
        names: of the operator's arguments.
        arguments: one for each name.
        default: the default dtype.
        with_layout: whether devices and the order of dimensions in memory are a part of it.
    """
    kinds = tuple(map(_kind_of, arguments))
    tensors = [leaf for leaf in leaves_of(arguments) if isinstance(leaf, Tensor)] if with_layout else []
    return Form(names, (*kinds, *[(tensor.device, tensor.geometry.form.order) for tensor in tensors]), default)


def _kind_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype, value.ndim
    if is_symbol(value) and value.kind not in _NUMBERS:
        return value.pin()
    if is_symbolic(value):
        return symbolic_kind(value)
    if type(value) in _NUMBERS:
        return type(value)
    if isinstance(value, (tuple, list)):
        return tuple([_kind_of(member) if isinstance(member, Tensor) else pinned(member) for member in value])
    return type(value), value


def leaves_of(arguments: Sequence[Any]) -> list[Any]:
    """Return the tensors and numbers among arguments, tensors in lists too: what programs are handed."""
    leaves: list[Any] = []
    for argument in arguments:
        if isinstance(argument, (tuple, list)):
            leaves += [value for value in argument if isinstance(value, Tensor)]
        elif is_leaf(argument):
            leaves.append(argument)
    return leaves


def pinned(value: Any) -> Any:
    return value.pin() if is_symbol(value) else value


def is_leaf(value: Any) -> bool:
    """Return whether an argument is a tensor or a number, of which a reading knows no more than its kind."""
    return isinstance(value, Tensor) or (symbolic_kind(value) or type(value)) in _NUMBERS
