"""Counterpart in PyTorch of an opdsl call: arguments, random gradients of results, and comparison of results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import torch

from opdsl.interop.torch.tensors import to_torch
from opdsl.runtime import Tensor
from opdsl.scalar.narrow_values import widen
from opdsl.schema import ListType, OptionalType
from opdsl.testing.laws.gradients import Call

# Tolerance for results: the same kernels compute both, but combining pieces changes the order of operations.
_TOLERANCE = 1e-9


class Twin:
    """Call of an operator in torch as a function of its differentiable tensors; the torch counterpart of ``Call``.

    Args:
        call: the call in opdsl.
        overload: the operator in torch.
    """

    def __init__(self, call: Call, overload: Callable[..., Any]) -> None:
        self.call = call
        self.overload = overload
        self.tensors = [_torch(tensor) for tensor in call.tensors]
        types = {argument.python_name: argument.type for argument in call.operator.schema.arguments}
        self.arguments = [_listed(_torch(argument), types.get(name)) for name, argument in call.arguments.items()]
        self.names = list(call.arguments)[call.positional :]

    def filled(self, tensors: Sequence[torch.Tensor]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with other tensors in place of those that can have gradients."""
        rest = iter(tensors)
        arguments = [_filled(template, rest) for template in self.arguments]
        named = dict(zip(self.names, arguments[self.call.positional :], strict=True))
        return arguments[: self.call.positional], named

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Return all results that are tensors, for the given tensors."""
        positional, named = self.filled(tensors)
        if self.call.writes:
            positional[0] = (
                [tensor.clone() for tensor in positional[0]]
                if isinstance(positional[0], list)
                else positional[0].clone()
            )
        overload = self.overload(*positional, **named)
        return list(tensors_of(positional[0] if self.call.writes and overload is None else overload))

    def with_others(self, make: Callable[[torch.Tensor], torch.Tensor]) -> Twin:
        """Return a copy of this call with converted tensors in place of those that cannot have gradients."""
        twin = copy.copy(self)
        twin.arguments = [_mapped(template, make) for template in self.arguments]
        return twin

    def floating(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Return the results that can have gradients."""
        return [tensor for tensor in self(*tensors) if has_gradients(tensor)]


def has_gradients(tensor: torch.Tensor) -> bool:
    """Return whether tensors of this dtype can have gradients."""
    return tensor.is_floating_point() or tensor.is_complex()


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from tensors_of(element)


def _torch(value: Any) -> Any:
    """Copy an argument to torch, with its own memory."""
    if isinstance(value, Tensor):
        tensor = to_torch(value.detach().clone())
        return torch.empty_strided(value.shape, value.strides, dtype=tensor.dtype).copy_(tensor)
    if isinstance(value, (list, tuple)):
        return [_torch(element) for element in value]
    return to_torch(value)


def _listed(value: Any, kind: object) -> Any:
    """Convert a number that is given for a list of fixed size to that list, since torch's compiler does not accept the
    number.
    """
    if isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, ListType) and kind.size is not None and isinstance(value, (int, float)):
        return [value] * kind.size
    return value


def _filled(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return next(tensors) if has_gradients(value) else value
    return [_filled(element, tensors) for element in value] if isinstance(value, list) else value


def _mapped(value: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return value if has_gradients(value) else make(value)
    return [_mapped(element, make) for element in value] if isinstance(value, list) else value


def differences(ours: Sequence[Any], theirs: Sequence[torch.Tensor]) -> Iterator[str]:
    """Yield the differences of two lists of results.

    Args:
        ours: tensors of opdsl or torch; None for a missing gradient.
        theirs: tensors of torch.
    """
    if len(ours) != len(theirs):
        yield f"{len(theirs)} tensors instead of {len(ours)}"
        return
    for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        expected, actual = numbers(one), numbers(other)
        if str(one.dtype).rpartition(".")[2] != str(other.dtype).rpartition(".")[2]:
            yield f"tensor {at} has the dtype {other.dtype} instead of {one.dtype}"
        elif expected.shape != actual.shape:
            yield f"tensor {at} has the shape {actual.shape} instead of {expected.shape}"
        elif not numpy.allclose(actual, expected, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            yield f"tensor {at} is {actual.tolist()} instead of {expected.tolist()}"


def numbers(tensor: Any) -> numpy.ndarray[Any, Any]:
    """Return the elements of a tensor of opdsl or torch as an array."""
    if isinstance(tensor, Tensor):
        array = numpy.asarray(tensor.detach().resolve_conj().contiguous().array)
        return widen(array, tensor.dtype.name) if tensor.dtype.is_encoded else array
    plain = tensor.detach().resolve_conj().resolve_neg()
    widened: numpy.ndarray[Any, Any] = (plain.float() if plain.dtype is torch.bfloat16 else plain).numpy()
    return widened


def random_numbers(tensor: Any, seed: int) -> numpy.ndarray[Any, Any]:
    """Return random numbers in a tensor's shape, complex ones for a complex tensor."""
    random = numpy.random.default_rng(seed)
    normal = random.standard_normal(tuple(tensor.shape))
    return normal + 1j * random.standard_normal(tuple(tensor.shape)) if numbers(tensor).dtype.kind == "c" else normal
