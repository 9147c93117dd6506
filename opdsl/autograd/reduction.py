"""Derivatives of reductions: a reduction by sums, maxima or minima is differentiated as a row function."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from opdsl.autograd.constants import filled
from opdsl.autograd.derivative import Formula
from opdsl.autograd.derived_operators import shown
from opdsl.autograd.row import RowGradient, row_gradient
from opdsl.kernels.definitions.reduction import Reducing, ReductionDefinition
from opdsl.kernels.definitions.reduction_functions import Fold
from opdsl.runtime import Tensor
from opdsl.runtime.forking import held_across_fork
from opdsl.scalar import ScalarFunction
from opdsl.scalar.composing import Composer
from opdsl.scalar.derivative import differentiate
from opdsl.schema import FunctionSchema
from opdsl.schema.parameters import Role

__all__ = ["ReductionDerivative"]

_lock = held_across_fork(threading.RLock())

# The row reduction for each operation that combines accumulators.
_FOLDS = {"add": "row_sum", "maximum": "row_max", "minimum": "row_min"}

# Kinds of accumulators that row reductions can replace, and those among them in float64.
_PLAIN = ("value", "real", "double", "real_double")
_DOUBLE = ("double", "real_double")


class ReductionDerivative:
    """Derivative of a reduction.

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: ReductionDefinition) -> None:
        self.definition = definition
        self.names = tuple(parameter.name for parameter in definition.parameters)
        self.tensors = tuple(parameter.name for parameter in definition.parameters if parameter.role is Role.TENSOR)
        self.types = {
            argument.python_name: str(argument.type).removesuffix("?") for argument in definition.schema.arguments
        }
        self._gradients: dict[tuple[int, tuple[str, ...]], RowGradient] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``: returns None if accumulators are anything but sums, maxima and minima of real numbers.

        Raises:
            ScalarFunctionError: an operation of a scalar function has no derivative.
        """
        folds = self.definition.folds
        if is_complex or any(row_function(fold) is None for fold in folds):
            return None
        wanted = tuple(required)
        needed = {
            name
            for index, fold in enumerate(folds)
            if (own := tuple(text for text in wanted if text in fold.tensors))
            for name in self._gradient(index, own).names
        }

        def run(gradients: Sequence[Any], values: Mapping[str, Any], asked: Sequence[bool]) -> list[Tensor | None]:
            return self._run(wanted, gradients, values, asked)

        forms = frozenset(self.tensors) - needed
        return (Formula(wanted, run, self.names, forms, self.definition.results > 1, is_traceable=True),)

    def source(self, required: Sequence[str] | None = None) -> str:
        """Return the text of the derivatives of its row functions."""
        return "\n\n".join(map(_shown, self.definition.folds))

    def _gradient(self, index: int, wanted: tuple[str, ...]) -> RowGradient:
        with _lock:
            gradient = self._gradients.get((index, wanted))
            if gradient is None:
                fold = self.definition.folds[index]
                function = row_function(fold)
                assert function is not None, "formulas has looked"
                gradient = row_gradient(function, wanted, fold.tensors, self.types, self.definition.name)
                self._gradients[index, wanted] = gradient
            return gradient

    def _run(
        self, names: tuple[str, ...], gradients: Sequence[Any], values: Mapping[str, Any], asked: Sequence[bool]
    ) -> list[Tensor | None]:
        state: Reducing = self.definition.prepare(tuple(values[name] for name in self.names), ()).state
        fold, dims = state.fold, state.dims
        wanted = tuple(name for name, is_asked in zip(names, asked, strict=True) if is_asked and name in fold.tensors)
        if not wanted:
            return [None] * len(names)
        known = next(gradient for gradient in gradients if gradient is not None)
        seeds = [filled(known.geometry, 0) if gradient is None else gradient for gradient in gradients]
        index = next(at for at, candidate in enumerate(self.definition.folds) if candidate is fold)
        gradient = self._gradient(index, wanted)
        # The dimensions of a row have to be adjacent; they are moved to the end.
        kept = [dim for dim in range(len(state.shape)) if dim not in dims]
        order = [*kept, *dims]
        shape = tuple(state.shape[dim] for dim in order)
        rows = [size if at < len(kept) else 1 for at, size in enumerate(shape)]
        elements = {name: _turned(values[name], order) if name in gradient.names else None for name in fold.tensors}
        numbers = {parameter.name: number for parameter, number in zip(fold.numbers, state.numbers, strict=True)}
        seeds = [seed.reshape(rows) for seed in seeds]
        tensors = gradient(seeds, {**elements, **numbers}, shape, range(len(kept), len(order)))
        back = sorted(range(len(order)), key=order.__getitem__)
        by_name = {name: tensor.permute(back) for name, tensor in zip(wanted, tensors, strict=True)}
        return [by_name.get(name) for name in names]


def _turned(tensor: Tensor, order: Sequence[int]) -> Tensor:
    """Return a tensor with its dimensions permuted; missing leading dimensions are added with size 1."""
    missing = len(order) - tensor.ndim
    return (tensor.reshape((*[1] * missing, *tensor.shape)) if missing else tensor).permute(order)


def _shown(fold: Fold) -> str:
    function = row_function(fold)
    if function is None:
        return f"# {fold.combine.name} folds otherwise than by sums and extrema: no derivative."
    return shown(differentiate(function, fold.tensors, elements=fold.tensors))


def row_function(fold: Fold) -> ScalarFunction | None:
    """Return a reduction as a row function; None if its accumulators are not row reductions.

    Its parameters are the tensors and the numbers, by their names.
    """
    kinds = [_combining(fold.combine, at, len(fold.accumulators)) for at in range(len(fold.accumulators))]
    if None in kinds or fold.with_index or not set(fold.accumulators).issubset(_PLAIN):
        return None
    graph = Composer(fold.combine.source)
    elements = [graph.parameter(tensor) for tensor in fold.tensors]
    numbers = {number.name: graph.parameter(number.name) for number in fold.numbers}
    listed = list(numbers.values())
    lifted = graph.call(fold.lift, [*elements, *(listed[at] for at in fold.lifted_numbers)])
    wide = [
        graph.add("to_double", number) if kind in _DOUBLE else number
        for number, kind in zip(lifted, fold.accumulators, strict=True)
    ]
    folded = [graph.add(str(kind), number) for kind, number in zip(kinds, wide, strict=True)]
    results = graph.call(fold.finish, [*folded, graph.add("row_count", elements[0]), *listed])
    return graph.finish(fold.combine.name, (*fold.tensors, *numbers), results[: len(fold.results)])


def _combining(combine: ScalarFunction, at: int, count: int) -> str | None:
    """Return the row reduction (``row_sum``...) that an accumulator is; None for another one."""
    node = combine.nodes[combine.results[at]]
    operands = [combine.nodes[operand] for operand in node.arguments]
    wanted = {combine.parameters[at], combine.parameters[count + at]}
    is_of_itself = (
        all(operand.op == "parameter" for operand in operands) and {operand.value for operand in operands} == wanted
    )
    return _FOLDS.get(node.op) if is_of_itself else None
