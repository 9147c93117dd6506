"""Printing of programs as Python: source for people to read, and the function that is run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, Protocol

from opdsl.dispatch import Operator
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.errors import ProgramError
from opdsl.generated import function_from_source
from opdsl.programs.leaves import RESERVED
from opdsl.programs.steps import WORDS, Expression, Input, Size, Step, names_in, short_name, unfused
from opdsl.runtime import Device, DType, Layout, MemoryFormat, Tensor
from opdsl.runtime.symbol import is_symbol

__all__ = ["OWN_NAMES", "compiled", "size_checks", "source"]

OWN_NAMES: Final = "_opdsl"
"""Prefix of the names that a program's function uses in addition to those of the program."""

_ERRORS: Final = (ArithmeticError, TypeError)


def _attempt(compute: Callable[[], Any]) -> Any:
    """Evaluate an expression of data-dependent numbers, with a ProgramError if it has no value.

    Raises:
        ProgramError: the computation fails.
    """
    try:
        return compute()
    except _ERRORS as error:
        raise ProgramError(f"an expression of sizes cannot be computed: {error}") from error


def _repr(value: Any) -> str:
    """Return the text of a number, which specializes a plan to it: guards compare texts."""
    return repr(value.pin() if is_symbol(value) else value)


# Globals of the function: only the names that expressions call.
_GLOBALS: Final[Mapping[str, Any]] = {
    "__builtins__": {},
    "math": math,
    "max": max,
    "min": min,
    "repr": _repr,
    "guard_failed": GUARD_FAILED,
    f"{OWN_NAMES}_errors": _ERRORS,
    f"{OWN_NAMES}_attempt": _attempt,
}

# Operators that fail for some numbers.
_PARTIAL: Final = re.compile(r"[/%]|\*\*|math\.")


class Printed(Protocol):
    """Protocol of the parts of ``Program`` that are printed."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[Input, ...]: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def outputs(self) -> Any: ...
    @property
    def guards(self) -> tuple[str, ...]: ...
    @property
    def sizes(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def constants(self) -> Mapping[str, Tensor]: ...


def source(program: Printed) -> str:
    """Return a program as Python source that runs where it is pasted."""
    lines = _Source(program).lines()
    imports = ["import math", ""] * any("math." in line for line in lines) + ["import opdsl"]
    return "\n".join([*imports, *_constant_lines(program), "", "", *lines]) + "\n"


def compiled(program: Printed) -> Callable[..., Any]:
    """Compile the function of a program, which takes inputs, then constants; see ``Program.function``."""
    namespace = dict(_GLOBALS)
    printer = _Source(program, namespace)
    return function_from_source(
        printer.name, "\n".join(printer.lines()) + "\n", namespace, title=_identifier(program.name)
    )


def size_checks(inputs: Sequence[Input]) -> list[str]:
    """Return the conditions that the shapes and strides of inputs have to meet, as Python expressions."""
    return _Sizes(inputs).checks


class _Sizes:
    """Generated lines that read sizes from inputs, and the equalities that the inputs have to meet."""

    def __init__(self, inputs: Sequence[Input], wanted: frozenset[str] | None = None) -> None:
        self.lines: list[str] = []
        self.checks: list[str] = []
        self.known: set[str] = set()
        self._wanted = wanted
        for input in inputs:
            if input.kind is None:
                self._read(input.shape, f"{input.name}.shape")
                self._read(input.strides or (), f"{input.name}.stride()")

    def _read(self, sizes: Sequence[Size], text: str) -> None:
        names = []
        for index, size in enumerate(sizes):
            if isinstance(size, int) or size in self.known:
                self.checks.append(f"{text}[{index}] == {size}")
                names.append("_")
            elif not size.isidentifier():  # an expression of other sizes
                names.append("_")
            else:
                self.known.add(size)
                names.append(size if self._wanted is None or size in self._wanted else "_")
        if any(name != "_" for name in names):
            self.lines.append(f"{', '.join(names)}{',' * (len(names) == 1)} = {text}")


class _Source:
    """Generator of the Python function of a program, to read or to run.

    name: name of the function.

    Args:
        program: the program.
        namespace: gets the objects that the lines name, to run them; None for lines to read.
    """

    def __init__(self, program: Printed, namespace: dict[str, Any] | None = None) -> None:
        self.program = program
        self.namespace = namespace
        self.name = f"{OWN_NAMES}_program" if namespace is not None else _identifier(program.name)
        self.sizes = _needed_sizes(program)
        # Numbers that operands compute from sizes are computed before all steps.
        self._early: list[str] = []
        self._numbers = count()

    def lines(self) -> list[str]:
        """Return the lines of the generated function."""
        program = self.program
        used = names_in(tuple((step.operands, tuple(step.options.values())) for step in program.steps))
        used |= names_in(program.outputs) | {word for guard in program.guards for word in WORDS.findall(guard)}
        used |= {word for text in self.sizes.values() for word in WORDS.findall(text)}
        repeated = [size for input in program.inputs for size in (*input.shape, *(input.strides or ()))]
        used |= {str(number) for number in repeated if isinstance(number, str) and repeated.count(number) > 1}
        sizes = _Sizes(program.inputs, used)
        self._known = sizes.known | self.sizes.keys() | {input.name for input in program.inputs} | _GLOBALS.keys()
        parameters = [*map(self._parameter, program.inputs), *(program.constants if self.namespace is not None else ())]
        head = [*sizes.lines, *(line for check in sizes.checks for line in self._guard(check))]
        steps = [line for call in self._calls() for line in call]
        returned = f"return {self._text(program.outputs)}"
        computed = [f"{size} = {text}" for size, text in self.sizes.items()]
        computed += [*self._early, *(line for guard in program.guards for line in self._guard(guard))]
        if self.namespace is not None:
            computed = self._attempted(computed)
        else:
            head = [*(f"# {input}" for input in program.inputs if input.kind is None), *head]
        body = [*head, *computed, *steps, returned]
        return [f"def {self.name}({', '.join(parameters)}):", *(f"    {line}" for line in body)]

    @staticmethod
    def _attempted(lines: list[str]) -> list[str]:
        """Wrap lines that compute with sizes and numbers in ``try``; on an arithmetic error the function returns
        ``guard_failed``.
        """
        if not any(_PARTIAL.search(line) for line in lines):
            return lines
        indented = [f"    {line}" for line in lines]
        return ["try:", *indented, f"except {OWN_NAMES}_errors:", "    return guard_failed"]

    def _parameter(self, input: Input) -> str:
        if self.namespace is not None:
            return input.name
        return f"{input.name}: {'opdsl.Tensor' if input.kind is None else input.kind.__name__}"

    def _guard(self, condition: str) -> list[str]:
        if self.namespace is None:
            return [f"assert {condition}"]
        return [f"if not ({condition}):", "    return guard_failed"]

    def _calls(self) -> Iterator[list[str]]:
        """Yield the lines of each step; for readers, fused steps are shown as their parts."""
        if self.namespace is not None:
            yield from ([self._step(step)] for step in self.program.steps)
            return
        for step, parts in zip(self.program.steps, unfused(self.program.steps), strict=True):
            yield [*["# fused:"] * bool(step.parts), *map(self._step, parts)]

    def _step(self, step: Step) -> str:
        arguments = [self._text(operand) for operand in step.operands]
        arguments += [f"{name}={self._text(option)}" for name, option in step.options.items()]
        call = f"{self._function(step.operator)}({', '.join(arguments)})"
        names = [result.name if result is not None else "_" for result in step.results]
        if not any(name != "_" for name in names):
            return call
        target = f"{', '.join(names)}{',' * step.is_list}" if len(names) > 1 or step.is_list else names[0]
        notes = ", ".join(str(result).partition(": ")[2] for result in step.results if result is not None)
        return f"{target} = {call}{f'  # {notes}' if self.namespace is None else ''}"

    def _function(self, operator: Operator) -> str:
        return _function_text(operator) if self.namespace is None else self._constant(operator.function)

    def _text(self, value: Any) -> str:
        if isinstance(value, Expression):
            return self._expression(value.text)
        if isinstance(value, tuple):
            parts = [self._text(member) for member in value]
            if hasattr(value, "_fields") and self.namespace is not None:
                return f"{self._constant(type(value))}({', '.join(parts)})"
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if isinstance(value, list):
            return f"[{', '.join(self._text(member) for member in value)}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{self._text(key)}: {self._text(member)}' for key, member in value.items())}}}"
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        return self._constant(value) if self.namespace is not None else _constant_text(value)

    def _expression(self, text: str) -> str:
        """Return an expression as source; one that may fail is moved before all steps, unless it depends on their
        results.
        """
        if self.namespace is None or not _PARTIAL.search(text):
            return text
        if not self._known.issuperset(word for word in WORDS.findall(text) if f"math.{word}" not in text):
            return f"{OWN_NAMES}_attempt(lambda: {text})"
        variable = f"{OWN_NAMES}_number_{next(self._numbers)}"
        self._early.append(f"{variable} = {text}")
        return variable

    def _constant(self, value: Any) -> str:
        assert self.namespace is not None, "a program that is run"
        variable = f"{OWN_NAMES}_{len(self.namespace)}"
        self.namespace[variable] = value
        return variable


def _needed_sizes(program: Printed) -> dict[str, str]:
    """Return the sizes that the program computes: those that steps, outputs, guards or other such sizes read."""
    needed = set(names_in(tuple((step.operands, tuple(step.options.values())) for step in program.steps)))
    needed |= names_in(program.outputs)
    needed |= {word for guard in program.guards for word in WORDS.findall(guard)}
    kept: list[tuple[str, str]] = []
    for size, text in reversed(program.sizes):
        if size in needed:
            kept.append((size, text))
            needed.update(WORDS.findall(text))
    return dict(reversed(kept))


def _function_text(operator: Operator) -> str:
    """Return the Python expression that refers to an operator, ``opdsl.ops.aten.add.Tensor``."""
    namespace, _, rest = operator.name.partition("::")
    packet, _, overload = rest.partition(".")
    return f"opdsl.ops.{namespace}.{packet}.{overload or 'default'}"


def _constant_text(value: Any) -> str:
    """Return the Python expression of a constant such as a dtype, a device or a float."""
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return f'float("{value}")'
    if isinstance(value, (DType, Layout, MemoryFormat)):
        return str(value) if str(value).startswith("opdsl.") else f"opdsl.{value}"
    if isinstance(value, Device):
        return f'opdsl.device("{value}")'
    return repr(value)


def _constant_lines(program: Printed) -> Iterator[str]:
    """Yield placeholder assignments for the constant tensors of a program, for source to read."""
    for name, value in program.constants.items():
        yield f"{name}: opdsl.Tensor = ...  # {short_name(value.dtype)}{list(value.shape)}"


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name)
    return text if text.isidentifier() and text not in RESERVED else f"program_{text}"
