"""Derivative formulas of operators, and arguments that are declared non-differentiable."""

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
    """Attach a formula that computes the gradients of arguments.

    Its option ``output_differentiability`` says for each result whether gradients flow through it.

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
    """Attach a derivative formula for each of several arguments: all of them, or none if one fails.

    Args:
        declaration: of the operator.
        kind: record of the decorator.
        formulas: formulas by argument name.
        options: options of the decorator.

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
    """Attach the derivative formulas of another operator, an overload or a variant, for those arguments that are
    tensors in both.

    Args:
        declaration: of the operator that gets the formulas.
        other: of the operator that has them.
        kind: record of the decorator.

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
    """Declare that no gradients flow to the named arguments.

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
    """Return a copy of the operator's declared derivative, or a new empty one, to add formulas to.

    Autograd graphs that calls have recorded keep the derivative as it was declared at that time.
    """
    derivative = declaration.main.derivative
    if derivative is None:
        return DeclaredDerivative(declaration.main.schema, declaration.name)
    assert isinstance(derivative, DeclaredDerivative), "nothing else is set here"
    return derivative.copy()


def _keep(declaration: Declaration, derivative: DeclaredDerivative) -> None:
    """Set the derivative of all variants of an operator and invalidate the plans of their calls."""
    for operator in declaration.operators.values():
        operator.derivative = derivative
        operator.packet.forget()
