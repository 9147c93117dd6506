"""Saving of programs as JSON, with operators by their schemas, and their tensors in a safetensors file."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Final

from opdsl.dispatch import registry
from opdsl.errors import ProgramError
from opdsl.programs.checking import checked
from opdsl.programs.example import example_of
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Input, Step, unfused
from opdsl.runtime import Device, DType, Layout, MemoryFormat
from opdsl.runtime.saving import save as save_tensors

__all__ = ["FORMAT", "OBJECTS", "TENSORS", "VERSION", "is_key", "save", "text_of"]

FORMAT: Final = "opdsl.program"
VERSION: Final = 2
TENSORS: Final = ".safetensors"
"""Suffix of the file that holds a program's tensors, next to the program's file."""

OBJECTS: Final[Mapping[str, type]] = {
    "dtype": DType,
    "device": Device,
    "layout": Layout,
    "memory_format": MemoryFormat,
}
"""Types of constants that are saved by name."""


def save(path: str | os.PathLike[str], program: Program) -> None:
    """Write a program to a file; see ``Program.save``."""
    place = Path(path)
    if program.constants and place.suffix == TENSORS:
        raise ProgramError(
            f"{place} is the file for the tensors of the program. Use another suffix for the program, such as .json."
        )
    text = text_of(program)
    if program.constants:
        tensors = {name: constant.detach() for name, constant in program.constants.items()}
        save_tensors(tensors, place.with_suffix(TENSORS))
    place.write_text(text, encoding="utf-8")


def text_of(program: Program) -> str:
    """Return a program as JSON text; its constant tensors are only named.

    Raises:
        ProgramError: it contains a value that cannot be saved.
    """
    steps = tuple([part for parts in unfused(program.steps) for part in parts])
    program = checked(program.replace(steps=steps))
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "name": program.name,
        "inputs": list(map(_of_input, program.inputs)),
        "steps": list(map(_of_step, program.steps)),
        "outputs": _written(program.outputs),
        "guards": list(program.guards),
        "sizes": [list(size) for size in program.sizes],
        "constants": list(program.constants),
        "example": {name: _written(value) for name, value in example_of(program).items()},
    }
    return json.dumps(fields, indent=1) + "\n"


def _of_input(input: Input) -> dict[str, Any]:
    if input.kind is not None:
        return {"name": input.name, "kind": input.kind.__name__}
    strides = None if input.strides is None else list(input.strides)
    return {
        "name": input.name,
        "dtype": str(input.dtype),
        "device": str(input.device),
        "shape": list(input.shape),
        "strides": strides,
    }


def _of_step(step: Step) -> dict[str, Any]:
    results = [
        None
        if one is None
        else {"name": one.name, "dtype": str(one.dtype), "shape": list(one.shape), "device": str(one.device)}
        for one in step.results
    ]
    return {
        "operator": step.name,
        "schema": str(step.operator.schema),
        "operands": _written(step.operands),
        "options": _written(dict(step.options)),
        "results": results,
        "is_list": step.is_list,
    }


def _written(value: Any) -> Any:
    """Convert an operand to JSON data; values that JSON lacks become an object with one key, their kind."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, Expression):
        return {"expression": value.text}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"results": [_operator_with_results(value), *map(_written, value)]}
    if isinstance(value, tuple):
        return {"tuple": list(map(_written, value))}
    if isinstance(value, list):
        return list(map(_written, value))
    if isinstance(value, dict):
        return {"dict": [[_key_written(key), _written(member)] for key, member in value.items()]}
    if type(value) in (float, complex):
        return {type(value).__name__: repr(value)}
    for name, kind in OBJECTS.items():
        if isinstance(value, kind):
            return {name: value.name if isinstance(value, enum.Enum) else str(value)}
    raise _refused(value)


def _key_written(key: object) -> Any:
    """Convert a key of a dict to JSON data.

    Raises:
        ProgramError: keys of that type cannot be loaded again.
    """
    if not is_key(key):
        raise _refused(key)
    return _written(key)


def is_key(key: object) -> bool:
    """Return whether a dict key has a type that a saved program can contain."""
    return all(map(is_key, key)) if type(key) is tuple else type(key) in (str, int, bool, float, NoneType)


def _operator_with_results(value: tuple[Any, ...]) -> str:
    """Return the name of an operator whose results are named tuples of a class.

    Raises:
        ProgramError: it is a class of the user's own, which a file cannot contain.
    """
    for operator_name in sorted(registry.operators):
        if registry.operators[operator_name].result_type is type(value):
            return operator_name
    raise _refused(value)


def _refused(value: object) -> ProgramError:
    remedy = "Return a plain tuple, or a dict" if isinstance(value, tuple) else "Make it an argument"
    return ProgramError(f"a {type(value).__name__} cannot be saved with a program: {value!r}. {remedy}.")
