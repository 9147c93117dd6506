"""Expressions over dims, each with its text for a formula and a function that computes the same in PyTorch.

A value is a Python number, a PyTorch tensor without dimensions, or one with a dimension per axis of ``AXES``, which has
size 1 where the value does not vary. Below a condition, a mask marks the positions whose values are used: at all
others, indices of reads are clamped, and operands of functions with infinite slopes are replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

# Positional dimensions come before all dims.
AXES = ("...", "i", "j", "k", "t")
RANK = len(AXES)

REAL, COMPLEX, INTEGER, BOOL = "real", "complex", "integer", "bool"


@dataclass(frozen=True)
class Scope:
    """Environment that expressions are computed in: tensors, sizes, numbers, a mask, and records of magnitudes."""

    tensors: Mapping[str, torch.Tensor]
    sizes: Mapping[str, int]
    numbers: Mapping[str, float | int]
    mask: torch.Tensor = field(default_factory=lambda: torch.ones((1,) * RANK, dtype=torch.bool))
    seen: dict[str, Any] = field(default_factory=dict)

    def guarded(self, condition: torch.Tensor) -> Scope:
        """Return the scope whose mask requires a condition as well."""
        return replace(self, mask=self.mask & condition)

    def within(self, axes: Sequence[str]) -> Scope:
        """Return the scope inside a fold: an element is used if any position along the folded axes is."""
        mask = self.mask
        for axis in axes:
            mask = mask.any(AXES.index(axis), keepdim=True)
        return replace(self, mask=mask)

    def note(self, value: Any) -> Any:
        """Record the largest magnitude and the coarsest rounding of a value, and return the value."""
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            known = value.detach().abs()
            known = known[known.isfinite()]
            largest = float(known.max()) if known.numel() else 0.0
            self.seen["scale"] = max(self.seen.get("scale", 1.0), largest)
            self.seen["eps"] = max(self.seen.get("eps", 0.0), torch.finfo(value.dtype).eps)
        return value


@dataclass(frozen=True)
class Node:
    """Expression of a formula: its text, the axes along which it varies, its kind, and a function that computes it."""

    text: str
    axes: frozenset[str]
    kind: str
    compute: Callable[[Scope], Any]
    is_tensor: bool = True
    # (tensor, dimension, axis) for reads at a dim itself, which determine its size; ("", 0, axis) for other uses of a
    # dim.
    binds: frozenset[tuple[str, int, str]] = frozenset()
    # Whether the value has no rounding error, so that comparisons with it are exact.
    exact: bool = False

    def value(self, scope: Scope) -> Any:
        """Compute the expression in a scope, and record the magnitude of its elements."""
        return scope.note(self.compute(scope))


def combined(text: str, kind: str, operands: Sequence[Node], function: Callable[..., Any], exact: bool = False) -> Node:
    """Return the node that applies a function to operands, element by element."""

    def compute(scope: Scope) -> Any:
        return function(*(operand.value(scope) for operand in operands))

    return Node(text, _axes(operands), kind, compute, binds=_binds(operands), exact=exact)


def _axes(nodes: Sequence[Node]) -> frozenset[str]:
    return frozenset[str]().union(*(node.axes for node in nodes))


def _binds(nodes: Sequence[Node]) -> frozenset[tuple[str, int, str]]:
    return frozenset[tuple[str, int, str]]().union(*(node.binds for node in nodes))


def lifted(value: Any, like: torch.dtype | None = None) -> torch.Tensor:
    """Return a value as a tensor with one dimension for each axis."""
    tensor = value if isinstance(value, torch.Tensor) else torch.as_tensor(value, dtype=like)
    return tensor if tensor.ndim else tensor.reshape((1,) * RANK)


def spread(value: Any, axis: str, scope: Scope) -> torch.Tensor:
    """Return a value expanded to the full size of an axis."""
    tensor = lifted(value)
    sizes = list(tensor.shape)
    sizes[AXES.index(axis)] = scope.sizes[axis]
    return tensor.expand(sizes)


# ------------------------------------------------------------------------------------------------------------- leaves


def number(value: Any) -> Node:
    """Return the node of a literal number."""
    kind = {float: REAL, int: INTEGER, complex: COMPLEX}[type(value)]
    return Node(repr(value), frozenset(), kind, lambda scope: value, is_tensor=False, exact=True)


def parameter(name: str, kind: str) -> Node:
    """Return the node of a number that is an argument of the formula."""
    return Node(name, frozenset(), kind, lambda scope: scope.numbers[name], is_tensor=False, exact=True)


def position(axis: str) -> Node:
    """Return the node of a dim used as a value: the index along its axis."""

    def compute(scope: Scope) -> torch.Tensor:
        sizes = [1] * RANK
        sizes[AXES.index(axis)] = scope.sizes[axis]
        return torch.arange(scope.sizes[axis]).reshape(sizes)

    return Node(axis, frozenset((axis,)), INTEGER, compute, binds=frozenset({("", 0, axis)}), exact=True)


def read(tensor: str, kind: str, at: Sequence[str | Node], batched: bool, has_batch: bool, outside: Any = None) -> Node:
    """Return the node that reads a tensor at dims (given by name) and at computed indices.

    Args:
        batched: whether `...` is in the text.
        has_batch: whether the tensor has a positional dimension in front of the indexed ones.
    """
    nodes = [position(where) if isinstance(where, str) else where for where in at]
    texts = [node.text for node in nodes]
    named = {(tensor, index - len(at), where) for index, where in enumerate(at) if isinstance(where, str)}
    computed = [node for node, where in zip(nodes, at, strict=True) if not isinstance(where, str)]
    text = tensor if outside is None else f"{tensor}.outside({outside!r})"
    text += f"[{', '.join((['...'] if batched else []) + texts)}]" if batched or texts else ""

    def compute(scope: Scope) -> torch.Tensor:
        values = [lifted(node.value(scope)) for node in nodes]
        sizes = scope.tensors[tensor].shape[-len(nodes) :] if nodes else ()
        if outside is None and any(not node.is_tensor and not size for node, size in zip(nodes, sizes, strict=True)):
            raise IndexError("a number lies outside, whatever counts")
        return _gathered(
            scope, scope.tensors[tensor], values, [isinstance(where, str) for where in at], has_batch, outside
        )

    axes = _axes(nodes) | (frozenset(("...",)) if has_batch else frozenset())
    return Node(text, axes, kind, compute, binds=frozenset(named) | _binds(computed), exact=True)


def _gathered(
    scope: Scope, source: torch.Tensor, at: list[torch.Tensor], bare: list[bool], batched: bool, outside: Any
) -> torch.Tensor:
    """Gather elements at broadcast indices with an out-of-bounds mode; ``bare`` marks indices that are dims
    themselves.
    """
    sizes = list(source.shape)
    indices, inside = [], torch.ones((1,) * RANK, dtype=torch.bool)
    if batched:
        indices.append(torch.arange(sizes[0]).reshape([sizes[0]] + [1] * (RANK - 1)))
    for size, index, is_bare in zip(sizes[len(indices) :], at, bare, strict=True):
        if is_bare and size == 1:
            index = torch.zeros_like(index)
        if outside == "replicate":
            index = index.clamp(0, size - 1)
        elif outside == "circular":
            index = index % size if size else index
        elif outside == "reflect":
            index = _reflected(index, size)
        inside = inside & (index >= 0) & (index < size)
        indices.append(index.clamp(0, max(size - 1, 0)))
    if outside is None or isinstance(outside, str):
        _require(inside, scope, *indices)
        outside = 0.0
    shape = torch.broadcast_shapes(*(index.shape for index in indices))
    if 0 in sizes:
        taken = torch.zeros(shape, dtype=source.dtype) + source.sum().to(source.dtype)
    else:
        taken = source[tuple(index.expand(shape) for index in indices)]
    fill = torch.as_tensor(outside).to(source.dtype)
    return torch.where(inside, taken, fill)


def _require(inside: torch.Tensor, scope: Scope, *others: torch.Tensor) -> None:
    """Raise an error if an index is out of bounds at a position that the mask of the scope uses.

    Raises:
        IndexError: there is such an index.
    """
    shape = torch.broadcast_shapes(*(other.shape for other in (inside, scope.mask, *others)))
    if bool((~inside & scope.mask).expand(shape).any()):
        raise IndexError("a position lies outside")


def _reflected(index: torch.Tensor, size: int) -> torch.Tensor:
    """Return indices in which those out of bounds are reflected at the first and last element, which are not
    repeated.
    """
    if size <= 1:
        return torch.zeros_like(index) if size else index
    turn = index.remainder(2 * (size - 1))
    return torch.minimum(turn, 2 * (size - 1) - turn)


# --------------------------------------------------------------------------------------------- choices and singularity


def chosen(condition: Node, one: Node, other: Node) -> Node:
    """Return the node of a conditional expression, whose condition guards both branches."""

    def compute(scope: Scope) -> torch.Tensor:
        holds = condition.value(scope)
        first, second = one.value(scope.guarded(holds)), other.value(scope.guarded(~holds))
        return torch.where(holds, first, second)

    nodes = (condition, one, other)
    text = f"({one.text} if {condition.text} else {other.text})"
    exact = one.exact and other.exact
    return Node(text, _axes(nodes), one.kind, compute, binds=_binds(nodes), exact=exact)


def singular(text: str, function: Callable[[torch.Tensor], torch.Tensor], operand: Node) -> Node:
    """Return the node of a function with infinite slopes, whose operand is replaced by 1 where the mask is false."""

    def compute(scope: Scope) -> torch.Tensor:
        value = operand.value(scope)
        mask = scope.mask if value.ndim else scope.mask.any()
        return function(torch.where(mask, value, torch.ones((), dtype=value.dtype)))

    return Node(text, operand.axes, operand.kind, compute, binds=operand.binds)


def local(name: str, node: Node) -> Node:
    """Return the node of a local variable, whose expression is computed once and before all conditions."""

    def compute(scope: Scope) -> Any:
        key = f"local {name}"
        if key not in scope.seen:
            whole = replace(scope, mask=torch.ones((1,) * RANK, dtype=torch.bool))
            scope.seen[key] = node.value(whole)
        return scope.seen[key]

    return replace(node, text=name, compute=compute)


# ------------------------------------------------------------------------------------------------ folds and recurrences


def fold(name: str, kind: str, operand: Node, axes: Sequence[str], options: str = "") -> Node:
    """Return the node of a fold of an operand over dims."""
    dims = [AXES.index(axis) for axis in axes]

    def compute(scope: Scope) -> torch.Tensor:
        value = operand.value(scope.within(axes))
        for axis in axes:
            value = spread(value, axis, scope)
        folded = _FOLDS[name](value, dims)
        return folded if operand.axes.difference(axes) else folded.reshape(())

    listed = axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
    text = f"{called(operand)}.{name}({listed}{options})"
    return Node(text, operand.axes.difference(axes), kind, compute, binds=operand.binds, exact=name in ("amax", "amin"))


def _one_by_one(function: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor, list[int]], torch.Tensor]:
    def folded(value: torch.Tensor, dims: list[int]) -> torch.Tensor:
        for dim in dims:
            value = function(value, dim, keepdim=True)
        return value

    return folded


def _argument(name: str) -> Callable[[torch.Tensor, list[int]], torch.Tensor]:
    return lambda value, dims: getattr(value, name)(dims[0], keepdim=True)


_FOLDS: dict[str, Callable[[torch.Tensor, list[int]], torch.Tensor]] = {
    "sum": lambda value, dims: value.sum(dims, keepdim=True),
    "mean": lambda value, dims: value.mean(dims, keepdim=True),
    "amax": lambda value, dims: value.amax(dims, keepdim=True),
    "amin": lambda value, dims: value.amin(dims, keepdim=True),
    "var": lambda value, dims: value.var(dims, keepdim=True),
    "logsumexp": lambda value, dims: value.logsumexp(dims, keepdim=True),
    "prod": _one_by_one(torch.prod),
    "any": _one_by_one(torch.any),
    "all": _one_by_one(torch.all),
    "argmax": _argument("argmax"),
    "argmin": _argument("argmin"),
    "count_nonzero": lambda value, dims: (value != 0).sum(dims, keepdim=True),
}


def along(name: str, operand: Node, axis: str) -> Node:
    """Return the node of an operator along a dim that keeps the dim, such as a cumulative sum."""

    def compute(scope: Scope) -> torch.Tensor:
        value = spread(operand.value(scope.within((axis,))), axis, scope)
        scanned: torch.Tensor = getattr(value, name)(AXES.index(axis))
        return scanned

    return Node(f"{called(operand)}.{name}({axis})", operand.axes | {axis}, operand.kind, compute, binds=operand.binds)


def scan(step: str, starts: Sequence[Node], values: Sequence[Node], axis: str, last: bool, backwards: bool) -> Node:
    """Return the node of a recurrence along a dim: its first carried value at each position, or only the last one.

    The text of the step is evaluated, too, to run it on PyTorch's tensors.
    """
    function = eval(step, {"opdsl": torch})
    nodes, place = (*starts, *values), AXES.index(axis)

    def compute(scope: Scope) -> torch.Tensor:
        inner = scope.within((axis,))
        columns = [spread(value.value(inner), axis, scope) for value in values]
        kind = columns[0].dtype
        carry = [lifted(start.value(inner), kind) for start in starts]
        shape = torch.broadcast_shapes(*(column.narrow(place, 0, 0).shape for column in (*carry, *columns)))
        shape = torch.Size([1 if dim == place else size for dim, size in enumerate(shape)])
        carry = [column.expand(shape) for column in carry]
        tensors: list[torch.Tensor] = []
        if not scope.sizes[axis]:  # one step on zeros determines the dtypes
            state = carry[0] if len(starts) == 1 else tuple(carry)
            result = function(state, *(torch.zeros((), dtype=kind).expand(1) for _ in columns))
            after = [result] if len(starts) == 1 else result
            carry = [
                start.to(torch.promote_types(start.dtype, end.dtype)) for start, end in zip(carry, after, strict=True)
            ]
        for turn in range(scope.sizes[axis])[:: -1 if backwards else 1]:
            parts = [column.narrow(place, turn, 1) for column in columns]
            state = carry[0] if len(starts) == 1 else tuple(carry)
            result = function(state, *parts)
            carry = [result] if len(starts) == 1 else list(result)
            tensors.append(carry[0])
        if last:
            return carry[0] if _axes(nodes).difference((axis,)) else carry[0].reshape(())
        empty = carry[0].expand(shape).narrow(place, 0, 0)
        return torch.cat(tensors[:: -1 if backwards else 1] or [empty], place)

    begin = starts[0].text if len(starts) == 1 else f"({', '.join(start.text for start in starts)})"
    options = f"over={axis}" if last else f"along={axis}"
    options += ", reverse=True" if backwards else ""
    text = f"opdsl.{'fold' if last else 'scan'}({step}, {begin}, {', '.join(v.text for v in values)}, {options})"
    text = text if len(starts) == 1 else f"{text}[0]"
    axes = _axes(nodes).difference((axis,)) if last else _axes(nodes) | {axis}
    return Node(text, axes, values[0].kind, compute, binds=_binds(nodes))


def elsewhere(operand: Node, axis: str, where: Node, batched: bool) -> Node:
    """Return the node that computes an operand along a dim, and reads the result at other indices of that dim."""

    def compute(scope: Scope) -> torch.Tensor:
        value = spread(operand.value(scope.within((axis,))), axis, scope)
        index, place = lifted(where.value(scope)), AXES.index(axis)
        size = scope.sizes[axis]
        if not where.is_tensor and not size:
            raise IndexError("a number lies outside, whatever counts")
        _require((index >= 0) & (index < size), scope, value.narrow(place, 0, min(size, 1)))
        if not size:
            empty = value.sum(place, keepdim=True).to(value.dtype)
            return empty.expand(torch.broadcast_shapes(index.shape, empty.shape))
        shape = torch.broadcast_shapes(index.shape, value.narrow(place, 0, 1).shape)
        rows, zero = index.clamp(0, size - 1), torch.zeros((), dtype=value.dtype)
        lines = [torch.where(rows == turn, value.narrow(place, turn, 1), zero) for turn in range(size)]
        return torch.stack([line.expand(shape) for line in lines]).sum(0).to(value.dtype)

    dims = "..., " if "..." in operand.axes else ""
    text = f"{called(operand)}.order({dims}{axis})[{dims}{where.text}]"
    axes = operand.axes.difference((axis,)) | where.axes
    return Node(text, axes, operand.kind, compute, binds=operand.binds | where.binds, exact=operand.exact)


def scatter(node: Node, ids: Node, over: str, kept: Sequence[str], count: int, dtype: torch.dtype, reduce: str) -> Any:
    """Return two functions: one returns the text of a scatter for given sizes, the other computes the scatter in
    PyTorch.
    """
    name = str(dtype).removeprefix("torch.")

    def result(scope: Scope) -> torch.Tensor:
        value = lifted(node.value(scope))
        for axis in (over, *kept):
            value = spread(value, axis, scope)
        order = [AXES.index(axis) for axis in (over, *kept)]
        rest = [dim for dim in range(RANK) if dim not in order]
        value = value.permute(*order, *rest)
        folded = math.prod(value.shape[len(order) :])
        rows = value.movedim(list(range(len(order), RANK)), list(range(1, 1 + len(rest))))
        rows = rows.reshape(value.shape[0] * folded, *value.shape[1 : len(order)])
        places = spread(ids.value(scope), over, scope).reshape(-1).repeat_interleave(folded)
        base = torch.zeros([count, *value.shape[1 : len(order)]], dtype=scope.seen.get("base", dtype))
        if bool(((places < 0) | (places >= count)).any()):
            raise IndexError("a position lies outside")
        if reduce == "sum":
            return base.to(rows.dtype).index_add(0, places, rows)
        spots = places.reshape(-1, *[1] * (rows.ndim - 1)).expand(rows.shape)
        return base.to(rows.dtype).scatter_reduce(0, spots, rows, reduce)

    def text(sizes: Mapping[str, int]) -> str:
        shape = [count, *(sizes[axis] for axis in kept)]
        where = ", ".join([ids.text, *kept])
        return f"opdsl.scatter(opdsl.zeros({shape}, dtype=opdsl.{name}), ({where},), {node.text}, reduce={reduce!r})"

    return text, result


def called(node: Node) -> str:
    """Return the text of a node, in parentheses where a method call on it needs them."""
    plain = node.text.replace("_", "").isalnum() or node.text.startswith("(") or node.text[-1] in ")]"
    return node.text if plain and not node.text.startswith("-") else f"({node.text})"
