"""Programs: traced functions of tensors as data, with inputs, steps that call operators, outputs, and guards.

A program records which operators a traced function called, with which operands. Sizes are symbolic, so that it serves
tensors of other sizes; conditions that the function checked on sizes are its guards. It prints as Python.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

import opdsl.programs.printing as printing
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.errors import ProgramError
from opdsl.programs.memory import MemoryPlan, made_apart, memory_plan
from opdsl.programs.steps import Expression, Input, Step, counted, short_name
from opdsl.runtime import Tensor

__all__ = ["Program"]


def _are_equal(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """Return whether two mappings have the same names with equal tensors."""
    return one.keys() == other.keys() and all(map(_is_equal, one.values(), (other[name] for name in one)))


def _is_equal(one: Tensor, other: Tensor) -> bool:
    if one is other:
        return True
    alike = (one.dtype, one.device, one.shape) == (other.dtype, other.device, other.shape)
    return alike and not one.is_meta and bool(one.equal(other))


@attrs.frozen(unsafe_hash=False)
class Program:
    """Traced function of tensors and numbers, as ``opdsl.trace`` returns it. Call it with its inputs as arguments.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x, r: (x * r).sum(), opdsl.ones(2, 3), 0.5)
    >>> program
    <program <lambda>(x: float32[s1, s2], r: float): 2 steps>
    >>> program(opdsl.ones(4), 2.0)
    Traceback (most recent call last):
    opdsl.errors.ProgramError: the program of <lambda>: expected x: float32[s1, s2] as in the trace (got ...
    >>> program(opdsl.ones(4, 4), 2.0)
    tensor(32.)

    name: name of the traced function.
    inputs: its arguments.
    steps: calls of operators, in order.
    outputs: its results: expressions and constants, in tuples, lists and dicts.
    guards: expressions of sizes and numbers that hold for every call that it serves.
    sizes: names and expressions of further sizes that guards and operands use, in order.
    constants: tensors that are no arguments, by name.
    example: known sizes and numbers of a call that it serves, by name; for tensors that are not contiguous, the
        strides.
    """

    name: str
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: Any
    guards: tuple[str, ...] = ()
    sizes: tuple[tuple[str, str], ...] = ()
    constants: Mapping[str, Tensor] = attrs.field(factory=dict, eq=attrs.cmp_using(eq=_are_equal))
    example: Mapping[str, Any] = attrs.field(factory=dict, eq=False, repr=False)
    _made: dict[str, Any] = attrs.field(factory=dict, eq=False, repr=False, init=False)

    def __hash__(self) -> int:
        return hash((self.name, self.inputs, self.guards, len(self.steps)))

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[object, ...]]:
        """Pickle or deep-copy the program as the text that ``save`` writes, and its tensors."""
        text = importlib.import_module("opdsl.programs.saving").text_of(self)
        constants = {name: constant.detach() for name, constant in self.constants.items()}
        return importlib.import_module("opdsl.programs.loading").unpickled, (text, constants)

    def __call__(self, *arguments: Any) -> Any:
        """Run the program.

        Args:
            arguments: one for each of ``inputs``: tensors of their dtypes and ranks, and numbers.

        Returns:
            The results of the traced function for these arguments.

        Raises:
            ProgramError: the program does not serve these arguments: a dtype or rank differs, or a guard fails.
        """
        self.check(arguments)
        result = self.function(*arguments, *self.constants.values())
        if result is GUARD_FAILED:
            conditions = " and ".join(self.conditions) or "its expressions of numbers can be computed"
            raise ProgramError(
                f"the program of {self.name} is not valid for these sizes and numbers: it requires {conditions}. Trace "
                "the function again, or use opdsl.compile, which does so."
            )
        return result

    def check(self, arguments: Sequence[Any]) -> None:
        """Check that arguments have the number, types, dtypes and ranks of the inputs.

        Args:
            arguments: of a call.

        Raises:
            ProgramError: their number differs, or one is another kind of tensor or number.
        """
        if len(arguments) != len(self.inputs):
            raise ProgramError(
                f"the program of {self.name} takes {len(self.inputs)} arguments (got {len(arguments)}): "
                f"{', '.join(map(str, self.inputs))}. Pass these."
            )
        for input, value in zip(self.inputs, arguments, strict=True):
            if input.kind is None:
                is_alike = isinstance(value, Tensor) and value.dtype is input.dtype and value.ndim == len(input.shape)
            else:
                is_alike = isinstance(value, input.kind)
            if not is_alike:
                got = f"{short_name(value.dtype)}{list(value.shape)}" if isinstance(value, Tensor) else repr(value)
                raise ProgramError(
                    f"the program of {self.name}: expected {input} as in the trace (got {got}). Trace the function "
                    "with such arguments."
                )

    def meta(self, *arguments: Any) -> Any:
        """Return the program's results for tensors on the device ``meta``: shapes and dtypes, without running kernels.

        Args:
            arguments: as for a call; tensors may be on any device.
        """
        return self(*[argument.to("meta") if isinstance(argument, Tensor) else argument for argument in arguments])

    def memory_plan(self, *arguments: Any) -> MemoryPlan:
        """Return a plan that places the program's intermediate tensors in one block of memory.

        Args:
            arguments: as for a call; tensors may be on any device, since only their sizes matter.

        Returns:
            The plan: the offset and lifetime of each tensor, and the peak memory in use. It prints as a table.

        Raises:
            ProgramError: the program does not serve these arguments.

        >>> import opdsl
        >>> def function(x, w):
        ...     return ((x @ w).t() @ (x @ w)).sum()
        >>> program = opdsl.trace(function, opdsl.ones(32, 8), opdsl.ones(8, 16))
        >>> print(program.memory_plan(opdsl.ones(64, 8), opdsl.ones(8, 16)))
        9.0 KiB for intermediate tensors (9.0 KiB if separate), 4 bytes for results; at most 9.0 KiB live at once
                   0         4096  steps 0 to 3: mm
                4096         4096  steps 2 to 3: mm_1
                8192         1024  steps 3 to 4: mm_2
        """
        own = [result for _, result in made_apart(self)]
        shapes = tuple([tuple([Expression(size) if isinstance(size, str) else size for size in e.shape]) for e in own])
        computed_shapes = self.replace(steps=(), outputs=shapes)(*arguments)
        return memory_plan(
            self, [math.prod(shape) * result.dtype.itemsize for result, shape in zip(own, computed_shapes, strict=True)]
        )

    @property
    def function(self) -> Callable[..., Any]:
        """Return a function of inputs, then constants, that runs the steps; it returns ``GUARD_FAILED`` on a guard
        failure.
        """
        if "function" not in self._made:
            self._made["function"] = printing.compiled(self)
        function: Callable[..., Any] = self._made["function"]
        return function

    @property
    def source(self) -> str:
        """Return the program as typed Python source that runs where it is pasted."""
        return printing.source(self)

    @property
    def conditions(self) -> list[str]:
        """Return the guards, including equalities of sizes between inputs."""
        return [*printing.size_checks(self.inputs), *self.guards]

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<program {self.name}({', '.join(map(str, self.inputs))}): {counted(len(self.steps), 'step')}>"

    def _repr_svg_(self) -> str | None:
        """Return the graph that a notebook shows; None if the program has too many steps to draw."""
        from opdsl.programs import drawing  # only needed in notebooks

        if len(self.steps) > drawing.MOST_STEPS:
            return None
        return drawing.svg(self.inputs, self.steps, self.outputs, self.constants)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a JSON file, with operators by their schemas; loading it executes nothing.

        Args:
            path: path of the file. Constants are saved in another file next to it, of the same name with the ending
                ``.safetensors``.

        Raises:
            ProgramError: it contains a value that cannot be saved, such as a generator of random numbers.

        >>> import opdsl, tempfile, pathlib
        >>> program = opdsl.trace(lambda x: x.exp() + 1, opdsl.ones(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     program.save(pathlib.Path(folder, "program.json"))
        ...     opdsl.Program.load(pathlib.Path(folder, "program.json")) == program
        True
        """
        importlib.import_module("opdsl.programs.saving").save(path, self)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Program:
        """Return the program in a file that ``save`` has written.

        Args:
            path: path of the file.

        Returns:
            The program; ``opdsl.compile`` accepts it as a function.

        Raises:
            ProgramError: the file is no program, is damaged, or calls an operator that is missing or has changed.

        >>> import opdsl, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "program.json")
        ...     opdsl.trace(lambda x: x * 2, opdsl.ones(2)).save(path)
        ...     opdsl.Program.load(path)(opdsl.ones(3))
        tensor([2., 2., 2.])
        """
        program: Program = importlib.import_module("opdsl.programs.loading").load(path)
        return program

    def to_fx(self) -> Any:
        """Return the program as a ``torch.fx.GraphModule`` that calls the torch operator of the same schema for each
        step.

        Returns:
            The module. It takes the program's arguments as torch tensors, and returns the same results. Constants are
            its buffers and share their memory; guards are checks. ``opdsl.interop.torch.from_fx`` converts it back.

        Raises:
            MissingDependencyError: torch is not installed, or too old.
            ProgramError: torch lacks an operator: ``opdsl.interop.torch.register`` defines those of yours.

        >>> import opdsl, torch
        >>> from opdsl.interop.torch import from_fx
        >>> program = opdsl.trace(lambda x, r: (x * r).tanh(), opdsl.ones(2, 3), 0.5)
        >>> program.to_fx()(torch.zeros(4, 5), 2.0).shape
        torch.Size([4, 5])
        >>> from_fx(program.to_fx()).source == program.source
        True
        """
        return importlib.import_module("opdsl.interop.torch").to_fx(self)

    def replace(self, **changes: Any) -> Program:
        """Return a copy of the program with some fields replaced.

        Args:
            changes: fields by name.

        Returns:
            A new program.

        >>> import opdsl
        >>> opdsl.trace(lambda x: x, opdsl.ones(2)).replace(name="same").name
        'same'
        """
        return attrs.evolve(self, **changes)
