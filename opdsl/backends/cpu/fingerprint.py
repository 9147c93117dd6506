"""What a Python function computes, as text: equal texts mean equal machine code, in any process.

It covers the bytecode, constants, defaults, closures and the globals that the function reads, and the functions that it
calls. What cannot be told apart by text has no fingerprint, and its code is not kept on disk.
"""

from __future__ import annotations

import dis
import hashlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

_READS = ("LOAD_GLOBAL", "LOAD_NAME")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class _NotTold(Exception):
    """A value that text cannot stand for."""


def fingerprint(function: types.FunctionType) -> str | None:
    """A digest of what a function computes, or None when something that it uses cannot be told by text."""
    try:
        text = "\n".join([sys.version, numpy.__version__, *_function(function, set())])
    except _NotTold:
        return None
    return hashlib.sha256(text.encode()).hexdigest()


def _function(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:  # recursion
        yield f"again {function.__qualname__}"
        return
    seen.add(id(function))
    yield from _code(function.__code__, seen)
    yield from _value(function.__defaults__, seen)
    yield from _value(function.__kwdefaults__, seen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"closure {name}"
        try:
            yield from _value(cell.cell_contents, seen)
        except ValueError:
            yield "empty"
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield f"global {name}"
            yield from _value(function.__globals__[name], seen)


def _names(code: types.CodeType) -> set[str]:
    """The names that code, with the code inside it, reads as globals; those of attributes are others' business."""
    inner = [_names(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return {each.argval for each in dis.get_instructions(code) if each.opname in _READS}.union(*inner)


def _code(code: types.CodeType, seen: set[int]) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
    yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    for constant in code.co_consts:
        yield from _value(constant, seen)


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    """Text for a value that a function reads."""
    kind = type(value)
    if kind in _PLAIN:
        yield f"{kind.__name__} {value!r}"
    elif isinstance(value, types.CodeType):
        yield from _code(value, seen)
    elif isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    elif isinstance(getattr(value, "py_func", None), types.FunctionType):  # numba's dispatchers
        yield f"compiled {getattr(value, 'targetoptions', None)!r}"
        yield from _function(value.py_func, seen)
    elif isinstance(value, types.ModuleType):
        yield from _module(value)
    elif isinstance(value, type | types.BuiltinFunctionType | numpy.ufunc):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}"
    elif isinstance(value, numpy.ndarray | numpy.generic) and not value.dtype.hasobject:
        yield f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    else:
        yield from _collection(value, seen)


def _collection(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}"
        for each in value:
            yield from _value(each, seen)
    elif isinstance(value, frozenset | set):
        yield f"{type(value).__name__} {len(value)}"
        yield from sorted("\n".join(_value(each, seen)) for each in value)
    elif isinstance(value, dict):
        yield f"{type(value).__name__} {len(value)}"
        for key, each in value.items():
            yield from _value(key, seen)
            yield from _value(each, seen)
    else:
        raise _NotTold


def _module(module: types.ModuleType) -> Iterator[str]:
    """A module by name, and by its text unless it comes with Python, NumPy or numba, whose versions count already."""
    yield f"module {module.__name__}"
    top = module.__name__.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("numpy", "numba"):
        return
    path = getattr(module, "__file__", None)
    try:
        yield hashlib.sha256(Path(path or "").read_bytes()).hexdigest()
    except OSError:
        raise _NotTold from None
