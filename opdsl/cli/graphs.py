"""Text of the typed scalar graphs of a pointwise operator, for ``opdsl show``."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.errors import DTypeError
from opdsl.kernels import PointwiseDefinition
from opdsl.kernels.definitions.pointwise import Elementwise, Formula
from opdsl.kernels.iteration.tensor_iterator import Number, NumberRole, Operand, iterate
from opdsl.runtime import DType, bool_, cpu, float32, int64
from opdsl.runtime.geometry import geometry
from opdsl.schema.parameters import Parameter, Role

# Tried in this order: most operators take float32, the bitwise ones integers.
_DTYPES = (float32, int64, bool_)

_NUMBER_TYPES = {NumberRole.SCALAR: float, NumberRole.FLOAT: float, NumberRole.INT: int, NumberRole.BOOL: bool}


def scalar_graphs(definition: PointwiseDefinition) -> Iterator[tuple[str, str]]:
    """Yield the graph of each scalar function for float32 tensors, or for the first dtype that it accepts.

    Returns:
        For each function a title with the condition under which it is used, and the graph as a program.
    """
    for formula in definition.formulas:
        condition = ", ".join(f"{name}={value!r}" for name, value in formula.when.items())
        for dtype in _DTYPES:
            try:
                text = str(_graph(definition, formula, dtype))
            except DTypeError:
                continue
            yield f"{dtype.name}{condition and f', {condition}'}", text
            break


def _graph(definition: PointwiseDefinition, formula: Formula, dtype: DType) -> object:
    operands = [
        _operand(definition.parameters[at], dtype, exempt=index in formula.configuration.exempt)
        if at not in formula.wrapped | formula.promoting
        else Number(float, NumberRole.WRAPPED)
        for index, at in enumerate(formula.places)
    ]
    iteration = iterate(operands, formula.configuration, float32)
    return definition.graph(Elementwise(formula, iteration, float32, (iteration.result,) * definition.results))


def _operand(parameter: Parameter, dtype: DType, *, exempt: bool) -> Operand:
    """Return a stand-in for an argument: a tensor of a dtype, a boolean tensor for a condition, or a number."""
    if parameter.role is Role.TENSOR:
        return geometry(bool_ if exempt else dtype, cpu, (1,))
    role = NumberRole[parameter.role.name]
    return Number(_NUMBER_TYPES[role], role)
