"""Optimization passes: functions from a program to an equivalent one that is cheaper.

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
    """Eliminate dead code: steps whose results are not read. Steps that write or draw random numbers stay.

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
    """Eliminate common subexpressions: steps that call the same operator with the same operands become one.

    Steps stay if some step writes their operands or results, or if their results, or views of them, are returned: the
    caller may write each.

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
    """Return a key that is equal for equal calls; None for a step that must not be merged, such as one that draws
    random numbers.
    """
    if step.is_random or step.writes:
        return None
    return step.operator, _hashable(step.operands), _hashable(tuple(sorted(step.options.items())))


def _hashable(value: Any) -> Any:
    """Return a hashable key of an operand, which distinguishes 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_hashable, value))
    return (type(value), repr(value)) if isinstance(value, (int, float, complex)) else value


def renamed(step: Step, names: dict[str, str]) -> Step:
    """Return a step with the names in its operands replaced."""
    if not names or not step.reads & names.keys():
        return step
    options = {key: renamed_value(option, names) for key, option in step.options.items()}
    call = step.call and step.call._replace(operands=renamed_value(step.call.operands, names))
    return attrs.evolve(step, operands=renamed_value(step.operands, names), options=options, call=call)


def renamed_value(value: Any, names: dict[str, str]) -> Any:
    """Return an operand, or the outputs of a program, with names replaced."""
    if isinstance(value, Expression):
        return Expression(names.get(value.text, value.text))
    if isinstance(value, (tuple, list)):
        parts = [renamed_value(member, names) for member in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def without_unused_sizes(program: Program) -> Program:
    """Remove the expressions of sizes that no operand, output, guard or result shape reads."""
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
