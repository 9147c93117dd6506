"""Runner of CUDA programs on host operands without a driver: launches run one after another, at once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opdsl.backends.cuda.program import Address, Argument, Constant, Number, Program, Scratch
from tests.emulation import libraries

__all__ = ["build", "run"]


def build(programs: Iterable[Program]) -> None:
    """Compile programs together, which takes less time than ``run`` compiling each alone."""
    libraries.build({program.source.fingerprint: program.source for program in programs}.values())


def run(program: Program, operands: Sequence[Any], variant: int | None = None) -> None:
    """Run a program on operands of the host, which writes its outputs.

    Args:
        operands: arrays and numbers, the outputs last.
        variant: index of the variant; None for the one that fits the addresses.
    """
    addresses = [_address(operand) for operand in operands if isinstance(operand, np.ndarray)]
    chosen = program.variant(addresses) if variant is None else program.variants[variant]
    scratch = np.full(program.scratch + 256, 0xA5, np.uint8)
    base = -(-_address(scratch) // 256) * 256
    for launch in chosen.launches:
        parameters = [_parameter(argument, operands, base) for argument in launch.arguments]
        addressed = (ctypes.c_void_p * max(1, len(parameters)))(*map(ctypes.addressof, parameters))
        kernel = libraries.kernel(program.source, launch.entry)
        libraries.Started(kernel, launch.grid, launch.block, ctypes.addressof(addressed)).run()
    assert (scratch[base - _address(scratch) + program.scratch :] == 0xA5).all(), "scratch memory was exceeded"


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _parameter(argument: Argument, operands: Sequence[Any], scratch: int) -> Any:
    match argument:
        case Address(operand):
            return ctypes.c_void_p(_address(operands[operand]))
        case Scratch(offset):
            return ctypes.c_void_p(scratch + offset)
        case Constant(content):
            return ctypes.create_string_buffer(content, len(content))
        case Number(operand):
            value, kind = operands[operand], argument.c_type
            if kind == "Complex<double>":
                return (ctypes.c_double * 2)(complex(value).real, complex(value).imag)
            return ctypes.c_double(value) if kind == "double" else ctypes.c_longlong(int(value))
