"""Loading of programs from files. A file is data: it is never executed, and its texts are parsed before they become
Python.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from opdsl.dispatch import Operator
from opdsl.errors import OpdslError, ProgramError, UnknownOperatorError
from opdsl.programs.checking import checked
from opdsl.programs.example import rehearse
from opdsl.programs.program import Program
from opdsl.programs.saving import FORMAT, TENSORS, VERSION, is_key
from opdsl.programs.steps import Expression, Input, Result, Size, Step, operator_named
from opdsl.runtime import Device, Layout, MemoryFormat, Tensor
from opdsl.runtime.dtype import ALL_DTYPES
from opdsl.runtime.saving import load as load_tensors

__all__ = ["load"]

_KINDS: Final[Mapping[str, type]] = {kind.__name__: kind for kind in (bool, int, float, complex)}
_DTYPES: Final = {str(dtype): dtype for dtype in ALL_DTYPES}
_MOST_BYTES: Final = 1 << 26
_LARGEST_SIZE: Final = (1 << 63) - 1
_DEEPEST: Final = 40
_LONGEST_NUMBER: Final = 400


def load(path: str | os.PathLike[str]) -> Program:
    """Load a program from a file; see ``Program.load``."""
    place = Path(path)
    beside = place.with_suffix(TENSORS)

    def tensors() -> object:
        try:
            return load_tensors(beside)
        except (OSError, OpdslError) as error:
            raise ProgramError(f"its tensors cannot be read from {beside}: {error}") from error

    return _read(str(place), lambda: _bytes_of(place), tensors)


def unpickled(text: str, constants: dict[str, Tensor]) -> Program:
    """Return the program of a pickle, given the text that ``saving.text_of`` returns, and its tensors by name.

    Raises:
        ProgramError: it is no valid program.
    """
    return _read("the pickle", lambda: text.encode(), lambda: constants)


def _read(where: str, contents: Callable[[], bytes], tensors: Callable[[], object]) -> Program:
    """Parse and validate a program; errors name its source."""
    try:
        program = checked(_Reader(where, tensors).program(_contents(contents())))
        rehearse(program)
    except ProgramError as error:
        remedy = "" if str(error).endswith(".") else ". Save the program again."
        raise ProgramError(f"{where}: {error}{remedy}") from error
    except RecursionError as error:
        raise ProgramError(f"{where} is nested too deeply for a program. Save the program again.") from error
    return program


def _bytes_of(place: Path) -> bytes:
    """Return the content of a file.

    Raises:
        ProgramError: it is too large.
    """
    size = place.stat().st_size
    if size > _MOST_BYTES:
        raise ProgramError(f"this is no program: it has {size} bytes (at most {_MOST_BYTES})")
    return place.read_bytes()


def _contents(content: bytes) -> Any:
    """Parse bytes as JSON.

    Raises:
        ProgramError: they are no valid JSON.
    """
    try:
        return json.loads(content, object_pairs_hook=_without_repetition, parse_constant=_refused, parse_float=_refused)
    except ValueError as error:
        raise ProgramError(f"this is no program: {error}. Write one with Program.save.") from error


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    repetition = dict(pairs)
    if len(repetition) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return repetition


def _refused(text: str) -> Any:
    raise ValueError(f"the number {text[:40]}, which is no integer")


class _Reader:
    """Parser of the fields of a program, which checks every type."""

    def __init__(self, where: str, tensors: Callable[[], object]) -> None:
        self.where, self.tensors = where, tensors

    def program(self, contents: Any) -> Program:
        """Parse a program from JSON data, leaving its expressions as text.

        Raises:
            ProgramError: a field is missing, unknown or of another type than ``save`` writes.
        """
        is_ours = isinstance(contents, dict) and contents.get("format") == FORMAT
        version = contents.get("version") if is_ours else None
        if type(version) is not int or version != VERSION:
            raise ProgramError("this is no program that this version reads. Write one with Program.save.")
        fields = "format version name inputs steps outputs guards sizes constants example"
        (_, _, name, inputs, steps, outputs, guards, sizes, constants, example) = _fields(contents, fields)
        return Program(
            _text(name),
            tuple(map(self._input, _list(inputs))),
            tuple(map(self._step, _list(steps))),
            self._value(outputs),
            tuple(map(_text, _list(guards))),
            tuple([(_text(size), _text(expression)) for size, expression in map(_pair, _list(sizes))]),
            self._constants(_list(constants)),
            {key: self._value(value) for key, value in _object(example).items()},
        )

    def _constants(self, names: list[Any]) -> dict[str, Tensor]:
        """Return the constant tensors of the given names, from the file of tensors."""
        if not names:
            return {}
        tensors = self.tensors()
        if not isinstance(tensors, dict) or len(set(map(_text, names))) != len(names):
            raise ProgramError(f"{self.where} has no tensors by name, or a name occurs twice")
        constants = {name: tensors[name] for name in names if isinstance(tensors.get(name), Tensor)}
        missing = sorted(set(names) - constants.keys())
        if missing:
            raise ProgramError(f"{self.where} has no tensor {', '.join(missing)[:100]}")
        return constants

    def _input(self, value: Any) -> Input:
        if "kind" in _object(value):
            name, kind = _fields(value, "name kind")
            return Input(_text(name), _one_of(_KINDS, kind))
        name, dtype, device, shape, strides = _fields(value, "name dtype device shape strides")
        sizes = None if strides is None else _sizes(strides)
        return Input(_text(name), None, _one_of(_DTYPES, dtype), _device(device), _sizes(shape), sizes)

    def _step(self, value: Any) -> Step:
        fields = "operator schema operands options results is_list"
        name, schema, operands, options, results, is_list = _fields(value, fields)
        operator = _operator(_text(name), _text(schema))
        operands, options = self._value(operands), self._value(options)
        names = {argument.python_name for argument in operator.schema.arguments} | {"out"}
        if not isinstance(operands, tuple) or not isinstance(options, dict) or not names.issuperset(options):
            raise ProgramError(f"{name} is not called with a tuple and options of its own")
        if type(is_list) is not bool:
            raise ProgramError(f"is_list of {name} is neither true nor false")
        parsed_results = tuple([None if result is None else self._result(result) for result in _list(results)])
        return Step(operator, operands, options, parsed_results, is_list)

    @staticmethod
    def _result(value: Any) -> Result:
        name, dtype, shape, device = _fields(value, "name dtype shape device")
        return Result(_text(name), _one_of(_DTYPES, dtype), _sizes(shape), _device(device))

    def _value(self, value: Any, depth: int = 0) -> Any:
        """Parse an operand, or the outputs of the program."""
        if depth > _DEEPEST:
            raise ProgramError(f"operands are nested deeper than {_DEEPEST} levels")

        def inner(value: Any) -> Any:
            return self._value(value, depth + 1)

        if isinstance(value, list):
            return list(map(inner, value))
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise ProgramError(f"an operand has the keys {', '.join(value)[:100]}: expected one")
        ((kind, content),) = value.items()
        readers: dict[str, Callable[[], Any]] = {
            "expression": lambda: Expression(_text(content)),
            "tuple": lambda: tuple(map(inner, _list(content))),
            "results": lambda: _results(*map(inner, _list(content))),
            "dict": lambda: _dict(content, inner),
            "float": lambda: _number(float, content),
            "complex": lambda: _number(complex, content),
            "dtype": lambda: _one_of(_DTYPES, content),
            "device": lambda: _device(content),
            "layout": lambda: _one_of(Layout.__members__, content),
            "memory_format": lambda: _one_of(MemoryFormat.__members__, content),
        }
        return _one_of(readers, kind)()


def _operator(name: str, schema: str) -> Operator:
    """Return the operator of a name, if its schema equals the saved one; else raise an error."""
    try:
        operator = operator_named(name)
    except UnknownOperatorError as error:
        raise ProgramError(
            f"the program calls {schema}, which is not declared. Import the library that declares it."
        ) from error
    if str(operator.schema) != schema:
        raise ProgramError(
            f"the program was saved with {schema}, but here it is {operator.schema}. Trace the function again."
        )
    return operator


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProgramError(f"expected an object (got {_shown(value)})")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ProgramError(f"expected a list (got {_shown(value)})")
    return value


def _pair(value: Any) -> list[Any]:
    if len(_list(value)) != 2:
        raise ProgramError(f"expected a pair (got {_shown(value)})")
    return _list(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ProgramError(f"expected a string (got {_shown(value)})")
    return value


def _fields(value: Any, names: str) -> list[Any]:
    """Check that an object has exactly the given keys, and return their values."""
    wrong = sorted(_object(value).keys() ^ set(names.split()))
    if wrong:
        raise ProgramError(f"keys are missing or not known: {', '.join(wrong)[:200]}")
    return [value[name] for name in names.split()]


def _one_of(known: Mapping[str, Any], name: Any) -> Any:
    if not isinstance(name, str) or name not in known:
        raise ProgramError(f"{_shown(name)} is none of {', '.join(known)}")
    return known[name]


def _device(text: Any) -> Device:
    try:
        return Device(_text(text))
    except ProgramError:
        raise
    except OpdslError as error:
        raise ProgramError(f"{_shown(text)} is no device: {error}") from error


def _sizes(value: Any) -> tuple[Size, ...]:
    for size in _list(value):
        if not (isinstance(size, str) or (type(size) is int and 0 <= size <= _LARGEST_SIZE)):
            raise ProgramError(f"{_shown(size)} is no size")
    return tuple(value)


def _number(kind: type[float | complex], text: Any) -> float | complex:
    try:
        if len(_text(text)) <= _LONGEST_NUMBER:
            return kind(text)
    except ValueError:
        pass
    raise ProgramError(f"{_shown(text)} is no {kind.__name__}")


def _results(operator: Any = None, *values: Any) -> tuple[Any, ...]:
    """Build the named tuple of an operator's results, given the operator's name and the values."""
    try:
        kind: Any = operator_named(_text(operator)).result_type
    except UnknownOperatorError as error:
        raise ProgramError(f"{_shown(operator)} is not declared. Import the library that declares it.") from error
    if kind is None or len(kind._fields) != len(values):
        raise ProgramError(f"{_shown(operator)} has no {len(values)} results by name")
    named: tuple[Any, ...] = kind(*values)
    return named


def _dict(pairs: Any, inner: Callable[[Any], Any]) -> dict[Any, Any]:
    entries: dict[Any, Any] = {}
    for key, value in map(_pair, _list(pairs)):
        name = inner(key)
        if not is_key(name) or name in entries:
            raise ProgramError(f"{_shown(key)} is no key, or occurs twice")
        entries[name] = inner(value)
    return entries


def _shown(value: Any) -> str:
    return repr(value)[:100] if not isinstance(value, (dict, list)) else f"a {type(value).__name__}"
