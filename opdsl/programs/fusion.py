"""Fusion: steps made of scalar functions that read one another become one step, with one function put together.

Pointwise steps of one shape become one pointwise operator. With sums, means and extrema of rows between them they
become one row operator: a softmax that is written out is one. Both are operators like any other, with kernels on every
backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.programs.composition import Composition
from opdsl.programs.program import Program
from opdsl.programs.steps import Step, names_in, sizes_of
from opdsl.runtime import Tensor, bfloat16, bool_, float16, float32, float64
from opdsl.runtime.dtype import DType

__all__ = ["with_fused_steps"]

# More would not fit the registers of any machine, and take long to compile.
_MOST_NODES = 256
_MOST_OPERANDS = 24

# Folds of rows compute in these. Pointwise steps in 16 bits are rounded one by one, as they are apart.
_DTYPES = (float32, float64)
_NARROW = (float16, bfloat16)

_ROW_FOLDS = {
    "aten::sum.dim_IntList": "row_sum",
    "aten::mean.dim": "row_mean",
    "aten::amax": "row_max",
    "aten::amin": "row_min",
}


def with_fused_steps(program: Program) -> Program:
    """The program with one step in place of steps that are made of scalar functions and read one another.

    Pointwise steps compute in one floating dtype and give one shape; sums, means and extrema keep the dimensions that
    they fold, which are neighbours and the same for all.

    >>> import opdsl
    >>> def normalized(x):
    ...     e = (x - x.amax(-1, keepdim=True)).exp()
    ...     return e / e.sum(-1, keepdim=True)
    >>> program = opdsl.trace(normalized, opdsl.ones(2, 3))
    >>> len(program.steps), len(with_fused_steps(program).steps)
    (5, 1)
    """
    done: list[Step] = []
    segment: list[Step] = []
    remaining = program.steps
    for index, step in enumerate(remaining):
        # What is read before a write must not be read after it.
        if step.writes or step.is_random:
            later = names_in(program.outputs).union(*(each.reads for each in remaining[index:]))
            done += [*_fused(segment, later), step]
            segment = []
        else:
            segment.append(step)
    return program.replace(steps=(*done, *_fused(segment, names_in(program.outputs))))


@attrs.define(eq=False)
class _Group:
    """Steps that become one.

    steps: in order.
    dtype: in which all compute; None for a step that is not made of scalar functions.
    shape: of its elements.
    row: the shape of what is computed for each row alone; None where nothing is folded.
    dims: of a row.
    """

    steps: list[Step]
    dtype: DType | None = None
    shape: tuple[Any, ...] = ()
    row: tuple[Any, ...] | None = None
    dims: tuple[int, ...] = ()

    @property
    def made(self) -> set[str]:
        """The names of their results."""
        return {each.name for step in self.steps for each in step.results if each is not None}

    @property
    def reads(self) -> frozenset[str]:
        """What they read of others."""
        return frozenset().union(*(each.reads for each in self.steps)) - self.made


def _fused(steps: Sequence[Step], later: frozenset[str]) -> list[Step]:
    """Steps none of which writes, with fused ones among them.

    Args:
        steps: in order.
        later: what is read after them.
    """
    groups: list[_Group] = []
    for step in steps:
        group = _group_of(step)
        groups.append(group)
        for other in reversed(groups[:-1]):
            joined = _joined(other, group)
            if joined is not None and not _leads_around(other, group, groups):
                groups.remove(other)
                groups[groups.index(group)] = group = joined
    made: list[Step] = []
    for group in _in_order(groups):
        outside = later.union(*(each.reads for each in groups if each is not group))
        made += _as_one(group, outside)
    return made


def _group_of(step: Step) -> _Group:
    """A step as a group of its own."""
    if step.call is None or len(step.results) != 1 or step.results[0] is None:
        return _Group([step])
    result, state = step.results[0], step.call.state
    if isinstance(step.call.definition, PointwiseDefinition):
        common = state.iteration.common
        operands = [step.call.arguments[index] for index in state.formula.places]
        is_plain = not state.formula.divisors and not any(
            cast is not None or each.dtype not in (common, bool_)
            for each, cast in zip(operands, state.iteration.casts, strict=True)
            if isinstance(each, Tensor)
        )
        is_floating = common in (*_DTYPES, *_NARROW)
        if not is_floating or result.dtype not in (common, bool_) or not is_plain:
            return _Group([step])
        return _Group([step], common, result.shape)
    source: Tensor = step.call.arguments[0]
    dims, dtype = state.dims, source.dtype
    folds_rows = step.name in _ROW_FOLDS and dims and dims == tuple(range(dims[0], dims[-1] + 1))
    keeps = len(result.shape) == source.ndim
    if not folds_rows or not keeps or dtype not in _DTYPES or result.dtype is not dtype:
        return _Group([step])
    return _Group([step], dtype, sizes_of(source.shape), result.shape, dims)


def _joined(first: _Group, second: _Group) -> _Group | None:
    """Two groups as one; None where they cannot be, or the second reads nothing of the first."""
    if first.dtype is None or first.dtype is not second.dtype or not second.reads & first.made:
        return None
    steps = [*first.steps, *second.steps]
    if sum(map(_size, steps)) > _MOST_NODES or len(first.reads | second.reads) > _MOST_OPERANDS:
        return None
    folding = first if first.row is not None else second
    other = second if folding is first else first
    if other.row is None:
        fits = other.shape in (folding.shape, folding.row)
    else:
        fits = (other.shape, other.dims) == (folding.shape, folding.dims)
    return _Group(steps, folding.dtype, folding.shape, folding.row, folding.dims) if fits else None


def _size(step: Step) -> int:
    """How many operations a step comes to."""
    assert step.call is not None, "a step of a group"
    state = step.call.state
    return len(state.formula.function.nodes) if isinstance(step.call.definition, PointwiseDefinition) else 1


def _leads_around(first: _Group, second: _Group, groups: Sequence[_Group]) -> bool:
    """Whether something that is neither reads the first, and the second reads what comes of it."""
    reached = set(first.made)
    for group in groups:
        if group is not first and group is not second and group.reads & reached:
            reached |= group.made
    return bool((second.reads - first.made) & reached)


def _in_order(groups: Sequence[_Group]) -> list[_Group]:
    """The groups, each after those that it reads."""
    made_by = {name: group for group in groups for name in group.made}
    done: list[_Group] = []
    seen: set[int] = set()

    def visit(group: _Group) -> None:
        if id(group) in seen:
            return
        seen.add(id(group))
        for name in sorted(group.reads):
            if name in made_by:
                visit(made_by[name])
        done.append(group)

    for group in groups:
        visit(group)
    return done


def _as_one(group: _Group, outside: frozenset[str]) -> list[Step]:
    """The steps of a group as one; as they are where that cannot be.

    Args:
        group: the steps.
        outside: what is read by others.
    """
    steps = group.steps
    wanted = [each for step in steps for each in step.results if each is not None and each.name in outside]
    if len(steps) == 1 or not wanted or any(each.dtype is not group.dtype for each in wanted):
        return steps
    composition = Composition(steps, _ROW_FOLDS)
    if not any(each.dtype is group.dtype for each in composition.tensors.values()):
        return steps
    # Results lie as they would apart: as operands do, where these lie alike.
    whole = [each.geometry for each in composition.tensors.values() if sizes_of(each.shape) == group.shape]
    if len({sizes_of(each.strides) for each in whole}) > 1:
        return steps
    if group.row is None:
        operator = composition.pointwise([each.name for each in wanted])
    else:
        if not whole or not whole[0].is_contiguous():  # rows of what is read have to be whole, and those of results
            return steps
        is_row = [each.shape == group.row and group.row != group.shape for each in wanted]
        operator = composition.row([each.name for each in wanted], group.dims, is_row)
    return [Step(operator, composition.operands, {}, tuple(wanted), parts=tuple(steps))]
