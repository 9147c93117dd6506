"""Source text of formulas."""

from __future__ import annotations

from types import FunctionType

from opdsl.errors import FormulaError, ScalarFunctionError
from opdsl.scalar.source import FunctionSource, function_source

__all__ = ["formula_source"]


def formula_source(function: FunctionType) -> FunctionSource:
    """Return the source text of a formula.

    Raises:
        FormulaError: its text cannot be read.
    """
    try:
        return function_source(function)
    except ScalarFunctionError as error:
        raise FormulaError(str(error).replace("scalar function", "formula")) from None
