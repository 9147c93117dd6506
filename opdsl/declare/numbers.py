"""Overloads that take a number in place of a tensor and share the formulas of the tensor operator."""

from __future__ import annotations

from opdsl.autograd.derivative import DeclaredDerivative
from opdsl.declare.attachment import Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.definitions import attach_definition
from opdsl.declare.derivatives import share_formulas
from opdsl.declare.formulas import share_formula
from opdsl.declare.signature import location
from opdsl.declare.structured import attach_meta
from opdsl.errors import KernelSignatureError
from opdsl.schema.kinds import KINDS


def attach_to_number_overload(overload: Declaration, declaration: Declaration, argument: str) -> None:
    """Attach the formula, gradients and shape function of a tensor operator to its overload that takes a number.

    Args:
        overload: declaration of the overload.
        declaration: of the tensor operator.
        argument: name of the tensor that the number replaces.

    Raises:
        KernelSignatureError: the tensor operator has no elementwise formula.
        FormulaError: a number cannot replace the tensor in the formula.
    """
    if declaration.kind is not KINDS["pointwise"]:
        raise KernelSignatureError(
            f"{location(declaration.function)}: {declaration.name}: an overload for a number needs an elementwise "
            "formula, which this operator lacks. Write @formula above the body, or write the overload: @f.overload."
        )
    if isinstance(declaration.main.derivative, DeclaredDerivative):
        share_formulas(overload, declaration, KINDS["derivative"])
    if declaration.main.formula is not None:
        share_formula(overload, declaration)
    for function, options, scalar in declaration.formulas:
        wrapped = {**options, "wrapped": (*options.get("wrapped", ()), argument)}
        attach_definition(Attachment(overload, KINDS["pointwise"], function, (), wrapped, scalar))
    if "meta" in declaration.attached:
        reads = {"reads_numbers": declaration.meta_reads_numbers}
        attach_meta(Attachment(overload, KINDS["meta"], declaration.attached["meta"], (), reads))
