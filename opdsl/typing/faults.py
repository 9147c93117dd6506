"""Checks of an implementation's parameters and of the number of values it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import (
    OUT,
    Fault,
    derivative_fault,
    gradients_fault,
    keyword_only_fault,
    meta_parameters,
    names_fault,
    returned_fault,
)
from opdsl.schema.kinds import KINDS, Function
from opdsl.typing.place import Place
from opdsl.typing.precomputed import Precomputed, out_kernel_names


class Declared(NamedTuple):
    """Schema of an operator, as mypy's types determine it, and the values that its shape function precomputes."""

    schema: FunctionSchema
    precomputed: Precomputed


def misfit(place: Place, declared: Declared) -> str:
    """Return the error message for an implementation that does not match its operator; an empty string if it does.

    Args:
        place: the place of any of its parameters, or of its result.
        declared: its operator.
    """
    fault = _FAULTS[KINDS[place.decorator].function](place, declared)
    if fault is None:
        return ""
    return (
        f"{place.attaching} {place.function}({', '.join(place.parameters)}) does not fit: {fault.problem}. "
        f"The declaration is {declared.schema}. {fault.remedy}"
    )


def options_name(place: Place, schema: FunctionSchema) -> str:
    """Return the parameter that denotes all four TensorOptions; an empty string without such a parameter."""
    options = [tensor_option.name for tensor_option in schema.tensor_options]
    expected = [argument.python_name for argument in schema.arguments]
    further = [parameter for parameter in place.parameters if parameter not in expected]
    return further[0] if options and len(further) == 1 and not set(options) & set(place.parameters) else ""


def _handed_over(place: Place, declared: Declared) -> Fault | None:
    """Check the parameters of an implementation that receives the operator's arguments."""
    schema = declared.schema
    function = KINDS[place.decorator].function
    expected = _EXPECTED[function](place, declared)
    first, last = _BY_PLACE.get(function, 0), len(schema.returns) if function is Function.OUTPUTS else 0
    by_place = expected if function is Function.OUTPUTS else expected[:first]
    optional = set(place.keyword_only) & set(place.defaulted)  # the operator may lack these
    names = [parameter for parameter in place.parameters if parameter in expected or parameter not in optional]
    problem = names_fault(names, expected, first=first, last=last) or keyword_only_fault(
        keyword for keyword in place.keyword_only if keyword in by_place and keyword not in optional
    )
    with_default = {argument.python_name for argument in schema.arguments if argument.default is not None}
    for text in place.defaulted:
        if text not in with_default and text not in optional and not problem:
            problem = f"'{text}' has a default, but the schema gives it none"
    if problem:
        return Fault(problem, f"Write: def {place.function}({', '.join(expected)})")
    wrong = returned_fault(schema, place.returned) if function in (Function.TENSORS, Function.FORMULA) else ""
    return Fault(wrong, "Return what the schema says") if wrong else None


def _arguments(place: Place, declared: Declared) -> Sequence[str]:
    """Return the argument names, with the four of TensorOptions as one if the function takes them as one."""
    names = [argument.python_name for argument in declared.schema.arguments]
    if KINDS[place.decorator].function is Function.TENSORS and place.parameters[-1:] == (OUT,) and OUT not in names:
        names.append(OUT)  # the function is the kernel of the out variant, too
    options = options_name(place, declared.schema)
    if not options:
        return names
    separate = [tensor_option.name for tensor_option in declared.schema.tensor_options]
    return [options if name == separate[0] else name for name in names if name not in separate[1:]]


def _with_context(place: Place, declared: Declared) -> Sequence[str]:
    return meta_parameters(declared.schema, place.parameters)


def _with_outputs(place: Place, declared: Declared) -> Sequence[str]:
    """Return the expected parameters of an out-kernel. The names of outputs may be chosen freely."""
    taken = list(
        out_kernel_names((argument.python_name for argument in declared.schema.arguments), declared.precomputed)
    )
    count = len(declared.schema.returns)
    outputs = place.parameters[-count:] if count else ()
    if len(outputs) < count or set(outputs) & set(taken):
        outputs = ("out",) if count == 1 else tuple(f"out{index}" for index in range(count))
    return [*taken, *outputs]


# Number of leading parameters that are passed by position.
_BY_PLACE = {Function.VIEW: 1, Function.CONTEXT: 1}

_EXPECTED: dict[Function, Callable[[Place, Declared], Sequence[str]]] = {
    Function.TENSORS: _arguments,
    Function.FORMULA: _arguments,
    Function.VIEW: _arguments,
    Function.CONTEXT: _with_context,
    Function.OUTPUTS: _with_outputs,
}


def _derivative(place: Place, declared: Declared) -> Fault | None:
    return derivative_fault(declared.schema, place.texts, place.parameters) or gradients_fault(
        declared.schema, place.texts, place.returned
    )


_FAULTS: dict[Function, Callable[[Place, Declared], Fault | None]] = {
    **dict.fromkeys(_EXPECTED, _handed_over),
    Function.GRADIENTS: _derivative,
}
"""Checks of an implementation, by the kind of its function."""
