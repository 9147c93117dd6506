"""Example calls of programs: sizes and numbers that satisfy the guards, and a dry run of the steps with them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from opdsl.errors import OpdslError, ProgramError, TraceError
from opdsl.programs.leaves import as_leaves
from opdsl.programs.program import Program
from opdsl.programs.sizes import Asked, Binary, Name, Tree, computed, names_of, parts_of, read
from opdsl.programs.steps import Expression, Input, Result, Size, Step
from opdsl.programs.tracer import Tracer, tracing
from opdsl.runtime import Device, DType, Tensor
from opdsl.runtime.geometry import geometry
from opdsl.runtime.symbol import NotLoweredError, example_value

__all__ = ["example_of", "rehearse"]

# Without a traced example this many random ones are tried, with sizes up to this limit.
_TRIES: Final = 500
_LARGEST_SIZE: Final = 64
_NUMBERS: Final[Mapping[type, Any]] = {bool: True, int: 2, float: 0.5, complex: 0.5j}


def example_of(program: Program) -> dict[str, Any]:
    """Return the sizes and numbers of an example call, by name: those that were traced, or some that satisfy the
    guards.

    Raises:
        ProgramError: none are found.
    """
    wanted = _wanted(program)
    known = {name: program.example[name] for name in (*wanted, *_tensors(program)) if name in program.example}
    missing = wanted.keys() - known.keys()
    source = random.Random(0)
    for _ in range(_TRIES if missing else 1):
        example = wanted | known
        for name in sorted(missing):
            if type(example[name]) is int:
                example[name] = source.randint(2, _LARGEST_SIZE)
        if _holds(program, example):
            return example
    raise ProgramError(
        f"no sizes were found for which the program of {program.name} is valid: it requires "
        f"{' and '.join(program.conditions)}. Trace the function."
    )


def _wanted(program: Program) -> dict[str, Any]:
    """Return the symbolic sizes and number inputs of a program by name, each with a default value."""
    numbers = {input.name: _NUMBERS[input.kind] for input in program.inputs if input.kind is not None}
    sizes = [size for input in program.inputs for size in (*input.shape, *(input.strides or ()))]
    names = {size: 2 for size in sizes if isinstance(size, str) and size.isidentifier()}
    return names | numbers


def _tensors(program: Program) -> dict[str, int]:
    """Return the ranks of the tensor inputs by name."""
    return {input.name: len(input.shape) for input in program.inputs if input.kind is None}


def _values(program: Program, example: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of an example and the sizes computed from them, as far as these do not depend on tensors."""
    values = {name: value for name, value in example.items() if not isinstance(value, tuple)}
    for size, text in program.sizes:
        tree = read(text)
        if not _asks_tensors(tree):
            values[size] = computed(tree, values)
    return values


def _asks_tensors(tree: Tree) -> bool:
    return isinstance(tree, Asked) or any(map(_asks_tensors, parts_of(tree)))


def _holds(program: Program, example: Mapping[str, Any]) -> bool:
    """Return whether the guards hold that do not depend on tensors."""
    try:
        values = _values(program, example)
        trees = [read(text) for text in program.guards]
        return all(computed(tree, values) for tree in trees if _is_about(tree, values))
    except (ArithmeticError, TypeError):
        return False


def _is_about(tree: Tree, values: Mapping[str, Any]) -> bool:
    """Return whether all names that an expression reads have values."""
    if isinstance(tree, Name):
        return tree.name in values
    return not isinstance(tree, Asked) and all(_is_about(part, values) for part in parts_of(tree))


def rehearse(program: Program) -> None:
    """Run the steps on tensors without elements for the sizes of the example, and compare the results with the program.

    Raises:
        ProgramError: a step does not accept its operands, or returns something else.
    """
    wanted, tensors = _wanted(program), _tensors(program)
    wrong = {name for name, value in wanted.items() if type(program.example.get(name)) is not type(value)}
    for name, value in program.example.items():
        is_known = name in wanted or (name in tensors and _are_strides(value, tensors[name]))
        wrong |= set() if is_known else {name}
    if wrong or not _holds(program, program.example):
        about = f" ({', '.join(sorted(wrong))})" if wrong else ""
        raise ProgramError(f"the program is not valid for its example{about}")
    try:
        values = _values(program, program.example)
        arguments = _arguments(program, values)
    except (OpdslError, ArithmeticError, TypeError) as error:
        raise ProgramError(f"the inputs cannot have the sizes of the example: {error}") from error
    leaves = as_leaves(program.inputs, arguments)
    try:
        with tracing(rehearse, leaves) as tracer:
            tracer.within(_Rehearsal(tracer, program).run)
    except TraceError:
        return  # data-dependent results can only be checked in a real call
    except (ArithmeticError, TypeError) as error:
        raise ProgramError(f"an expression of sizes cannot be computed: {error}") from error


def _are_strides(value: Any, ndim: int) -> bool:
    return (
        isinstance(value, tuple) and len(value) == ndim and all(type(stride) is int and stride >= 0 for stride in value)
    )


def _arguments(program: Program, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return example arguments for the inputs; inputs that a guard requires to be one tensor get the same object."""
    arguments: dict[str, Any] = {}
    for input in program.inputs:
        arguments[input.name] = values[input.name] if input.kind is not None else _stand_in(input, program, values)
    for tree in map(read, program.guards):
        if (
            isinstance(tree, Binary)
            and tree.sign == "is"
            and isinstance(tree.left, Name)
            and isinstance(tree.right, Name)
        ):
            arguments[tree.left.name] = arguments.get(tree.right.name)
    return tuple([arguments[input.name] for input in program.inputs])


def _stand_in(input: Input, program: Program, values: Mapping[str, Any]) -> Tensor:
    """Return a tensor without elements for an input."""
    assert input.dtype is not None and input.device is not None, "a tensor's"
    tensor = Tensor()
    shape = _numbers(input.shape, values)
    strides = program.example.get(input.name) if input.strides is None else _numbers(input.strides, values)
    tensor.geometry = geometry(input.dtype, input.device, shape, strides)
    tensor._writes, tensor._base = 0, None
    return tensor


def _numbers(sizes: tuple[Size, ...], values: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple([size if isinstance(size, int) else computed(read(size), values) for size in sizes])


class _Rehearsal:
    """Dry run of a program's steps under a tracer.

    values: values of names: tensors without elements, and numbers.
    """

    def __init__(self, tracer: Tracer, program: Program) -> None:
        self.tracer = tracer
        self.program = program
        self.values: dict[str, Any] = {}
        for input, value in zip(program.inputs, tracer.leaf_values, strict=True):
            self.values[input.name] = value
            if isinstance(value, Tensor):
                sizes = zip((*input.shape, *(input.strides or ())), (*value.shape, *value.stride()), strict=False)
                self.values |= {size: actual for size, actual in sizes if isinstance(size, str) and size.isidentifier()}
        self.values |= program.constants

    def run(self) -> Any:
        """Run all steps and return the outputs."""
        for size, text in self.program.sizes:
            self.values[size] = computed(read(text), self.values)
        for step in self.program.steps:
            self._run(step)
        return self._value(self.program.outputs)

    def _run(self, step: Step) -> None:
        operands, options = self._value(step.operands), self._value(dict(step.options))
        try:
            function = step.operator.function(*operands, **options)
        except NotLoweredError:
            raise
        except Exception as error:
            raise ProgramError(f"{step.name} does not take its operands: {error}") from error
        several = isinstance(function, (tuple, list))
        results = list(function) if several else [function]
        if len(results) != len(step.results) or isinstance(function, list) is not step.is_list:
            raise ProgramError(f"{step.name} returns {len(results)} results, but the program has {len(step.results)}")
        for result, value in zip(step.results, results, strict=True):
            if result is not None:
                self._compare(step, result, value)
                self.values[result.name] = value

    def _compare(self, step: Step, result: Result, value: Any) -> None:
        """Check a result against the dtype, device and shape that the program declares."""
        if not isinstance(value, Tensor):
            raise ProgramError(f"{step.name} returns no tensor for {result.name}")
        if len(value.shape) == len(result.shape):
            for size, actual in zip(result.shape, value.shape, strict=True):
                if isinstance(size, str) and size.isidentifier():
                    self.values.setdefault(size, actual)
        got = value.dtype, value.device, _plain(value.shape)
        said = result.dtype, result.device, _plain(self._said(result.shape, got[2]))
        if said != got:
            raise ProgramError(
                f"{step.name} returns {_shown(*got)} for {result.name}, but the program has {_shown(*said)}"
            )

    def _said(self, shape: tuple[Size, ...], got: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the declared shape as numbers; data-dependent sizes are taken from the actual shape."""
        is_late = [isinstance(size, str) and not names_of(read(size)) <= self.values.keys() for size in shape]
        if len(shape) != len(got) or not any(is_late):
            return _numbers(shape, self.values)
        pairs = zip(shape, got, is_late, strict=True)
        return tuple([actual if late else _numbers((size,), self.values)[0] for size, actual, late in pairs])

    def _value(self, value: Any) -> Any:
        """Evaluate an operand: replace its expressions by tensors and numbers."""
        if isinstance(value, Expression):
            return computed(read(value.text), self.values)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._value, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._value, value))
        if isinstance(value, dict):
            return {key: self._value(one) for key, one in value.items()}
        return value


def _plain(sizes: Any) -> tuple[Any, ...]:
    return tuple([example_value(size) for size in sizes])


def _shown(dtype: DType, device: Device, shape: tuple[Any, ...]) -> str:
    return f"{dtype}{list(shape)} on {device}"
