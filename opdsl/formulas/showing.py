"""Inspection of the kernels that formulas are compiled to, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opdsl.dispatch import DispatchKey, Operator
from opdsl.formulas.definition import FormulaDefinition
from opdsl.formulas.forms import ElementFunction, Form
from opdsl.formulas.programs import FormulaProgram
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.programs.program import Program
from opdsl.programs.steps import Step, counted, short_name

__all__ = ["kernels_of"]


def kernels_of(operator: Operator) -> Iterator[tuple[str, str]]:
    """Yield a title and the text of the compiled kernels for each form that an operator's formula has been traced for.

    Args:
        operator: any operator; one without a formula has none.

    Returns:
        For an elementwise formula the typed graph of its kernel; for another formula the program of its kernels, with
        the calls that each was fused from.
    """
    if isinstance(operator.formula, FormulaProgram):
        for form, programs in operator.formula.readings.items():
            for program in programs:
                yield f"{_title(form)}: {counted(len(_kernels(program)), 'kernel')}{_unfused(program)}", program.source
        return
    kernel = operator.entry(DispatchKey("CPU")).kernel
    if isinstance(kernel, StructuredKernel) and isinstance(kernel.definition, FormulaDefinition):
        for form, readings in kernel.definition.readings.items():
            for reading in readings:
                yield f"{_title(form)}: 1 kernel", _graph(form, reading.elements)


def _graph(form: Form, elements: ElementFunction) -> str:
    """Return the typed graph of a kernel, with the expressions of its number parameters."""
    kinds = dict(zip(form.names, form.kinds, strict=True))
    tensors = [precision_of(kinds[name][0]) for name in elements.tensors]
    numbers = elements.function.parameters[len(tensors) :]
    dtypes = [*tensors, *[number.dtype for number in elements.numbers]]
    graph = elements.function.specialise(
        {parameter: dtype.name for parameter, dtype in zip(elements.function.parameters, dtypes, strict=True)},
        results=[precision_of(dtype).name for dtype in elements.dtypes],
        default_float=precision_of(form.default).name,
    )
    notes = [f"    # {name} = {number.text}" for name, number in zip(numbers, elements.numbers, strict=True)]
    head, *body = str(graph).split("\n")
    return "\n".join([head, *notes, *body])


def _kernels(program: Program) -> list[Step]:
    """Return the steps of a program that compute, without views."""
    return [step for step in program.steps if not step.is_view]


def _unfused(program: Program) -> str:
    kernels = _kernels(program)
    names = [kernel.name for kernel in kernels if not kernel.name.startswith("fused::")]
    return f", of them not fused: {', '.join(dict.fromkeys(names))}" if names and len(kernels) > 1 else ""


def _title(form: Form) -> str:
    return ", ".join(f"{name}: {_kind(kind)}" for name, kind in zip(form.names, form.kinds, strict=False))


def _kind(kind: Any) -> str:
    if isinstance(kind, type):
        return kind.__name__
    if isinstance(kind, tuple) and len(kind) == 2 and isinstance(kind[1], int) and hasattr(kind[0], "itemsize"):
        return f"{short_name(kind[0])}[{', '.join(['*'] * kind[1])}]"
    if isinstance(kind, tuple) and len(kind) == 2 and isinstance(kind[0], type):
        return repr(kind[1])
    return "[" + ", ".join(map(_kind, kind)) + "]"
