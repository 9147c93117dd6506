"""Forms (shape classes) of arguments, and the cached trace results (readings) of formulas, one or more for each
form.
"""

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

# Types of arguments that become number parameters of a kernel; other values select the computation.
_NUMBERS = (int, float, complex)


class NotElementwiseError(Exception):
    """Raised when a formula does more than compute each element from the elements at the same index."""


class RandomNumbersError(NotElementwiseError):
    """Raised when an elementwise formula draws random numbers."""


class NumberParameter(NamedTuple):
    """Number parameter of a compiled kernel.

    text: expression of the operator's number arguments and of sizes.
    dtype: dtype in which it is computed.
    wraps: whether it was passed for a tensor, so that no range check for the dtype is made.
    """

    text: str
    dtype: DType
    wraps: bool


class ElementFunction(NamedTuple):
    """Scalar function of an elementwise formula, with its operands and result dtypes.

    function: takes elements of ``tensors``, then ``numbers``.
    tensors: names of the operator's arguments that are read.
    numbers: number parameters.
    dtypes: dtypes of the results.
    reads: for each result, the tensors that it is computed from.
    divisors: functions like ``function`` that compute integer divisors, which must not be 0.
    """

    function: ScalarFunction
    tensors: tuple[str, ...]
    numbers: tuple[NumberParameter, ...]
    dtypes: tuple[DType, ...]
    reads: tuple[frozenset[str], ...]
    divisors: tuple[ScalarFunction, ...]


class Form(NamedTuple):
    """Shape class of a call's arguments: the cache key of a traced formula.

    names: names of the operator's arguments.
    kinds: for each argument: dtype and rank of a tensor, the type of a number, or the value itself.
    default: the default dtype.
    """

    names: tuple[str, ...]
    kinds: tuple[Any, ...]
    default: DType


class Reading(NamedTuple):
    """Result of tracing an elementwise formula for a form, reusable for all its arguments that pass the guards.

    elements: the element function.
    ask: takes the arguments that are tensors and numbers, and returns the kernel's numbers; ``GUARD_FAILED`` on a guard
        failure. None if there are neither numbers nor guards.
    reads_sizes: whether it computes with sizes, or has guards on them.
    """

    elements: ElementFunction
    ask: Callable[..., Any] | None
    reads_sizes: bool

    def numbers(self, arguments: Sequence[Any]) -> Any:
        """Return the numbers of the kernel for some arguments, or ``GUARD_FAILED`` on a guard failure."""
        return () if self.ask is None else self.ask(*leaves_of(arguments))


def form_of(names: tuple[str, ...], arguments: Sequence[Any], default: DType, *, with_layout: bool = False) -> Form:
    """Return the form (shape class) of a call's arguments.

    Args:
        names: of the operator's arguments.
        arguments: one for each name.
        default: the default dtype.
        with_layout: whether devices and the order of dimensions in memory are part of it.
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
    """Return the tensors and numbers among arguments, also tensors in lists; they are the inputs of traced programs."""
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
    """Return whether an argument is a tensor or a number, which are inputs of a trace; other values are constants of
    it.
    """
    return isinstance(value, Tensor) or (symbolic_kind(value) or type(value)) in _NUMBERS
