"""What makes programs cheaper: functions from programs to programs that compute the same.

Each keeps the order of steps that write or draw random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from opdsl.programs.memory import Memory, returned_by
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Result, Step, names_in

__all__ = [
    "Memory",
    "Pass",
    "renamed",
    "renamed_value",
    "returned_by",
    "without_repeated_steps",
    "without_unused_sizes",
    "without_unused_steps",
]

Pass = Callable[[Program], Program]


def without_unused_steps(program: Program) -> Program:
    """The program without steps whose results nothing reads. Steps that write or draw random numbers stay.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x: (x.exp(), x + 1)[1], opdsl.ones(2))
    >>> [step.name for step in without_unused_steps(program).steps]
    ['aten::add.Tensor']
    """
    used = set(names_in(program.outputs))
    kept: list[Step] = []
    for step in reversed(program.steps):
        if step.writes or step.is_random or any(result is not None and result.name in used for result in step.results):
            kept.append(step)
            used |= step.reads
    return program.replace(steps=tuple(reversed(kept)))


def without_repeated_steps(program: Program) -> Program:
    """The program with one step where several call one operator with the same operands.

    Steps are kept apart whose operands or results some step writes, and whose results are returned, or views of them:
    callers may write each.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x: x.exp() + x.exp(), opdsl.ones(2))
    >>> [step.name for step in without_repeated_steps(program).steps]
    ['aten::exp', 'aten::add.Tensor']
    """
    memory, returned = Memory(program), returned_by(program)
    known: dict[Any, tuple[Result | None, ...]] = {}
    names: dict[str, str] = {}
    kept: list[Step] = []
    for original in program.steps:
        step = renamed(original, names)
        key = None if memory.of(original.reads | original.result_names) & memory.written else _key(step)
        is_returned = any(result is not None and result.name in returned for result in step.results)
        results = None if key is None or is_returned else known.get(key)
        if results is None:
            kept.append(step)
            if key is not None:
                known.setdefault(key, step.results)
        else:
            pairs = zip(step.results, results, strict=True)
            names |= {one.name: other.name for one, other in pairs if one is not None and other is not None}
    return program.replace(steps=tuple(kept))


def _key(step: Step) -> Any:
    """What tells a step from others; None where it is not repeated, as what draws random numbers."""
    if step.is_random or step.writes:
        return None
    return step.operator, _hashable(step.operands), _hashable(tuple(sorted(step.options.items())))


def _hashable(value: Any) -> Any:
    """A key of a constant or an operand, which tells 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_hashable, value))
    return (type(value), repr(value)) if isinstance(value, (int, float, complex)) else value


def renamed(step: Step, names: dict[str, str]) -> Step:
    """A step that reads other results."""
    if not names or not step.reads & names.keys():
        return step
    options = {key: renamed_value(option, names) for key, option in step.options.items()}
    call = step.call and step.call._replace(operands=renamed_value(step.call.operands, names))
    return attrs.evolve(step, operands=renamed_value(step.operands, names), options=options, call=call)


def renamed_value(value: Any, names: dict[str, str]) -> Any:
    """An operand, or what a program returns, that reads other results."""
    if isinstance(value, Expression):
        return Expression(names.get(value.text, value.text))
    if isinstance(value, (tuple, list)):
        parts = [renamed_value(member, names) for member in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def without_unused_sizes(program: Program) -> Program:
    """The program without expressions of sizes that only kernels have asked for, and no shape of a result names."""
    used = set(names_in(tuple((step.operands, tuple(step.options.values())) for step in program.steps)))
    shapes = [result.shape for step in program.steps for result in step.results if result is not None]
    used |= names_in(tuple(Expression(size) for shape in shapes for size in shape if isinstance(size, str)))
    used |= names_in(program.outputs)
    used |= names_in(tuple(Expression(guard) for guard in program.guards))
    kept = []
    for name, text in reversed(program.sizes):
        if name in used:
            kept.append((name, text))
            used |= names_in(Expression(text))
    return program.replace(sizes=tuple(reversed(kept)))
