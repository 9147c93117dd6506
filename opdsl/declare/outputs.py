"""Bodies and kernels that take ``out``: one function for the functional and the ``out=`` variant."""

from __future__ import annotations

from types import FunctionType

from opdsl.generated import function_from_source
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import OUT

__all__ = ["OUT", "for_variant", "takes_out"]


def takes_out(function: FunctionType) -> bool:
    """Whether a function has the parameter: None, a tensor to write into, or a tuple of them for several results."""
    code = function.__code__
    return OUT in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def for_variant(function: FunctionType, schema: FunctionSchema) -> FunctionType:
    """A function that takes ``out``, as one that takes the arguments of a variant.

    Args:
        function: the body or kernel.
        schema: of the functional variant, or of the ``out=`` one.
    """
    inputs = [each.python_name for each in (*schema.positional, *schema.keyword_only)]
    outs = [each.python_name for each in schema.out]
    given = "None" if not outs else outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
    passed = [*(each.python_name for each in schema.positional)]
    passed += [f"{each.python_name}={each.python_name}" for each in schema.keyword_only]
    source = f"def adapted({', '.join([*inputs, *outs])}):\n    return body({', '.join([*passed, f'{OUT}={given}'])})\n"
    code = function.__code__
    adapted = function_from_source(
        "adapted", source, {"body": function}, location=(code.co_filename, code.co_firstlineno)
    )
    adapted.__name__, adapted.__module__ = function.__name__, function.__module__
    adapted.__dict__.update(function.__dict__)  # what was promised of the function holds for it
    return adapted
