"""Bodies and kernels that take ``out``: one function for the functional and the ``out=`` variant."""

from __future__ import annotations

from types import FunctionType

from opdsl.declare.adapting import adapted, parameter_names
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import OUT

__all__ = ["OUT", "for_variant", "takes_out"]


def takes_out(function: FunctionType) -> bool:
    """Whether a function has the parameter: None, a tensor to write into, or a tuple of them for several results."""
    return OUT in parameter_names(function)


def for_variant(function: FunctionType, schema: FunctionSchema) -> FunctionType:
    """A function that takes ``out``, as one that takes the arguments of a variant.

    Args:
        function: the body or kernel.
        schema: of the functional variant, or of the ``out=`` one.
    """
    inputs = [each.python_name for each in (*schema.positional, *schema.keyword_only)]
    outs = [each.python_name for each in schema.out]
    given = "None" if not outs else outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
    return adapted(function, [*inputs, *outs], {OUT: given})
