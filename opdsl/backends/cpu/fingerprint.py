"""Fingerprints of Python functions: equal fingerprints mean equal machine code, in any process.

A fingerprint covers the bytecode, constants, defaults, closures and the globals that the function reads, and the
functions that it calls. A function that uses a value without a reliable text has no fingerprint, and its code is not
kept on disk.
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

__all__ = ["FunctionText", "NotTold", "fingerprint"]

_READS = ("LOAD_GLOBAL", "LOAD_NAME")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class NotTold(Exception):
    """Raised when a value has no text that identifies it."""


def fingerprint(function: types.FunctionType) -> str | None:
    """Return a digest of a function's computation, or None if it uses a value that has no text."""
    try:
        text = "\n".join([sys.version, numpy.__version__, *FunctionText().function(function)])
    except NotTold:
        return None
    return hashlib.sha256(text.encode()).hexdigest()


class FunctionText:
    """Serializer of functions and of the values that they read to text; each object is written once.

    names: all names in the code of the functions: of globals, of attributes.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        # The number of each object, by its id; the objects are kept alive so that no other object gets the same id.
        self._seen: dict[int, tuple[int, object]] = {}

    def function(self, function: types.FunctionType) -> Iterator[str]:
        """Yield lines of text that identify a function's computation.

        Raises:
            NotTold: it reads a value that has no text.
        """
        again = self.again(function)
        if again:
            yield again
            return
        yield from self._code(function.__code__)
        yield from self.value(function.__defaults__)
        yield from self.value(function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield f"closure {name}"
            try:
                content = cell.cell_contents
            except ValueError:
                yield "empty"
            else:
                yield from self.value(content)
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield f"global {name}"
                yield from self.value(function.__globals__[name])

    def again(self, value: object) -> str:
        """Return a back reference to an object that was written before, or "" at the first time."""
        known = self._seen.get(id(value))
        if known is None:
            self._seen[id(value)] = len(self._seen), value
            return ""
        return f"again {known[0]}"

    def _code(self, code: types.CodeType) -> Iterator[str]:
        self.names.update(code.co_names)
        yield f"code {code.co_code.hex()} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
        yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
        for constant in code.co_consts:
            yield from self.value(constant)

    def value(self, value: Any) -> Iterator[str]:
        """Yield lines of text that identify a value that a function reads.

        Raises:
            NotTold: it has no text.
        """
        kind = type(value)
        if kind in _PLAIN:
            yield f"{kind.__name__} {value!r}"
        elif isinstance(value, types.CodeType):
            yield from self._code(value)
        elif isinstance(value, types.FunctionType):
            yield from self.function(value)
        elif isinstance(getattr(value, "py_func", None), types.FunctionType):  # numba's dispatchers
            yield f"compiled {getattr(value, 'targetoptions', None)!r}"
            yield from self.function(value.py_func)
        elif isinstance(value, types.ModuleType):
            yield from self.module(value)
        elif isinstance(value, type | types.BuiltinFunctionType | numpy.ufunc):
            yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}"
        elif isinstance(value, numpy.ndarray | numpy.generic) and not value.dtype.hasobject:
            yield f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, tuple | list | frozenset | set | dict):
            yield from self._collection(value)
        else:
            yield from self.other(value)

    def _collection(self, value: Any) -> Iterator[str]:
        again = self.again(value) if value else ""
        if again:
            yield again
            return
        yield f"{type(value).__name__} {len(value)}"
        if isinstance(value, tuple | list):
            for element in value:
                yield from self.value(element)
        elif isinstance(value, dict):
            for key, element in value.items():
                yield from self.value(key)
                yield from self.value(element)
        else:
            yield from sorted("\n".join(self.value(element)) for element in value)

    def module(self, module: types.ModuleType) -> Iterator[str]:
        """Yield the name of a module, and a digest of its file unless it belongs to Python, NumPy or numba.

        The versions of those are part of the fingerprint or the cache key already.

        Raises:
            NotTold: the module has no file.
        """
        yield f"module {module.__name__}"
        top = module.__name__.partition(".")[0]
        if top in sys.stdlib_module_names or top in ("numpy", "numba"):
            return
        path = getattr(module, "__file__", None)
        try:
            yield hashlib.sha256(Path(path or "").read_bytes()).hexdigest()
        except OSError:
            raise NotTold from None

    def other(self, value: object) -> Iterator[str]:
        """Yield lines of text that identify a value of any other kind; subclasses extend this.

        Raises:
            NotTold: always, in this class.
        """
        raise NotTold


def _names(code: types.CodeType) -> set[str]:
    """Return the global names that code and the code nested inside it read; names of attributes are not included."""
    inner = [_names(nested) for nested in code.co_consts if isinstance(nested, types.CodeType)]
    return {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in _READS}.union(
        *inner
    )
