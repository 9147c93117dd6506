"""Programs as JSON: operators by their schemas, tensors beside it as safetensors."""

from __future__ import annotations

import ast
import enum
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from opdsl.dispatch import Operator
from opdsl.errors import ProgramError, UnknownOperatorError
from opdsl.programs.steps import FUNCTIONS, Expression, Input, Result, Step, operator_named
from opdsl.runtime import Device, DType, Layout, MemoryFormat
from opdsl.runtime.dtype import ALL_DTYPES
from opdsl.runtime.saving import load as load_tensors
from opdsl.runtime.saving import save as save_tensors

__all__ = ["load", "save"]

_FORMAT = "opdsl.program"
_VERSION = 1
_KINDS: dict[str, type] = {each.__name__: each for each in (bool, int, float, complex)}
_DTYPES = {str(each): each for each in ALL_DTYPES}

# What expressions of sizes and guards may be made of; anything else in a file is refused.
_NODES = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.Not, ast.And, ast.Or),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is),
)
_CALLED = (*FUNCTIONS, "repr")


def save(path: str | os.PathLike[str], program: Mapping[str, Any]) -> None:
    """Write a program to a file; see ``Program.save``.

    Args:
        path: of the file.
        program: its fields.
    """
    place = Path(path)
    steps = [part for each in program["steps"] for part in (each.parts or (each,))]
    text = {
        "format": _FORMAT,
        "version": _VERSION,
        "name": program["name"],
        "inputs": list(map(_of_input, program["inputs"])),
        "steps": list(map(_of_step, steps)),
        "outputs": _written(program["outputs"]),
        "guards": list(program["guards"]),
        "sizes": [list(each) for each in program["sizes"]],
        "constants": list(program["constants"]),
    }
    place.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    if program["constants"]:
        tensors = {name: each.detach() for name, each in program["constants"].items()}
        save_tensors(tensors, place.with_suffix(".safetensors"))


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a program from a file; see ``Program.load``."""
    place = Path(path)
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ProgramError(f"{place} is no program: {error}. Write one with Program.save.") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("version") != _VERSION:
        raise ProgramError(f"{place} is no program that this version reads. Write one with Program.save.")
    reader = _Reader(place)
    try:
        return reader.fields(found)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ProgramError(f"{place} is damaged: {type(error).__name__}: {error}. Save the program anew.") from error


def _of_input(each: Input) -> dict[str, Any]:
    if each.kind is not None:
        return {"name": each.name, "kind": each.kind.__name__}
    strides = None if each.strides is None else list(each.strides)
    return {
        "name": each.name,
        "dtype": str(each.dtype),
        "device": str(each.device),
        "shape": list(each.shape),
        "strides": strides,
    }


def _of_step(each: Step) -> dict[str, Any]:
    results = [
        None
        if one is None
        else {"name": one.name, "dtype": str(one.dtype), "shape": list(one.shape), "device": str(one.device)}
        for one in each.results
    ]
    return {
        "operator": each.name,
        "schema": str(each.operator.schema),
        "operands": _written(each.operands),
        "options": _written(dict(each.options)),
        "results": results,
        "is_list": each.is_list,
    }


def _written(value: Any) -> Any:
    """An operand as JSON has it: what JSON does not tell apart is an object of one key."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, Expression):
        return {"expression": value.text}
    if isinstance(value, tuple):
        return {"tuple": list(map(_written, value))}
    if isinstance(value, list):
        return list(map(_written, value))
    if isinstance(value, dict):
        return {"dict": [[key, _written(each)] for key, each in value.items()]}
    if type(value) in (float, complex):
        return {type(value).__name__: repr(value)}
    for name, kind in _OBJECTS.items():
        if isinstance(value, kind):
            return {name: value.name if isinstance(value, enum.Enum) else str(value)}
    raise ProgramError(f"a {type(value).__name__} cannot be saved with a program: {value!r}. Make it an argument.")


_OBJECTS: Mapping[str, type] = {"dtype": DType, "device": Device, "layout": Layout, "memory_format": MemoryFormat}


class _Reader:
    """Reads a program, and trusts nothing of it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def fields(self, found: dict[str, Any]) -> dict[str, Any]:
        """Those of the program in a file."""
        constants = {}
        if found["constants"]:
            tensors = load_tensors(self.place.with_suffix(".safetensors"))
            constants = {self._name(each): tensors[each] for each in found["constants"]}
        return {
            "name": str(found["name"]),
            "inputs": tuple(map(self._input, found["inputs"])),
            "steps": tuple(map(self._step, found["steps"])),
            "outputs": self._value(found["outputs"]),
            "guards": tuple(map(self._text, found["guards"])),
            "sizes": tuple((self._name(name), self._text(text)) for name, text in found["sizes"]),
            "constants": constants,
        }

    def _input(self, each: dict[str, Any]) -> Input:
        name = self._name(each["name"])
        if "kind" in each:
            return Input(name, _KINDS[each["kind"]])
        strides = None if each["strides"] is None else self._sizes(each["strides"])
        return Input(name, None, _DTYPES[each["dtype"]], Device(each["device"]), self._sizes(each["shape"]), strides)

    def _step(self, each: dict[str, Any]) -> Step:
        results = tuple(None if one is None else self._result(one) for one in each["results"])
        options = self._value(each["options"])
        names = {argument.python_name for argument in self._operator(each).schema.arguments} | {"out"}
        if not isinstance(options, dict) or not names.issuperset(options):
            raise ProgramError(f"{self.place}: {each['operator']} has no arguments {options!r}. Save the program anew.")
        return Step(self._operator(each), self._value(each["operands"]), options, results, bool(each["is_list"]))

    def _operator(self, each: dict[str, Any]) -> Operator:
        try:
            operator = operator_named(each["operator"])
        except UnknownOperatorError as error:
            raise ProgramError(
                f"{self.place}: the program calls {each['schema']}, which is not here. Import the library that "
                "declares it."
            ) from error
        if str(operator.schema) != each["schema"]:
            raise ProgramError(
                f"{self.place}: the program was saved with {each['schema']}, but here it is {operator.schema}. "
                "Trace the function anew."
            )
        return operator

    def _result(self, each: dict[str, Any]) -> Result:
        dtype, device = _DTYPES[each["dtype"]], Device(each["device"])
        return Result(self._name(each["name"]), dtype, self._sizes(each["shape"]), device)

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return list(map(self._value, value))
        if not isinstance(value, dict):
            return value
        ((kind, inner),) = value.items()
        readers: dict[str, Callable[[], Any]] = {
            "expression": lambda: Expression(self._text(inner)),
            "tuple": lambda: tuple(map(self._value, inner)),
            "dict": lambda: {key: self._value(each) for key, each in inner},
            "float": lambda: float(inner),
            "complex": lambda: complex(inner),
            "dtype": lambda: _DTYPES[inner],
            "device": lambda: Device(inner),
            "layout": lambda: Layout[inner],
            "memory_format": lambda: MemoryFormat[inner],
        }
        return readers[kind]()

    def _sizes(self, sizes: list[Any]) -> tuple[int | str, ...]:
        return tuple(each if type(each) is int else self._text(each) for each in sizes)

    def _name(self, text: Any) -> str:
        if not isinstance(text, str) or not text.isidentifier() or text.startswith("__"):
            raise ProgramError(f"{self.place}: {text!r} is no name. Save the program anew.")
        return text

    def _text(self, text: Any) -> str:
        """An expression of names and numbers.

        Raises:
            ProgramError: it is anything else.
        """
        try:
            tree = ast.parse(str(text), mode="eval")
        except SyntaxError:
            tree = None
        if tree is None or not all(map(_is_harmless, ast.walk(tree))):
            raise ProgramError(f"{self.place}: {text!r} is no expression of sizes. Save the program anew.")
        return str(text)


def _is_harmless(node: ast.AST) -> bool:
    """Whether a part of an expression does nothing but compute with numbers."""
    if isinstance(node, ast.Call):
        is_offset = isinstance(node.func, ast.Attribute) and node.func.attr == "storage_offset" and not node.args
        return not node.keywords and (is_offset or ast.unparse(node.func) in _CALLED)
    if isinstance(node, ast.Attribute):
        name = ast.unparse(node)
        return name in _CALLED or (node.attr == "storage_offset" and isinstance(node.value, ast.Name))
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, bool, str)
    if isinstance(node, ast.Name):
        return not node.id.startswith("__")
    return isinstance(node, _NODES)
