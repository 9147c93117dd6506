"""Derivatives of definitions with several cases: the derivative of the case that a call selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdsl.autograd.derivative import Formula
from opdsl.autograd.derived_operators import derivative_of_definition
from opdsl.kernels.definitions.cases import CasesDefinition
from opdsl.schema import FunctionSchema

__all__ = ["CasesDerivative"]


class CasesDerivative:
    """Derivative of an operator whose definition has several cases.

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: CasesDefinition) -> None:
        self.definition = definition
        self.derivatives = [derivative_of_definition(case) for _, case in definition.cases]

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``: returns None if one of the cases has no formulas.

        Raises:
            ScalarFunctionError: an operation of a scalar function has no derivative.
        """
        formula_lists = [derivative.formulas(required, is_complex=is_complex) for derivative in self.derivatives]
        if None in formula_lists:
            return None
        formulas: list[Formula] = [formula for (formula,) in formula_lists]

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            return formulas[self.definition.case(values)].run(gradients, values, asked)

        first = formulas[0]
        forms = frozenset.intersection(*(formula.forms for formula in formulas))
        return (first._replace(run=run, forms=forms, unread=None),)

    def source(self, required: Sequence[str] | None = None) -> str:
        """Return the source of the derivatives of all cases."""
        names = [", ".join(f"{name}={value!r}" for name, value in texts.items()) for texts, _ in self.definition.cases]
        sources = [derivative.source(required) for derivative in self.derivatives]
        return "\n\n".join(f"# {name or 'else'}\n{source}" for name, source in zip(names, sources, strict=True))
