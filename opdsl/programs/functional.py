"""Functionalization: in-place steps on memory of the program become steps that return a new tensor.

Such steps can be fused and have derivatives. Writes to arguments, through views, and to memory that a view shows which
is read later stay in place.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from opdsl.autograd.kernel import overload_called_alike
from opdsl.dispatch import DispatchKey, Operator
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.programs.passes import Memory, renamed, renamed_value
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Step, names_in
from opdsl.runtime import DType, bool_
from opdsl.runtime.dtype import Category
from opdsl.schema import SchemaKind

__all__ = ["functional"]

_CPU = DispatchKey("CPU")


def functional(program: Program) -> Program:
    """Replace in-place steps on the program's own tensors by functional ones; return the program itself if there are
    none.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x: (x + 1).mul_(2), opdsl.ones(2))
    >>> [step.name for step in functional(program).steps]
    ['aten::add.Tensor', 'aten::mul.Tensor']
    """
    writes = _Writes(program)
    names: dict[str, str] = {}
    steps: list[Step] = []
    taken = {*writes.results, *(input.name for input in program.inputs), *program.constants}
    for place, step in enumerate(program.steps):
        operator = writes.counterpart(place, step)
        now = renamed(step, names)
        if operator is not None:
            written = writes.results[step.operands[0].text]
            updated = attrs.evolve(written, name=_unused(f"{written.name}_{place}", taken))
            now = Step(operator, now.operands, {**_defaults(step), **now.options}, (updated,))
            names[written.name] = updated.name
        steps.append(now)
    if not names:
        return program
    return program.replace(steps=tuple(steps), outputs=renamed_value(program.outputs, names))


def _unused(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, made of another one, and add it to those that are."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


class _Writes:
    """Analysis of in-place steps: which memory they write, and who reads it.

    results: results of the program's steps, by name.
    """

    def __init__(self, program: Program) -> None:
        self.memory = Memory(program)
        self.results = {result.name: result for step in program.steps for result in step.results if result is not None}
        self._made = {name: place for place, step in enumerate(program.steps) for name in step.result_names}
        self._read: dict[str, float] = {name: place for place, step in enumerate(program.steps) for name in step.reads}
        self._read |= dict.fromkeys(names_in(program.outputs), math.inf)
        self._dtypes: dict[str, DType | None] = {input.name: input.dtype for input in program.inputs}
        self._dtypes |= {name: constant.dtype for name, constant in program.constants.items()}
        self._dtypes |= {name: result.dtype for name, result in self.results.items()}

    def counterpart(self, place: int, step: Step) -> Operator | None:
        """Return the functional operator for an in-place step; None if the step must stay in place."""
        if step.operator.schema.kind is not SchemaKind.inplace or step.result_names or not step.operands:
            return None
        target = step.operands[0]
        if not isinstance(target, Expression) or step.written != {target.text} or target.text not in self.results:
            return None
        name = target.text
        if self.memory.of((name,)) != {name} or self._is_shown(name, place) or not self._keeps_dtype(name, step):
            return None
        called_alike = overload_called_alike(step.operator, step.operator.schema.name.root)
        return called_alike if called_alike is not None and called_alike.schema.kind is SchemaKind.functional else None

    def _is_shown(self, name: str, place: int) -> bool:
        """Return whether another tensor that shares the memory is read after the write."""
        return any(
            name in self.memory.of((key,)) and value < place <= self._read.get(key, -1)
            for key, value in self._made.items()
            if key != name
        )

    def _keeps_dtype(self, name: str, step: Step) -> bool:
        """Return whether the functional result has the dtype of the written tensor."""
        dtype = self._dtypes[name]
        assert dtype is not None, "a tensor"
        if dtype is not bool_ and _returns_truth(step.operator):
            return False
        arguments = (*step.operands, *step.options.values())
        tensors = {self._dtypes.get(text) for text in names_in(arguments)} - {None}
        kinds = {bool: Category.BOOL, int: Category.INT, float: Category.FLOAT, complex: Category.COMPLEX}
        numbers = (kinds[type(argument)] for argument in arguments if type(argument) in kinds)
        return tensors <= {dtype, bool_} and all(number <= dtype.category for number in numbers)


def _returns_truth(operator: Operator) -> bool:
    """Return whether the functional form of a pointwise operator returns truth values, as comparisons do."""
    definition = getattr(operator.entry(_CPU).kernel, "definition", None)
    return isinstance(definition, PointwiseDefinition) and any(
        formula.configuration.promotion.boolean for formula in definition.formulas
    )


def _defaults(step: Step) -> dict[str, Any]:
    """Return the default arguments of a call by name; they are passed explicitly, as the functional operator's may
    differ.
    """
    texts = {
        argument.python_name for argument in step.operator.schema.positional[: len(step.operands)]
    } | step.options.keys()
    rest = (argument for argument in step.operator.schema.arguments if argument.python_name not in texts)
    return {argument.python_name: argument.default.value for argument in rest if argument.default is not None}
