"""Operators that work along dimensions (folds, scans, softmax, sorting), which may name dims as dimensions."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

from opdsl.dispatch.state import current
from opdsl.errors import DimError
from opdsl.formulas.dim_axes import aligned, axes_as_they_lie, over, union
from opdsl.formulas.dim_binding import FOLDED, Axis, Call, Pack
from opdsl.formulas.dim_rules import (
    full,
    invoke,
    joined_masks,
    mapped,
    on_device,
    operands,
    placed,
    positional,
    results,
)
from opdsl.formulas.dim_tensor import Dim, DimTensor, functions, names
from opdsl.formulas.dim_windows import convolved
from opdsl.formulas.ragged import fold_ragged, ragged_among
from opdsl.runtime import Tensor, bool_
from opdsl.runtime.limits import iinfo

FOLDS = frozenset(
    (
        *("sum", "nansum", "mean", "nanmean", "prod", "count_nonzero", "any", "all", "logsumexp", "amax", "amin"),
        *("argmax", "argmin", "max", "min", "median", "nanmedian", "aminmax", "var", "std", "var_mean", "std_mean"),
        *("norm", "linalg_vector_norm"),
    )
)
"""Names of operators that fold all positional dimensions if no dimension is passed."""

# Operators along one dimension with results of the same shape.
_ALONG = frozenset(("softmax", "log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"))

# Operators for which an empty list of dimensions means no dimension.
_FOLDING_NONE = ("any", "all")

# Operators whose further tensors are indices that all batches share.
_SHARED = ("index_select", "repeat_interleave")

# Operators whose dimension is one of the result, which has one more.
_ADDING = ("unsqueeze", "stack")


def is_along(call: Call) -> bool:
    """Return whether an operator works along dimensions: it has a dimension parameter, or folds all dimensions."""
    return any(name in FOLDED for name, _ in call.named()) or call.operator.schema.name.base in FOLDS


def along(call: Call) -> Any:
    """Compute an operator along dims: they become dimensions of plain tensors, in front of the positional ones.

    Returns:
        The results over the remaining dims; ``NotImplemented`` for a call that this rule does not handle.

    Raises:
        DimError: a dim is named that the value does not vary along, or twice, or with ``keepdim=True``.
    """
    if not any(name in FOLDED for name, _ in call.named()):
        wider = _with_dimensions(call)
        if wider is None:
            return NotImplemented
        outputs = along(wider)
        is_first = len(wider.operator.schema.returns) > len(call.operator.schema.returns)
        return outputs[0] if is_first else outputs
    folding = _Folding(call)
    others = [value for value in folding.values[1:] if isinstance(value, DimTensor)]
    if folding.base in _SHARED and others:
        return NotImplemented
    return folding.run()


class _Folding:
    """Call of an operator along dimensions, some of which are dims.

    call: the bound call.
    base: the name of its packet.
    name: the parameter that names dimensions.
    is_pack: whether several dims are one dimension to the operator.
    takes_list: whether the parameter takes several dimensions.
    targets: the dimensions that are named: ints, ``Axis``, ``...``; None for the operator's default.
    named: the dims among them.
    kept: the other dims of its tensors, whose axes come first.
    ndim: the number of positional dimensions of its first tensor.
    mask: mask of the indices that are not skipped; None if all are used.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self.base = call.operator.schema.name.base
        self.name = next(name for name, _ in call.named() if name in FOLDED)
        value = call.get(self.name)
        self.is_pack = isinstance(value, Pack)
        schema = call.operator.schema
        self.takes_list = "[" in str(next(one.type for one in schema.arguments if one.python_name == self.name))
        listed = value.targets if isinstance(value, Pack) else value if isinstance(value, tuple) else (value,)
        is_all = self.base in FOLDS and (
            value is None or (isinstance(value, tuple) and not value and self.base not in _FOLDING_NONE)
        )
        self.targets: list[Any] = [...] if is_all else list(listed)
        self.named = [target.dim for target in self.targets if isinstance(target, Axis)]
        self.values = operands(call.arguments)
        self.first: Any = self.values[0]
        self.ndim = positional(self.first)
        chosen = set(self.named)
        with_dims = [one for one in self.values if isinstance(one, DimTensor)]
        self.kept = [dim for dim in union(with_dims) if dim not in chosen]
        self.mask = joined_masks(with_dims)
        self._require()

    def _require(self) -> None:
        """Raise an error if dims are named that the value does not vary along, twice, or with ``keepdim=True``."""
        own = self.first.dims if isinstance(self.first, DimTensor) else ()
        operator, there = self.call.operator.name, set(own)
        absent = tuple(dim for dim in self.named if dim not in there)
        if absent:
            raise DimError(
                f"{operator}: the value does not vary along {names(absent)}, but along {names(own)} and {self.ndim} "
                "positional dimensions. Use one of these."
            )
        if len(set(self.named)) < len(self.named) or sum(target is ... for target in self.targets) > 1:
            raise DimError(f"{operator}: a dimension appears more than once in dim={tuple(self.targets)}.")
        if self.named and self.call.get("keepdim"):
            raise DimError(
                f"{operator}: keepdim=True with dim={tuple(self.targets)}. The result broadcasts along dims by name: "
                "omit keepdim."
            )

    def run(self) -> Any:
        """Compute the call and return its results over the remaining dims; ``NotImplemented`` if no dimension is
        named.
        """
        if any(target is None for target in self.targets):
            return NotImplemented
        if ragged_among(self.named):
            return self._over_ranges()
        # Without positional dimensions a fold of "all" would fold dims too, so one of size 1 is added.
        adds_one = self.ndim == 0 and not self.named and bool(self.targets) and self.base not in _ADDING
        plain = [self._laid(value, adds_one) for value in self.values]
        dims = self._dimensions(adds_one)
        is_flat = self.is_pack or (not self.takes_list and len(dims) > 1)
        flat_sizes = list(plain[0].shape)
        skips = self.mask is not None and not set(self.mask.dims).isdisjoint(self.named)
        if skips and self.base == "mean":
            return over(self._mean_of_turns(plain[0], dims), self.kept)
        if skips:
            plain[0] = self._without_skipped(plain[0])
        if is_flat:
            plain[0], dims, flat_sizes = self._flattened(plain[0], dims)
        if skips:
            return over(self._invoke(plain, dims, keepdim=False), self.kept)
        keepdim = bool(self.call.get("keepdim"))
        keeps = keepdim and not adds_one and not is_flat
        is_plain = self.base in (*FOLDS, *_ALONG) and len(plain) == 1 and not keepdim and not is_flat
        outputs = self._invoke_as_it_lies(plain[0], dims) if is_plain else self._invoke(plain, dims, keepdim=keeps)
        added = self.ndim if keepdim and is_flat else 0
        total = plain[0].ndim - len(self.kept)

        def wrapped(folded: Tensor) -> Tensor:
            for _ in range(added):
                folded = folded.unsqueeze(-1)
            if adds_one and folded.ndim == plain[0].ndim:
                folded = folded.squeeze(-1)
            if not self.named:
                return over(folded, self.kept, self.mask)
            return self._without_or_with_named(folded, total, len(dims), flat_sizes if is_flat else None)

        return results(outputs, wrapped)

    def _over_ranges(self) -> Any:
        """Compute a fold over ragged dims: other dimensions are folded first, then each ragged dim."""
        ragged, dtype = ragged_among(self.named), self.call.get("dtype")
        rest = [target for target in self.targets if not (isinstance(target, Axis) and target.dim in set(ragged))]
        value = self.first
        if len(self.values) > 1 or self.is_pack or (rest and self.base in ("softmax", "log_softmax")):
            raise DimError(
                f"{self.call.operator.name}: a dim whose ranges depend on elements has to be the only one: "
                f"dim={ragged[0].name}."
            )
        if rest:
            arguments = [tuple(rest) if name == self.name else one for name, one in self.call.named()]
            value = _Folding(Call(self.call.operator, tuple(arguments))).run()
        for dim in ragged:
            value = fold_ragged(self.base.lstrip("_").removesuffix(".int"), value, dim, dtype)
        return value

    def _without_or_with_named(self, tensor: Tensor, total: int, folded: int, sizes: list[int] | None) -> Tensor:
        """Return a result over the dims that were not named, and over the named ones if the operator keeps dimensions.

        Args:
            tensor: the result.
            total: number of dimensions of the operand, after those of kept dims.
            folded: number of dimensions that the operator was called with.
            sizes: sizes of the dims that were flattened into one dimension; None if none were.
        """
        rest = tensor.ndim - len(self.kept)
        if rest == total - folded:
            return over(tensor, self.kept, self.mask)
        if sizes is not None and rest == total and not any(target is ... for target in self.targets):
            tensor = tensor.unflatten(len(self.kept), sizes)
            total += len(sizes) - 1
            rest += len(sizes) - 1
        own = tensor.shape[len(self.kept) :]
        if rest != total or any(size != dim.size for size, dim in zip(own, self.named, strict=False)):
            raise DimError(
                f"{self.call.operator.name}: along {names(tuple(self.named))} its result has another size than the "
                "dim. Order the dim first: x.order(..., i)."
            )
        return over(tensor, [*self.kept, *self.named], self.mask)

    def _laid(self, value: Any, adds_one: bool) -> Tensor:
        """Return a tensor with axes for kept dims, for named dims, then positional dimensions."""
        dims, use = [*self.kept, *self.named], f"{self.base}()"
        if len(self.values) > 1:
            laid_out = value if self.base in _SHARED and not isinstance(value, DimTensor) else full(value, dims, use)
        else:
            laid_out = aligned(value, dims, self.ndim)
            # A size of 1 represents every index of the dim, and each of them counts.
            sizes = [*laid_out.shape[: len(self.kept)], *(dim.settle(use) for dim in self.named)]
            if any(own != size for own, size in zip(laid_out.shape, sizes, strict=False)):
                laid_out = laid_out.expand(*sizes, *laid_out.shape[len(dims) :])
        return laid_out.unsqueeze(-1) if adds_one else laid_out

    def _dimensions(self, adds_one: bool) -> list[int]:
        """Return the dimension numbers with which the operator is called on the plain tensor."""
        place = len(self.kept)
        before, ndim = place + len(self.named), self.ndim + adds_one
        listed: list[int] = []
        for target in self.targets:
            if isinstance(target, Axis):
                listed.append(place)
                place += 1
            elif target is ...:
                listed += range(-ndim, 0)
            else:
                at = placed(target, before, ndim + (self.base in _ADDING))
                listed.append(-1 if adds_one else at)
        return listed

    def _flattened(self, tensor: Tensor, dims: Sequence[int]) -> tuple[Tensor, list[int], list[int]]:
        """Flatten several dimensions of a tensor into one, after the kept dims; return it, that dimension, and the
        former sizes.
        """
        begin = len(self.kept)
        chosen = [dim % tensor.ndim for dim in dims]
        rest = [axis for axis in range(begin, tensor.ndim) if axis not in chosen]
        sizes = [tensor.shape[axis] for axis in chosen]
        moved = tensor.permute([*range(begin), *chosen, *rest])
        count = 1
        for size in sizes:
            count = count * size
        behind = moved.shape[begin + len(chosen) :]
        return moved.reshape(*moved.shape[:begin], count, *behind), [begin], sizes

    def _invoke_as_it_lies(self, tensor: Tensor, dims: Sequence[int]) -> Any:
        """Call the operator on the tensor with its dimensions in the order of memory, so that results have the same
        memory layout.
        """
        order = axes_as_they_lie(tensor)
        chosen = [dim % tensor.ndim for dim in dims]
        kept = [axis for axis in order if self.base in _ALONG or axis not in chosen]
        if kept == sorted(kept):
            return self._invoke([tensor], dims, keepdim=False)
        outputs = self._invoke([tensor.permute(order)], sorted(order.index(axis) for axis in chosen), keepdim=False)
        back = [kept.index(axis) for axis in sorted(kept)]
        return results(outputs, lambda one: one.permute(back))

    def _invoke(self, plain: Sequence[Tensor], dims: Sequence[int], *, keepdim: bool) -> Any:
        tensors = iter(plain)
        arguments = []
        for name, value in self.call.named():
            if name == self.name:
                arguments.append(tuple(dims) if self.takes_list or self._is_list() else dims[0])
            else:
                arguments.append(keepdim if name == "keepdim" else mapped(value, lambda _: next(tensors)))
        return invoke(self.call.operator, arguments)

    def _is_list(self) -> bool:
        return isinstance(self.call.get(self.name), tuple) and not self.is_pack

    def _turns(self, tensor: Tensor) -> Tensor:
        """Return the mask of the elements that take part in the fold, expanded to the rank of a tensor."""
        assert self.mask is not None, "asked where turns are skipped"
        mask = full(self.mask, [*self.kept, *self.named], f"{self.base}()")
        for _ in range(tensor.ndim - mask.ndim):
            mask = mask.unsqueeze(-1)
        return mask

    def _mean_of_turns(self, tensor: Tensor, dims: Sequence[int]) -> Tensor:
        """Return the mean of the elements that are not skipped."""
        mask = self._turns(tensor)
        total: Tensor = tensor.masked_fill(~mask, 0).sum(dims, dtype=self.call.get("dtype"))
        return total / mask.expand(tensor.shape).sum(dims)

    def _without_skipped(self, tensor: Tensor) -> Tensor:
        """Replace skipped elements by the neutral element of the fold.

        Raises:
            DimError: the operator has no neutral element.
        """
        if self.base not in _NEUTRAL:
            raise DimError(
                f"{self.call.operator.name} of a value read with x.outside('skip'): only {', '.join(sorted(_NEUTRAL))} "
                "leave skipped elements out. Use one of these, or give a value for indices out of bounds: "
                "x.outside(0.0)."
            )
        filled: Tensor = tensor.masked_fill(~self._turns(tensor), _neutral(self.base, tensor))
        return filled


# Neutral elements of folds, for skipped elements: a number, or the least or largest of a dtype.
_NEUTRAL: dict[str, float | str] = {
    **dict.fromkeys(("sum", "nansum", "count_nonzero", "any", "mean"), 0),
    **dict.fromkeys(("prod", "all"), 1),
    **dict.fromkeys(("amax", "argmax", "logsumexp"), "least"),
    **dict.fromkeys(("amin", "argmin"), "largest"),
}


def _neutral(base: str, tensor: Tensor) -> float:
    """Return the neutral element of a fold for a tensor's dtype."""
    neutral = _NEUTRAL[base]
    if not isinstance(neutral, str):
        return neutral
    is_least = neutral == "least"
    if tensor.dtype.is_floating_point:
        return -math.inf if is_least else math.inf
    if tensor.dtype is bool_:
        return not is_least
    bounds = iinfo(tensor.dtype)
    return bounds.min if is_least else bounds.max


def _with_dimensions(call: Call) -> Call | None:
    """Convert a fold of all elements into a call of the overload that takes dimensions: ``sum(x)`` into ``sum(x,
    dim=None)``.
    """
    named = dict(call.named())
    best: Call | None = None
    for other in call.operator.packet.overloads.values():
        arguments = other.schema.arguments
        defaults = {one.python_name: one.default and one.default.value for one in arguments}
        if "dim" not in defaults or other.schema.is_mutable or not named.keys() <= defaults.keys():
            continue
        if any(one.python_name != "dim" and one.default is None and one.python_name not in named for one in arguments):
            continue
        candidate = Call(other, tuple((defaults | named | {"dim": None}).values()))
        takes_list = any(one.python_name == "dim" and "[" in str(one.type) for one in arguments)
        if best is None or takes_list:
            best = candidate
    return best


# --------------------------------------------------------------------------------------------------------- contractions


def contracted(call: Call) -> Any:
    """Compute a sum over dims of a deferred product as one contraction (``einsum``); else return ``NotImplemented``."""
    value = call.arguments[0] if call.arguments else None
    later = value.pending if isinstance(value, DimTensor) else None
    if later is None or not later.factors or call.operator.name != "aten::sum.dim_IntList":
        return NotImplemented
    if later.grad_mode != current.get().grad_mode:  # autograd records the product as where it was written
        return NotImplemented
    if call.get("dtype") is not None or call.get("keepdim") or not isinstance(call.get("dim"), tuple):
        return NotImplemented
    targets = call.get("dim")
    folded = {target.dim for target in targets if isinstance(target, Axis)}
    factors = tuple([on_device(factor, later.factors) for factor in later.factors])
    if ragged_among(folded):
        return NotImplemented
    if len(folded) < len(targets) or not folded <= set(union(factors)):
        return NotImplemented
    if any(factor.is_gathered for factor in factors) and not all(
        _has_own(factor, factors, folded) for factor in factors
    ):
        return NotImplemented  # einsum would copy the gathered elements only to multiply each of them once
    if _is_of_vectors(factors, folded):
        return NotImplemented  # a batch of many small products, each one library call
    for source in later.sources:
        source.require_unchanged()
    convolution = convolved(factors, folded)
    return _einsum(factors, folded) if convolution is None else convolution


def _has_own(factor: DimTensor, factors: Sequence[DimTensor], folded: set[Dim]) -> bool:
    """Return whether a factor varies along a kept dim along which no other factor varies."""
    others = set(union([other for other in factors if other is not factor]))
    own = [dim for dim in factor.dims if dim not in folded and dim not in others]
    return bool(own) or all(positional(factor) > positional(other) for other in factors if other is not factor)


def _is_of_vectors(factors: Sequence[DimTensor], folded: set[Dim]) -> bool:
    """Return whether a product is a batch of vector-matrix products, one for each index of dims that all factors
    share.
    """
    if len(factors) != 2 or all(_has_own(factor, factors, folded) for factor in factors):
        return False
    one, other = (set(factor.dims) - folded for factor in factors)
    return bool(one & other)


def _einsum(factors: Sequence[DimTensor], folded: set[Dim]) -> Tensor:
    """Compute the sum of a product over dims by ``einsum``."""
    windows = _windows(factors)
    # Order the folded dims as in the factor that is a view, so that it is not copied.
    dims = union([*[factor for factor in factors if windows is not None and factor is not windows], *factors])
    letters = dict(zip(dims, string.ascii_letters, strict=False))
    ndim = max(map(positional, factors))
    behind = string.ascii_letters[len(dims) : len(dims) + ndim]
    kept = [dim for dim in dims if dim not in folded]
    waiting = {dim: dim.settle("sum()") for dim in folded}
    tensors, texts = [], []
    for factor in factors:
        own = factor.dims
        # A size of 1 represents every index of the dim, and each of them is summed.
        sizes = [waiting.pop(dim, size) for dim, size in zip(own, factor.tensor.shape, strict=False)]
        is_full = all(one == size for one, size in zip(factor.tensor.shape, sizes, strict=False))
        tensors.append(factor.tensor if is_full else factor.tensor.expand(*sizes, *factor.shape))
        texts.append("".join(letters[dim] for dim in own) + behind[ndim - positional(factor) :])
    inside = set() if windows is None else set(windows.dims)
    kept.sort(key=lambda dim: dim in inside)
    ahead = sum(dim not in inside for dim in kept)
    named = "".join(letters[dim] for dim in kept)
    equation = f"{','.join(texts)}->{named[:ahead]}{behind}{named[ahead:]}"
    product: Tensor = functions().einsum(equation, *tensors)
    if ahead < len(kept) and ndim:
        product = product.permute([*range(ahead), *range(ahead + ndim, product.ndim), *range(ahead, ahead + ndim)])
    return over(product, kept)


def _windows(factors: Sequence[DimTensor]) -> DimTensor | None:
    """Return the one of two factors that is read at computed indices (gathered), if the other has no positional
    dimensions; else None.

    The contraction puts its kept dims innermost, so that the copy of gathered elements has neighbors next to each
    other.
    """
    if len(factors) != 2 or sum(factor.is_gathered for factor in factors) != 1:
        return None
    windows, other = sorted(factors, key=lambda factor: not factor.is_gathered)
    return windows if positional(other) == 0 else None
