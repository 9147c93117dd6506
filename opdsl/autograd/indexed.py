"""Derivatives of indexed operators, derived from their functions of indices.

The gradient of an element that is read is added at the element's index (scatter-add): a derived indexed operator,
compiled by the same backends, with its own derivative. If a tensor is read at the result's own indices only, its
gradient is a fold instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from opdsl.autograd.derivative import Formula
from opdsl.autograd.derived_operators import defined, known_operator
from opdsl.kernels.definitions.indexed import IndexedDefinition
from opdsl.kernels.definitions.indexed_gradients import DerivedIndexed
from opdsl.scalar.indexed import EXTREMA, IndexedFunction
from opdsl.scalar.indexed_adjoint import adjoint, unfinished
from opdsl.schema import FunctionSchema, parse_schema
from opdsl.schema.implementation import result_names

__all__ = ["IndexedDerivative"]

PLACE = "place"


class IndexedDerivative:
    """Derivative of an operator that is declared by a function of indices (``IndexedDefinition``).

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: IndexedDefinition) -> None:
        self.definition = definition
        self._operators: dict[object, Callable[..., Any]] = {}
        names = {argument.python_name for argument in definition.schema.arguments}
        self.grads = "grad"
        while any(name.startswith(self.grads) for name in names):
            self.grads += "_"  # a number is appended to the name of each of several gradients

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results except the index of a maximum or minimum are differentiable."""
        count = len(schema.returns)
        return (True,) * (count - self.definition.with_place) + (False,) * self.definition.with_place

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula]:
        """See ``Derivative``."""
        parameters = tuple(parameter.name for parameter in self.definition.parameters)
        results = result_names(self.definition.schema)
        reads = (*parameters, *results[len(results) - self.definition.with_place :])
        return [
            Formula((name,), partial(self._run, name, is_complex), reads, frozenset(), True, True) for name in required
        ]

    def source(self) -> str:
        """Return a description of the derivative."""
        return "# Each place that is read gets what the gradient of the value makes of it."

    def _run(
        self,
        wanted: str,
        is_complex: bool,
        gradients: tuple[Any, ...],
        values: Mapping[str, Any],
        asked: tuple[bool, ...],
    ) -> Sequence[Any]:
        definition = self.definition
        arguments = [values[parameter.name] for parameter in definition.parameters]
        if wanted not in definition.arrays(tuple(arguments)):
            return (None,)
        grads = list(gradients[: len(gradients) - definition.with_place])
        folds_places = definition.fold in EXTREMA
        folded: list[Any] = []
        if (folds_places and not definition.gives_turns) or definition.finish is not None:
            folded = list(self._folded(folds_places)(*arguments))
        more = [folded.pop() if folded else values[result_names(definition.schema)[-1]]] if folds_places else []
        if definition.finish is not None:
            seeds = self._unfinished(len(grads), len(folded), is_complex)(*grads, *folded, *arguments)
            grads = list(seeds) if isinstance(seeds, tuple) else [seeds]
        return (self._adjoint(wanted, len(grads), len(more), is_complex)(*grads, *more, *arguments),)

    def _folded(self, with_place: bool) -> Callable[..., Any]:
        """Return the operator of the folded values and, if ``with_place``, their positions, which returns a tuple."""

        def make(indexed: IndexedFunction, is_whole: bool) -> IndexedFunction:
            return indexed.by_turns()._replace(finish=None, with_place=with_place)

        count = self.definition.values + with_place
        operator = self._operator("folded", (), make, "", count, self.definition.fold)
        return operator if count > 1 else lambda *arguments: (operator(*arguments),)

    def _unfinished(self, grads: int, folded: int, is_complex: bool) -> Callable[..., Any]:
        texts = tuple(f"{self.grads}{k}" for k in range(grads))
        names = (*texts, *(f"folded{k}" for k in range(folded)))

        def make(indexed: IndexedFunction, is_whole: bool) -> IndexedFunction:
            return unfinished(indexed, texts, is_complex=is_complex)

        return self._operator(f"unfinished{is_complex}", names, make, "", folded)

    def _adjoint(self, wanted: str, grads: int, places: int, is_complex: bool) -> Callable[..., Any]:
        texts = tuple(f"{self.grads}{k}" for k in range(grads))

        def make(indexed: IndexedFunction, is_whole: bool) -> IndexedFunction:
            plain = indexed.by_turns()._replace(finish=None, with_place=False)
            return adjoint(plain, wanted, texts, is_complex=is_complex, is_whole=is_whole)

        return self._operator(f"{wanted}_gradient{is_complex}", (*texts, *[PLACE] * places), make, wanted, 1)

    def _operator(
        self,
        what: str,
        names: Sequence[str],
        make: Callable[[IndexedFunction, bool], IndexedFunction],
        like: str,
        results: int,
        fold: str = "",
    ) -> Callable[..., Any]:
        """Return the operator of a derived definition, whose first arguments are the tensors ``names``; cached."""
        key = (what, tuple(names), results)
        if key not in self._operators:
            self._operators[key] = self._made(what, names, make, like, results, fold)
        return self._operators[key]

    def _made(
        self,
        what: str,
        names: Sequence[str],
        make: Callable[[IndexedFunction, bool], IndexedFunction],
        like: str,
        results: int,
        fold: str = "",
    ) -> Callable[..., Any]:
        definition = self.definition
        types = {argument.python_name: str(argument.type) for argument in definition.schema.arguments}
        arguments = [f"Tensor {name}" for name in names]
        arguments += [f"{types[parameter.name]} {parameter.name}" for parameter in definition.parameters]
        returns = ", ".join(["Tensor"] * results)
        base = definition.schema.name
        stem = f"{base.base.strip('_')}_{base.overload}".strip("_")
        rest = f"({', '.join(arguments)}) -> {returns if results == 1 else f'({returns})'}"
        count = 0  # notebooks and tests declare operators of the same name again
        while True:
            schema = parse_schema(f"derived::{stem}_{what.strip('_').lower()}_{count}{rest}")
            if known_operator(schema) is None:
                break
            count += 1
        derived = DerivedIndexed(schema, definition.name, definition, make, like, fold)
        return defined(schema, derived, definition.name, accepts_numbers=True)
