"""Passes that rearrange matrix products and slices before steps are fused and derivatives are made.

Most of them serve recurrent networks: products with all time steps of the input become one product, biases are added
where gates are computed, and gates are computed from the slices that they read. Losses are summed by the step that
computes them. New steps are plain calls without scalar functions: callers trace the result again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from opdsl.dispatch import DispatchKey, Operator
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.programs.memory import Memory, returned_by
from opdsl.programs.passes import Pass, without_repeated_steps
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Result, Size, Step, names_in, operator_named
from opdsl.runtime import DType, float32, float64

__all__ = [
    "ARRANGEMENTS",
    "BY_ROWS",
    "arranged",
    "with_joined_products",
    "with_slices_first",
    "with_sums_apart",
    "with_sums_by_rows",
]

# Dtypes to rearrange: in 16 bits each step is rounded, so that splitting a sum changes the result.
_DTYPES = (float32, float64)

_SLICING = ("aten::split.Tensor", "aten::split_with_sizes")
_PRODUCTS = ("aten::mm", "aten::addmm")
BY_ROWS = {"aten::sum": "aten::sum.dim_IntList", "aten::mean": "aten::mean.dim"}
"""Operators that fold each row, by the operator that folds all elements."""


def arranged(program: Program) -> Program:
    """Apply all rearranging passes; return the program itself if nothing changes."""
    for arrangement in ARRANGEMENTS:
        program = arrangement(program)
    return program


def with_sums_apart(program: Program) -> Program:
    """Split ``addmm`` into a product and a sum where the sum can be fused with the steps that follow.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x, w, b: (b.addmm(x, w)).tanh(), *[opdsl.ones(2, 2)] * 2, opdsl.ones(2))
    >>> [step.name for step in with_sums_apart(program).steps]
    ['aten::mm', 'aten::add.Tensor', 'aten::tanh']
    """
    known = _Known(program)
    steps: list[Step] = []
    for step in program.steps:
        result = step.results[0] if step.name == "aten::addmm" else None
        if result is None or len(step.operands) != 3 or step.options or not known.is_read_by_elements(result):
            steps.append(step)
            continue
        product = attrs.evolve(result, name=known.free(result.name))
        steps.append(Step(operator_named("aten::mm"), step.operands[1:], {}, (product,)))
        operands = Expression(product.name), step.operands[0]
        steps.append(Step(operator_named("aten::add.Tensor"), operands, {}, (result,)))
    return program if len(steps) == len(program.steps) else program.replace(steps=tuple(steps))


def with_slices_first(program: Program) -> Program:
    """Replace a pointwise step whose result is sliced by slices of its operands and a pointwise step for each slice.

    >>> import opdsl
    >>> def gated(x, y):
    ...     one, other = (x + y).chunk(2, 1)
    ...     return one.sigmoid() * other.tanh()
    >>> program = opdsl.trace(gated, opdsl.ones(2, 6), opdsl.ones(2, 6))
    >>> [step.name.partition("::")[2] for step in with_slices_first(program).steps]
    ['split_with_sizes', 'split_with_sizes', 'add.Tensor', 'add.Tensor', 'sigmoid', 'tanh', 'mul.Tensor']
    """
    known = _Known(program)
    replaced: set[int] = set()
    backwards: list[Step] = []
    for step in reversed(program.steps):
        slicing = known.only_slicing(step)
        sliced = None if slicing is None else _of_slices(known, step, slicing)
        if slicing is None or sliced is None:
            backwards.append(step)
            continue
        replaced.add(id(slicing))
        backwards += reversed(sliced)
        known.forget(step)
        known.forget(slicing)
        for sliced_step in sliced:
            known.note(sliced_step)
    if not replaced:
        return program
    return program.replace(steps=tuple(backward for backward in reversed(backwards) if id(backward) not in replaced))


def with_joined_products(program: Program) -> Program:
    """Replace the products of all slices of a tensor with the same matrix by one product of the whole tensor.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x, w: [part @ w for part in x.unbind(0)], opdsl.ones(3, 2, 4), opdsl.ones(4, 5))
    >>> [step.name.partition("::")[2] for step in with_joined_products(program).steps]
    ['unbind.int', 'flatten.using_ints', 'mm', 'unflatten.int', 'unbind.int']
    """
    if not any(_families(_Known(program), program.steps)):
        return program
    unrepeated = without_repeated_steps(program)  # the matrix may be a view that is repeated for each slice
    known = _Known(unrepeated)
    place = {id(step): at for at, step in enumerate(unrepeated.steps)}
    first: dict[int, _Family] = {}
    joined: set[int] = set()
    for family in _families(known, unrepeated.steps):
        for product in family.products(known):
            joined.update(map(id, product))
            first[min(map(id, product), key=place.__getitem__)] = family._replace(joined=product)
    if not first:
        return program
    steps: list[Step] = []
    for step in unrepeated.steps:
        if id(step) in first:
            steps += first[id(step)].as_one(known)
        elif id(step) not in joined:
            steps.append(step)
    return unrepeated.replace(steps=tuple(steps))


def with_sums_by_rows(program: Program) -> Program:
    """Split full sums and means of pointwise results into a sum of each row and a sum of these.

    Rows are then summed in the fused step that computes them, which writes only one sum for each row.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x, y: (x - y).square().mean(), opdsl.ones(3, 2), opdsl.ones(3, 2))
    >>> [step.name.partition("::")[2] for step in with_sums_by_rows(program).steps]
    ['sub.Tensor', 'pow.Tensor_Scalar', 'mean.dim', 'mean']
    """
    known = _Known(program)
    makers = {result.name: step for step in program.steps for result in step.results if result is not None}
    steps: list[Step] = []
    for step in program.steps:
        source = step.operands[0].text if step.name in BY_ROWS and isinstance(step.operands[0], Expression) else ""
        shape, maker = known.shapes.get(source, ()), makers.get(source)
        result = step.results[0] if step.results else None
        is_of_all = len(step.operands) == 1 and not step.options and len(shape) > 1
        if is_of_all and result is not None and maker is not None and known.is_pointwise(maker, shape):
            rows = attrs.evolve(result, name=known.free(result.name), shape=(*shape[:-1], 1))
            of_rows = operator_named(BY_ROWS[step.name])
            steps.append(Step(of_rows, (Expression(source), (-1,), True), {}, (rows,)))
            step = attrs.evolve(step, operands=(Expression(rows.name),), call=None)
        steps.append(step)
    return program if len(steps) == len(program.steps) else program.replace(steps=tuple(steps))


ARRANGEMENTS: tuple[Pass, ...] = (with_sums_apart, with_slices_first, with_joined_products, with_sums_by_rows)
"""Passes that rearrange the steps of a program, in order."""


class _Known:
    """Index of a program's tensors: results, shapes, dtypes, and the steps that read each.

    results: results of its steps, by name.
    shapes, dtypes: of all tensors, by name.
    guards: guards of the program.
    """

    def __init__(self, program: Program) -> None:
        self.results = {result.name: result for step in program.steps for result in step.results if result is not None}
        self.shapes: dict[str, Sequence[Size]] = {
            input.name: input.shape for input in program.inputs if input.kind is None
        }
        self.shapes |= {name: tuple(constant.shape) for name, constant in program.constants.items()}
        self.shapes |= {name: result.shape for name, result in self.results.items()}
        self.dtypes: dict[str, DType | None] = {input.name: input.dtype for input in program.inputs}
        self.dtypes |= {name: constant.dtype for name, constant in program.constants.items()}
        self.dtypes |= {name: result.dtype for name, result in self.results.items()}
        self.guards = program.guards
        self._readers: dict[str, list[Step]] = defaultdict(list)
        for step in program.steps:
            self.note(step)
        self._memory, self._returned = Memory(program), returned_by(program)
        self._counts: Counter[str] = Counter()
        self._taken = {*self.shapes, *self.dtypes, *(size for size, _ in program.sizes)}

    def free(self, stem: str) -> str:
        """Return a name that no tensor or size has."""
        self._counts[stem] += 1
        name = f"{stem}_{self._counts[stem]}"
        return self.free(stem) if name in self._taken else name

    def note(self, step: Step) -> None:
        """Register a new step: as a reader of its operands, and as the maker of its results."""
        for read in step.reads:
            self._readers[read].append(step)
        for result in step.results:
            if result is not None:
                self.shapes[result.name], self.dtypes[result.name] = result.shape, result.dtype

    def forget(self, step: Step) -> None:
        """Unregister a removed step as a reader of its operands."""
        for read in step.reads:
            self._readers[read] = [reader for reader in self._readers[read] if reader is not step]

    def readers(self, name: str) -> list[Step]:
        """Return the steps that read a tensor."""
        return self._readers.get(name, [])

    def is_own(self, names: frozenset[str]) -> bool:
        """Return whether tensors are private to the program: not returned, and in memory that no step writes in
        place.
        """
        return not names & self._returned and not self._memory.of(names) & self._memory.written

    def is_written(self, names: frozenset[str]) -> bool:
        """Return whether a step writes in place to the memory of one of the tensors."""
        return bool(self._memory.of(names) & self._memory.written)

    def is_read_by_elements(self, result: Result) -> bool:
        """Return whether every reader of a tensor is a pointwise step of its shape, or slices it for such steps."""
        readers = self.readers(result.name)
        if not readers or result.dtype not in _DTYPES or not self.is_own(frozenset((result.name,))):
            return False
        return all(self._is_slicing(reader) or self.is_pointwise(reader, result.shape) for reader in readers)

    def only_slicing(self, step: Step) -> Step | None:
        """Return the step that slices the result of a pointwise step, if it is the only reader; else None."""
        result = step.results[0] if len(step.results) == 1 else None
        if result is None or result.dtype not in _DTYPES or not self.is_pointwise(step, result.shape):
            return None
        readers = self.readers(result.name)
        if len(readers) != 1 or not self._is_slicing(readers[0]):
            return None
        return readers[0] if self.is_own(step.result_names) else None

    def _is_slicing(self, step: Step) -> bool:
        """Return whether a step splits a tensor into slices that only pointwise steps read."""
        if step.name not in _SLICING or not self.is_own(step.result_names):
            return False
        return all(
            result is not None
            and self.readers(result.name)
            and all(self.is_pointwise(reader, result.shape) for reader in self.readers(result.name))
            for result in step.results
        )

    def is_pointwise(self, step: Step, shape: Sequence[Size]) -> bool:
        """Return whether a step computes one tensor of a shape element by element, from tensors of the same dtype."""
        result = step.results[0] if len(step.results) == 1 else None
        if result is None or result.dtype not in _DTYPES or tuple(result.shape) != tuple(shape):
            return False
        kinds = {self.dtypes[read] for read in step.reads if read in self.shapes}
        return kinds == {result.dtype} and _is_elementwise(step.operator)


def _is_elementwise(operator: Operator) -> bool:
    if operator.schema.is_mutable:
        return False
    kernel = operator.entry(DispatchKey("CPU")).kernel
    return isinstance(kernel, StructuredKernel) and isinstance(kernel.definition, PointwiseDefinition)


def _of_slices(known: _Known, step: Step, slicing: Step) -> list[Step] | None:
    """Build the steps that slice the operands of a pointwise step and compute each slice of its result; None if
    impossible.
    """
    result = step.results[0]
    assert result is not None, "the result of a pointwise step"
    slicing_args: dict[str, Any] = {
        **dict(zip(("tensor", "sizes", "dim"), slicing.operands, strict=False)),
        **slicing.options,
    }
    dim, ndim = slicing_args.get("dim", 0), len(result.shape)
    if type(dim) is not int:
        return None
    dim %= ndim
    steps: list[Step] = []
    parts: list[list[Any]] = [[] for _ in slicing.results]
    for operand in step.operands:
        shape = known.shapes.get(operand.text) if isinstance(operand, Expression) else None
        if shape is None and names_in(operand) & known.shapes.keys():
            return None  # a list of tensors
        at = -1 if shape is None else dim - (ndim - len(shape))
        if shape is None or at < 0 or shape[at] == 1 != result.shape[dim]:
            for part in parts:
                part.append(operand)
            continue
        if shape[at] != result.shape[dim]:
            return None
        slices = []
        for slice_result in slicing.results:
            assert slice_result is not None, "a slice"
            sizes = (*shape[:at], slice_result.shape[dim], *shape[at + 1 :])
            slices.append(Result(known.free(operand.text), slice_result.dtype, tuple(sizes), slice_result.device))
        steps.append(Step(slicing.operator, (operand, slicing_args["sizes"], at), {}, tuple(slices), slicing.is_list))
        for part, one in zip(parts, slices, strict=True):
            part.append(Expression(one.name))
    if any(names_in(option) & known.shapes.keys() for option in step.options.values()):
        return None
    results = zip(parts, slicing.results, strict=True)
    return [*steps, *(Step(step.operator, tuple(operands), step.options, (one,)) for operands, one in results)]


class _Family(NamedTuple):
    """All slices of a tensor with three dimensions along its first or second dimension, which are multiplied by one
    matrix.

    source, dim: the tensor, and the dimension.
    names: names of the slices, in order.
    joined: the products that are replaced by one.
    """

    source: str
    dim: int
    names: tuple[str, ...]
    joined: tuple[Step, ...] = ()

    def products(self, known: _Known) -> list[tuple[Step, ...]]:
        """Return the groups of steps that multiply every slice by one matrix, with the same bias for all if there is
        one.
        """
        steps: dict[Any, dict[str, Step]] = defaultdict(dict)
        for name in self.names:
            for step in known.readers(name):
                others = _others(step, name)
                if others is None or step.options or known.is_written(step.reads | step.result_names):
                    continue
                if len(others) == 1 or len(known.shapes.get(others[0], (0, 0))) == 1:
                    steps[others].setdefault(name, step)
        complete = (value for value in steps.values() if len(value) == len(self.names))
        return [tuple(steps[name] for name in self.names) for steps in complete]

    def as_one(self, known: _Known) -> list[Step]:
        """Build the steps that compute all products of the slices by one product of the whole tensor."""
        result = self.joined[0].results[0]
        assert result is not None, "a product"
        columns = result.shape[1]
        shape = known.shapes[self.source]
        inner = shape[2]
        lead = f"({shape[0]}) * ({shape[1]})"
        flat = attrs.evolve(result, name=known.free(self.source), shape=(lead, inner))
        whole = attrs.evolve(result, name=known.free(result.name), shape=(lead, columns))
        apart = attrs.evolve(result, name=known.free(result.name), shape=(*shape[:2], columns))
        sizes = tuple([Expression(size) if isinstance(size, str) else size for size in shape[:2]])
        expressions = [
            Expression(flat.name) if operand == Expression(self.names[0]) else operand
            for operand in self.joined[0].operands
        ]
        return [
            Step(operator_named("aten::flatten.using_ints"), (Expression(self.source), 0, 1), {}, (flat,)),
            Step(self.joined[0].operator, tuple(expressions), {}, (whole,)),
            Step(operator_named("aten::unflatten.int"), (Expression(whole.name), 0, sizes), {}, (apart,)),
            Step(
                operator_named("aten::unbind.int"),
                (Expression(apart.name), self.dim),
                {},
                tuple(step.results[0] for step in self.joined),
                is_list=True,
            ),
        ]


def _others(step: Step, name: str) -> tuple[str, ...] | None:
    """Return the names of the other operands of a matrix product: the bias, if any, and the matrix; None for other
    steps.
    """
    if step.name not in _PRODUCTS or not all(isinstance(operand, Expression) for operand in step.operands):
        return None
    names = [operand.text for operand in step.operands]
    if names[-2] != name or names.count(name) != 1 or len(names) != 2 + (step.name == "aten::addmm"):
        return None
    return (*names[:-2], names[-1])


def _families(known: _Known, steps: Sequence[Step]) -> list[_Family]:
    """Return the tensors of which every slice is taken and multiplied by a matrix."""
    families: list[_Family] = []
    selected: Mapping[tuple[str, int], dict[int, str]] = defaultdict(dict)
    for step in steps:
        result = step.results[0] if step.results else None
        if result is None or step.options or not (step.operands and isinstance(step.operands[0], Expression)):
            continue
        source, rest = step.operands[0].text, step.operands[1:]
        if len(known.shapes.get(source, ())) != 3 or not any(
            _others(reader, result.name) is not None for reader in known.readers(result.name)
        ):
            continue
        if step.name == "aten::unbind.int" and rest in ((), (0,), (1,)):
            names = tuple(result.name for result in step.results if result is not None)
            families.append(_Family(source, *(rest or (0,)), names))
        elif step.name == "aten::select.int" and rest[0] in (0, 1) and type(rest[1]) is int:
            selected[source, rest[0]].setdefault(rest[1], result.name)
    for (source, dim), parts in selected.items():
        size = known.shapes[source][dim]
        are_all = size == len(parts) or f"{size} == {len(parts)}" in known.guards
        if are_all and sorted(parts) == list(range(len(parts))):
            families.append(_Family(source, dim, tuple(parts[at] for at in range(len(parts)))))
    return [family for family in families if len(family.names) > 1]
