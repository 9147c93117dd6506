"""What torch runs in place of a kernel where there is nothing but shapes: the operator's meta function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, UnsupportedFakeTensorException

from opdsl.dispatch import KeySet, Operator, current
from opdsl.errors import MissingKernelError, MissingMetaError
from opdsl.interop.torch.kernels import spread
from opdsl.interop.torch.states import state_of_python
from opdsl.interop.torch.tensors import META, TORCH_DTYPES, geometry_of, over, to_opdsl, to_torch
from opdsl.runtime import Tensor, making_sizes
from opdsl.runtime.geometry import geometry
from opdsl.runtime.scopes import Setting

__all__ = ["fake", "from_begin", "stand_in"]

_META = KeySet("Meta")


class Untraceable(MissingMetaError, UnsupportedFakeTensorException):
    """As torch knows it: ``torch.compile`` breaks the graph and runs the operator, unless it has to be one graph."""


def fake(operator: Operator, values: Sequence[Any]) -> Any:
    """Results without elements.

    Args:
        operator: which, functional and no composite.
        values: torch's, in the order of the schema; the tensors are fake or on meta, their sizes may be symbols.

    Raises:
        MissingKernelError: the operator has no meta function.
        MissingMetaError: the same where torch traces, which takes that error for one of its own.
        OpdslError: the values do not fit.
    """
    numbers = [_number(to_opdsl(value, stand_in)) for value in values]
    is_traced = _is_traced(values)
    may_ask = is_traced or "dynamic_output_shape" in operator.tags
    try:
        with (
            Setting(current, state_of_python()),
            making_sizes(partial(_new_size, operator)) if may_ask else nullcontext(),
        ):
            result = operator.find_in(_META)(*numbers)
    except MissingKernelError as error:
        if not is_traced:
            raise
        raise Untraceable(
            f"torch.compile, torch.export and fake tensors want the shapes of results: {error}"
        ) from error
    device = next(_devices(values), None)
    return _made(result, device)


def stand_in(source: torch.Tensor) -> Tensor:
    """A meta tensor of the same geometry, to compute shapes with."""
    form = geometry_of(source, META)
    if any(isinstance(size, torch.SymInt) for size in (*form.shape, *form.strides)):
        form = geometry(form.dtype, form.device, _number(form.shape), _number(form.strides))
    return over(None, form)


def _number(value: Any) -> Any:
    """A value with stand-ins for the integers in it that torch knows nothing of."""
    values = value if isinstance(value, tuple) else (value,)
    if not any(isinstance(number, torch.SymInt) for number in values):
        return value
    from opdsl.interop.torch.symbols import Sizes, symbol  # with torch's symbols, which are imported now

    return Sizes(map(symbol, value)) if isinstance(value, tuple) else symbol(value)


def _is_traced(values: Sequence[Any]) -> bool:
    """Whether a tracer asks, rather than somebody who calls an operator on meta tensors."""
    return all(isinstance(tensor, FakeTensor) for tensor in _tensors(values))


def _new_size(operator: Operator, least: int, most: int | None) -> Any:
    """A size that torch knows nothing of but these limits; those that are symbols the compiled program checks.

    Raises:
        MissingMetaError: torch has not been told that the operator has such sizes.
    """
    low, high = (_plain(number) for number in (least, most))
    context = torch.library.get_ctx()
    if context is None:
        raise MissingMetaError(
            f"{operator.name}: its Meta kernel asks for a size that elements tell (opdsl.dynamic_size), and its "
            'declaration does not say so. Add the tag: @op(..., tags=["dynamic_output_shape"]).'
        )
    size = context.new_dynamic_size(min=low if isinstance(low, int) else 0, max=high if isinstance(high, int) else None)
    for holds in (size >= low, True if high is None else size <= high):
        torch._check(holds)  # type: ignore[no-untyped-call]
    return _number(size)


def _tensors(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    return (value for value in spread(values) if isinstance(value, torch.Tensor))


def _devices(values: Sequence[Any]) -> Iterator[torch.device]:
    for value in spread(values):
        if isinstance(value, torch.Tensor):
            yield value.device
        elif isinstance(value, torch.device):
            yield value


def _made(result: Any, device: torch.device | None) -> Any:
    if isinstance(result, Tensor):
        form = result.geometry
        shape, strides = (tuple(map(_plain, numbers)) for numbers in (form.shape, form.strides))
        return torch.empty_strided(shape, strides, dtype=TORCH_DTYPES[form.dtype], device=device)
    if isinstance(result, tuple):
        return tuple(_made(element, device) for element in result)
    if isinstance(result, list):
        return [_made(element, device) for element in result]
    return to_torch(_plain(result))


def _plain(size: Any) -> Any:
    """A number as torch has it."""
    return getattr(size, "symbol", size) if type(size) is not int else size


def from_begin(results: Any) -> Any:
    """Return fake results whose memory begins with them, as that of results of kernels does for torch."""
    if isinstance(results, (list, tuple)):
        return type(results)(map(from_begin, results))
    if not isinstance(results, torch.Tensor):
        return results
    offset = results.storage_offset()
    begins = isinstance(offset, int) and offset == 0
    return results if begins else results.new_empty_strided(results.shape, results.stride())
