"""Gradients of shipped operators: the backward pass of a call is traced as a program, and shipped as a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from opdsl.dispatch import Operator, enable_grad
from opdsl.errors import OpdslError
from opdsl.formulas.programs import recorded
from opdsl.formulas.reading import sample_tensor
from opdsl.programs.compiled import PASSES, RECORDED_PASSES, optimised
from opdsl.programs.derivative import differentiated
from opdsl.programs.leaves import LEAF, Leaves, as_leaves
from opdsl.programs.program import Program
from opdsl.programs.tracing import as_function, traced_call
from opdsl.runtime import Tensor
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["Backward", "backward_of", "result_name"]


def result_name(place: int) -> str:
    """Return the name by which a backward pass reads a result."""
    return f"result{place}"


@attrs.frozen
class Backward:
    """Backward pass of calls with certain sizes.

    names: the arguments whose gradients it computes.
    results: the positions of the results whose gradients it takes.
    reads: the tensors among arguments and results that it reads.
    run: computes the gradients from those of the results, and from arguments and results by name.
    """

    names: tuple[str, ...]
    results: tuple[int, ...]
    reads: frozenset[str]
    run: Callable[[Sequence[Any], Mapping[str, Any]], Any]


def backward_of(operator: Operator, values: Sequence[Any]) -> Backward | None:
    """Trace the backward pass of a call; return None if it has none.

    Args:
        operator: whose floating-point tensors require gradients.
        values: the arguments, tensors as geometries.
    """
    arguments = [_sample(value) for value in values]
    names = [argument.python_name for argument in operator.schema.arguments]
    is_leaf = [isinstance(value, Tensor) or type(value) is float for value in arguments]
    structure = tuple(LEAF if leaf else value for leaf, value in zip(is_leaf, arguments, strict=True))

    def flat(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(value for value, leaf in zip(values, is_leaf, strict=True) if leaf)

    leaves = Leaves(flat(names), flat(arguments), (structure, {}))
    try:
        with enable_grad():
            parts = differentiated(*_fused(_function_of(operator), leaves))
    except (OpdslError, NotLoweredError):
        return None
    tensors = [name for name, value in zip(leaves.names, leaves.values, strict=True) if isinstance(value, Tensor)]
    run, reads = _running(parts.forward, parts.backward, leaves.names)
    known = frozenset((*tensors, *map(result_name, range(len(operator.schema.returns)))))
    return Backward(parts.targets, parts.results, known & reads, run)


def _function_of(operator: Operator) -> Callable[..., Any]:
    """Return an operator as a function of all its arguments, in the order of the schema."""
    names = [keyword.python_name for keyword in operator.schema.keyword_only]
    count = len(operator.schema.positional)

    def call(*values: Any) -> Any:
        return operator.function(*values[:count], **dict(zip(names, values[count:], strict=True)))

    return call


def _fused(function: Callable[..., Any], leaves: Leaves) -> tuple[Callable[..., Any], Leaves]:
    """Return the function to differentiate: as a program of fused kernels, unless branches guard gradients."""
    call = traced_call(function, leaves)
    if call.is_mixed or call.has_branches:
        return function, leaves
    program = recorded(call.program, optimised(call.program, RECORDED_PASSES))
    return as_function(program), as_leaves(program.inputs, leaves.values)


def _sample(value: Any) -> Any:
    """Return a tensor without memory for a geometry; other arguments unchanged."""
    if not isinstance(value, TensorMeta):
        return value
    return sample_tensor(value.replace(requires_grad=True) if value.dtype.is_floating_point else value)


def _running(
    forward: Program, backward: Program, names: Sequence[str]
) -> tuple[Callable[[Sequence[Any], Mapping[str, Any]], Any], frozenset[str]]:
    """Return the backward pass as a function, and the names of what it reads."""
    outputs, kept = forward.outputs
    results = {expression.text: result_name(at) for at, expression in enumerate(_expressions(outputs))}
    wanted = [results.get(expression.text, expression.text) for expression in kept]
    # Values that are neither arguments nor results are computed again.
    is_apart = not {*names, *results.values()}.issuperset(wanted)
    again = optimised(forward.replace(outputs=kept), PASSES) if is_apart else None
    last = optimised(backward, PASSES)
    constants, own = tuple(forward.constants.values()), tuple(last.constants.values())

    def run(gradients: Sequence[Any], values: Mapping[str, Any]) -> Any:
        if again is None:
            saved = [values[name] for name in wanted]
        else:
            saved = list(again.function(*[values[name] for name in names], *constants))
        return tuple(last.function(*saved, *gradients, *own))

    return run, frozenset(names if is_apart else wanted)


def _expressions(outputs: Any) -> list[Any]:
    """Return the expressions of a program's results, in order."""
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
