"""Vectorizing map ``vmap``: converts a function of single elements to a function of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from opdsl.aten.shape.stacking import stack
from opdsl.errors import ConversionError, OptionError
from opdsl.runtime import Tensor, get_rng_state, set_rng_state

if TYPE_CHECKING:
    from opdsl.aten.python.vmap_rules import Batches

__all__ = ["vmap"]

FEWEST = 128
"""Batch size from which operators compute whole batches; smaller batches are faster one element after another."""


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Literal["error", "different", "same"] = "error",
) -> Callable[..., Any]:
    """Return a function that applies ``func`` to each element of a batch and stacks the results.

    For batches of at least 128 elements each operator is called once for the whole batch, by a batching rule that
    follows from the operator's definition. Smaller batches are computed element by element, and so are functions
    without a rule: those that branch on elements, write to them, or take gradients
    (``opdsl.autograd.functional.grad``). ``func`` is called more than once, so it should have no side effects. The
    result is differentiable, and calls may be nested.

    Args:
        func: takes and returns tensors, or lists, tuples and dictionaries of tensors.
        in_dims: the batch dimension of each argument, None for an argument that all elements share. One number for
            all, or a tuple with a number, None or a structure for each.
        out_dims: the batch dimension of each result; None returns the result of the last element.
        randomness: whether random numbers are refused, different for each element, or the same.

    Returns:
        A function with the arguments of ``func``; arguments passed by name are shared by all elements.

    Raises:
        OptionError: when the function is called: no argument has a batch dimension, the batch sizes differ, a
            dimension does not exist, or random numbers are drawn under ``"error"``; it is a ValueError.
        ConversionError: ``func`` returns something other than tensors.

    >>> import opdsl
    >>> distances = opdsl.vmap(lambda x, y: (x - y).square().sum(), in_dims=(0, None))
    >>> distances(opdsl.tensor([[1.0, 2.0], [3.0, 4.0]]), opdsl.tensor([1.0, 1.0]))
    tensor([ 1., 13.])
    >>> opdsl.vmap(opdsl.autograd.functional.grad(lambda x: (x * x).sum()))(opdsl.tensor([[1.0], [2.0]])).tolist()
    [[2.0], [4.0]]
    """
    if randomness not in ("error", "different", "same"):
        raise OptionError(f"vmap: randomness is 'error', 'different' or 'same' (got {randomness!r})")

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise OptionError(f"vmap: in_dims has {len(dims)} entries for {len(args)} arguments")
        size = _size_of(list(_leaves(args, tuple(dims))))

        def call(at: int | None) -> Any:
            chosen = [_chosen(value, dim, at) for value, dim in zip(args, dims, strict=True)]
            return func(*chosen, **kwargs)

        if size == 0:
            return _joined([call(None)], out_dims, is_empty=True)
        if size >= FEWEST and randomness == "error":
            by_rules = _by_rules(func, args, kwargs, tuple(dims), out_dims, size)
            if by_rules is not None:
                return by_rules[0]
        return _joined(_results(call, size, randomness), out_dims)

    return mapped


def _by_rules(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dims: tuple[Any, ...],
    out_dims: Any,
    size: int,
) -> tuple[Any] | None:
    """Compute the function's result for the whole batch by batching rules, in a tuple; return None if that fails.

    Any exception counts as a failure: an error of the function itself is raised again when its first element is
    computed.
    """
    from opdsl.aten.python.vmap_rules import Batches

    batches = Batches(size)
    try:
        elements = [_elements_of(arg, dim, batches) for arg, dim in zip(args, dims, strict=True)]
        with batches:
            mapped = func(*elements, **kwargs)
        return (_whole(mapped, out_dims, batches),)
    except Exception:
        return None


def _elements_of(value: Any, dims: Any, batches: Batches) -> Any:
    """Replace the batched tensors of an argument by tracers, each of which represents one element of its batch."""
    if isinstance(value, (tuple, list, Mapping)):
        return _rebuilt(value, {key: _elements_of(part, dim, batches) for key, part, dim in _dims_below(value, dims)})
    return value if not isinstance(value, Tensor) or dims is None else batches.element(value, dims)


def _whole(value: Any, dims: Any, batches: Batches) -> Any:
    """Replace the tracers of a result by their batches, with the batch dimension moved to ``dims``."""
    if isinstance(value, (tuple, list, Mapping)):
        return _rebuilt(value, {key: _whole(part, dim, batches) for key, part, dim in _dims_below(value, dims)})
    whole = batches.whole(value)
    if dims is None:
        return whole[-1]
    return whole.movedim(0, dims).clone() if batches.batch(value) is None else whole.movedim(0, dims)


def _results(call: Callable[[int], Any], size: int, randomness: str) -> list[Any]:
    """Call the function for each element, and return the list of results."""
    before = get_rng_state()
    results = [call(0)]
    if randomness == "error" and not bool((get_rng_state() == before).all()):
        raise OptionError("vmap: the function draws random numbers. Pass randomness='different' or 'same'.")
    for at in range(1, size):
        if randomness == "same":
            set_rng_state(before)
        results.append(call(at))
    return results


def _dims_below(value: Any, dims: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Return the parts of a structure, each with its key and its batch dimension or structure of these."""
    keys = value.keys() if isinstance(value, Mapping) else range(len(value))
    is_structure = isinstance(dims, (tuple, list, Mapping))
    if is_structure and len(dims) != len(value):
        raise OptionError(f"vmap: {len(dims)} dimensions are given for {len(value)} parts of an argument or a result")
    for key in keys:
        yield key, value[key], dims[key] if is_structure else dims


def _leaves(value: Any, dims: Any) -> Iterator[tuple[Tensor, int]]:
    """Return the batched tensors of a structure, each with its batch dimension."""
    if isinstance(value, (tuple, list, Mapping)):
        for _, part, dim in _dims_below(value, dims):
            yield from _leaves(part, dim)
    elif isinstance(value, Tensor) and dims is not None:
        if not isinstance(dims, int) or not -value.ndim <= dims < value.ndim:
            raise OptionError(f"vmap: {dims!r} is no dimension of a tensor of shape {value.shape}")
        yield value, dims


def _size_of(leaves: list[tuple[Tensor, int]]) -> int:
    sizes = sorted({leaf.shape[dim] for leaf, dim in leaves})
    if not sizes:
        raise OptionError("vmap: no argument has elements; in_dims has to name a dimension of one tensor at least")
    if len(sizes) > 1:
        raise OptionError(f"vmap: the arguments have different numbers of elements: {sizes}")
    return sizes[0]


def _chosen(value: Any, dims: Any, at: int | None) -> Any:
    """Return an argument for the call of one element; for an empty batch its tensors are zeros."""
    if isinstance(value, (tuple, list, Mapping)):
        return _rebuilt(value, {key: _chosen(part, dim, at) for key, part, dim in _dims_below(value, dims)})
    if not isinstance(value, Tensor) or dims is None:
        return value
    if at is not None:
        return value.select(dims, at)
    shape = list(value.shape)
    del shape[dims]
    return value.new_zeros(shape)


def _rebuilt(like: Any, parts: dict[Any, Any]) -> Any:
    if isinstance(like, Mapping):
        return parts
    return type(like)(*parts.values()) if hasattr(like, "_fields") else type(like)(parts.values())


def _joined(results: list[Any], dims: Any, is_empty: bool = False) -> Any:
    """Stack the results of all elements along their batch dimensions."""
    first = results[0]
    if isinstance(first, (tuple, list, Mapping)):
        parts = {
            key: _joined([result[key] for result in results], dim, is_empty) for key, _, dim in _dims_below(first, dims)
        }
        return _rebuilt(first, parts)
    if not isinstance(first, Tensor):
        raise ConversionError(f"vmap: the function returns {type(first).__name__}; it has to return tensors")
    if dims is None:
        return results[-1]
    if is_empty:
        place = dims % (first.ndim + 1)
        return first.new_empty((*first.shape[:place], 0, *first.shape[place:]))
    return stack(results, dims)
