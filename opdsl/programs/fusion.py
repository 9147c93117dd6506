"""Fusion: steps of scalar functions that read one another become one step with a composed function.

Pointwise steps of one shape become one pointwise operator. With sums, means and extrema of rows between them they
become one row operator: a softmax that is written out is one. Steps that then read the same tensor side by side become
one step with several results. The fused operators are like any other, with kernels on every backend.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.reduction import ReductionDefinition
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.programs.composition import Composition, scalar_call
from opdsl.programs.ordering import order_marks, written_later
from opdsl.programs.program import Program
from opdsl.programs.steps import Call, Expression, Result, Step, names_in, operator_named, sizes_of
from opdsl.runtime import Tensor, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.limits import iinfo
from opdsl.runtime.symbol import example_value, is_symbol, least

__all__ = ["with_fused_recorded_steps", "with_fused_steps"]

# Larger functions would exceed the registers of any machine and compile slowly.
_MOST_NODES = 256
_MOST_OPERANDS = 24

# Dtypes of row folds. 16-bit pointwise steps are rounded one by one, as without fusion.
_DTYPES = (float32, float64)
_NARROW = (float16, bfloat16)
# Further dtypes of pointwise steps. Steps that compute in bool are fused with steps of any of these dtypes.
_INTEGERS = (int64, int32, int16, int8, uint8, bool_)

_ROW_FOLDS = {
    "aten::sum.dim_IntList": "row_sum",
    "aten::mean.dim": "row_mean",
    "aten::amax": "row_max",
    "aten::amin": "row_min",
}


def with_fused_steps(program: Program) -> Program:
    """Fuse steps that consist of scalar functions and read one another.

    Fused pointwise steps compute in one dtype (or in bool) and have one shape; the dimensions that sums, means and
    extrema fold are adjacent, the same for all, and not all dimensions unless they are kept.

    >>> import opdsl
    >>> def normalized(x):
    ...     e = (x - x.amax(-1, keepdim=True)).exp()
    ...     return e / e.sum(-1, keepdim=True)
    >>> program = opdsl.trace(normalized, opdsl.ones(2, 3))
    >>> len(program.steps), len(with_fused_steps(program).steps)
    (5, 1)
    """
    return _fused(program, frozenset())


def with_fused_recorded_steps(program: Program) -> Program:
    """Fuse steps as ``with_fused_steps`` in a program whose steps autograd records one by one.

    Steps that read or compute a tensor which a later step writes stay as they are: a fused step might save the tensor,
    where its parts save others.
    """
    return _fused(program, written_later(program))


def _fused(program: Program, apart: frozenset[int]) -> Program:
    """Return a program with fused steps, except for those at the given places."""
    groups = _grouped(program, apart)
    readers = Counter([*names_in(program.outputs), *(read for group in groups for read in group.reads)])
    steps: list[Step] = []
    for group in _in_order(_side_by_side(groups, readers)):
        steps += _as_one(group, readers)
    return program.replace(steps=tuple(steps))


@attrs.frozen(eq=False)
class _Group:
    """Candidate for fusion: steps that become one, with the shape and dtype that they share.

    steps: in order.
    reads, result_names: names read from other groups, and names of its results; ordering marks are among them.
    places: indices of its first and last step in the program.
    dtype: dtype in which all steps compute; None for a step that does not consist of scalar functions.
    shape: shape of its elements.
    row: shape of values with one element for each row; None if nothing is folded.
    dims: dimensions of a row.
    whole: names of operands with the full shape.
    bare: names of folds without ``keepdim``, which no step in the group can read.
    """

    steps: tuple[Step, ...]
    reads: frozenset[str]
    result_names: frozenset[str]
    places: tuple[int, int]
    dtype: DType | None = None
    shape: tuple[Any, ...] = ()
    row: tuple[Any, ...] | None = None
    dims: tuple[int, ...] = ()
    whole: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()


class _Groups:
    """Index of fusion groups by the names of their results."""

    def __init__(self) -> None:
        self.by_name: dict[str, _Group] = {}

    def add(self, group: _Group) -> None:
        """Register a group as the one that computes its results."""
        self.by_name.update(dict.fromkeys(group.result_names, group))

    def before(self, group: _Group) -> list[_Group]:
        """Return the groups whose results a group reads, the latest first."""
        groups = {id(maker): maker for read in group.reads if (maker := self.by_name.get(read)) is not None}
        return sorted(groups.values(), key=lambda group: group.places, reverse=True)

    def leads_around(self, first: _Group, second: _Group) -> bool:
        """Return whether the second group depends on the first by way of other groups, so that they cannot be fused."""
        waiting = [group for group in self.before(second) if group is not first]
        seen: set[int] = set()
        while waiting:
            group = waiting.pop()
            if group is first:
                return True
            if id(group) not in seen:  # even an early group: it may read from a group that ends late
                seen.add(id(group))
                waiting += self.before(group)
        return False


def _grouped(program: Program, apart: frozenset[int]) -> list[_Group]:
    """Partition the steps of a program into groups, each of which becomes one step; those at some places stay alone."""
    groups = _Groups()
    kept: dict[int, _Group] = {}
    for place, (step, (after, marks)) in enumerate(zip(program.steps, order_marks(program), strict=True)):
        group = _group_of(step, place, after, marks, is_apart=place in apart)
        refused: set[int] = set()
        while True:
            others = (earlier for earlier in groups.before(group) if id(earlier) not in refused)
            other = next(others, None)
            if other is None:
                break
            joined = _joined(other, group)
            if joined is None or groups.leads_around(other, group):
                refused.add(id(other))
                continue
            del kept[id(other)]
            group = joined
        groups.add(group)
        kept[id(group)] = group
    return list(kept.values())


def _group_of(step: Step, place: int, after: frozenset[str], marks: frozenset[str], *, is_apart: bool) -> _Group:
    """Return a group of one step, with the ordering marks that ``order_marks`` gives it; others join it unless it is
    apart.
    """
    alone = _Group((step,), step.reads | after, step.result_names | marks, (place, place))
    if is_apart or step.call is None or any(result is None for result in step.results):
        return alone
    kind = next((function for kind, function in _KINDS.items() if isinstance(step.call.definition, kind)), None)
    fields = None if kind is None else kind(step, step.call)
    if fields is None:
        return alone
    operands = zip(step.call.operands, step.call.arguments, strict=True)
    whole = {
        operand.text
        for operand, value in operands
        if isinstance(operand, Expression) and isinstance(value, Tensor) and sizes_of(value.shape) == fields["shape"]
    }
    return attrs.evolve(alone, whole=frozenset(whole), **fields)


def _pointwise(step: Step, call: Call) -> dict[str, Any] | None:
    """Return the dtype and shape of the group of a pointwise step; None if it cannot be fused."""
    state, result = call.state, step.results[0]
    common = state.iteration.common
    operands = [call.arguments[index] for index in state.formula.places]
    is_plain = not state.formula.divisors and not any(
        cast is not None or operand.dtype not in (common, bool_)
        for operand, cast in zip(operands, state.iteration.casts, strict=True)
        if isinstance(operand, Tensor)
    )
    if len(step.results) != 1 or result is None or common not in (*_DTYPES, *_NARROW, *_INTEGERS) or not is_plain:
        return None
    if common in _INTEGERS and not all(
        _is_taken(call.operands[index], call.arguments[index], common) for index in state.formula.places
    ):
        return None
    return {"dtype": common, "shape": result.shape} if result.dtype in (common, bool_) else None


def _is_taken(operand: Any, value: Any, common: DType) -> bool:
    """Return whether a fused step of an integer dtype can take an operand: a tensor, a number that fits the dtype, or,
    since it is passed as int64, one of int64 that is known when the program is called.
    """
    if value is None or isinstance(value, Tensor):
        return True
    number = example_value(value)
    if isinstance(operand, Expression) and common is not int64:
        return False
    if isinstance(number, bool) or common is bool_:
        return number in (0, 1) and not isinstance(number, float)
    bounds = iinfo(common)
    return type(number) is int and bounds.min <= number <= bounds.max


def _fold(step: Step, call: Call) -> dict[str, Any] | None:
    """Return the dtype, shape and folded dimensions of the group of a reduction; None if it cannot be fused."""
    if step.name not in _ROW_FOLDS:
        return None
    result, source, dims = step.results[0], call.arguments[0], call.state.dims
    if result is None or not dims or dims != tuple(range(dims[0], dims[-1] + 1)):
        return None
    keeps = len(result.shape) == source.ndim
    if source.dtype not in _DTYPES or result.dtype is not source.dtype or not (keeps or result.shape):
        return None
    row = sizes_of(tuple(1 if dim in dims else size for dim, size in enumerate(source.shape)))
    bare = frozenset(() if keeps else (result.name,))
    return {"dtype": source.dtype, "shape": sizes_of(source.shape), "row": row, "dims": dims, "bare": bare}


def _rows(step: Step, call: Call) -> dict[str, Any] | None:
    """Return the dtype, shape and folded dimensions of the group of a row step; None if it cannot be fused."""
    state = call.state
    kinds = {result.dtype for result in step.results if result is not None}
    kinds |= {call.arguments[at].dtype for at in state.places if isinstance(call.arguments[at], Tensor)}
    if len(kinds) != 1 or not kinds <= set(_DTYPES) or state.cast is not None or not state.dims:
        return None
    row = tuple(1 if dim in state.dims else size for dim, size in enumerate(state.shape))
    return {"dtype": kinds.pop(), "shape": sizes_of(state.shape), "row": sizes_of(row), "dims": state.dims}


_KINDS: Mapping[type, Callable[[Step, Call], dict[str, Any] | None]] = {
    PointwiseDefinition: _pointwise,
    ReductionDefinition: _fold,
    RowDefinition: _rows,
}


def _joined(first: _Group, second: _Group) -> _Group | None:
    """Return two groups as one; None if they cannot be fused, or the second does not read the first."""
    if first.dtype is None or second.dtype is None or not second.reads & first.result_names:
        return None
    if first.dtype is not second.dtype and bool_ not in (first.dtype, second.dtype):
        return None
    if second.reads & first.bare:
        return None
    folding = first if first.row is not None else second
    other = second if folding is first else first
    if other.row is None:
        fits = other.shape in (folding.shape, folding.row)
    else:
        fits = (other.shape, other.dims) == (folding.shape, folding.dims)
    return _together(first, second, folding) if fits else None


def _together(first: _Group, second: _Group, like: _Group) -> _Group | None:
    """Merge two groups; return None if the result would be too large."""
    steps, texts = (*first.steps, *second.steps), first.result_names | second.result_names
    reads = (first.reads | second.reads) - texts
    if sum(map(_size, steps)) > _MOST_NODES or len(reads) > _MOST_OPERANDS:
        return None
    places = min(first.places[0], second.places[0]), max(first.places[1], second.places[1])
    whole, bare = (first.whole | second.whole) - texts, first.bare | second.bare
    dtype = second.dtype if first.dtype is bool_ else first.dtype
    return attrs.evolve(
        like, steps=steps, reads=reads, result_names=texts, places=places, dtype=dtype, whole=whole, bare=bare
    )


def _side_by_side(separate_groups: Sequence[_Group], readers: Mapping[str, int]) -> list[_Group]:
    """Merge groups that read the same tensor and do not depend on each other."""
    groups = _Groups()
    kept: dict[int, _Group] = {}
    beside: dict[str, list[_Group]] = {}
    for group in separate_groups:
        groups.add(group)
    for group in separate_groups:
        others = {id(peer): peer for name in group.whole for peer in beside.get(name, ()) if id(peer) in kept}
        for other in sorted(others.values(), key=lambda group: group.places):
            joined = _beside(other, group)
            if (
                joined is not None
                and not groups.leads_around(other, group)
                and not groups.leads_around(group, other)
                and _composed(joined, readers) is not None
            ):
                del kept[id(other)]
                group = joined
                groups.add(group)
        kept[id(group)] = group
        for name in group.whole:
            beside.setdefault(name, []).append(group)
    return list(kept.values())


def _beside(first: _Group, second: _Group) -> _Group | None:
    """Return two groups that read the same tensor as one; None if they cannot be fused, or one reads the other."""
    forms = ((group.dtype, group.shape, group.row, group.dims) for group in (first, second))
    if len(set(forms)) > 1 or first.reads & second.result_names or second.reads & first.result_names:
        return None
    return _together(first, second, first)


def _size(step: Step) -> int:
    """Return the number of scalar operations of a step."""
    return 1 if step.name in _ROW_FOLDS else len(scalar_call(step).function.nodes)


def _in_order(groups: Sequence[_Group]) -> list[_Group]:
    """Sort groups so that each comes after those it reads."""
    made_by = {name: group for group in groups for name in group.result_names}
    done: dict[int, _Group] = {}
    waiting = list(reversed(groups))
    while waiting:
        group = waiting[-1]
        before = [made_by[name] for name in sorted(group.reads) if name in made_by and id(made_by[name]) not in done]
        if before:
            waiting += before
        else:
            done[id(waiting.pop())] = group
    return list(done.values())


def _as_one(group: _Group, readers: Mapping[str, int]) -> Sequence[Step]:
    """Return the steps that a group is replaced by: the fused step, or the group's own steps if they cannot be fused.

    Args:
        group: the steps.
        readers: for each name, the number of groups that read it, plus one if the program returns it.
    """
    composition = _composed(group, readers)
    if composition is None:
        before = _of_other_dtypes(group, readers)
        if not 0 < len(before) < len(group.steps):
            return group.steps
        early = set(map(id, before))
        rest = attrs.evolve(group, steps=tuple([step for step in group.steps if id(step) not in early]))
        return [*before, *_as_one(rest, readers)]
    wanted = _wanted(group, readers)
    names = [result.name for result in wanted]
    if group.row is None:
        kinds = enumerate(result.dtype for result in wanted)
        operator = composition.pointwise(names, frozenset(at for at, kind in kinds if kind is not group.dtype))
    else:
        operator = composition.row(names, group.dims, [_is_of_rows(group, result) for result in wanted])
    results = [
        attrs.evolve(result, name=f"{result.name}_kept", shape=group.row or ()) if result.name in group.bare else result
        for result in wanted
    ]
    fused = Step(operator, composition.operands, {}, tuple(results), parts=group.steps)
    pairs = zip(results, wanted, strict=True)
    return [fused, *(_without_folded(kept, bare) for kept, bare in pairs if kept is not bare)]


def _can_return(group: _Group, result: Result) -> bool:
    """Return whether a fused step can have a result: one of its dtype or, beside integers, a truth value.

    Gradients of floating results are taken of all results of a step alike, so that no other dtype is among these.
    """
    return result.dtype is group.dtype or (result.dtype is bool_ and group.dtype in _INTEGERS)


def _of_other_dtypes(group: _Group, readers: Mapping[str, int]) -> list[Step]:
    """Return the steps of a pointwise group that compute results in another dtype than the fused step can have, with
    the steps that these read. They run before the rest of the group, which is fused without them.
    """
    if group.row is not None:
        return []
    needed = {result.name for result in _wanted(group, readers) if not _can_return(group, result)}
    before: list[Step] = []
    for step in reversed(group.steps):
        if needed & step.result_names:
            before.insert(0, step)
            needed |= step.reads
    return before


def _composed(group: _Group, readers: Mapping[str, int]) -> Composition | None:
    """Return the composed scalar functions of a group's steps; None if they cannot become one step."""
    wanted = _wanted(group, readers)
    if len(group.steps) == 1 or not wanted or not all(_can_return(group, result) for result in wanted):
        return None
    composition = Composition(group.steps, _ROW_FOLDS)
    if not any(tensor.dtype is group.dtype for tensor in composition.tensors.values()):
        return None
    # Results must keep the memory layout that they have without fusion: that of operands, if these agree.
    whole = [tensor.geometry for tensor in composition.tensors.values() if _has_sizes(tensor.shape, group.shape)]
    if len({sizes_of(geometry.strides) for geometry in whole}) > 1 and not all(map(_is_row_major, whole)):
        return None
    if group.row is None:
        return composition
    # Row kernels need contiguous rows of operands and results.
    is_whole = bool(whole) and all(geometry.is_contiguous() for geometry in whole)
    return (
        composition
        if is_whole and all(_is_of_rows(group, result) or composition.varies(result.name) for result in wanted)
        else None
    )


def _wanted(group: _Group, readers: Mapping[str, int]) -> list[Result]:
    """Return the results of a group that other groups read or the program returns."""
    return [result for step in group.steps for result in step.results if result is not None and readers[result.name]]


def _is_of_rows(group: _Group, result: Result) -> bool:
    """Return whether a result has one element for each row."""
    return result.name in group.bare or (result.shape == group.row and group.row != group.shape)


def _without_folded(kept: Result, bare: Result) -> Step:
    """Return the step that removes the kept dimensions of a fold's result, as a new tensor since a sum is no view."""
    sizes = tuple(Expression(size) if isinstance(size, str) else size for size in bare.shape)
    return Step(operator_named("aten::_unsafe_view"), (Expression(kept.name), sizes), {}, (bare,))


def _has_sizes(shape: Sequence[Any], sizes: Sequence[Any]) -> bool:
    """Return whether a shape equals a result's shape, where one of two equal sizes may be symbolic and the other a
    number.
    """
    pairs = zip(shape, sizes_of(shape), sizes, strict=False)
    return len(shape) == len(sizes) and all(size in (own, example_value(extent)) for extent, own, size in pairs)


def _is_row_major(form: TensorMeta) -> bool:
    """Return whether the strides surely are in row-major order, possibly with gaps."""
    strides = [stride for size, stride in zip(form.shape, form.strides, strict=True) if is_symbol(size) or size != 1]
    return all((least(outer - inner) or 0) > 0 for outer, inner in itertools.pairwise([*strides, 0]))
