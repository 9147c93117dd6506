"""Contractions of tensors over named or numbered dimensions: ``einsum``, ``tensordot``, ``kron``.

The rules are those of ATen/native/Linear.cpp and LinearAlgebra.cpp.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from opdsl.aten.linalg.matrix_products import bmm, mm
from opdsl.declare import Out, op
from opdsl.errors import DTypeError, ShapeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, wrap_dimension

_ELLIPSIS = "..."
_LABELS = re.compile(r"\.\.\.|.", re.DOTALL)

# --------------------------------------------------------------------------------------------------------- the equation


class Equation(NamedTuple):
    """Parsed equation of ``einsum``.

    operands: the labels of each operand's dimensions; ``...`` denotes any number of dimensions.
    output: the labels of the result; None if the equation has no ``->``.
    """

    operands: list[list[str]]
    output: list[str] | None


@lru_cache(maxsize=1024)
def with_standard_labels(equation: str) -> str:
    """Rename the labels of an equation to the first letters, so that equations of one structure share their plans.

    Without an output, which lists labels in alphabetical order, their order is kept.

    >>> with_standard_labels("ij,jk->ik"), with_standard_labels("ji,kj")
    ('ab,bc->ac', 'ba,cb')
    """
    if not equation.isascii():
        return equation  # invalid: the error names the label
    labels = dict.fromkeys(equation) if "->" in equation else sorted(set(equation))
    letters = [letter for letter in labels if letter.isalpha()]
    return equation.translate(dict(zip(map(ord, letters), string.ascii_letters, strict=False)))


def labels_in(text: str, where: str, start: int) -> list[str]:
    """Split the text of an operand or of the output into its labels.

    Args:
        text: a part of the equation, which begins at ``start``.
        where: the name of the part, for messages.
        start: see above.

    Raises:
        ShapeError: a character is not a label.
    """
    labels: list[str] = []
    for label in _LABELS.findall(text.replace(" ", "")):
        if label == _ELLIPSIS:
            check(_ELLIPSIS not in labels, f"einsum(): found '.' {where} for which an ellipsis was already found")
        else:
            check(label != ".", f"einsum(): found '.' {where} that is not part of any ellipsis")
            if not (label.isascii() and label.isalpha()):
                raise ShapeError(
                    f"einsum(): invalid subscript given at index {start + text.index(label)} in the equation string, "
                    "subscripts must be in [a-zA-Z]"
                )
        labels.append(label)
    return labels


def parsed(equation: str, count: int) -> Equation:
    """Parse the equation of ``einsum`` for ``count`` operands.

    Raises:
        ShapeError: the equation is invalid, or has another number of operands.
    """
    check(count > 0, "einsum(): must provide at least one operand")
    before, arrow, after = equation.partition("->")
    texts = before.split(",")
    check(len(texts) <= count, "einsum(): fewer operands were provided than specified in the equation")
    check(len(texts) >= count, "einsum(): more operands were provided than specified in the equation")
    starts = accumulate((len(text) + 1 for text in texts), initial=0)
    operands = [
        labels_in(text, f"for operand {index}", start)
        for index, (text, start) in enumerate(zip(texts, starts, strict=False))
    ]
    return Equation(operands, labels_in(after, "for the output", len(before) + 2) if arrow else None)


def output_labels(equation: Equation) -> list[str]:
    """Return the labels of the result. By default these are the ellipsis and the labels that occur once, in
    alphabetical order.

    Raises:
        ShapeError: an output label is repeated, or occurs in no operand.
    """
    labels = [label for operand in equation.operands for label in operand]
    if equation.output is None:
        single = sorted(label for label in set(labels) - {_ELLIPSIS} if labels.count(label) == 1)
        return [*([_ELLIPSIS] if _ELLIPSIS in labels else []), *single]
    for label in equation.output:
        check(
            equation.output.count(label) == 1,
            f"einsum(): output subscript {label} appears more than once in the output",
        )
        check(
            label in labels or label == _ELLIPSIS,
            f"einsum(): output subscript {label} does not appear in the equation for any input operand",
        )
    return equation.output


# ------------------------------------------------------------------------------------------------------------- operands


def unlabelled(labels: list[str], tensor: Tensor, place: int) -> int:
    """Return how many dimensions of an operand its ellipsis denotes.

    Raises:
        ShapeError: there are more labels than dimensions, or fewer without an ellipsis.
    """
    named = len(labels) - (_ELLIPSIS in labels)
    fits = named <= tensor.ndim if _ELLIPSIS in labels else named == tensor.ndim
    check(
        fits,
        f"einsum(): the number of subscripts in the equation ({named}) "
        + (
            "is more than the number of dimensions"
            if _ELLIPSIS in labels
            else "does not match the number of dimensions"
        )
        + f" ({tensor.ndim}) for operand {place}"
        + ("" if _ELLIPSIS in labels else " and no ellipsis was given"),
    )
    return tensor.ndim - named


def aligned(tensor: Tensor, labels: list[str], order: dict[str, int], covered: int, total: int, place: int) -> Tensor:
    """Permute and unsqueeze an operand so that it has a dimension for each label of the equation, of size 1 for labels
    it lacks.

    Args:
        tensor: the operand.
        labels: of its dimensions; the diagonal is taken of dimensions with the same label.
        order: the dimension for each label in the result; for the ellipsis the first of its dimensions.
        covered: how many dimensions the ellipsis denotes.
        total: how many dimensions the result has.
        place: the index of the operand, for messages.
    """
    missing = covered - unlabelled(labels, tensor, place) if _ELLIPSIS in labels else 0
    sources: list[int | None] = [None] * total
    at = 0
    for label in labels:
        where = order[label]
        if label == _ELLIPSIS:
            for _ in range(missing):
                tensor = tensor.unsqueeze(at)
            for index in range(covered):
                sources[where + index] = at
                at += 1
            continue
        earlier = sources[where]
        if earlier is None:
            sources[where] = at
            at += 1
            continue
        check(
            tensor.shape[at] == tensor.shape[earlier],
            f"einsum(): subscript {label} is repeated for operand {place} but the sizes don't match, "
            f"{tensor.shape[at]} != {tensor.shape[earlier]}",
        )
        tensor = tensor.diagonal(0, earlier, at).movedim(-1, earlier)
    for where, source in enumerate(sources):
        if source is None:
            tensor = tensor.unsqueeze(-1)
            sources[where] = at
            at += 1
    return tensor.permute([source for source in sources if source is not None])


def check_broadcasting(operands: Sequence[Tensor], order: dict[str, int]) -> None:
    """Check that dimensions with one label have the same size or size 1. Raises ShapeError: they do not."""
    names = {where: label for label, where in order.items()}
    for dim in range(operands[0].ndim):
        seen = 1
        for index, operand in enumerate(operands):
            size = operand.shape[dim]
            check(
                size == 1 or seen in (1, size),
                f"einsum(): subscript {names.get(dim, _ELLIPSIS)} has size {size} for operand {index} which does not "
                f"broadcast with previously seen size {seen}",
            )
            seen = size if size != 1 else seen


# ---------------------------------------------------------------------------------------------------------- contracting


def contracted(left: Tensor, right: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the sum of products over dimensions, which are kept with size 1, by a batched matrix product
    (``sumproduct_pair``).

    Args:
        left, right: with the same number of dimensions, whose sizes are equal or 1.
        dims: the dimensions to sum over.
    """
    if not dims:
        return left * right
    kept = [dim for dim in range(left.ndim) if dim not in dims]
    both = [dim for dim in kept if left.shape[dim] != 1 and right.shape[dim] != 1]
    of_left = [dim for dim in kept if dim not in both and left.shape[dim] != 1]
    of_right = [dim for dim in kept if dim not in both and dim not in of_left]
    if of_left and of_right and of_right[-1] < of_left[0]:  # so that the result is contiguous
        return contracted(right, left, dims)
    batch, rows, inner = (math.prod(left.shape[dim] for dim in numbers) for numbers in (both, of_left, dims))
    columns = math.prod(right.shape[dim] for dim in of_right)
    order = [*both, *of_left, *dims, *of_right]
    shape = [
        *(left.shape[dim] for dim in (*both, *of_left)),
        *(1 for _ in dims),
        *(right.shape[dim] for dim in of_right),
    ]
    first = left.permute(order).reshape((batch, rows, inner))
    second = right.permute([*both, *dims, *of_right, *of_left]).reshape((batch, inner, columns))
    return bmm(first, second).view(shape).permute([order.index(dim) for dim in range(left.ndim)])


def contract_pair(left: Tensor, right: Tensor, counts: list[int], first: int) -> Tensor:
    """Multiply two operands and sum over those dimensions, from ``first`` on, that no other operand has.

    Args:
        left, right: the operands.
        counts: for each dimension, in how many operands its size is not 1; updated for the result.
        first: the first dimension that is not in the output.
    """
    shared: list[int] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for dim in range(first, left.ndim):
        sizes = left.shape[dim], right.shape[dim]
        if 1 not in sizes:
            counts[dim] -= 1
            if counts[dim] == 1:
                shared.append(dim)
                counts[dim] = 0
        elif counts[dim] == 1 and sizes != (1, 1):
            alone[sizes[0] == 1].append(dim)
            counts[dim] = 0
    left, right = (
        operand.sum(dims, True) if dims else operand for operand, dims in zip((left, right), alone, strict=True)
    )
    return contracted(left, right, shared)


@op("aten::einsum")
def einsum(equation: str, tensors: list[Tensor], *, path: list[int] | None = None) -> Tensor:
    """Return sums of products of the operands' elements as an equation describes them (Einstein summation).

    Args:
        equation: the labels of each operand's dimensions, letters, separated by commas; after ``->`` those of the
            result. Labels that are not in the result are summed over. ``...`` denotes any dimensions, which
            broadcast.
        tensors: the operands.
        path: indices of the two operands to contract in each step; the result is appended to the remaining
            operands. By default the first two are contracted, and the result becomes the first.

    >>> import opdsl
    >>> opdsl.einsum("ij,j->i", [opdsl.tensor([[1, 2], [3, 4]]), opdsl.tensor([1, 10])])
    tensor([21, 43])
    """
    read = parsed(equation, len(tensors))
    covered = max(
        unlabelled(labels, tensor, index)
        for index, (labels, tensor) in enumerate(zip(read.operands, tensors, strict=True))
    )
    order: dict[str, int] = {}
    total = 0
    kept = output_labels(read)
    others = sorted({label for operand in read.operands for label in operand} - set(kept))
    for label in (*kept, *others):
        order[label] = total
        total += covered if label == _ELLIPSIS else 1
    first = sum(covered if label == _ELLIPSIS else 1 for label in kept)
    operands = [
        aligned(tensor, labels, order, covered, total, index)
        for index, (labels, tensor) in enumerate(zip(read.operands, tensors, strict=True))
    ]
    check_broadcasting(operands, order)
    return of_operands(operands, first, path)


def of_operands(operands: list[Tensor], first: int, path: Sequence[int] | None) -> Tensor:
    """Contract aligned operands pair by pair, along ``path`` if given; dimensions from ``first`` on are summed over."""
    total = operands[0].ndim
    check(
        path is None or len(path) == 2 * (len(operands) - 1),
        "einsum(): expected contraction path given in path parameter to be a list of pairs of operands",
    )
    if len(operands) == 1:
        return operands[0].sum(list(range(first, total))) if first < total else operands[0]
    counts = [sum(operand.shape[dim] != 1 for operand in operands) for dim in range(total)]
    for step in range(len(operands) - 1):
        one, other = (0, 1) if path is None else sorted(path[2 * step : 2 * step + 2])
        check(
            0 <= one < other < len(operands),
            f"einsum(): the contraction path joins operands {one} and {other} of {len(operands)}",
        )
        right, left = operands.pop(other), operands.pop(one)
        product = contract_pair(left, right, counts, first)
        operands.insert(0 if path is None else len(operands), product)
    return operands[0].reshape(operands[0].shape[:first]) if first < total else operands[0]


# ------------------------------------------------------------------------------------------------------------ tensordot


@op("aten::tensordot", out=True)
def tensordot(self: Tensor, other: Tensor, dims_self: list[int], dims_other: list[int]) -> Tensor:
    """Return the sums of products over ``dims_self`` of one tensor and ``dims_other`` of another; the other dimensions
    are kept.
    """
    check(len(dims_self) == len(dims_other), "both dimension lists should have same length")
    if self.dtype is not other.dtype:
        raise DTypeError("both inputs should have same dtype")
    ours = [wrap_dimension(dim, self.ndim) for dim in dims_self]
    theirs = [wrap_dimension(dim, other.ndim) for dim in dims_other]
    inner = 1
    for one, another in zip(ours, theirs, strict=True):
        sizes = self.size(one), other.size(another)
        if sizes[1] == 1:
            self = self.sum([one], True, dtype=self.dtype)
        elif sizes[0] == 1:
            other = other.sum([another], True, dtype=other.dtype)
        else:
            check(
                sizes[0] == sizes[1],
                f"contracted dimensions need to match, but first has size {sizes[0]} in dim {one} and second has size "
                f"{sizes[1]} in dim {another}",
            )
            inner *= sizes[0]
    kept, others = ([d for d in range(x.ndim) if d not in dims] for x, dims in ((self, ours), (other, theirs)))
    shape = [*(self.shape[dim] for dim in kept), *(other.shape[dim] for dim in others)]
    rows = math.prod(self.shape[dim] for dim in kept)
    columns = math.prod(other.shape[dim] for dim in others)
    first = self.permute([*kept, *ours]).reshape((rows, inner))
    return mm(first, other.permute([*theirs, *others]).reshape((inner, columns))).reshape(shape)


# ----------------------------------------------------------------------------------------------------------------- kron


@op("aten::kron", variants="function, method", out=Out(cast="safe"))
def kron(self: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: the block matrix ``[[a11 * B, a12 * B, ...], ...]`` for ``A = self`` and ``B =
    other``.
    """
    ndim = max(self.ndim, other.ndim)
    ours, theirs = ((1,) * (ndim - operand.ndim) + operand.shape for operand in (self, other))
    outer = [size for pair in zip(ours, (1,) * ndim, strict=True) for size in pair]
    inner = [size for pair in zip((1,) * ndim, theirs, strict=True) for size in pair]
    product = self.reshape(outer) * other.reshape(inner)
    return product.reshape([one * two for one, two in zip(ours, theirs, strict=True)])
