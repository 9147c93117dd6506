"""Kernels for fake and meta tensors of torch: they run the meta function of an opdsl operator."""

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
    """Raised when torch traces an operator without a meta function. ``torch.compile`` then breaks the graph and runs
    the operator, unless ``fullgraph=True`` was passed.
    """


def fake(operator: Operator, values: Sequence[Any]) -> Any:
    """Compute the results of an operator on fake or meta tensors of torch, as tensors without elements.

    Args:
        operator: a functional operator that is not a composite.
        values: torch values, in the order of the schema; the tensors are fake or on meta, with possibly symbolic sizes.

    Raises:
        MissingKernelError: the operator has no meta function.
        MissingMetaError: the operator has no meta function, and torch is tracing.
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
            f"torch.compile, torch.export and fake tensors need the shapes of results: {error}"
        ) from error
    device = next(_devices(values), None)
    return _made(result, device)


def stand_in(source: torch.Tensor) -> Tensor:
    """Return a meta tensor of opdsl with the geometry of a torch tensor, for shape computations."""
    form = geometry_of(source, META)
    if any(isinstance(size, torch.SymInt) for size in (*form.shape, *form.strides)):
        form = geometry(form.dtype, form.device, _number(form.shape), _number(form.strides))
    return over(None, form)


def _number(value: Any) -> Any:
    """Replace torch's symbolic integers in a value by opdsl's wrappers of them."""
    values = value if isinstance(value, tuple) else (value,)
    if not any(isinstance(number, torch.SymInt) for number in values):
        return value
    from opdsl.interop.torch.symbols import Sizes, symbol  # imports torch's symbolic shapes, which is slow

    return Sizes(map(symbol, value)) if isinstance(value, tuple) else symbol(value)


def _is_traced(values: Sequence[Any]) -> bool:
    """Return whether all tensors are fake, that is, whether a tracer runs the call."""
    return all(isinstance(tensor, FakeTensor) for tensor in _tensors(values))


def _new_size(operator: Operator, least: int, most: int | None) -> Any:
    """Return a symbolic size that depends on elements, within the given bounds, which the compiled program checks at
    run time.

    Raises:
        MissingMetaError: the operator is not tagged as one with such sizes.
    """
    low, high = (_plain(number) for number in (least, most))
    context = _context(operator)
    if context is None:
        raise MissingMetaError(
            f"{operator.name}: its Meta kernel requests a data-dependent size (opdsl.dynamic_size), but its "
            'declaration lacks the tag for it. Add the tag: @op(..., tags=["dynamic_output_shape"]).'
        )
    size = context.new_dynamic_size(min=low if isinstance(low, int) else 0, max=high if isinstance(high, int) else None)
    for holds in (size >= low, True if high is None else size <= high):
        torch._check(holds)  # type: ignore[no-untyped-call]
    return _number(size)


def _context(operator: Operator) -> Any:
    """Return torch's context of the fake kernel that runs, which makes sizes; None if there is none.

    Raises:
        RuntimeError: a tagged operator runs on meta tensors, which torch supports as fake tensors alone.
    """
    try:
        return torch.library.get_ctx()
    except RuntimeError:
        if "dynamic_output_shape" in operator.tags:
            raise
        return None  # the remedy is the tag, and not fake tensors


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
    """Convert a number to torch: the symbol of a wrapper, other numbers unchanged."""
    return getattr(size, "symbol", size) if type(size) is not int else size


def from_begin(results: Any) -> Any:
    """Return fake results whose storage offset is 0, like that of results of kernels."""
    if isinstance(results, (list, tuple)):
        return type(results)(map(from_begin, results))
    if not isinstance(results, torch.Tensor):
        return results
    offset = results.storage_offset()
    begins = isinstance(offset, int) and offset == 0
    return results if begins else results.new_empty_strided(results.shape, results.stride())
