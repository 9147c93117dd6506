"""State of an LLVM module under construction: declarations, global variables, and the functions still to emit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, get_args

from opdsl.backends.cpu.machine.language import (
    Instruction,
    Shared,
    Struct,
    hints_of,
    is_function,
    llvm_type,
    record_size,
    size_of,
)


class Value(NamedTuple):
    """LLVM value and its type annotation."""

    text: str
    kind: Any


class Callee(NamedTuple):
    """Function that is called: its symbol or instruction template, and the annotations of its parameters and result.

    parameters: None if they are unknown.
    constants: how many of the last arguments are compile-time constants.
    """

    text: str | Instruction
    parameters: tuple[Any, ...] | None
    result: Any
    constants: int = 0


class Wanted(NamedTuple):
    """Function to emit, and the values of its constant parameters."""

    function: FunctionType
    constants: Mapping[str, int]


class Module:
    """LLVM module under construction.

    printed: names of the Python modules that are printed; functions that other modules export are declared.
    constants: values of names, in place of those that the Python modules define.
    attributes: of all functions.
    """

    def __init__(self, printed: Collection[str], constants: Mapping[str, Any], attributes: str) -> None:
        self.printed, self.constants, self.attributes = printed, constants, attributes
        self.declarations: set[str] = set()
        self.globals: dict[str, str] = {}
        self.wanted: dict[str, Wanted] = {}
        self._hints: dict[FunctionType, dict[str, Any]] = {}

    def variable(self, shared: Shared) -> str:
        """Define a global variable, and return its symbol."""
        size = record_size(shared.kind) if is_record(shared.kind) else size_of(shared.kind)
        alignment = 64 if is_record(shared.kind) else 8
        name = f"@{shared.name}"
        self.globals[name] = (
            f"{name} = internal global [{size * shared.elements} x i8] zeroinitializer, align {alignment}"
        )
        return name

    def function(self, function: FunctionType, **constants: int) -> str:
        """Request that a function be emitted or declared, and return its symbol."""
        if function.__dict__["__machine__"].exported and function.__module__ not in self.printed:
            *parameters, returned = self.hints(function).values()
            return self._declared(function.__name__, parameters, returned)
        name = "_".join([function.__name__, *map(str, constants.values())])
        self.wanted.setdefault(name, Wanted(function, constants))
        return f"@{name}"

    def hints(self, function: FunctionType) -> dict[str, Any]:
        """Return the annotations of a function."""
        if function not in self._hints:
            self._hints[function] = hints_of(function, {**function.__globals__, **self.constants})
        return self._hints[function]

    def types(self) -> dict[str, str]:
        """Return the names that instruction templates may use, with their texts."""
        return {
            name: str(kind) if isinstance(kind, int | str) else llvm_type(kind) for name, kind in self.constants.items()
        }

    def constant(self, content: bytes) -> str:
        """Define a zero-terminated string constant, and return its symbol."""
        escaped = "".join(chr(byte) if chr(byte).isalnum() or byte in b" .:,-" else f"\\{byte:02X}" for byte in content)
        same = f' = internal constant [{len(content) + 1} x i8] c"{escaped}\\00"'
        name = next((name for name, line in self.globals.items() if line == name + same), f"@text{len(self.globals)}")
        self.globals[name] = name + same
        return name

    def external(self, name: str, kind: Any) -> Callee | Value:
        """Declare a name of a library, and return its function or value."""
        if is_function(kind):
            parameters, returned = get_args(kind)
            return Callee(self._declared(name, parameters, returned), tuple(parameters), returned)
        self.declarations.add(f"@{name} = external global i8")
        return Value(f"@{name}", kind)

    def _declared(self, name: str, parameters: Sequence[Any], returned: Any) -> str:
        """Declare a function that another object defines, and return its symbol."""
        self.declarations.add(f"declare {llvm_type(returned)} @{name}({', '.join(map(llvm_type, parameters))})")
        return f"@{name}"


def is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)
