"""Pass that replaces a softmax between two matrix products, attention, by one step that stores no scores."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.programs.passes import without_unused_steps
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Result, Size, Step, names_in, operator_named
from opdsl.runtime import DType, bool_, float32, float64

__all__ = ["with_attention"]

_PRODUCTS = ("aten::bmm", "aten::mm")
_SOFTMAX = "aten::_softmax"
_CHOICES = ("aten::where.self", "aten::where.ScalarOther")
_SCALES = ("aten::mul.Tensor", "aten::mul.Scalar", "aten::div.Tensor", "aten::div.Scalar")
_DTYPES: tuple[DType, ...] = (float32, float64)

# Texts of products of sizes, and of numbers, which may be roots, that are not 0 if none of their sizes is.
_FACTORS = re.compile(r"[\w*() ]+")
_DIVISORS = re.compile(r"[\w*(). ]+")


def with_attention(program: Program) -> Program:
    """Replace products of queries and keys, scaled, masked and passed through a softmax, times values, by one step.

    Scores are then computed tile by tile and never stored. Only programs on the CPU whose steps need no gradients are
    to be changed, and they are only where nothing else reads the scores or weights, and no step in between writes a
    tensor.

    >>> import opdsl
    >>> q = opdsl.ones(2, 5, 4)
    >>> program = opdsl.trace(lambda q, k, v: opdsl.softmax(q @ k.mT / 2, -1) @ v, q, q, q)
    >>> [step.name for step in with_attention(program).steps if not step.is_view]
    ['opdsl::softmax_product']
    """
    if not any(step.name == _SOFTMAX for step in program.steps):
        return program
    known = _Known(program)
    replaced = [_replaced(step, known) for step in program.steps]
    steps = tuple(step for parts in replaced for step in parts)
    return program if steps == program.steps else without_unused_steps(program.replace(steps=steps))


class _Known:
    """Facts about the tensors of a program.

    makers: the step that makes a tensor, by name.
    uses: how many steps read a tensor; the outputs count as one more.
    tensors: dtypes and shapes, by name.
    sizes: the names of the sizes of inputs, which are not 0.
    places: the indices of the steps that make tensors, by name.
    writes: the indices of the steps that write tensors.
    """

    def __init__(self, program: Program) -> None:
        results = [(step, result) for step in program.steps for result in step.results if result is not None]
        self.makers = {result.name: step for step, result in results}
        self.uses = Counter(read for step in program.steps for read in step.reads)
        self.uses.update(names_in(program.outputs))
        self.tensors: dict[str, tuple[DType | None, tuple[Size, ...]]] = {
            **{input.name: (input.dtype, input.shape) for input in program.inputs if input.kind is None},
            **{name: (constant.dtype, constant.shape) for name, constant in program.constants.items()},
            **{result.name: (result.dtype, result.shape) for _, result in results},
        }
        self.sizes = {size for input in program.inputs for size in input.shape if isinstance(size, str)}
        self.places = {name: at for at, step in enumerate(program.steps) for name in step.result_names}
        self.writes = [at for at, step in enumerate(program.steps) if step.writes]

    def is_tensor(self, operand: object) -> bool:
        """Return whether an operand is a tensor."""
        return isinstance(operand, Expression) and operand.text in self.tensors

    def has_writes(self, first: Step, last: Step) -> bool:
        """Return whether a step between two steps that make tensors writes one."""
        begin, end = (min(map(self.places.__getitem__, step.result_names)) for step in (first, last))
        return any(begin < at < end for at in self.writes)


class _Chain(NamedTuple):
    """Steps between the product of queries and keys and that of weights and values.

    scores: the product of queries and keys.
    before, after: the steps before and after the softmax.
    softmax: the softmax.
    """

    scores: Step
    before: tuple[Step, ...]
    softmax: Step
    after: tuple[Step, ...]


def _replaced(step: Step, known: _Known) -> tuple[Step, ...]:
    """Return a product of weights and values as attention, or the step itself if it is none."""
    result = step.results[0] if step.name in _PRODUCTS else None
    if result is None or result.dtype not in _DTYPES or result.device.type != "cpu":
        return (step,)
    chain = _chain(step, known)
    if chain is None or chain.softmax.operands[2] is not False or known.has_writes(chain.scores, step):
        return (step,)
    axes, scaling = _Axes(chain.scores), _Scaling(known)
    for part in chain.before:
        if not (axes.follow(part) if part.is_view else scaling.follow(part, axes)):
            return (step,)
    is_over_keys = axes.dims[chain.softmax.operands[1]] == axes.whole(axes.keys)
    if not is_over_keys or not all(map(axes.follow, chain.after)):
        return (step,)
    if axes.dims != tuple(map(axes.whole, range(axes.keys + 1))):
        return (step,)
    operands = (*chain.scores.operands, step.operands[1], scaling.mask, scaling.factor)
    return (*scaling.steps, Step(operator_named("opdsl::softmax_product"), operands, {}, step.results))


def _chain(step: Step, known: _Known) -> _Chain | None:
    """Return the steps that lead to the left factor of a product; None if it is no softmax of another product, or if
    something else reads them.
    """
    before: list[Step] = []
    after: list[Step] = []
    softmax: Step | None = None
    current: Any = step.operands[0]
    while isinstance(current, Expression) and known.uses[current.text] == 1 and current.text in known.makers:
        maker = known.makers[current.text]
        if len(maker.results) != 1 or maker.writes or maker.is_random:
            return None
        if maker.name in _PRODUCTS:
            if softmax is None or maker.name != step.name:
                return None
            return _Chain(maker, tuple(before[::-1]), softmax, tuple(after[::-1]))
        if maker.name == _SOFTMAX and softmax is None:
            softmax = maker
        else:
            (after if softmax is None else before).append(maker)
        at = 1 if maker.name in _CHOICES else 0
        current = maker.operands[at] if len(maker.operands) > at else None
    return None


# ------------------------------------------------------------------------------------------------- dimensions of views


class _Axes:
    """Tracking of the dimensions of scores, (queries, keys) or (batch, queries, keys), through views of them.

    dims: for each dimension of a view a tuple of axes: none for a size of 1, several if dimensions were merged.
    sizes: of the axes; a view may split an axis into parts, which replace it.
    parts: the parts of split axes.
    keys: the axis of keys, after that of queries.
    """

    def __init__(self, scores: Step) -> None:
        (result,) = scores.results
        assert result is not None, "a product has a result"
        self.dims: tuple[tuple[int, ...], ...] = tuple((axis,) for axis in range(len(result.shape)))
        self.keys = len(result.shape) - 1
        self.sizes: list[Size] = list(result.shape)
        self.parts: dict[int, tuple[int, ...]] = {}

    def whole(self, axis: int) -> tuple[int, ...]:
        """Return the parts that an axis was split into, or the axis itself."""
        return tuple(part for own in self.parts[axis] for part in self.whole(own)) if axis in self.parts else (axis,)

    def follow(self, step: Step) -> bool:
        """Take the dimensions of a view; return False for one that is not understood."""
        (result,), dims = step.results, list(self.dims)
        base, operands = step.operator.schema.name.base, step.operands[1:]
        if result is None or not step.is_view:
            return False
        if base == "permute":
            self.dims = tuple(dims[dim] for dim in operands[0])
        elif base == "transpose":
            one, other = operands
            dims[one], dims[other] = dims[other], dims[one]
            self.dims = tuple(dims)
        elif base == "unsqueeze":
            dims.insert(operands[0] % (len(dims) + 1), ())
            self.dims = tuple(dims)
        elif base in ("view", "reshape", "expand", "squeeze", "flatten", "unflatten"):
            regrouped = self._regrouped([axis for dim in dims for axis in dim], result.shape)
            self.dims = regrouped or ()
        else:
            return False
        return bool(self.dims)

    def _regrouped(self, axes: Sequence[int], shape: Sequence[Size]) -> tuple[tuple[int, ...], ...] | None:
        """Return the axes of each dimension of a view with other sizes; None if they do not fit."""
        dims: list[tuple[int, ...]] = []
        left = list(axes)
        for size in shape:
            wanted, dim = _Product.of(size), list[int]()
            while left and not wanted.is_one():
                left[:1] = self._divided(left[0], wanted)
                part = _Product.of(self.sizes[left[0]])
                if not part.divides(wanted):
                    return None
                wanted = wanted.over(part)
                dim.append(left.pop(0))
            if not wanted.is_one():
                return None
            dims.append(tuple(dim))
        return tuple(dims) if all(_Product.of(self.sizes[axis]).is_one() for axis in left) else None

    def _divided(self, axis: int, first: _Product) -> tuple[int, ...]:
        """Split an axis after a part of a size; return the axis itself if it has no such part, or no other one."""
        whole = _Product.of(self.sizes[axis])
        if not first.divides(whole) or whole.over(first).is_one():
            return (axis,)
        self.parts[axis] = (len(self.sizes), len(self.sizes) + 1)
        self.sizes += [first.size(), whole.over(first).size()]
        return self.parts[axis]


class _Product(NamedTuple):
    """Size as a product.

    number: the product of the factors that are numbers.
    names: the other factors: names, and expressions that are no products.
    """

    number: int
    names: Counter[str]

    @classmethod
    def of(cls, size: Size) -> _Product:
        """Return the factors of a size."""
        if isinstance(size, int):
            return cls(size, Counter())
        if not _FACTORS.fullmatch(size):
            return cls(1, Counter([size]))
        words = re.findall(r"\w+", size)
        return cls(
            math.prod(int(word) for word in words if word.isdigit()),
            Counter(word for word in words if not word.isdigit()),
        )

    def is_one(self) -> bool:
        """Return whether there are no factors."""
        return self.number == 1 and not self.names

    def divides(self, other: _Product) -> bool:
        """Return whether another product has all factors of this one."""
        is_part = other.number == 0 if self.number == 0 else other.number % self.number == 0
        return is_part and not self.names - other.names

    def over(self, other: _Product) -> _Product:
        """Return the product without the factors of another one, which divides it."""
        return _Product(self.number // other.number if other.number else 1, self.names - other.names)

    def size(self) -> Size:
        """Return the product as a size."""
        if not self.names:
            return self.number
        factors = [*self.names.elements(), *([str(self.number)] if self.number != 1 else [])]
        return f"({' * '.join(factors)})"


# ---------------------------------------------------------------------------------------------------- scales and masks


class _Scaling:
    """Factor of scores, and the mask that is added to them or selects the scores that count.

    factor: a number, or the expression of one.
    mask: the tensor; None for no mask.
    steps: those that make the mask.
    """

    def __init__(self, known: _Known) -> None:
        self.known = known
        self.factor: float | Expression = 1.0
        self.mask: Expression | None = None
        self.steps: tuple[Step, ...] = ()

    def follow(self, step: Step, axes: _Axes) -> bool:
        """Take the factor or the mask of a step; return False for a step of another kind."""
        if step.options or self.mask is not None:
            return False
        if step.name in _SCALES:
            return self._takes_factor(step.operands[1], is_divisor="div" in step.name)
        if step.name == "aten::add.Tensor" and len(step.operands) == 2:
            return self._takes_mask(step.operands[1], step, axes)
        if step.name == "aten::masked_fill.Scalar" and step.operands[2] == -math.inf:
            return self._takes_mask(step.operands[1], step, axes) and self._inverts(step)
        if step.name in _CHOICES and self._is_lowest(step.operands[2], step):
            return self._takes_mask(step.operands[0], step, axes)
        return False

    def _is_lowest(self, operand: Any, step: Step) -> bool:
        """Return whether an operand of a step is -inf, or a tensor filled with it."""
        maker = self.known.makers.get(operand.text) if isinstance(operand, Expression) else None
        if maker is None:
            return bool(operand == -math.inf)
        is_filled = maker.name == "aten::full" and maker.operands[1] == -math.inf
        return is_filled and not self.known.has_writes(maker, step)

    def _takes_factor(self, operand: Any, *, is_divisor: bool) -> bool:
        if type(operand) in (int, float) and type(self.factor) is float and operand and math.isfinite(operand):
            factor = self.factor / operand if is_divisor else self.factor * operand
            self.factor = factor
            return math.isfinite(factor) and factor != 0.0
        if isinstance(operand, Expression) and not self.known.is_tensor(operand) and self.factor == 1.0:
            if is_divisor and not (_DIVISORS.fullmatch(operand.text) and names_in(operand) <= self.known.sizes):
                return False  # it may be 0
            self.factor = Expression(f"(1 / {operand.text})") if is_divisor else operand
            return True
        return False

    def _takes_mask(self, mask: Any, step: Step, axes: _Axes) -> bool:
        """Take a mask of at most two dimensions, those of queries and keys; return False for other ones, and where a
        mask or another operand has more elements than the scores.
        """
        (result,) = step.results
        scores = step.operands[1 if step.name in _CHOICES else 0]
        if result is None or not self.known.is_tensor(mask) or self.known.tensors[scores.text][1] != result.shape:
            return False
        dtype, shape = self.known.tensors[mask.text]
        if len(axes.dims) != len(result.shape) or axes.dims[-2:] != (axes.whole(axes.keys - 1), axes.whole(axes.keys)):
            return False
        if dtype is not (result.dtype if step.name == "aten::add.Tensor" else bool_) or len(shape) > 2:
            return False
        self.mask = mask
        sizes = zip(reversed(shape), reversed(result.shape), strict=False)
        return all(size in (1, whole) for size, whole in sizes)

    def _inverts(self, step: Step) -> bool:
        """Take the scores that a mask does not select."""
        (result,) = step.results
        assert self.mask is not None and result is not None, "the step has a mask"
        kept = Result(f"{result.name}_kept", bool_, self.known.tensors[self.mask.text][1], result.device)
        self.steps = (Step(operator_named("aten::logical_not"), (self.mask,), {}, (kept,)),)
        self.mask = Expression(kept.name)
        return True
