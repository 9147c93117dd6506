"""Calls of in-place and ``out=`` variants: arguments are checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from .calls import Arrays, Function, NotCompiledError, Table
from .keys import TENSOR, TENSORS
from .memory import Memory


class WritableArrays(Arrays, Protocol):
    """Functions on the arrays of a library that can be written."""

    def target(self, name: str, value: Any) -> Any:
        """Return an argument as an array whose memory can be written.

        Raises:
            TypeError: it is no array.
            ValueError: it is read-only.
        """

    def memory(self, value: Any) -> Memory:
        """Return the memory of an argument; of one that is no array, that of a copy."""

    def store(self, target: Any, array: Any) -> None:
        """Copy an array to an argument, unless it has its memory."""


class WritingFunction(Function):
    """Function of a package that writes arguments.

    Args:
        table: its plans.
        arrays: of the library.
    """

    arrays: WritableArrays

    def __init__(self, table: Table, arrays: WritableArrays) -> None:
        super().__init__(table, arrays)
        # Results depend on the arguments before the outputs.
        self._count = len(next(iter(table.shapes)))
        self._names = [f"{table.name}: {table.parameters[at][0]}" for at in table.writes]

    def __call__(self, values: Sequence[Any]) -> Any:
        """Run a call, and return the arguments that it writes.

        Raises:
            NotCompiledError: no plan serves it.
            TypeError, ValueError: an argument cannot be written, or has not the layout of the result, or overlaps
                another argument. Nothing is written then.
        """
        writes = self.table.writes
        targets = [self.arrays.target(name, values[at]) for name, at in zip(self._names, writes, strict=True)]
        arguments, key = self.read(values)
        if key[: self._count] not in self.table.shapes:
            arguments, key = self.read(arguments, is_packed=True)
        memories = list(map(self.arrays.memory, targets))
        self._check_layouts(memories, self.shapes(arguments[: self._count], key[: self._count]))
        self._check_overlaps(values, memories)
        if self._run(arguments, key) is self.arrays.GUARD_FAILED:
            arguments, key = self.read(arguments, is_packed=True)
            if self._run(arguments, key) is self.arrays.GUARD_FAILED:
                raise NotCompiledError(self._refusal(key))
        for at, target in zip(writes, targets, strict=True):
            self.arrays.store(target, arguments[at])
        written = tuple(values[at] for at in writes)
        return written[0] if len(written) == 1 else written

    def _check_layouts(self, memories: Sequence[Memory], layouts: Sequence[Any]) -> None:
        """Raise an error for an argument that has another shape or dtype than the result."""
        for at, name, memory, (shape, dtype, _) in zip(self.table.writes, self._names, memories, layouts, strict=True):
            if memory.shape != shape:
                raise ValueError(
                    f"{name} has the shape {memory.shape}, and the result {shape}. Pass an array of that shape."
                )
            # In place, a plan converts the result.
            if memory.dtype != dtype and at >= self._count:
                raise TypeError(f"{name} has the dtype {memory.dtype}, and the result {dtype}. Pass one of that dtype.")

    def _check_overlaps(self, values: Sequence[Any], memories: Sequence[Memory]) -> None:
        """Raise an error for an argument that shares memory with another one, or that has elements in one place."""
        others = list(self._others(values))
        for at, name, memory in zip(self.table.writes, self._names, memories, strict=True):
            if memory.repeats_elements():
                raise ValueError(f"{name} may have several elements at one address. Pass a copy of it.")
            for read, other in others:
                if memory.overlaps(other):
                    raise ValueError(f"{name} is written, and overlaps {read}. Pass a copy of {read}.")
            others.append((self.table.parameters[at][0], memory))

    def _others(self, values: Sequence[Any]) -> Iterator[tuple[str, Memory]]:
        """Yield the names and memory of arguments that are read only."""
        for at, ((name, kind), value) in enumerate(zip(self.table.parameters, values, strict=True)):
            if kind in (TENSOR, TENSORS) and at not in self.table.writes and value is not None:
                for element in value if kind == TENSORS else (value,):
                    if element is not None:
                        yield name, self.arrays.memory(element)
