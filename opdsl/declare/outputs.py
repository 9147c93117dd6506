"""Bodies and kernels that take ``out``: one function for the functional and the ``out=`` variant."""

from __future__ import annotations

from functools import partial
from types import FunctionType

from opdsl.declare.adapting import adapted, parameter_names
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import OUT

__all__ = ["OUT", "for_variant", "takes_out"]


_OF_OUT = ("dtype", "layout", "device")


def takes_out(function: object) -> bool:
    """Whether a function has the parameter: None, a tensor to write into, or a tuple of them for several results."""
    called = function.func if isinstance(function, partial) else function
    return isinstance(called, FunctionType) and OUT in parameter_names(called)


def for_variant(function: FunctionType, schema: FunctionSchema) -> FunctionType:
    """A function that takes ``out``, as one that takes the arguments of a variant.

    What makes a tensor from nothing takes TensorOptions, which the ``out=`` variant lacks: they are those of ``out``.

    Args:
        function: the body or kernel, which takes these options one by one.
        schema: of the functional variant, or of the ``out=`` one.
    """
    inputs = [argument.python_name for argument in (*schema.positional, *schema.keyword_only)]
    outs = [argument.python_name for argument in schema.out]
    out = "None" if not outs else outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
    lacking = [
        parameter_name for parameter_name in parameter_names(function) if outs and parameter_name not in (*inputs, OUT)
    ]
    options = {text: f"{outs[0]}.{text}" if text in _OF_OUT else "None" for text in lacking}
    return adapted(function, [*inputs, *outs], {OUT: out, **options})
