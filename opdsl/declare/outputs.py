"""Functions with a parameter ``out`` that serve as kernels of both the functional and the ``out=`` variant."""

from __future__ import annotations

from functools import partial
from types import FunctionType

from opdsl.declare.adapting import adapted, parameter_names
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import OUT

__all__ = ["OUT", "for_variant", "takes_out"]


_OF_OUT = ("dtype", "layout", "device")


def takes_out(function: object) -> bool:
    """Return whether a function has a parameter ``out``: None, a tensor to write into, or a tuple of them for several
    results.
    """
    called = function.func if isinstance(function, partial) else function
    return isinstance(called, FunctionType) and OUT in parameter_names(called)


def for_variant(function: FunctionType, schema: FunctionSchema) -> FunctionType:
    """Return a wrapper of a function with ``out`` that has the arguments of one variant.

    The ``out=`` variant of a factory lacks TensorOptions: they are taken from ``out``.

    Args:
        function: the body or kernel, which takes TensorOptions as separate parameters.
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
