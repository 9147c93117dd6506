"""Launches of a program as a built-in function: machine code (``machine``) in place of the Python code of ``launcher``.

Plans of exact geometries call them; for the first calls of a geometry the setup would not pay.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.builtin import Input, Table, function_of, plan_of
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cuda.allocator import block_functions
from opdsl.backends.cuda.dialect import number_kind
from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.machine import launches as machine
from opdsl.backends.cuda.native import code
from opdsl.backends.cuda.program import Address, Constant, Number, Program, Scratch, Variant
from opdsl.kernels.iteration.numbers import ACCEPTED
from opdsl.runtime.dtype import DType
from opdsl.scalar.types import BOOL, COMPLEX, INTEGER, ScalarType

__all__ = ["LaunchPlan", "NewOutput", "Started"]

_ALIGNMENT = 16

Started = tuple[int, tuple[int, int, int], tuple[int, int, int], int]
"""Kernel launch on a device: function, grid, block and bytes of shared memory."""


class NewOutput(NamedTuple):
    """Description of an output that a run allocates: the size of its block, its shape, strides in bytes, and dtype."""

    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType


class LaunchPlan:
    """Program that can be launched by a built-in function in machine code.

    Args:
        name: in its repr.
        program: the program; it has something to launch, and an array among its operands.
        kinds: for each input the type of a number, None for an array.
        outputs: for each output how it is allocated, None for one that is given.
        scratch: the size of the block for scratch memory, 0 for none.
        slow: the same function in Python, for calls that the machine code does not handle.

    function: the built-in function, with the arguments and results of ``slow``.
    """

    def __init__(
        self,
        name: str,
        program: Program,
        kinds: Sequence[ScalarType | None],
        outputs: Sequence[NewOutput | None],
        scratch: int,
        slow: Callable[..., Any],
    ) -> None:
        api, entries = driver(), driver().entries()
        assert entries is not None, "whoever makes a plan has asked"
        self._variants, self._operands = len(program.variants), len(kinds) + len(outputs)
        self._loaded = numpy.zeros(api.device_count * self._variants, numpy.int64)
        self._kept: list[object] = []
        arguments = [kind is None for kind in kinds] + [True for output in outputs if output is None]
        scratch_words = max(len(_places(variant)) for variant in program.variants)
        failed, size = api.launch_failed, scratch or None
        header: list[int | Table] = words(
            machine.LaunchPlan,
            inputs=len(kinds),
            input_list=Table([word for kind in kinds for word in _input(kind)]),
            outputs=len(outputs),
            output_list=Table([word for output in outputs for word in _output(output)]),
            arguments=len(arguments),
            new=sum(output is not None for output in outputs),
            where=arguments.index(True),
            words=2 * self._operands + scratch_words,
            variants=self._variants,
            alignments=Table([variant.alignment for variant in program.variants]),
            devices=api.device_count,
            loaded=self._loaded.ctypes.data,
            scratch=0 if size is None else id(size),
            launch=entries.launch,
            context=entries.context,
            slow=id(slow),
            failed=id(failed),
        )
        block_functions()  # installs the layout that the machine code reads
        owned = [self, slow, size, outputs, entries, failed]
        self.function: Callable[..., Any] = function_of(name, code().address("launch_call"), plan_of(header, owned))

    def publish(self, index: int, variant: int, form: Variant, launches: Sequence[Started]) -> None:
        """Make calls on a device run the kernels of a variant, which are loaded there.

        Args:
            index: index of the device.
            variant: index of the variant.
            form: the variant.
            launches: its kernels on the device.
        """
        places = _places(form)
        scratch = 2 * self._operands  # two words for each operand come before
        table: list[int | Table] = []
        most = 0
        for launch, (function, grid, block, shared) in zip(form.launches, launches, strict=True):
            parameters: list[int] = []
            for argument in launch.arguments:
                if isinstance(argument, Address | Number):
                    parameters += [machine.FRAME, 2 * argument.operand]
                elif isinstance(argument, Scratch):
                    parameters += [machine.FRAME, scratch + places.index(argument.offset)]
                else:
                    parameters += [machine.CONSTANT, self._constant(argument)]
            most = max(most, len(launch.arguments))
            table += words(
                machine.Launch,
                function=function,
                **dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True)),
                **dict(zip(("block_x", "block_y", "block_z"), block, strict=True)),
                shared=shared,
                parameters=len(launch.arguments),
                parameter_list=Table(parameters),
            )
        header: list[int | Table] = words(
            machine.Loaded,
            context=driver().context(index),
            launches=len(launches),
            launch_list=Table(table),
            most_parameters=most,
            places=len(places),
            place_list=Table(places),
        )
        loaded = plan_of(header, [])
        self._kept.append(loaded)
        self._loaded[index * self._variants + variant] = loaded.address

    def _constant(self, constant: Constant) -> int:
        """Copy a constant's bytes to memory that the plan keeps, and return their address."""
        memory = ctypes.create_string_buffer(len(constant.content) + _ALIGNMENT)
        address = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
        ctypes.memmove(address, constant.content, len(constant.content))
        self._kept.append(memory)
        return address


def _places(variant: Variant) -> list[int]:
    """Return the distinct offsets in scratch memory that the kernels of a variant take as parameters."""
    arguments = [argument for launch in variant.launches for argument in launch.arguments]
    return list(dict.fromkeys(argument.offset for argument in arguments if isinstance(argument, Scratch)))


def _input(kind: ScalarType | None) -> Input:
    """Return the descriptor with which the native launcher reads an argument: as an array, or as a number of
    some type.
    """
    if kind is None:
        return builtin.ARRAY
    if kind.category == BOOL:
        return builtin.TRUTH
    if number_kind(kind) is ScalarType.UINT64:
        return builtin.WORD
    if kind.category == INTEGER:
        return builtin.integer(*ACCEPTED[kind])
    return builtin.COMPLEX if kind.category == COMPLEX else builtin.FLOAT


def _output(output: NewOutput | None) -> list[int]:
    """Return the words of the record ``machine.Output`` for an output."""
    if output is None:
        return [1, 0, 0, 0, 0]
    return words(
        machine.Output,
        is_given=0,
        size=id(output.size),
        shape=id(output.shape),
        strides=id(output.strides),
        dtype=id(output.dtype),
    )
