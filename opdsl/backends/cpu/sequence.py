"""Fusion of consecutive kernel calls of a plan into one built-in function, without Python or new arrays between them.

Intermediate results are in one block of memory, in which arrays that are not alive at once share space. The function
fills the frame of each kernel with addresses and runs its loop (machine/sequences.py).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.builtin import Given, Kernel, Made, New, Output, Plan, Table, builtin_over, number_words
from opdsl.backends.cpu.machine import sequences as machine
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.memory import allocator, made_by
from opdsl.backends.cpu.reuse import LARGE, is_view, plan_of_step, with_results_over_operands
from opdsl.runtime.arena import Block, placed
from opdsl.runtime.lowering import Check, Lines, Step, SymbolicArray, Within, Written
from opdsl.runtime.tensor import Tensor

__all__ = ["reusing", "sequenced"]

_FEWEST = 2
_WORDS = re.compile(r"\w+")

Recorded = Step | Check | Lines | Within | Written


def sequenced(steps: Sequence[Recorded], kept: Collection[str]) -> list[Recorded]:
    """Return the steps of a plan for fixed sizes, with each run of consecutive kernels replaced by a single step.

    Args:
        steps: the recorded steps.
        kept: the names of arrays that the plan returns, or views of them.
    """
    if _has_lines(steps):
        return list(steps)
    steps = reusing(steps, kept)
    known = [_understood(step) for step in steps]
    runs = list(_runs(known))
    if not runs:
        return list(steps)
    in_run = {place: number for number, run in enumerate(runs) for place in run}
    users: dict[str, set[int | None]] = {}
    for place, step in enumerate(steps):
        call = known[place] if place in in_run else None
        names = [array.name for array in call.arrays] if call is not None and call.kernel is not None else _names(step)
        for name in names if call is None or not call.is_view else ():
            users.setdefault(name, set()).add(in_run.get(place))
    for name in kept:
        users.setdefault(name, set()).add(None)
    for step in steps:  # reading a view reads its base
        if is_view(step) and users.get(step.results[0]):
            users.setdefault(step.operands[0].text, set()).update(users[step.results[0]])
    rewritten: list[Recorded] = []
    begins = {run.start: (number, run) for number, run in enumerate(runs)}
    for place, step in enumerate(steps):
        if place in begins:
            number, run = begins[place]
            rewritten += _as_one(
                [(steps[at], known[at]) for at in run], {n for n, by in users.items() if by - {number}}
            )
        elif place not in in_run:
            rewritten.append(step)
    return rewritten


def reusing(steps: Sequence[Any], kept: Collection[str]) -> list[Any]:
    """Return the steps of a plan for fixed sizes, with large results written over operands that are not read
    afterwards.

    Args:
        steps: the recorded steps.
        kept: see ``sequenced``.
    """
    if _has_lines(steps):
        return list(steps)
    return with_results_over_operands(steps, [{*_names(step)} for step in steps], kept)


def _has_lines(steps: Sequence[Recorded]) -> bool:
    """Return whether there are recorded lines of Python, which may read any result."""
    return any(isinstance(step, (Lines, Within)) for step in steps)


class _Array(NamedTuple):
    """Array operand of a kernel, resolved through views to its base array.

    name: of the base array.
    offset: in bytes, of the operand's first element from that of the base.
    """

    name: str
    offset: int


class _Call(NamedTuple):
    """Analyzed step that may be part of a sequence.

    kernel: the plan of the kernel that it runs; None for an allocation or a view.
    operands: of the kernel: arrays and numbers, inputs and then outputs.
    makes: the arrays that it allocates, by name: the bytes and the allocating function.
    is_view: whether it creates a view.
    """

    kernel: Plan | None
    operands: tuple[Any, ...] = ()
    makes: Mapping[str, tuple[int, Callable[[], Any]]] = {}
    is_view: bool = False

    @property
    def arrays(self) -> list[_Array]:
        """Return the operands that are arrays."""
        return [operand for operand in self.operands if isinstance(operand, _Array)]


def _understood(step: Recorded) -> _Call | None:
    """Return the analysis of a step, or None if it cannot be part of a sequence."""
    if not isinstance(step, Step):
        return None
    if is_view(step):
        return _Call(None, is_view=True)
    allocation = made_by(step.function)
    if allocation is not None and not step.operands and len(step.results) == 1:
        return None if allocation.size > LARGE else _Call(None, (), {step.results[0]: (allocation.size, step.function)})
    plan = plan_of_step(step)
    if plan is None:
        return None
    operands = [_operand(operand) for operand in step.operands]
    inputs, rest = operands[: len(plan.inputs)], iter(operands[len(plan.inputs) :])
    names = iter(step.results)
    makes: dict[str, tuple[int, Callable[[], Any]]] = {}
    outputs: list[Any] = []
    for output in plan.outputs:
        name = next(names, "")
        if isinstance(output, Given):
            outputs.append(next(rest))
            continue
        maker = _maker(output)
        if maker is None:
            return None
        makes[name] = maker
        outputs.append(_Array(name, 0))
    if next(rest, None) is not None or not all(isinstance(output, _Array) for output in outputs):
        return None
    numbers = (_fits(kind.kind, kind, input) for kind, input in zip(plan.inputs, inputs, strict=True))
    return _Call(plan, (*inputs, *outputs), makes) if all(numbers) else None


def _operand(value: Any) -> Any:
    if type(value) is SymbolicArray:
        root, offset = value.source
        return _Array(root.text, offset) if type(offset) is int else None
    return value


def _fits(kind: int, input: builtin.Input, value: Any) -> bool:
    """Return whether an operand is valid for an input: an array, or a number that is known and in range."""
    if kind == builtin.ARRAY.kind:
        return isinstance(value, _Array)
    if kind == builtin.COMPLEX.kind:
        return type(value) in (float, complex) or (type(value) is int and abs(value) < 1 << 53)
    if kind == builtin.FLOAT.kind:
        return type(value) is float or (type(value) is int and abs(value) < 1 << 53)
    if kind == builtin.TRUTH.kind:
        return type(value) is bool
    low, high = (input.lowest, input.highest) if input.lowest or input.highest else (-(1 << 63), (1 << 63) - 1)
    return type(value) in (bool, int) and low <= value <= high


def _maker(output: Output) -> tuple[int, Callable[[], Any]] | None:
    """Return the bytes of an output and the function that allocates it, or None if it is too large or is not
    contiguous.
    """
    make: Any = None
    if isinstance(output, New) and output.strides is None:
        make = functools.partial(numpy.empty, output.shape, output.dtype)
    elif isinstance(output, Made):
        make = output.allocate
    allocation = None if make is None else made_by(make)
    return None if allocation is None or allocation.size > LARGE else (allocation.size, make)


def _runs(known: Sequence[_Call | None]) -> Iterator[range]:
    """Yield the maximal ranges of steps that can be fused and contain at least ``_FEWEST`` kernels."""
    begin = 0
    for place in range(len(known) + 1):
        if place == len(known) or known[place] is None:
            if sum(call is not None and call.kernel is not None for call in known[begin:place]) >= _FEWEST:
                yield range(begin, place)
            begin = place + 1


def _names(step: Recorded) -> Iterable[str]:
    """Return the names that a step reads."""
    if isinstance(step, Check):
        return _WORDS.findall(step.text)
    return _names_in(step.operands) if isinstance(step, Step) else ()


def _names_in(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _names_in(value)
            continue
        array = value.array if isinstance(value, Tensor) and hasattr(value, "array") else value
        if type(array) is SymbolicArray:
            yield from (array.text, array.source[0].text)
        elif hasattr(array, "text"):
            yield str(array.text)


def _as_one(run: Sequence[tuple[Recorded, _Call | None]], outside: Collection[str]) -> list[Recorded]:
    """Return the steps that replace a run: allocations of the arrays that are read elsewhere, their views, and one
    kernel step.
    """
    calls = [call for _, call in run if call is not None]
    makes = {name: make for call in calls for name, make in call.makes.items()}
    kernels = [call for call in calls if call.kernel is not None]
    lives: dict[str, list[int]] = {}
    for place, call in enumerate(kernels):
        for array in call.arrays:
            lives.setdefault(array.name, []).append(place)
    own = {name for name in makes if name not in outside}
    blocks = [Block(name, makes[name][0], 0, min(at), max(at)) for name, at in lives.items() if name in own]
    lies = {block.name: block.offset for block in placed(blocks)}
    size = max((block.offset + block.size for block in placed(blocks)), default=0)
    steps: list[Recorded] = [Step(make, (), (name,)) for name, (_, make) in makes.items() if name in outside]
    views = (step for step, call in run if call is not None and call.is_view and isinstance(step, Step))
    steps += [step for step in views if step.operands[0].text not in own]
    names = [name for name in lives if name not in own]
    arrays = [SymbolicArray(name, None) for name in names]
    if size:
        block = f"block_of_{next(iter(lies))}"
        steps.append(Step(allocator((size,), numpy.dtype(numpy.uint8)), (), (block,)))
        arrays.insert(0, SymbolicArray(block, None))
    index = {name: at + bool(size) for at, name in enumerate(names)}
    index |= dict.fromkeys(lies, 0)
    run_all = _function([(call.kernel, call.operands) for call in kernels if call.kernel is not None], index, lies)
    return [*steps, Step(run_all, tuple(arrays), ())]


def _function(
    calls: Sequence[tuple[Plan, tuple[Any, ...]]], index: Mapping[str, int], lies: Mapping[str, int]
) -> Kernel:
    """Return the built-in function that runs kernels one after another.

    Args:
        calls: the kernels and their operands.
        index: the index of the argument that contains each array.
        lies: the byte offset of an array in that argument; 0 for arrays that are not listed.
    """
    steps: list[int | Table] = []
    longest = 0
    for plan, operands in calls:
        frame = [0] * (2 * (len(operands) + 2))
        frame[0] = plan.address
        patches: list[int] = []
        for place, operand in enumerate(operands):
            slot = 2 * (place + 1)
            if isinstance(operand, _Array):
                patches += [slot, index[operand.name], operand.offset + lies.get(operand.name, 0)]
            else:
                frame[slot : slot + 2] = number_words(plan, place, operand)
        longest = max(longest, len(frame))
        steps += words(
            machine.Step,
            plan=plan.address,
            words=len(frame),
            frame=Table(frame),
            spots=len(patches) // 3,
            spot_list=Table(patches),
        )
    arrays = len(set(index.values()))
    header: list[int | Table] = words(
        machine.Sequence, arrays=arrays, steps=len(calls), step_list=Table(steps), longest=longest
    )
    return builtin_over("kernels_cpu", "sequence_call", header, [plan for plan, _ in calls])
