"""Formulas for gradients, and arguments that have none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import FunctionType
from typing import Any

from opdsl.autograd.derivative import DeclaredDerivative
from opdsl.declare.attachment import Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.kernels import record_as_one
from opdsl.declare.signature import location
from opdsl.errors import KernelSignatureError
from opdsl.schema.implementation import differentiable_names
from opdsl.schema.kinds import Kind


def attach_derivative(attachment: Attachment) -> None:
    """Take a formula for the gradients of arguments.

    Its option ``output_differentiability`` says for each result whether gradients come through it.

    Raises:
        KernelSignatureError: names or parameters do not fit the schema.
    """
    declaration, formula = attachment.declaration, attachment.function
    schema = declaration.main.schema
    through = attachment.options.get("output_differentiability")
    results = None if through is None else tuple(map(bool, through))
    if results is not None and len(results) != len(schema.returns):
        raise KernelSignatureError(
            f"{location(formula)}: {declaration.name}: output_differentiability has {len(results)} values, but "
            f"{schema} returns {len(schema.returns)}. Give one for each."
        )
    attachment.checks().require_gradients(attachment.texts)
    derivative = _derivative(declaration)
    derivative.add(attachment.texts, formula)
    derivative.results = derivative.results if results is None else results
    _keep(declaration, derivative)
    record_as_one(declaration)
    for overload in declaration.overloads:
        if not set(differentiable_names(overload.main.schema)).isdisjoint(attachment.texts):
            attach_derivative(Attachment(overload, attachment.kind, formula, attachment.texts, attachment.options))


def attach_formulas(
    declaration: Declaration, kind: Kind, formulas: Mapping[str, FunctionType], options: Mapping[str, Any]
) -> None:
    """Take a formula for each of some arguments: all of them, or none.

    Args:
        declaration: of the operator.
        kind: of the decorator.
        formulas: by the names of the arguments.
        options: of the decorator.

    Raises:
        KernelSignatureError: a name or the parameters of a formula do not fit the schema.
    """
    before = declaration.main.derivative
    try:
        for name, formula in formulas.items():
            attach_derivative(Attachment(declaration, kind, formula, (name,), options))
    except KernelSignatureError:
        for operator in declaration.operators.values():
            operator.derivative = before
        raise


def share_formulas(declaration: Declaration, other: Declaration, kind: Kind) -> None:
    """Take the formulas of another operator, an overload or a variant, for the arguments that are tensors here, too.

    Args:
        declaration: of the operator that takes them.
        other: of the operator that has them.
        kind: of the decorator.

    Raises:
        KernelSignatureError: the other has none, or they do not fit the schema.
    """
    derivative = other.main.derivative
    if not isinstance(derivative, DeclaredDerivative):
        raise KernelSignatureError(
            f"{location(declaration.function)}: {declaration.name}: @{declaration.function.__name__}.{kind.name} takes "
            f"the formulas of {other.name}, which has none. Attach them there first."
        )
    known = set(differentiable_names(declaration.main.schema))
    for names, formula, _ in derivative.declared:
        if not known.isdisjoint(names):
            attach_derivative(Attachment(declaration, kind, formula, names, {}))
    own = _derivative(declaration)
    own.without |= derivative.without & known
    own.results = derivative.results
    _keep(declaration, own)


def exclude_from_derivative(declaration: Declaration, names: Collection[str]) -> None:
    """Say that gradients do not go to these arguments.

    Raises:
        KernelSignatureError: a name is no tensor argument.
    """
    derivative = _derivative(declaration)
    derivative.exclude(names)
    _keep(declaration, derivative)
    for overload in declaration.overloads:
        known = differentiable_names(overload.main.schema)
        exclude_from_derivative(overload, [name for name in names if name in known])


def _derivative(declaration: Declaration) -> DeclaredDerivative:
    """What has been declared of the operator's gradients, as a copy to which more is added, or the beginning of it.

    What calls have recorded with goes on with what was declared then.
    """
    derivative = declaration.main.derivative
    if derivative is None:
        return DeclaredDerivative(declaration.main.schema, declaration.name)
    assert isinstance(derivative, DeclaredDerivative), "nothing else is set here"
    return derivative.copy()


def _keep(declaration: Declaration, derivative: DeclaredDerivative) -> None:
    """What is declared of an operator holds for its variants, and for calls of which there are plans."""
    for operator in declaration.operators.values():
        operator.derivative = derivative
        operator.packet.forget()
