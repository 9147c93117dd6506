"""Formulas for gradients, and arguments that have none."""

from __future__ import annotations

from collections.abc import Iterable

from opdsl.autograd.derivative import DeclaredDerivative
from opdsl.declare.attachment import Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.signature import location
from opdsl.errors import KernelSignatureError


def attach_derivative(given: Attachment) -> None:
    """Take a formula for the gradients of arguments.

    Its option ``output_differentiability`` says for each result whether gradients come through it.

    Raises:
        KernelSignatureError: names or parameters do not fit the schema.
    """
    declaration, formula = given.declaration, given.function
    schema = declaration.main.schema
    through = given.options.get("output_differentiability")
    results = None if through is None else tuple(map(bool, through))
    if results is not None and len(results) != len(schema.returns):
        raise KernelSignatureError(
            f"{location(formula)}: {declaration.name}: output_differentiability has {len(results)} values, but "
            f"{schema} returns {len(schema.returns)}. Give one for each."
        )
    given.checks().require_gradients(given.texts)
    derivative = _derivative(declaration)
    derivative.add(given.texts, formula)
    derivative.results = derivative.results if results is None else results
    _keep(declaration, derivative)


def exclude_from_derivative(declaration: Declaration, names: Iterable[str]) -> None:
    """Say that gradients do not go to these arguments.

    Raises:
        KernelSignatureError: a name is no tensor argument.
    """
    derivative = _derivative(declaration)
    derivative.exclude(names)
    _keep(declaration, derivative)


def _derivative(declaration: Declaration) -> DeclaredDerivative:
    """What has been declared of the operator's gradients, or the beginning of it."""
    found = declaration.main.derivative
    if found is None:
        return DeclaredDerivative(declaration.main.schema, declaration.name)
    assert isinstance(found, DeclaredDerivative), "nothing else is set here"
    return found


def _keep(declaration: Declaration, derivative: DeclaredDerivative) -> None:
    """What is declared of an operator holds for its variants."""
    for operator in declaration.operators.values():
        operator.derivative = derivative
