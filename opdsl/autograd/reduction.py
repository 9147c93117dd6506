"""Derivatives of reductions: those that fold by sums and extrema are row functions whose results a row has one of."""

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

__all__ = ["ReductionDerivative"]

_lock = held_across_fork(threading.RLock())

# Which fold of a row accumulators are that are combined by an operation.
_FOLDS = {"add": "row_sum", "maximum": "row_max", "minimum": "row_min"}

# Kinds of accumulators in which a fold of a row has the gradients that they have, and those among them in float64.
_PLAIN = ("value", "real", "double", "real_double")
_DOUBLE = ("double", "real_double")

_ELEMENT = "element"


class ReductionDerivative:
    """The derivative of a reduction.

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: ReductionDefinition) -> None:
        self.definition = definition
        self.names = tuple(each.name for each in definition.parameters)
        self.types = {each.python_name: str(each.type).removesuffix("?") for each in definition.schema.arguments}
        self._gradients: dict[int, RowGradient] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all of them."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``: None where something else is accumulated than sums and extrema of real numbers.

        Raises:
            ScalarFunctionError: an operation of a scalar function has no derivative.
        """
        folds = self.definition.folds
        if is_complex or any(row_function(each) is None for each in folds):
            return None
        reads_element = any(_ELEMENT in self._gradient(index).names for index in range(len(folds)))
        forms = frozenset() if reads_element else frozenset(self.names[:1])
        return (Formula(self.names[:1], self._run, self.names, forms, self.definition.results > 1, is_traceable=True),)

    def source(self, required: Sequence[str] | None = None) -> str:
        """The derivatives of its row functions, to read."""
        return "\n\n".join(map(_shown, self.definition.folds))

    def _gradient(self, index: int) -> RowGradient:
        with _lock:
            found = self._gradients.get(index)
            if found is None:
                function = row_function(self.definition.folds[index])
                assert function is not None, "formulas has looked"
                found = row_gradient(function, (_ELEMENT,), (_ELEMENT,), self.types, self.definition.name)
                self._gradients[index] = found
            return found

    def _run(self, gradients: Sequence[Any], values: Mapping[str, Any], asked: Sequence[bool]) -> tuple[Tensor]:
        source: Tensor = values[self.names[0]]
        state: Reducing = self.definition.prepare(tuple(values[name] for name in self.names), ()).state
        known = next(each for each in gradients if each is not None)
        given = [filled(known.geometry, 0) if each is None else each for each in gradients]
        folds = self.definition.folds
        gradient = self._gradient(next(at for at, fold in enumerate(folds) if fold is state.fold))
        numbers = {each.name: number for each, number in zip(state.fold.numbers, state.numbers, strict=True)}
        kept = [dim for dim in range(source.ndim) if dim not in state.dims]
        order = [*kept, *state.dims]
        shape = tuple(source.shape[dim] for dim in order)
        rows = [size if at < len(kept) else 1 for at, size in enumerate(shape)]
        element = source.permute(order) if _ELEMENT in gradient.names else None
        given = [each.reshape(rows) for each in given]
        (found,) = gradient(given, {_ELEMENT: element, **numbers}, shape, range(len(kept), len(order)))
        return (found.permute(sorted(range(len(order)), key=order.__getitem__)),)


def _shown(fold: Fold) -> str:
    function = row_function(fold)
    if function is None:
        return f"# {fold.combine.name} folds otherwise than by sums and extrema: no derivative."
    return shown(differentiate(function, (_ELEMENT,), elements=(_ELEMENT,)))


def row_function(fold: Fold) -> ScalarFunction | None:
    """A reduction as a row function; None where it folds otherwise than rows do.

    Its parameters are the element and the numbers, by their names.
    """
    kinds = [_combining(fold.combine, at, len(fold.accumulators)) for at in range(len(fold.accumulators))]
    if None in kinds or fold.with_index or not set(fold.accumulators).issubset(_PLAIN):
        return None
    graph = Composer(fold.combine.source)
    element = graph.parameter(_ELEMENT)
    numbers = {each.name: graph.parameter(each.name) for each in fold.numbers}
    listed = list(numbers.values())
    lifted = graph.call(fold.lift, [element, *(listed[at] for at in fold.lifted_numbers)])
    wide = [
        graph.add("to_double", each) if kind in _DOUBLE else each
        for each, kind in zip(lifted, fold.accumulators, strict=True)
    ]
    folded = [graph.add(str(kind), each) for kind, each in zip(kinds, wide, strict=True)]
    results = graph.call(fold.finish, [*folded, graph.add("row_count", element), *listed])
    return graph.finish(fold.combine.name, (_ELEMENT, *numbers), results[: len(fold.results)])


def _combining(combine: ScalarFunction, at: int, count: int) -> str | None:
    """The fold of a row that an accumulator is; None for another one."""
    node = combine.nodes[combine.results[at]]
    operands = [combine.nodes[each] for each in node.arguments]
    wanted = {combine.parameters[at], combine.parameters[count + at]}
    is_of_itself = all(each.op == "parameter" for each in operands) and {each.value for each in operands} == wanted
    return _FOLDS.get(node.op) if is_of_itself else None
