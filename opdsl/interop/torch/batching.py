"""Batching rules for ``torch.vmap``: pointwise and row operators take the batch as one more dimension.

Other operators run once for each element of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.vmap import unwrap_batched, wrap_batched
from torch.autograd import forward_ad
from torch.utils._pytree import tree_leaves

from opdsl.errors import OpdslError
from opdsl.formulas.definition import FormulaDefinition
from opdsl.formulas.forms import NotElementwiseError
from opdsl.interop.torch.generators import outside_of_vmap, under_randomness
from opdsl.interop.torch.tensors import DTYPES, META, over, to_opdsl
from opdsl.kernels.definitions.indexed_calls import Resolved
from opdsl.kernels.definitions.rowwise import shifted
from opdsl.kernels.definitions.structured import Definition, PreparedCall
from opdsl.runtime.geometry import geometry

__all__ = ["along_rows", "batched", "broadcast", "drawn", "elementwise"]

Call = Callable[..., Any]


def broadcast(
    call: Call, size: int, dims: Sequence[Any], values: Sequence[Any], ndim: int | None = None
) -> tuple[Any, Any]:
    """Batch a pointwise operator: move batch dimensions to the front, so that they broadcast, and call it once.

    Args:
        call: the operator.
        size: of the batch.
        dims: for each of ``values`` its batch dimension, None if it has none.
        values: the arguments.
        ndim: number of dimensions of the results without the batch; by default the maximum over the arguments.

    Returns:
        The results, and the batch dimension of each.
    """
    if _would_promote(dims, values):
        return batched(call, size, dims, values)
    return _with_batch_first(call(*_batch_first(dims, values, ndim)))


def elementwise(
    call: Call, definition: FormulaDefinition, size: int, dims: Sequence[Any], values: Sequence[Any]
) -> tuple[Any, Any]:
    """Batch an element formula: arguments that it does not read are left out of the shape of the results.

    Args:
        definition: of the operator; ``dims`` and ``values`` are those of a call, as in ``broadcast``.
    """
    try:
        read = definition.shaping(_chosen_forms(dims, values))
    except (OpdslError, NotElementwiseError, RuntimeError):
        return batched(call, size, dims, values)
    at_first = 0 if size else None
    operands = [value if at in read else _choose(value, dims[at], at_first) for at, value in enumerate(values)]
    own = [dim if at in read else None for at, dim in enumerate(dims)]
    if all(dim is None for dim in own):
        results = call(*operands)
        return results, None if isinstance(results, torch.Tensor) else (None,) * len(results)
    # All results have the same shape, so that every operand that shapes one needs the batch dimension.
    spread = read if len(definition.schema.returns) > 1 else range(definition.leading or 0)
    for at in spread:
        if own[at] is None and isinstance(operands[at], torch.Tensor):
            operands[at], own[at] = operands[at].expand(size, *operands[at].shape), 0
    ndim = max(operands[at].ndim - (own[at] is not None) for at in read if isinstance(operands[at], torch.Tensor))
    return broadcast(call, size, own, operands, ndim)


def along_rows(
    call: Call, definition: Definition, size: int, dims: Sequence[Any], values: Sequence[Any]
) -> tuple[Any, Any]:
    """Batch a reduction, scan, row or indexed operator: move the batch dimension to the front and shift ``dim`` by one.

    The definition prepares the call with and without the batch. Where both do not compute the same rows, the operator
    is called once for each element of the batch.

    Args:
        definition: of the operator; ``dims`` and ``values`` are those of a call, as in ``broadcast``.
    """
    batch_first = _batch_first(dims, values)
    if not isinstance(values[0], torch.Tensor):
        return batched(call, size, dims, values)
    if dims[0] is None:
        batch_first[0] = values[0].expand(size, *values[0].shape)
    names = [parameter.name for parameter in definition.parameters]
    if "dim" in names:
        place = names.index("dim")
        batch_first[place] = shifted(values[place], values[0].ndim - (dims[0] is not None))
    single = _prepared(definition, _chosen_forms(dims, values))
    together = _prepared(definition, [_form(value) for value in batch_first])
    if single is None or together is None or not _are_same_rows(single, together, size):
        return batched(call, size, dims, values)
    return _with_batch_first(call(*batch_first))


def _are_same_rows(single: PreparedCall, together: PreparedCall, size: int) -> bool:
    """Return whether the batched call computes, for each element of the batch, the same rows as the unbatched call."""
    if isinstance(single.state, Resolved):
        own, whole = single.state, together.state
        if own.function is not whole.function or (own.ranges, own.numbers) != (whole.ranges, whole.numbers):
            return False
    elif tuple(dim + 1 for dim in single.state.dims) != tuple(together.state.dims):
        return False
    pairs = zip(single.specs, together.specs, strict=True)
    return all(one.dtype is all_.dtype and (size, *one.shape) == all_.shape for one, all_ in pairs)


def _prepared(definition: Definition, values: Sequence[Any]) -> PreparedCall | None:
    """Prepare a call by its definition; return None if it is refused, or if torch does not know its sizes."""
    try:
        return definition.prepare(tuple(values), ())
    except (OpdslError, RuntimeError):
        return None


def _chosen_forms(dims: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return the arguments of the call of one batch element, with meta tensors in place of torch's tensors."""
    return [_form(value, dim) for value, dim in zip(values, dims, strict=True)]


def _form(value: Any, dim: int | None = None) -> Any:
    """Return a meta tensor with the shape of a tensor, without the batch dimension if there is one."""
    if not isinstance(value, torch.Tensor):
        return to_opdsl(value, _form)
    shape = [size for index, size in enumerate(value.shape) if dim is None or index != dim % value.ndim]
    return over(None, geometry(DTYPES[value.dtype], META, tuple(shape)))


def _batch_first(dims: Sequence[Any], values: Sequence[Any], ndim: int | None = None) -> list[Any]:
    """Move the batch dimensions of arguments to the front, so that arguments without one broadcast; ``ndim`` as in
    ``broadcast``.
    """
    if ndim is None:
        ndim = max(tensor.ndim - (dim is not None) for tensor, dim in _tensors(dims, values))
    return [
        _aligned(value, dim, ndim) if isinstance(value, torch.Tensor) and dim is not None else value
        for value, dim in zip(values, dims, strict=True)
    ]


def _with_batch_first(results: Any) -> tuple[Any, Any]:
    return results, 0 if isinstance(results, torch.Tensor) else (0,) * len(results)


def batched(call: Call, size: int, dims: Sequence[Any], values: Sequence[Any]) -> tuple[Any, Any]:
    """Batch any operator by one call for each element; see ``broadcast`` for arguments and results."""
    results = [call(*_chosen(values, dims, at)) for at in range(size)]
    if not results:
        single = call(*_chosen(values, dims, None))
        return _mapped(lambda tensor: tensor.new_empty((0, *tensor.shape)), single), _mapped(lambda _: 0, single)
    return _mapped(lambda *tensors: torch.stack(tensors), *results), _mapped(lambda _: 0, results[0])


def are_recorded(values: Sequence[Any]) -> bool:
    """Return whether a transform outside the batch records calls for gradients or for tangents."""
    return forward_ad._current_level >= 0 or any(_is_recorded(tree_leaf) for tree_leaf in tree_leaves(values))


def _is_recorded(value: object) -> bool:
    while isinstance(value, torch.Tensor):
        if value.requires_grad:
            return True
        if not torch._C._functorch.is_functorch_wrapped_tensor(value):
            return False
        value = torch._C._functorch.get_unwrapped(value)
    return False


def drawn(call: Call, level: Any, values: Sequence[Any]) -> Any:
    """Call an operator that may draw random numbers on a batch, with the same or different numbers for each element.

    Args:
        call: the operator.
        level: functorch's interpreter.
        values: the arguments, as functorch passes them.

    Raises:
        TorchError: the randomness mode of the batch forbids random numbers.
    """
    unwrapped, dims = unwrap_batched(tuple(values), level.level())
    is_batched = any(dim is not None for dim in tree_leaves(dims, is_leaf=lambda dim: dim is None))
    with outside_of_vmap(), under_randomness(level.randomness()) as draws:
        if not is_batched:
            first = call(*values)
            if not draws.seeds or level.randomness() == "same":
                return first
            more = [call(*values) for _ in range(1, level.batch_size())]
            stacked = _mapped(lambda *tensors: torch.stack(tensors), first, *more)
            return wrap_batched(stacked, _mapped(lambda _: 0, first), level.level())
        result, places = batched(draws.each_element(call), level.batch_size(), dims, unwrapped)
    return wrap_batched(result, places, level.level())


def _tensors(dims: Sequence[Any], values: Sequence[Any]) -> list[tuple[torch.Tensor, int | None]]:
    return [(value, dim) for value, dim in zip(values, dims, strict=True) if isinstance(value, torch.Tensor)]


def _would_promote(dims: Sequence[Any], values: Sequence[Any]) -> bool:
    """Return whether a batch of zero-dim tensors, which have lower priority in promotion, meets tensors of another
    dtype.
    """
    tensors = _tensors(dims, values)
    if len({tensor.dtype for tensor, _ in tensors}) == 1 and not any(type(value) in _NUMBERS for value in values):
        return False
    return any(dim is not None and tensor.ndim == 1 for tensor, dim in tensors)


_NUMBERS = (bool, int, float, complex)


def _aligned(value: torch.Tensor, dim: int, ndim: int) -> torch.Tensor:
    """Move the batch dimension to the front, and insert dimensions of size 1 after it up to ``ndim``."""
    moved = value.movedim(dim, 0)
    return moved.reshape(moved.shape[0], *(1,) * (ndim - moved.ndim + 1), *moved.shape[1:])


def _chosen(values: Sequence[Any], dims: Sequence[Any], at: int | None) -> list[Any]:
    """Return the arguments of the call of one batch element; zeros if ``at`` is None, for an empty batch."""
    return [_choose(value, dim, at) for value, dim in zip(values, dims, strict=True)]


def _choose(value: Any, dim: Any, at: int | None) -> Any:
    if isinstance(value, list | tuple) and isinstance(dim, list | tuple):
        return [_choose(element, one, at) for element, one in zip(value, dim, strict=True)]
    if dim is None:
        return value
    if at is None:
        return value.new_zeros([size for index, size in enumerate(value.shape) if index != dim % value.ndim])
    return value.select(dim, at)


def _mapped(function: Callable[..., Any], *results: Any) -> Any:
    first = results[0]
    if isinstance(first, list | tuple):
        return type(first)(_mapped(function, *elements) for elements in zip(*results, strict=True))
    return function(*results)
