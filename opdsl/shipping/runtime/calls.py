"""Calls of a package's operators: the plan for the form of a call is found, and run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .code import Library
from .keys import FLOAT, NUMBERS, SCALAR, TENSOR, TENSORS, value_key

Factory = Callable[[Any], Callable[..., Any]]
Key = tuple[str, ...]


class NotCompiledError(TypeError):
    """Raised when a package has no kernel for the form of a call."""


class Arrays(Protocol):
    """Functions on the arrays of a library, NumPy or PyTorch."""

    GUARD_FAILED: object

    def read(self, value: Any) -> tuple[Any, str]:
        """Return an argument as an array, and its key; the key is empty if kernels cannot read the layout."""

    def packed(self, array: Any) -> tuple[Any, str]:
        """Return a copy of an array in row-major order, and its key."""


class Table(NamedTuple):
    """Plans of a function, as a package holds them.

    name: of the function, shown in errors.
    parameters: name and kind of each.
    plans, shapes: for each key the functions that make its plans.
    forms: the compiled forms, as text.
    writes: the positions of the arguments that the function writes, one for each result; empty if it returns new
        arrays. Keys in ``shapes`` then lack the outputs.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    plans: Mapping[Key, Sequence[Factory]]
    shapes: Mapping[Key, Sequence[Factory]]
    forms: tuple[str, ...]
    writes: tuple[int, ...] = ()


class Gradient(NamedTuple):
    """Gradients of an operator's arguments.

    names: the arguments that have gradients.
    results: the positions of the results whose gradients are taken.
    reads: the arguments and results (``result0``) that the function takes after these.
    table: its plans.
    """

    names: tuple[str, ...]
    results: tuple[int, ...]
    reads: tuple[str, ...]
    table: Table


class Function:
    """Function of a package on the arrays of one library.

    Args:
        table: its plans.
        arrays: of the library.
    """

    def __init__(self, table: Table, arrays: Arrays) -> None:
        self.table, self.arrays = table, arrays
        self._plans: dict[Key, list[Callable[..., Any]]] = {}
        self._shapes: dict[Key, list[Callable[..., Any]]] = {}
        self._lock = threading.Lock()

    def __call__(self, values: Sequence[Any]) -> Any:
        """Run a call.

        Args:
            values: all arguments, in order.

        Raises:
            NotCompiledError: no plan serves it.
        """
        arguments, key = self.read(values)
        result = self._run(arguments, key)
        if result is self.arrays.GUARD_FAILED:
            packed, again = self.read(arguments, is_packed=True)
            if again != key:
                result = self._run(packed, again)
        if result is self.arrays.GUARD_FAILED:
            raise NotCompiledError(self._refusal(self.read(values, is_packed=True)[1]))
        return result

    def shapes(self, values: Sequence[Any], key: Key) -> Any:
        """Return the sizes, dtype and strides of each result of a call.

        Args:
            values: the arguments; of tensors, only shapes are read.
            key: of the call.

        Raises:
            NotCompiledError: no plan serves it.
        """
        for plan in self._bound(key, self._shapes, self.table.shapes):
            result = plan(*values)
            if result is not self.arrays.GUARD_FAILED:
                return result
        raise NotCompiledError(self._refusal(key))

    def read(self, values: Sequence[Any], *, is_packed: bool = False) -> tuple[list[Any], Key]:
        """Return the arguments as plans take them, and the key of the call.

        Args:
            values: of the call.
            is_packed: whether tensors are copied to row-major order.
        """
        arguments, key = [], []
        for (_, kind), value in zip(self.table.parameters, values, strict=True):
            argument, part = self._read(kind, value, is_packed=is_packed)
            arguments.append(argument)
            key.append(part)
        return arguments, tuple(key)

    def _read(self, kind: str, value: Any, *, is_packed: bool) -> tuple[Any, str]:
        if kind == TENSORS:
            parts = [self._read(TENSOR, element, is_packed=is_packed) for element in value]
            return [part for part, _ in parts], f"[{', '.join(text for _, text in parts)}]"
        if kind == TENSOR and value is not None:
            array, key = self.arrays.read(value)
            return self.arrays.packed(array) if is_packed or not key else (array, key)
        if kind in (FLOAT, SCALAR) and value is not None:
            number = value.item() if hasattr(value, "item") else value
            if isinstance(number, NUMBERS):
                number = float(number) if kind == FLOAT and not isinstance(number, complex) else number
                return number, type(number).__name__
        return value, value_key(_plain(value))

    def _run(self, arguments: Sequence[Any], key: Key) -> Any:
        for plan in self._bound(key, self._plans, self.table.plans):
            result = plan(*arguments)
            if result is not self.arrays.GUARD_FAILED:
                return result
        return self.arrays.GUARD_FAILED

    def _bound(
        self, key: Key, known: dict[Key, list[Callable[..., Any]]], table: Mapping[Key, Sequence[Factory]]
    ) -> list[Callable[..., Any]]:
        """Return the plans of a key, made when they are first used."""
        plans = known.get(key)
        if plans is None:
            with self._lock:
                plans = known.setdefault(key, [make(self.arrays) for make in table.get(key, ())])
        return plans

    def _refusal(self, key: Key) -> str:
        names = [name for name, _ in self.table.parameters]
        call = ", ".join(f"{name}: {part}" for name, part in zip(names, key, strict=False))
        forms = "; ".join(f"({form})" for form in self.table.forms)
        return (
            f"{self.table.name}: this package has no kernel for ({call}). It was built for {forms}. "
            "Add the form to [tool.opdsl.build.forms] and build it again."
        )


def _plain(value: Any) -> Any:
    """Return an argument that is neither a tensor nor a number as its key names it: dtypes by their names."""
    if isinstance(value, (str, int, float, complex, list, tuple, type(None))):
        return value
    return getattr(value, "name", None) or str(value).removeprefix("torch.")


class Package:
    """Package of compiled operators.

    Args:
        name: of the Python package.
        folder: of its modules.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.library = Library(name, folder / "_code")

    def operator(self, name: str) -> Operator:
        """Return an operator by the name of the module with its plans."""
        return Operator(self, name)


class Operator:
    """Operator of a package, for all libraries of arrays. Its plans are imported when it is first called.

    Args:
        package: that has it.
        name: of the module with its plans.
    """

    def __init__(self, package: Package, name: str) -> None:
        self._package, self._name = package, name
        self._function: Function | None = None

    @property
    def function(self) -> Function:
        """Return the function on NumPy arrays."""
        if self._function is None:
            arrays = import_module(f"{self._package.name}._runtime.arrays").NumPyArrays(self._package.library)
            table = import_module(f"{self._package.name}._operators.{self._name}").TABLE
            kind = import_module(f"{self._package.name}._runtime.writing").WritingFunction if table.writes else Function
            self._function = kind(table, arrays)
        return self._function

    def fits(self, values: Sequence[Any]) -> bool:
        """Return whether arguments are arrays where the operator takes arrays, and numbers where it takes numbers."""
        return all(
            hasattr(value, "shape") == (kind == TENSOR) or value is None
            for (_, kind), value in zip(self.function.table.parameters, values, strict=False)  # `out` comes last
            if kind in (TENSOR, FLOAT, SCALAR)
        )

    def __call__(self, *values: Any) -> Any:
        """Run a call on NumPy arrays, given all arguments; tensors of PyTorch go to the operator in torch."""
        function = self.function
        torch = sys.modules.get("torch")
        if torch is not None and any(isinstance(value, torch.Tensor) for value in values):
            import_module(f"{self._package.name}.torch")
            namespace, _, name = function.table.name.partition("::")
            base, _, overload = name.partition(".")
            operator = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
            names = [keyword.name for keyword in operator._schema.arguments if keyword.kwarg_only]
            count = len(values) - len(names)
            return operator(*values[:count], **dict(zip(names, values[count:], strict=True)))
        return function(values)

    def into(self, outputs: Any, *values: Any) -> Any:
        """Run a call that writes its results to outputs.

        Args:
            outputs: an array, or for several results a tuple of them.
            values: the other arguments.

        Raises:
            TypeError: there is another number of results.
        """
        passed = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
        count = len(self.function.table.writes)
        if len(passed) != count:
            raise TypeError(
                f"{self.function.table.name}: out has {len(passed)} arrays, and there are {count} results. "
                "Pass one for each."
            )
        return self(*values, *passed)


def overloaded(name: str, overloads: Sequence[tuple[Callable[..., Any], Operator]]) -> Callable[..., Any]:
    """Return a function that calls the first overload whose parameters fit the arguments.

    Args:
        name: of the function.
        overloads: the function of each, and its operator.
    """

    def call(*positional: Any, **named: Any) -> Any:
        for function, operator in overloads:
            try:
                values = signature(function).bind(*positional, **named)
            except TypeError:
                continue
            values.apply_defaults()
            if operator.fits(list(values.arguments.values())):
                return function(*positional, **named)
        raise TypeError(f"{name}: no overload takes these arguments.")

    call.__name__ = call.__qualname__ = name
    return call
