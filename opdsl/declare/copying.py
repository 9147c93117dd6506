"""Composite bodies that copy: functional variants of mutable operators, and ``out=`` variants of functional ones.

Source: ``gen_composite_functional_kernel`` and ``gen_composite_out_kernel`` in torchgen/gen_functionalization_type.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from opdsl.errors import DTypeError
from opdsl.kernels import check, check_storable, clone, copy_, resize_output
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.runtime import Tensor
from opdsl.schema import BaseType, FunctionSchema

KEY = "CompositeExplicitAutograd"
"""Dispatch key at which these bodies are registered."""


def functional_body(base: Callable[..., Any], schema: FunctionSchema) -> Callable[..., object]:
    """Build the body of a functional variant: clone the arguments that ``base`` writes, call it, return its new results
    and the clones.
    """
    names = [argument.python_name for argument in schema.positional]
    written = [argument.python_name for argument in schema.written_arguments]
    fresh = [index for index, returned in enumerate(schema.returns) if returned.alias is None]

    def body(*arguments: object, **named: object) -> object:
        values = dict(zip(names, arguments, strict=True)) | named
        copies = {name: _copied(values[name]) for name in written}
        values |= copies
        positional = [values.pop(name) for name in names]
        result = base(*positional, **values)
        results = result if isinstance(result, tuple) else (result,)
        outputs = (*(results[index] for index in fresh), *map(_returned, copies.values()))
        return outputs[0] if len(outputs) == 1 else outputs

    return body


def _returned(value: object) -> object:
    """Convert a tuple of tensors into the list that kernels return for a tensor list."""
    return list(value) if isinstance(value, tuple) else value


def _copied(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(member) for member in value)
    return clone(value) if isinstance(value, Tensor) else value


def out_body(functional: Callable[..., Any], schema: FunctionSchema) -> Callable[..., object]:
    """Build the body of an ``out=`` variant: call the functional operator and copy its results into the outputs.
    Results that are no tensors are returned.
    """
    operator_name = schema.name.qualified
    names = [out.python_name for out in schema.out]
    computed: FunctionSchema = cast(Any, functional).schema
    taken = {"dtype", "layout", "device"} & {tensor_option.name for tensor_option in computed.tensor_options}
    # An operator that writes several arguments, such as an optimizer step, has an output for the first only.
    has_first = len(names) == 1 and len(computed.returns) > 1
    # An operator that returns results and also writes arguments returns the written ones last; they are copied into the
    # arguments.
    places = [argument.python_name for argument in schema.positional]
    updated = [
        places.index(written.python_name) for written in schema.written_arguments if written.python_name in places
    ]
    updated = updated if len(names) > 1 else []
    # Whether an output takes the result, for each result.
    holding = [returned.type.base is BaseType.Tensor for returned in computed.returns] if len(names) > 1 else [True]

    def body(*arguments: object, **named: Any) -> object:
        outs = [*(named.pop(name) for name in names), *(arguments[place] for place in updated)]
        for option in taken:
            named[option] = getattr(outs[0], option)
        result = functional(*arguments, **named)
        results = result if isinstance(result, tuple) and len(outs) > 1 else (result[0] if has_first else result,)
        rest = [result for result, holds in zip(results, holding, strict=True) if not holds]
        tensors = [result for result, holds in zip(results, holding, strict=True) if holds]
        # A result that was not requested is None, and its output stays unchanged.
        asked = [(out, value) for out, value in zip(outs, tensors, strict=True) if value is not None]
        stores = [pair for out, value in asked for pair in _pairs(operator_name, out, value)]
        check_storable(stores)
        for out, value in stores:
            resize_output(out, value.shape)
            copy_(out, value)
        returned = (*rest, *(outs[: len(names)] if schema.returns and len(schema.returns) > len(rest) else ()))
        return None if not returned else returned[0] if len(returned) == 1 else returned

    return body


def _pairs(operator: str, out: Any, value: Any) -> list[tuple[Tensor, Tensor]]:
    """Pair each output tensor with the result that is to be copied into it, lists included.

    Raises:
        DTypeError, ShapeError: dtypes differ, or the numbers of tensors do; nothing is copied then.
    """
    if not isinstance(value, Tensor):
        check(len(value) == len(out), f"{operator}: expected {len(value)} tensors in out, but got {len(out)}")
        return [pair for one, other in zip(out, value, strict=True) for pair in _pairs(operator, one, other)]
    if out.dtype is not value.dtype:
        wanted, text = c_name(value.dtype), c_name(out.dtype)
        raise DTypeError(f"{operator}: Expected out tensor to have dtype {wanted}, but got {text} instead")
    return [(out, value)]
